"""What a document may cost: it is planned before anything is read, and refused before that where it is too much."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave import GraphQL
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import NOW, Client, CountedTable, json_of
from tests.unit.graphql_world import PLACES, Graph, filled


@pytest.fixture
def table() -> CountedTable:
    return CountedTable(EmbeddedTable(PLACES.layout, clock=lambda: NOW / 1000))


@pytest.fixture
def asked(table: CountedTable) -> Graph:
    found = filled(table, GraphQL(max_cost=2000, max_depth=8, max_fields=60))
    found.data("{ __typename }")
    table.asked.clear()
    return found


def nested(levels: int, field: str = "friend") -> str:
    return f"{field} {{ " * levels + "name" + " }" * levels


def doubled(levels: int) -> str:
    """Each level asks twice for the next."""
    return "name" if not levels else f"a: friend {{ {doubled(levels - 1)} }} b: friend {{ {doubled(levels - 1)} }}"


BOMBS = {
    "too deep": f'{{ person(id: "p0") {{ {nested(8)} }} }}',
    "much too deep": f'{{ person(id: "p0") {{ {nested(1500)} }} }}',
    "too deep by fragments": '{ person(id: "p0") { ...f0 } }'
    + "".join(f" fragment f{n} on Person {{ friend {{ ...f{n + 1} }} }}" for n in range(9))
    + " fragment f9 on Person { name }",
    "too many fields": f'{{ person(id: "p0") {{ {doubled(5)} }} }}',
    "too many fields by fragments": '{ person(id: "p0") { ...f0 } }'
    + "".join(
        f" fragment f{n} on Person {{ a: friend {{ ...f{n + 1} }} b: friend {{ ...f{n + 1} }} }}" for n in range(6)
    )
    + " fragment f6 on Person { name }",
    "too many roots": "{ " + " ".join(f'r{n}: person(id: "p0") {{ name }}' for n in range(61)) + " }",
    "lists of lists": "{ people(limit: 500) { items { pets { owner { pets { owner { name } } } } } } }",
    "too many records": "{ " + " ".join(f"r{n}: people(limit: 500) {{ items {{ name }} }}" for n in range(4)) + " }",
    "mutations that lead to too much": "mutation { "
    + " ".join(
        f'r{n}: createPet(input: {{petId: "x{n}", kind: "a"}}) {{ {"owner { pets { " * 3}kind{" } }" * 3} }}'
        for n in range(2)
    )
    + " }",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_anything_is_read_or_written(asked: Graph, table: CountedTable, bomb: str) -> None:
    (code,) = asked.codes(bomb)
    assert code in ("limit_exceeded", "malformed_request")
    assert table.asked_since() == []


def test_a_document_of_too_many_words_is_refused_while_it_is_parsed(asked: Graph) -> None:
    assert asked.codes("{ " + "a " * 5001 + "}") == ["malformed_request"]


def test_introspection_that_nests_itself_is_refused() -> None:
    found = filled()
    text = "{ __schema { types { " + "fields { type { " * 4 + "name" + " } }" * 4 + " } } }"
    assert "validation_failed" in found.codes(text)


def test_the_cost_is_lanes_records_and_what_they_lead_to(table: CountedTable) -> None:
    """Four lanes, 10 records, 10 friends, 10 lists of 10 pets; one less is too little."""
    text = "{ people(limit: 10) { items { friend { name } pets { kind } } } }"
    client = filled(table, GraphQL(max_cost=4 + 10 + 10 + 100)).client
    assert "errors" not in json_of(client.post("/graphql", {"query": text}))
    (code,) = Graph(filled(graphql=GraphQL(max_cost=4 + 10 + 10 + 99)).client).codes(text)
    assert code == "limit_exceeded"


RELATIONS = st.lists(st.sampled_from(["friend", "pets"]), min_size=1, unique=True)


@settings(max_examples=30, deadline=None)
@given(RELATIONS, st.integers(1, 5))
def test_relations_are_read_in_as_many_reads_as_expand_takes(names: list[str], limit: int) -> None:
    """Lists that expand read their own records whole, which is counted apart."""
    table = CountedTable(EmbeddedTable(PLACES.layout, clock=lambda: NOW / 1000))
    asked = filled(table)
    inner = {"friend": "friend { name }", "pets": "pets { kind }"}
    text = f"{{ people(limit: {limit}) {{ items {{ name {' '.join(inner[each] for each in names)} }} }} }}"

    def reads(target: str) -> Counter[str]:
        if target:
            assert asked.client.get(f"/v1/people?limit={limit}{target}").status == 200
        else:
            asked.data(text)
        return Counter(table.asked_since())

    reads("")
    related = reads("") - reads("&reverse=false")
    assert related == reads(f"&expand={','.join(names)}") - reads("&hydrate=true")


def test_relations_of_the_whole_answer_are_read_together(table: CountedTable, asked: Graph) -> None:
    """Two lists and a record lead to people and pets, who lead to others: a batch for each level."""
    text = """{
        people(limit: 3) { items { friend { pets { kind } } } }
        visitsById(id: "p0", limit: 4) { items { person { friend { name } } pets { owner { name } } } }
        pet(id: "t1") { owner { pets { kind } } }
    }"""
    asked.data(text)
    table.asked_since()
    asked.data(text)
    assert table.asked_since().count("BatchGet") == 2


def test_a_record_that_many_lead_to_is_read_once_and_counts_once(table: CountedTable) -> None:
    found = filled(table, max_related=1)
    assert found.data('{ visitsById(id: "p0") { items { person { name } } } }')
    assert found.codes("{ people { items { friend { name } } } }") == ["too_many_reads"]


def test_what_fails_with_one_list_leaves_the_others() -> None:
    found = Graph(Client(filled(max_related=1).client.api)).answer(
        '{ a: visitsById(id: "p0") { items { person { name } } } b: people { items { friend { name } } } }'
    )
    assert found["data"]["b"] is None
    assert [each["path"] for each in found["errors"]] == [["b"]]
