"""Private properties: every way by which the value of one could come out, and that it does not.

What is private of a colleague: pay, badge, boss, friends and file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.access import private_property
from shardweave.api.http import Response
from shardweave.errors import SchemaError
from shardweave.schema.declarations import Index, Lookup, Unique, belongs_to, has_many
from shardweave.schema.declarations import Sequence as Numbers
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import Action, Event, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import Client, api_of, json_of, problem_of

PAY, BADGE, BOSS, FILE = 48151623, "sesame-badge", "hidden-boss", "sesame-file"
SECRETS = (str(PAY), BADGE, BOSS, FILE)
PRIVATE = ("pay", "badge", "bossId", "friendIds", "file")


class Colleague(Entity, token="colleague"):
    """Somebody who works here."""

    colleague_id: str = unique_property()
    team: str
    name: str = ""
    buddy_id: str | None = None
    seen_badge: str | None = None
    seen_pay: int | None = None
    pay: int | None = private_property(default=None)
    badge: str | None = private_property(default=None)
    boss_id: str | None = private_property(default=None)
    friend_ids: list[str] = private_property(default_factory=list)
    file: dict[str, Any] = private_property(default_factory=dict)

    team_hash_key = HashKey("team")
    pay_hash_key = HashKey("pay")
    name_range_key = RangeKey("name")
    pay_range_key = RangeKey("pay")

    badges = Unique("badge")
    names = Lookup("name")
    bosses = Lookup("boss_id")
    name_by_team = Unique("name", within="team", name="nameByTeam")
    name_by_pay = Unique("name", within="pay", name="nameByPay")
    buddy = belongs_to("colleague", by="buddy_id")
    boss = belongs_to("colleague", by="boss_id", enforced=True)
    friends = has_many("colleague", by="friend_ids")
    wearer = belongs_to("colleague", by="seen_badge", on="badge")
    best_paid = belongs_to("colleague", by="team", on="team", index="byPay")
    equal = belongs_to("colleague", by="seen_pay", on="pay", index="ofPay")


class Raised(Event):
    """Somebody is paid otherwise."""

    type: Literal["Raised"] = "Raised"
    colleague_id: str
    pay: int


class Wage(Entity, token="wage"):
    """What somebody is paid."""

    colleague_id: str = unique_property()
    pay: int | None = private_property(default=None)


def project(event: Raised) -> Sequence[Action]:
    return (Update(Wage, {"colleague_id": event.colleague_id}, {"pay": event.pay}),)


SCHEMA = Schema(
    entities=[Colleague, Wage],
    indexes=[
        Index("byName", "team_hash_key", "name_range_key", projection=("pay", "file", "badge")),
        Index("whole", "team_hash_key", "range_key"),
        Index("byPay", "team_hash_key", "pay_range_key", exposed=False),
        Index("ofPay", "pay_hash_key", "range_key", exposed=False),
    ],
    read_models=[ReadModel("wages", events=(Raised,), writes=(Wage,), project=project)],
)
ANN: dict[str, Any] = {
    "colleagueId": "ann",
    "team": "red",
    "name": "Ann",
    "buddyId": "ann",
    "pay": PAY,
    "badge": BADGE,
    "bossId": BOSS,
    "friendIds": [BOSS],
    "file": {"text": FILE},
}
SHOWN = {name: value for name, value in ANN.items() if name not in PRIVATE}


def filled(table: EmbeddedTable) -> Client:
    client = Client(api_of(SCHEMA, table=table))
    assert client.post("/v1/colleagues", {"colleagueId": BOSS, "team": "other", "name": "B"}).status == 201
    assert client.post("/v1/colleagues", ANN).status == 201
    assert client.post("/v1/colleagues", {"colleagueId": "bob", "team": "red", "name": "Bob", "pay": 1}).status == 201
    return client


@pytest.fixture(scope="module")
def client() -> Client:
    """For tests that change nothing."""
    return filled(EmbeddedTable(SCHEMA.layout))


@pytest.fixture
def table() -> EmbeddedTable:
    return EmbeddedTable(SCHEMA.layout)


@pytest.fixture
def writer(table: EmbeddedTable) -> Client:
    return filled(table)


def holds_no_secret(answer: Response) -> Any:
    """The JSON of an answer that shows nothing private, neither a value nor that there is one."""
    # The boss has a record too, and its id is no secret.
    text = answer.body.decode().replace(f'"colleagueId":"{BOSS}"', "") + json.dumps(dict(answer.headers))
    assert not [secret for secret in SECRETS if secret in text]
    assert not [name for name in PRIVATE if f'"{name}":' in text]
    return json_of(answer) if answer.body else None


# -- what is answered -------------------------------------------------------------------------------------------------


def test_by_the_answer_to_a_write(writer: Client) -> None:
    path = "/v1/colleagues/ann"
    given = {**ANN, "colleagueId": "eve", "name": "Eve", "badge": f"{BADGE}-2"}
    for answer in (
        writer.post("/v1/colleagues", given, idempotency_key="k"),
        writer.post("/v1/colleagues", given, idempotency_key="k"),
        writer.patch(path, {"pay": PAY, "file": {"more": FILE}}),
        writer.put(path, ANN),
        writer.put(
            "/v1/colleagues/new", {**given, "colleagueId": "new", "name": "New", "badge": None} | {"badge": "n"}
        ),
    ):
        assert answer.status in (200, 201)
        holds_no_secret(answer)


def test_by_a_read(client: Client) -> None:
    assert holds_no_secret(client.get("/v1/colleagues/ann")) == SHOWN
    for target in (
        "colleagueId=ann",
        "team=red&index=whole",
        "team=red&index=byName&hydrate=true",
        "lookup=name&name=Ann",
    ):
        assert SHOWN in holds_no_secret(client.get(f"/v1/colleagues?{target}"))["items"]
    partly = {"colleagueId": "ann", "team": "red", "name": "Ann"}
    assert partly in holds_no_secret(client.get("/v1/colleagues?team=red&index=byName"))["items"]
    assert holds_no_secret(client.get("/v1/colleagues?lookup=nameByTeam&name=Ann&team=red"))["items"] == [SHOWN]


def test_by_a_query(client: Client) -> None:
    for query in ({"conditions": {"team": "red"}}, {"conditions": {"team": "red"}, "index": "whole"}):
        assert len(holds_no_secret(client.post("/v1/colleagues/query", query))["items"]) == 2


@pytest.mark.parametrize(
    ("verb", "word"), [("query", "stats"), ("query", "budget"), ("count", "stats"), ("explain", "run")]
)
def test_by_what_a_query_reads(client: Client, verb: str, word: str) -> None:
    """How many bytes, and so reads, a query takes goes by the size of what is private too."""
    asked = {"conditions": {"team": "red"}, word: 1 if word == "budget" else True}
    assert problem_of(client.post(f"/v1/colleagues/{verb}", asked), 400, "unsupported_query")["where"] == word


def test_by_a_batch(writer: Client) -> None:
    got = holds_no_secret(writer.post("/v1/colleagues/batch-get", {"keys": ["ann", "nobody"]}))
    assert got["items"] == [SHOWN, None]
    puts = [{**ANN, "name": "Anna"}, {**ANN, "colleagueId": "eve", "name": "E"}]
    done = holds_no_secret(writer.post("/v1/colleagues/batch-write", {"puts": puts}))
    assert [each["status"] for each in done["puts"]] == ["written", "failed"], "the badge is taken"


@pytest.mark.parametrize("name", ["boss", "friends", "wearer", "bestPaid", "equal"])
def test_by_a_relation_that_leads_along_one_or_finds_or_chooses_by_one(client: Client, name: str) -> None:
    for answer in (
        client.get(f"/v1/colleagues/ann?expand={name}"),
        client.get(f"/v1/colleagues?colleagueId=ann&expand=buddy,{name}"),
        client.get(f"/v1/colleagues?lookup=name&name=Ann&expand={name}"),
        client.post("/v1/colleagues/query", {"conditions": {"colleagueId": "ann"}, "expand": [name]}),
        client.post("/v1/colleagues/batch-get", {"keys": ["ann"], "expand": [name]}),
    ):
        problem = problem_of(answer, 400, "unknown_name")
        assert (problem["where"], problem["fix"].partition(" of ")[2]) == ("expand", "buddy")


def test_by_what_a_relation_leads_to(client: Client) -> None:
    found = holds_no_secret(client.get("/v1/colleagues/ann?expand=buddy"))
    assert found == {**SHOWN, "expanded": {"buddy": SHOWN}}


def test_by_the_answer_to_an_event(writer: Client) -> None:
    event = {"type": "Raised", "eventId": "e", "position": 1, "colleagueId": "ann", "pay": PAY}
    for _ in range(2):
        assert set(holds_no_secret(writer.post("/v1/_events/wages", event))) == {"eventId", "repeated"}
    changed = writer.post("/v1/_events/wages", {**event, "pay": 7})
    assert holds_no_secret(changed)["status"] == 409
    assert holds_no_secret(writer.get("/v1/wages/ann")) == {"colleagueId": "ann"}


LARGE, RECORDS = "x" * 200_000, 40


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"index": "byName"},
        {"index": "whole", "hydrate": True},
        {"properties": ["colleagueId"]},
        {"expand": ["buddy"]},
    ],
    ids=str,
)
def test_by_where_a_page_is_cut(asked: dict[str, Any]) -> None:
    """All private values together are more than a page's bytes, those shown are not."""
    told = []
    for text in ("", LARGE):
        table = EmbeddedTable(SCHEMA.layout)
        store, client = Store(SCHEMA, table), Client(api_of(SCHEMA, table=table))
        people = (
            {"colleagueId": f"c{at:02}", "team": "red", "name": f"{at:02}", "file": {"text": text}}
            for at in range(RECORDS)
        )
        for values in people:
            store.create(values, Colleague)
        question = {"conditions": {"team": "red"}, "limit": RECORDS, **asked}
        told.append(json_of(client.post("/v1/colleagues/query", question)))
    assert told[0] == told[1]
    assert len(told[1]["items"]) == RECORDS
    assert told[1]["complete"]


# -- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PRIVATE, "boss_id", "friend_ids", "file.text"])
def test_by_a_condition_a_filter_or_a_choice_of_properties(client: Client, name: str) -> None:
    red = {"conditions": {"team": "red"}, "index": "whole"}
    asked: list[dict[str, Any]] = [
        {"conditions": {name: "x"}},
        {"conditions": {"team": "red", name: {"from": "0"}}},
        {"branches": [red, {"conditions": {name: ["x", "y"]}}]},
        {**red, "properties": [name]},
        {"branches": [{**red, "filter": {"property": name, "exists": True}}]},
    ]
    tests: list[dict[str, Any]] = [{"eq": PAY}, {"ge": 1}, {"exists": True}, {"size": {"gt": 1}}, {"contains": "x"}]
    asked += [{**red, "filter": {"property": name, **test}} for test in tests]
    asked += [{**red, "filter": {"not": {"property": name, "in": [PAY, BADGE]}}}]
    for query in asked:
        for verb in ("query", "count", "explain"):
            problem_of(client.post(f"/v1/colleagues/{verb}", query), 400, "unknown_name")
    for target in (f"{name}=1", f"team=red&{name}.from=1", f"team=red&index=whole&properties={name}"):
        problem_of(client.get(f"/v1/colleagues?{target}"), 400, "unknown_name")


@pytest.mark.parametrize("index", ["byPay", "ofPay"])
def test_by_an_order(client: Client, index: str) -> None:
    problem_of(client.get(f"/v1/colleagues?team=red&index={index}"), 400, "unknown_name")
    for verb in ("query", "count", "explain"):
        query = {"conditions": {"team": "red"}, "index": index}
        problem = problem_of(client.post(f"/v1/colleagues/{verb}", query), 400, "unknown_name")
        assert "Pay" not in problem["fix"]
    chosen = holds_no_secret(client.post("/v1/colleagues/explain", {"conditions": {"team": "red"}}))
    assert chosen["indexes"] == ["whole"]


@pytest.mark.parametrize("target", ["badge&badge=x", "bossId&bossId=x", "nameByPay&name=Ann&pay=1"])
def test_by_a_lookup(client: Client, target: str) -> None:
    assert holds_no_secret(client.get(f"/v1/colleagues?lookup={target}"))["status"] == 400
    problem = problem_of(client.get(f"/v1/colleagues?lookup={target.partition('&')[0]}"), 400, "unknown_name")
    assert problem["fix"] == "use one of name, nameByTeam"


def test_by_an_explanation(client: Client) -> None:
    asked = {"conditions": {"team": "red"}, "index": "byName", "limit": 1}
    token = json_of(client.post("/v1/colleagues/query", asked))["nextToken"]
    for more in ({}, {"nextToken": token}, {"nextToken": token, "run": True}):
        text = json.dumps(holds_no_secret(client.post("/v1/colleagues/explain", {**asked, **more})))
        assert not any(name in text for name in PRIVATE)


# -- what is refused, and what that says ------------------------------------------------------------------------------


def test_by_a_conflict(client: Client) -> None:
    taken = client.post("/v1/colleagues", {"colleagueId": "eve", "team": "red", "badge": BADGE})
    assert holds_no_secret(taken)["where"] == "badge", "that it is taken is said, and not by whom"
    assert "ann" not in taken.body.decode()
    missing = client.patch("/v1/colleagues/ann", {"bossId": "nobody"})
    assert "nobody" not in json.dumps(holds_no_secret(missing))
    has_children = client.delete(f"/v1/colleagues/{BOSS}")
    assert (has_children.status, "ann" in has_children.body.decode()) == (409, False)


def test_by_a_record_that_can_not_be_shown() -> None:
    class Stricter(Entity, token="wage", collection="wages"):
        colleague_id: str = unique_property()
        pay: int = private_property(lt=100)

    table = EmbeddedTable(SCHEMA.layout)
    Store(SCHEMA, table).create(Wage(colleague_id="ann", pay=PAY))
    answer = Client(api_of(Schema([Stricter], []), table=table)).get("/v1/wages/ann")
    assert holds_no_secret(answer)["type"].endswith("record_unreadable")


def test_by_the_revision_a_right_guess_changes_it_as_a_wrong_one_does(writer: Client) -> None:
    tags = [writer.get("/v1/colleagues/ann").headers["etag"]]
    for guess in (PAY, PAY, 1):
        answer = writer.patch("/v1/colleagues/ann", {"pay": guess})
        assert (answer.status, json_of(answer)) == (200, SHOWN)
        tags.append(answer.headers["etag"])
    assert len(set(tags)) == len(tags)


def test_by_a_number_since_a_change_would_tell_whether_a_guess_is_right() -> None:
    class Guessed(Entity, token="guessed"):
        guessed_id: str = unique_property()
        num: int = private_property(default=0)
        shelf: str = private_property(default="")
        rank: int = 0

        nums = Numbers("num")
        ranks = Numbers("rank", within="shelf")

    with pytest.raises(SchemaError) as caught:
        Schema([Guessed], [])
    assert [(each.where, each.message.split(" is ")[0]) for each in caught.value.faults] == [
        ("entity Guessed.nums", "num"),
        ("entity Guessed.ranks", "shelf"),
    ]


def test_the_description_has_them_where_they_are_written_alone(client: Client) -> None:
    document = json_of(client.get("/openapi.json"))
    schemas = document["components"]["schemas"]
    having = {name for name, each in schemas.items() if set(PRIVATE) & set(each.get("properties", {}))}
    assert having == {
        *("ColleagueWrite", "ColleaguePatch", "ColleagueAmounts"),
        *("WageWrite", "WagePatch", "WageAmounts", "Raised"),
    }
    assert all(schemas["ColleagueWrite"]["properties"][name]["writeOnly"] for name in PRIVATE)
    described = json.dumps(
        [document["paths"]["/v1/colleagues"]["get"], document["paths"]["/v1/colleagues/{key}"]["get"]]
    )
    assert not [name for name in (*PRIVATE, "byPay", "ofPay", "bestPaid") if name in described]


NAMES = st.sampled_from(["team", "name", "buddyId", "colleagueId", *PRIVATE, "boss_id", "file.text", "nosuch"])
VALUES = st.sampled_from(["red", "Ann", "ann", 1, True, "", "48", "sesame", "hidden"])
TESTS = st.sampled_from(["eq", "ne", "ge", "beginsWith", "contains", "exists"])
FILTERS = st.builds(lambda name, test, value: {"property": name, test: value}, NAMES, TESTS, VALUES)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "conditions": st.just({"team": "red"}) | st.dictionaries(NAMES, VALUES, max_size=2),
        "index": st.sampled_from(["byName", "whole", "byPay", "ofPay"]),
        "filter": FILTERS | FILTERS.map(lambda each: {"not": each}),
        "properties": st.lists(NAMES, min_size=1, max_size=2),
        "expand": st.lists(st.sampled_from(["buddy", "boss", "wearer", "bestPaid", "equal"]), max_size=2),
        "hydrate": st.booleans(),
        "stats": st.booleans(),
        "run": st.booleans(),
    },
)


@given(verb=st.sampled_from(["query", "count", "explain"]), query=QUERIES)
def test_whatever_is_asked_the_answer_holds_nothing_private(client: Client, verb: str, query: dict[str, Any]) -> None:
    answer = client.post(f"/v1/colleagues/{verb}", query)
    assert answer.status in (200, 400)
    holds_no_secret(answer)


def test_in_python_all_of_it_is_as_ever(writer: Client, table: EmbeddedTable) -> None:
    store = Store(SCHEMA, table)
    ann = store.get(Colleague, "ann")
    assert ann is not None
    assert (ann.pay, ann.badge, ann.boss_id, ann.file) == (PAY, BADGE, BOSS, {"text": FILE})
    assert [each.colleague_id for each in store.find_by(Colleague, "bossId", BOSS).items] == ["ann"]
    (related,) = store.expand([ann], "boss")
    assert related["boss"].colleague_id == BOSS
