"""GraphQL over a service: what its fields ask for, give, and say is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave import GraphQL
from shardweave.errors import ConfigurationError
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import NOW, CountedTable, json_of, problem_of
from tests.unit.graphql_world import PLACES, Graph, filled, graph


@pytest.fixture(scope="module")
def asked() -> Graph:
    return filled()


def test_one_record_by_its_id(asked: Graph) -> None:
    found = asked.data('{ person(id: "p1") { personId name age friend { name friend { name } } pets { kind } rev } }')
    rev = found["person"].pop("rev")
    assert found == {
        "person": {
            "personId": "p1",
            "name": "Bob",
            "age": 21,
            "friend": {"name": "Cid", "friend": {"name": "Dot"}},
            "pets": [{"kind": "cat"}],
        }
    }
    assert asked.client.get("/v1/people/p1").headers["etag"] == f'"{rev}"'


def test_what_is_not_there_is_null(asked: Graph) -> None:
    found = asked.data('{ person(id: "nobody") { name } last: person(id: "p4") { friend { name } secretly: age } }')
    assert found == {"person": None, "last": {"friend": None, "secretly": 24}}


def test_one_record_of_a_partition_is_the_one_named_or_the_last(asked: Graph) -> None:
    found = asked.data(
        '{ a: visit(id: "p0", sort: "v1") { note } b: visit(id: "p0") { note } c: visit(id: "x") { note } }'
    )
    assert found == {"a": {"note": "n1"}, "b": {"note": "n3"}, "c": None}


def test_keys_of_several_properties_are_one_value(asked: Graph) -> None:
    found = asked.data(
        """{
            one: shelf(id: "a/b", sort: "c/1") { number full }
            last: shelf(id: "a/b") { number }
            all: shelvesById(id: "a/b") { items { number } }
            some: shelvesById(id: "a/b", prefix: "c/") { items { number } }
            eq: shelvesById(id: "a/b", eq: "c/2") { items { number } }
            tally { people }
        }"""
    )
    assert found == {
        "one": {"number": 1, "full": True},
        "last": {"number": 2},
        "all": {"items": [{"number": 1}, {"number": 2}]},
        "some": {"items": [{"number": 1}, {"number": 2}]},
        "eq": {"items": [{"number": 2}]},
        "tally": {"people": 5},
    }
    assert asked.codes('{ shelf(id: "a", sort: "c/1") { number } }') == ["value_refused"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", ["v0", "v1", "v2", "v3"]),
        ("reverse: true, limit: 2", ["v3", "v2"]),
        ('eq: "v1"', ["v1"]),
        ('prefix: "v"', ["v0", "v1", "v2", "v3"]),
        ('from: "v1", to: "v2"', ["v1", "v2"]),
        ('from: "v3"', ["v3"]),
        ("filter: {day: {eq: 1}}", ["v1", "v3"]),
        ('filter: {or: [{day: {lt: 1}}, {note: {beginsWith: "n3"}}], petIds: {contains: "t0"}}', ["v0", "v2", "v3"]),
        ('filter: {not: {code: {in: ["v0", "v1"]}}}', ["v2", "v3"]),
        ("filter: {petIds: {size: {gt: 2}}}", []),
        ("filter: {}", ["v0", "v1", "v2", "v3"]),
    ],
)
def test_lists_of_a_partition(asked: Graph, arguments: str, expected: list[str]) -> None:
    asked_for = f'{{ visitsById(id: "p0"{", " if arguments else ""}{arguments}) {{ items {{ code }} }} }}'
    assert [each["code"] for each in asked.data(asked_for)["visitsById"]["items"]] == expected


def test_pages_go_on_where_they_ended_also_over_the_other_routes(asked: Graph) -> None:
    text = "query($token: String) { people(limit: 2, nextToken: $token) { items { personId } nextToken complete } }"
    seen: list[str] = []
    token = None
    while True:
        page = asked.data(text, token=token)["people"]
        assert page["complete"]
        seen += [each["personId"] for each in page["items"]]
        token = page["nextToken"]
        if token is None:
            break
        over_http = json_of(asked.client.get(f"/v1/people?limit=2&nextToken={token}"))
    assert seen == ["p0", "p1", "p2", "p3", "p4"]
    assert [each["personId"] for each in over_http["items"]] == ["p4"]
    assert asked.codes(text, token="none") == ["invalid_cursor"]


def test_pages_go_back_to_those_that_were_read_before(asked: Graph) -> None:
    text = """query($next: String, $prev: String) {
        people(limit: 2, nextToken: $next, prevToken: $prev) { items { personId } nextToken prevToken }
    }"""
    first = asked.data(text)["people"]
    second = asked.data(text, next=first["nextToken"])["people"]
    assert first["prevToken"] is None
    back = asked.data(text, prev=second["prevToken"])["people"]
    assert (back["items"], back["prevToken"]) == (first["items"], None)
    assert asked.data(text, next=back["nextToken"])["people"]["items"] == second["items"]
    assert asked.codes(text, next=first["nextToken"], prev=second["prevToken"]) == ["invalid_input"]


def test_lists_by_an_index_take_its_properties_from_the_left(asked: Graph) -> None:
    found = asked.data(
        """{
            all: peopleByCity(city: "Rome") { items { name } }
            some: peopleByCity(city: "Rome", name: {prefix: "D"}) { items { name } }
            back: peopleByCity(city: "Oslo", name: {from: "B", to: "D"}, reverse: true) { items { name } }
            one: peopleByCity(city: "Oslo", name: {eq: "Ann"}, personId: {from: "p0"}) { items { name } }
        }"""
    )
    assert {key: [each["name"] for each in page["items"]] for key, page in found.items()} == {
        "all": ["Bob", "Dot"],
        "some": ["Dot"],
        "back": ["Cid"],
        "one": ["Ann"],
    }
    assert asked.codes('{ peopleByCity(city: "Rome", personId: {eq: "p1"}) { items { name } } }') == [
        "unsupported_query"
    ]


def test_what_an_index_has_not_is_read_from_the_record_where_it_is_asked_for() -> None:
    table = CountedTable(EmbeddedTable(PLACES.layout, clock=lambda: NOW / 1000))
    asked = filled(table)
    table.asked.clear()
    found = asked.data("{ visitsByDay(day: 1) { items { code note } } }")["visitsByDay"]["items"]
    assert found == [{"code": "v1", "note": "n1"}, {"code": "v3", "note": "n3"}]
    assert set(table.asked_since()) == {"Query"}
    found = asked.data("{ visitsByDay(day: 1) { items { code petIds person { name } } } }")["visitsByDay"]["items"]
    assert found[0] == {"code": "v1", "petIds": ["t0", "gone"], "person": {"name": "Ann"}}
    assert "BatchGet" in table.asked_since()


def test_fragments_aliases_variables_and_conditions_of_fields(asked: Graph) -> None:
    text = """
        query($with: Boolean!, $id: ID!) {
            a: person(id: $id) { ...all pals: friend { ...all } friend { age } }
            b: person(id: "p1") { n: name ... on Person @skip(if: $with) { age } }
            page: people(limit: 1) { x: items { name friend { name } } y: items { friend { age } } __typename }
        }
        fragment all on Person { name age @include(if: $with) }
    """
    assert asked.data(text, **{"with": True, "id": "p0"}) == {
        "a": {"name": "Ann", "age": 20, "pals": {"name": "Bob", "age": 21}, "friend": {"age": 21}},
        "b": {"n": "Bob"},
        "page": {
            "x": [{"name": "Ann", "friend": {"name": "Bob"}}],
            "y": [{"friend": {"age": 21}}],
            "__typename": "PersonConnection",
        },
    }
    assert asked.data(text, **{"with": False, "id": "p0"})["b"] == {"n": "Bob", "age": 21}


def test_private_properties_are_not_in_the_schema_and_can_be_written(asked: Graph) -> None:
    assert asked.codes('{ person(id: "p0") { secret } }') == ["validation_failed"]
    assert asked.codes('{ people(filter: {secret: {eq: "hush"}}) { items { name } } }') == ["validation_failed"]
    kinds = asked.data(
        '{ a: __type(name: "Person") { fields { name } } b: __type(name: "PersonInput") { inputFields { name } } }'
    )
    assert "secret" not in {each["name"] for each in kinds["a"]["fields"]}
    assert "secret" in {each["name"] for each in kinds["b"]["inputFields"]}


# -- writes -----------------------------------------------------------------------------------------------------------


def test_records_are_made_changed_replaced_and_removed() -> None:
    asked = graph()
    made = asked.data('mutation { createPerson(input: {personId: "a", name: "A", city: "C", age: 1}) { name rev } }')
    rev = made["createPerson"]["rev"]
    text = """mutation($rev: String) {
        updatePerson(id: "a", patch: {name: "B", age: null}, rev: $rev) { name age rev }
    }"""
    changed = asked.data(text, rev=rev)["updatePerson"]
    assert (changed["name"], changed["age"]) == ("B", None)
    assert asked.codes(text, rev=rev) == ["precondition_failed"]
    put = asked.data('mutation { putPerson(id: "a", input: {name: "C", city: "D"}) { personId name city } }')
    assert put == {"putPerson": {"personId": "a", "name": "C", "city": "D"}}
    assert asked.data('mutation { deletePerson(id: "a") }') == {"deletePerson": True}
    assert asked.codes('mutation { deletePerson(id: "a") }') == ["not_found"]


def test_mutations_are_done_one_after_the_other_and_one_that_fails_ends_none() -> None:
    asked = graph()
    text = """mutation {
        a: createPerson(input: {personId: "a", name: "A", city: "C"}) { name }
        b: createPerson(input: {personId: "a", name: "B", city: "C"}) { name }
        c: updatePerson(id: "a", patch: {friendId: "a"}) { name friend { friendId } }
        d: updatePerson(id: "a", patch: {name: "D"}) { name friend { name } }
    }"""
    found = asked.answer(text)
    assert found["data"] == {
        "a": {"name": "A"},
        "b": None,
        "c": {"name": "A", "friend": {"friendId": "a"}},
        "d": {"name": "D", "friend": {"name": "D"}},
    }
    (error,) = found["errors"]
    assert (error["path"], error["extensions"]["code"], error["extensions"]["status"]) == (["b"], "already_exists", 409)


def test_a_mutation_repeated_with_its_key_is_done_once_also_over_the_other_routes() -> None:
    asked = graph()
    text = 'mutation($name: String!) { createPet(input: {petId: "t", kind: $name}, idempotencyKey: "k1") { rev kind } }'
    first = asked.data(text, name="cat")
    assert asked.data(text, name="cat") == first
    assert asked.codes(text, name="dog") == ["idempotency_mismatch"]
    again = asked.client.post("/v1/pets", {"petId": "t", "kind": "cat"}, idempotency_key="k1")
    assert again.status == 201
    assert again.headers["etag"] == f'"{first["createPet"]["rev"]}"'


def test_a_body_that_does_not_fit_has_every_fault_and_its_place() -> None:
    found = graph().answer(
        'mutation { createShelf(input: {house: "a", room: "b", row: "c", number: "one"}) { number } }'
    )
    (error,) = found["errors"]
    assert error["extensions"]["code"] == "validation_failed"
    assert [each["where"] for each in error["extensions"]["errors"]] == ["number"]


def test_each_mutation_is_on_the_audit_trail_and_no_query_is() -> None:
    said: list[Any] = []
    asked = graph(observe=said.append)
    asked.answer('mutation { createPet(input: {petId: "t", kind: "cat"}) { kind } deletePet(id: "gone") }')
    asked.answer('{ pet(id: "t") { kind } }')
    written, read = said
    assert [(each["entity"], each["effect"]) for each in written.beside] == [("pets", "create"), ("pets", "refused")]
    assert (written.problem, written.failing) == ("not_found", False)
    assert (read.audit, read.beside, read.problem) == (None, (), "")
    over_http: list[Any] = []
    graph(observe=over_http.append).client.post("/v1/pets", {"petId": "t", "kind": "cat"})
    assert over_http[0].audit["keys"] == written.beside[0]["keys"]


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{ person(id: ", "malformed_request"),
        ("{ nothing }", "validation_failed"),
        ("{ person { name } }", "validation_failed"),
        ("subscription { person }", "validation_failed"),
        ("query a { __typename } query b { __typename }", "validation_failed"),
        ('{ person(id: "p0") { ...f } } fragment f on Person { friend { ...f } }', "validation_failed"),
        ("{ people(limit: 501) { items { name } } }", "limit_exceeded"),
        ('{ visitsById(id: "p0", eq: "a", prefix: "b") { items { note } } }', "unsupported_query"),
    ],
)
def test_a_document_that_can_t_be_answered_says_why(asked: Graph, text: str, code: str) -> None:
    assert asked.codes(text) == [code]


def test_a_request_that_is_none_is_refused_as_everywhere(asked: Graph) -> None:
    problem = problem_of(asked.client.post("/graphql", {"query": 1, "more": 2}), 400, "validation_failed")
    assert [each["where"] for each in problem["errors"]] == ["query", "more"]
    problem = problem_of(asked.client.post("/graphql", {}), 400, "validation_failed")
    assert [each["where"] for each in problem["errors"]] == ["query"]
    problem_of(
        asked.client.request("POST", "/graphql", b"{", {"content-type": "application/json"}), 400, "malformed_request"
    )
    problem_of(asked.client.get("/graphql"), 405, "method_not_allowed")


def test_a_schema_that_is_not_told_is_not_hinted_at() -> None:
    asked = graph(GraphQL())
    assert set(asked.codes("{ __schema { types { name } } }")) == {"validation_failed"}
    assert asked.data("{ __typename }") == {"__typename": "Query"}
    (error,) = asked.answer('{ persom(id: "p0") { name } }')["errors"]
    assert "Did you mean" not in error["message"]
    (error,) = graph().answer('{ persom(id: "p0") { name } }')["errors"]
    assert "Did you mean" in error["message"]


@pytest.mark.parametrize(
    "options",
    [{"name_prefix": "a-b"}, {"name_prefix": "__a"}, {"max_depth": 0}, {"max_fields": True}, {"max_cost": 10**9}],
)
def test_what_a_service_says_of_its_graphql_is_checked_where_it_is_said(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        GraphQL(**options)
