"""What the tests of a filter take of each type, over HTTP and in Python; a filter and a condition mean the same.

Item    an Enum of texts whose order is not that of the texts, one of numbers, numbers, times, bytes, lists, sets
"""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from shardweave.errors import InputError
from shardweave.query.filters import compile_filter, filter_from_json
from shardweave.query.plan import plan_query
from shardweave.query.spec import QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import BeginsWith, Between, Compare, Condition, Contains, Exists, In, Size
from shardweave.values.codecs import DecimalCodec, SemanticVersion, Timestamp
from shardweave.wire.query_json import spec_from_json
from tests.unit.api_world import Client, api_of, json_of, problem_of


class Kind(enum.Enum):
    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Level(enum.IntEnum):
    ONE = 1
    THREE = 3
    NINE = 9


class Item(Entity, token="item"):
    """One thing of every type."""

    item_id: str = unique_property()
    created: Timestamp = timestamp_property()
    kind: Kind = Kind.LOW
    level: Level = Level.ONE
    number: int = 0
    price: Annotated[Decimal, DecimalCodec(2)] = Decimal(0)
    time: dt.datetime | None = None
    day: dt.date | None = None
    on: bool = False
    tags: list[str] = Field(default_factory=list)
    marks: set[str] = Field(default_factory=set)
    blob: bytes | None = None
    note: str | None = None
    release: SemanticVersion | None = None
    length: dt.timedelta | None = None
    opens: dt.time | None = None
    either: int | str | None = None

    kind_range_key = RangeKey("kind", "created")
    level_range_key = RangeKey("level", "created")
    number_range_key = RangeKey("number", "created")
    price_range_key = RangeKey("price", "created")
    time_range_key = RangeKey("time", "created")


INDEXED = ("kind", "level", "number", "price", "time")
SCHEMA = Schema([Item], [Index(name, "hash_key", f"{name}_range_key") for name in INDEXED])
ITEMS: list[dict[str, Any]] = [
    {"kind": "low", "level": 1, "number": 1, "price": "1.5", "time": "2024-01-01T00:00:00Z", "blob": "aGVsbG8=",
     "release": "1.9.0", "length": "PT9H", "opens": "09:00:00Z"},
    {"kind": "mid", "level": 3, "number": 50, "price": "2.25", "time": "2024-06-01T12:00:00Z", "tags": ["a", "b"],
     "release": "1.10.0-beta.2", "length": "PT10H", "opens": "10:00:00+02:00"},
    {"kind": "high", "level": 9, "number": 51, "price": "9.99", "time": "2025-01-01T00:00:00Z", "marks": ["x"],
     "release": "1.10.0", "length": "P1D", "opens": "09:00:00"},
]  # fmt: skip


@pytest.fixture(scope="module")
def client() -> Client:
    made = Client(api_of(SCHEMA))
    for number, item in enumerate(ITEMS):
        answer = made.post("/v1/items", item | {"itemId": str(number), "note": "ab"[: number + 1]})
        assert answer.status == 201, answer.body
    return made


def found(client: Client, **asked: Any) -> str:
    """The ids, in one text."""
    answer = client.post("/v1/items/query", {"index": "number"} | asked)
    assert answer.status == 200, answer.body
    assert json_of(client.post("/v1/items/count", {"index": "number"} | asked)) == {
        "count": len(json_of(answer)["items"])
    }
    return "".join(item["itemId"] for item in json_of(answer)["items"])


@pytest.mark.parametrize(
    ("test", "ids"),
    [
        ({"property": "blob", "eq": "aGVsbG8="}, "0"),
        ({"property": "blob", "ne": "aGVsbG8="}, "12"),
        ({"property": "blob", "in": ["aGVsbG8=", "AAAA"]}, "0"),
        ({"property": "blob", "begins_with": "aGVs"}, "0"),
        ({"property": "blob", "contains": "bGw="}, "0"),
        ({"property": "blob", "gt": "aGVs"}, "0"),
        ({"property": "blob", "size": {"eq": 5}}, "0"),
        ({"property": "kind", "gt": "low"}, "12"),
        ({"property": "kind", "ge": "mid"}, "12"),
        ({"property": "kind", "lt": "mid"}, "0"),
        ({"property": "kind", "gt": "high"}, ""),
        ({"property": "kind", "between": ["low", "mid"]}, "01"),
        ({"not": {"property": "kind", "le": "low"}}, "12"),
        ({"property": "kind", "begins_with": "h"}, "2"),
        ({"property": "level", "gt": 5}, "2"),
        ({"property": "level", "between": [2, 4.5]}, "1"),
        ({"property": "number", "lt": 50.5}, "01"),
        ({"property": "number", "ge": 50.5}, "2"),
        ({"property": "price", "gt": "2.249"}, "12"),
        ({"property": "price", "le": 2.25}, "01"),
        ({"property": "time", "ge": "2024-06-01"}, "12"),
        ({"property": "time", "lt": "2024-06-01"}, "0"),
        ({"property": "time", "begins_with": "2024-06"}, "1"),
        ({"property": "time", "begins_with": "2024-06-01T12:00:00Z"}, "1"),
        ({"property": "time", "begins_with": "2024-06-01T14:00:00+02:00"}, "1"),
        ({"property": "created", "ge": "2024-10-01"}, "012"),
        ({"property": "tags", "contains": "b"}, "1"),
        ({"property": "tags", "size": {"gt": 1}}, "1"),
        ({"property": "tags", "exists": True}, "012"),
        ({"property": "marks", "exists": True}, "012"),
        ({"property": "marks", "exists": False}, ""),
        ({"property": "marks", "size": {"eq": 0}}, "01"),
        ({"property": "marks", "size": {"lt": 9}}, "012"),
        ({"property": "marks", "size": {"ne": 0}}, "2"),
        ({"property": "marks", "contains": "x"}, "2"),
        ({"property": "note", "lt": "ab"}, "0"),
        ({"property": "release", "lt": "1.10.0"}, "01"),
        ({"property": "release", "between": ["1.10.0-beta.1", "1.10.0"]}, "12"),
        ({"property": "release", "begins_with": "1.1"}, "12"),
        ({"not": {"property": "release", "gt": "1.9.0"}}, "0"),
        ({"property": "length", "gt": "PT9H"}, "12"),
        ({"property": "length", "eq": "PT24H"}, "2"),
        ({"property": "opens", "eq": "08:00:00Z"}, "1"),
        ({"property": "opens", "in": ["11:00:00+02:00", "09:00:00"]}, "02"),
        ({"property": "opens", "le": "09:00:00Z"}, "01"),
        ({"and": [{"property": "release", "ge": "1.9.0"}, {"property": "number", "lt": 51}]}, "01"),
        ({"property": "on", "eq": False}, "012"),
        ({"property": "on", "le": False}, "012"),
        ({"property": "on", "gt": False}, ""),
    ],
)
def test_a_filter_means_what_the_type_means(client: Client, test: dict[str, Any], ids: str) -> None:
    assert found(client, filter=test) == ids


@pytest.mark.parametrize(
    ("test", "place"),
    [
        ({"property": "blob", "eq": "hello"}, "eq"),
        ({"property": "blob", "begins_with": "h"}, "begins_with"),
        ({"property": "kind", "gt": "some"}, "gt"),
        ({"property": "kind", "between": ["high", "low"]}, "between"),
        ({"property": "number", "begins_with": "5"}, "begins_with"),
        ({"property": "number", "contains": "5"}, "contains"),
        ({"property": "number", "size": {"gt": 1}}, "size"),
        ({"property": "number", "eq": True}, "eq"),
        ({"property": "number", "between": [2, 1]}, "between"),
        ({"property": "number", "eq": 1.5}, "eq"),
        ({"property": "on", "gt": 1}, "gt"),
        ({"property": "release", "gt": "1.10"}, "gt"),
        ({"property": "release", "between": ["1.10.0", "1.9.0"]}, "between"),
        ({"property": "length", "between": ["P1D", "PT9H"]}, "between"),
        ({"property": "length", "begins_with": "P"}, "begins_with"),
        ({"property": "opens", "between": ["09:00:00", "10:00:00Z"]}, "between"),
        ({"property": "opens", "gt": "soon"}, "gt"),
        ({"property": "tags", "gt": "a"}, "gt"),
        ({"property": "on", "size": {"gt": 1}}, "size"),
        ({"property": "tags", "begins_with": "a"}, "begins_with"),
        ({"property": "tags", "contains": 5}, "contains"),
        ({"property": "note", "between": ["b", "a"]}, "between"),
        ({"property": "time", "gt": "soon"}, "gt"),
        ({"property": "created", "gt": 1_700_000_000}, "gt"),
        ({"property": "nosuch", "gt": 1}, "property"),
        ({"property": "marks", "eq": ["a"]}, "eq"),
        ({"property": "marks", "in": [["a"]]}, "in"),
    ],
)
@pytest.mark.parametrize("branches", [False, True])
def test_what_a_type_has_not_is_refused_at_its_place(
    client: Client, test: dict[str, Any], place: str, branches: bool
) -> None:
    inside = {"and": [{"property": "note", "exists": True}, test]}
    asked = (
        {"branches": [{"index": "number"}, {"index": "level", "filter": inside}]} if branches else {"filter": inside}
    )
    answer = client.post("/v1/items/query", asked)
    start = "branches[1].filter" if branches else "filter"
    problem = problem_of(answer, 400, answer.headers and json_of(answer)["type"].rpartition(":")[2])
    places = {problem.get("where"), *(fault["where"] for fault in problem.get("errors", ()))}
    assert {each for each in places if each and each.startswith(f"{start}.and[1].{place}")}, problem


@given(
    st.sampled_from(INDEXED).flatmap(
        lambda name: st.tuples(
            st.just(name),
            st.lists(
                {
                    "kind": st.sampled_from([each.value for each in Kind]),
                    "level": st.integers(0, 10) | st.sampled_from([0.5, 1.5, 9.5]),
                    "number": st.integers(0, 60) | st.sampled_from([49.5, 50.5]),
                    "price": st.sampled_from(["0", "1.499", "1.5", "2.251", "100"]),
                    "time": st.sampled_from(["2024-01-01", "2024-06-01T12:00:00Z", "2024-12-31", "2030-01-01"]),
                }[name],
                min_size=2,
                max_size=2,
            ),
        )
    ),
    st.sampled_from(["ge", "le", "between"]),
)
def test_an_order_test_and_a_range_choose_the_same(client: Client, asked: tuple[str, list[Any]], test: str) -> None:
    name, (low, high) = asked
    condition = {"ge": {"from": low}, "le": {"to": high}, "between": {"from": low, "to": high}}[test]
    value = {"ge": low, "le": high, "between": [low, high]}[test]
    ranged = client.post("/v1/items/query", {"conditions": {name: condition}})
    filtered = client.post("/v1/items/query", {"index": name, "filter": {"property": name, test: value}})
    assert ranged.status == filtered.status, (ranged.body, filtered.body)
    if ranged.status == 200:
        assert json_of(ranged)["items"] == json_of(filtered)["items"]
    else:
        assert test == "between"
        problem_of(ranged, 400, "value_refused")
        problem_of(filtered, 400, "value_refused")


@pytest.mark.parametrize(
    ("node", "item", "answer"),
    [
        (Compare("kind", ">", "low"), {"kind": "high"}, True),
        (Compare("kind", ">", "mid"), {"kind": "low"}, False),
        (Compare("level", "<", 5), {"level": 3}, True),
        (Compare("number", "<", Decimal("50.5")), {"number": 50}, True),
        (Compare("blob", "=", b"hello"), {"blob": b"hello"}, True),
        (BeginsWith("blob", b"he"), {"blob": b"hello"}, True),
        (Contains("tags", "a"), {"tags": ["a"]}, True),
        (Exists("marks"), {}, True),
        (Size("marks", "=", 0), {}, True),
    ],
)
def test_filters_in_python_take_the_property_s_own_type(node: Condition, item: dict[str, Any], answer: bool) -> None:
    entity = SCHEMA[Item]
    compiled = compile_filter(entity, entity.view("time"), [(node, "filter")])
    assert compiled.evaluate(item) is answer


@pytest.mark.parametrize(
    ("low", "high", "fix"),
    [
        (1, "a", "two numbers"),
        ("b", "a", "swap"),
        (2, 1, "swap"),
    ],
)
def test_bounds_are_told_what_is_wrong_with_them(low: Any, high: Any, fix: str) -> None:
    entity = SCHEMA[Item]
    with pytest.raises(InputError, match=fix):
        compile_filter(entity, entity.view("time"), [(Between("either", low, high), "filter")])


def test_times_of_day_with_and_without_a_zone_have_no_order() -> None:
    entity, noon, one = SCHEMA[Item], dt.time(12), dt.time(1)
    for low, high, fix in ((noon, one.replace(tzinfo=dt.UTC), "with a zone"), (noon, one, "swap")):
        with pytest.raises(InputError, match=fix):
            compile_filter(entity, entity.view("time"), [(Between("opens", low, high), "filter")])


def test_a_whole_set_in_json_is_told_what_to_use(client: Client) -> None:
    answer = client.post("/v1/items/query", {"filter": {"property": "marks", "eq": ["a"]}})
    problem = problem_of(answer, 400, "invalid_input")
    assert "contains" in problem["fix"]
    assert "Python" in problem["fix"]


@pytest.mark.parametrize("name", ["note", "blob", "either", "tags"])
def test_what_has_no_value_has_no_size(name: str) -> None:
    item = {"itemId": "0", "created": 1}
    for test, holds in (("eq", False), ("ne", True), ("lt", False), ("ge", False)):
        entity, wanted = SCHEMA[Item], holds if name != "tags" else test in ("ne", "lt")
        node = filter_from_json({"property": name, "size": {test: 3}})
        assert compile_filter(entity, entity.view("time"), [(node, "filter")]).evaluate(item) is wanted, test


@pytest.mark.parametrize("name", ["length", "time", "day", "opens"])
@pytest.mark.parametrize("number", [5, 0.5, Decimal(5)])
def test_a_number_is_no_time_in_python_either(client: Client, name: str, number: Any) -> None:
    entity = SCHEMA[Item]
    for node in (Compare(name, "=", number), Compare(name, "<", number), In(name, (number,))):
        with pytest.raises(InputError, match="not a number"):
            compile_filter(entity, entity.view("time"), [(node, "filter")])
    if name != "opens":
        test = {"property": name, "lt": 5}
        assert client.post("/v1/items/query", {"filter": test}).status == 400


@pytest.mark.parametrize(
    "node", [Compare("number", "=", True), Contains("tags", 5), BeginsWith("blob", "he"), Size("on", "=", 1)]
)
def test_filters_in_python_are_refused_alike(node: Condition) -> None:
    entity = SCHEMA[Item]
    with pytest.raises(InputError) as refused:
        compile_filter(entity, entity.view("time"), [(node, "filter")])
    assert refused.value.where.startswith("filter.")


def test_a_set_is_the_same_set_in_the_cursors_of_every_process() -> None:
    class Bag(Entity, token="bag"):
        bag_id: str = unique_property()
        sizes: set[int]

    schema = Schema([Bag])
    one, other = {0, 8}, {8, 0}
    assert repr(one) != repr(other), "they are equal, and were filled in another order"
    specs = [QuerySpec("bag", filter=Compare("sizes", "=", sizes)) for sizes in (one, other, {0, 9})]
    prints = [plan_query(schema, spec, [schema[Bag].shard_map], 0).fingerprint for spec in specs]
    assert prints[0] == prints[1] != prints[2]


def test_a_date_is_its_midnight_in_utc_in_every_form(client: Client) -> None:
    spec = spec_from_json(SCHEMA[Item], {"conditions": {"time": {"from": "2024-06-01"}}})
    assert spec.conditions["time"] == Range(dt.datetime(2024, 6, 1, tzinfo=dt.UTC))
    assert [each["itemId"] for each in json_of(client.get("/v1/items?time.from=2024-06-01"))["items"]] == ["1", "2"]
    assert [each["itemId"] for each in json_of(client.get("/v1/items?number.from=50.5"))["items"]] == ["2"]
    assert problem_of(client.get("/v1/items?number.from=2&number.to=1"), 400, "value_refused")["where"] == "number"
