"""Filters that reach into maps and lists: what a path finds, what its tests take, and what is no path."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from typing_extensions import TypedDict

from shardweave import Database, Entity, Index, Schema, errors, private_property, unique_property, where
from shardweave.query.spec import QuerySpec
from shardweave.table.conditions import Compare, Condition
from shardweave.wire.query_json import spec_from_json
from tests.unit.api_world import Client, api_of, json_of, problem_of


class Grade(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Maker(TypedDict):
    name: str
    since: int


class Car(Entity, token="car"):
    car_id: str = unique_property()
    number: int = 0
    meta: dict[str, Any] = Field(default={})
    prices: dict[str, Decimal] | None = None
    lines: list[dict[str, Any]] | None = None
    grades: dict[str, Grade] = Field(default={})
    days: list[dt.date] = Field(default=[])
    pair: tuple[str, int] | None = None
    maker: Maker | None = None
    tags: set[str] = Field(default=set())
    title: str = ""
    box: dict[str, Any] = Field(default={"size": 3})
    secret: dict[str, Any] = private_property(default={})


SCHEMA = Schema(
    [Car], [Index("byNumber", "hash_key", "number"), Index("thin", "hash_key", "title", projection=["meta"])]
)
CARS: tuple[dict[str, Any], ...] = (
    {"meta": {"color": "red", "size": {"doors": 2}}, "prices": {"new": "9.50"}, "title": "a"},
    {"meta": {"color": "blue", "0": "zero"}, "lines": [{"sku": "x"}, {"sku": "y", "n": 2}], "title": "b"},
    {"meta": {"color": None, "list": [1, [2, 3]]}, "grades": {"brake": "bad"}, "days": ["2024-05-01"], "title": "c"},
    {"pair": ["p", 7], "maker": {"name": "Wu", "since": 1990}, "box": {"size": 5}, "lines": [], "title": "d"},
    {"meta": {"color": 5}, "prices": {"new": "12"}, "lines": [{}], "grades": {"brake": "good"}, "title": "e"},
)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with Database(SCHEMA) as made:
        for number, values in enumerate(CARS):
            made.create(Car.model_validate({"carId": f"c{number}", "number": number, **values}))
        yield made


def found(db: Database, test: Condition, **more: Any) -> str:
    return "".join(str(each.number) for each in db.records(Car, index="byNumber", filter=test, **more))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (where("meta.color") == "red", "0"),
        (where("meta.color") != "red", "1234"),
        (where("meta.color").exists(), "014"),
        (where("meta.color").missing(), "23"),
        (where("meta.size.doors") > 1, "0"),
        (where("meta.0") == "zero", "1"),
        (where("meta.list.1.0") == 2, "2"),
        (where("meta.list.1.9").exists(), ""),
        (where("meta.list").size(">", 1), "2"),
        (where("meta.list").contains(1), "2"),
        (where("lines.0.sku") == "x", "1"),
        (where("lines.1.sku").begins_with("y"), "1"),
        (where("lines.0").exists(), "14"),
        (where("prices.new") < Decimal(10), "0"),
        (where("prices.new").between(Decimal("9.5"), Decimal(12)), "04"),
        (where("prices.new").one_of(Decimal("12.0"), Decimal(1)), "4"),
        (where("grades.brake") == Grade.BAD, "2"),
        (where("grades.brake") > Grade.GOOD, "2"),
        (where("days.0") >= dt.date(2024, 1, 1), "2"),
        (where("pair.1") == 7, "3"),
        (where("maker.since").between(1980, 1999), "3"),
        (where("box.size") == 3, "0124"),
        ((where("meta.color") == "red") | (where("lines.0.sku") == "x"), "01"),
        (~(where("meta.color") == "red") & (where("number") < 3), "12"),
    ],
)
def test_a_path_finds_what_stands_there(db: Database, test: Condition, expected: str) -> None:
    assert found(db, test) == expected
    assert db.count(Car, index="byNumber", filter=test) == len(expected)


@pytest.mark.parametrize(
    ("path", "said", "fix"),
    [
        ("tags.0", "tags has nothing at '0'", "end the path at tags, which has no members"),
        ("title.x", "title has nothing at 'x'", "end the path at title, which has no members"),
        ("days.x", "days has nothing at 'x'", "a place in the list, which count from 0"),
        ("days.-1", "days has nothing at '-1'", "a place in the list"),
        ("days.01", "days has nothing at '01'", "a place in the list"),
        ("pair.2", "pair has nothing at '2'", "a place in the list"),
        ("maker.age", "maker has nothing at 'age'", "use one of "),
        ("prices.new.x", "prices.new has nothing at 'x'", "end the path at prices.new"),
        ("meta.", "meta has nothing at ''", "a key of the map"),
        ("meta..color", "meta has nothing at ''", "a key of the map"),
        ("nothing.x", "no property 'nothing'", "use one of "),
        (".meta", "no property ''", "use one of "),
    ],
)
def test_a_path_to_nothing_is_an_unknown_name_and_the_known_ones_are_listed(
    db: Database, path: str, said: str, fix: str
) -> None:
    for test in (where(path) == "x", where(path).exists()):
        with pytest.raises(errors.UnknownName, match=said.replace("(", r"\(")) as refused:
            found(db, test)
        assert refused.value.where == "filter.property"
        assert fix in refused.value.fix


def test_a_path_of_many_steps_is_beyond_the_limit(db: Database) -> None:
    with pytest.raises(errors.LimitExceeded, match="at most 32 steps"):
        found(db, where("meta" + ".x" * 33) == "x")


@pytest.mark.parametrize(
    "test",
    [
        where("prices.new") == "cheap",
        where("prices.new").begins_with("9"),
        where("grades.brake") == "worst",
        where("pair.1") == "seven",
        where("days.0") < 5,
    ],
)
def test_a_value_that_can_t_stand_there_is_refused(db: Database, test: Condition) -> None:
    with pytest.raises(errors.InputError) as refused:
        found(db, test)
    assert refused.value.where.startswith("filter.")


def test_an_index_has_to_project_the_property(db: Database) -> None:
    assert found(db, where("meta.color") == "red")
    assert [each.car_id for each in db.records(Car, index="thin", filter=where("meta.color") == "red")] == ["c0"]
    with pytest.raises(errors.UnsupportedQuery, match="does not project lines"):
        db.query(Car, index="thin", filter=where("lines.0.sku") == "x")


def test_a_token_belongs_to_the_path_that_was_asked(db: Database) -> None:
    page = db.query(Car, index="byNumber", filter=where("meta.color") != "red", limit=1)
    for other in (where("meta.size") != "red", where("meta.color.x") != "red", where("meta") != {}):
        with pytest.raises(errors.CursorMismatch):
            db.query(Car, index="byNumber", filter=other, next_token=page.next_token)


def test_an_explanation_shows_it_as_it_was_asked(db: Database) -> None:
    explanation = db.explain(Car, index="byNumber", filter=(where("meta.color") == "red") & (where("number") > 0))
    assert explanation.filter_here == (
        {"and": [{"property": "meta.color", "eq": "red"}, {"property": "number", "gt": 0}]},
    )


def test_over_http_values_are_read_by_their_types() -> None:
    client = Client(api_of(SCHEMA))
    for number, values in enumerate(CARS):
        assert client.post("/v1/cars", {"carId": f"c{number}", "number": number, **values}).status == 201

    def ask(test: dict[str, Any], verb: str = "query") -> Any:
        return client.post(f"/v1/cars/{verb}", {"index": "byNumber", "filter": test})

    for test, expected in (
        ({"property": "meta.color", "eq": "red"}, ["c0"]),
        ({"property": "prices.new", "lt": "10"}, ["c0"]),
        ({"property": "grades.brake", "eq": "bad"}, ["c2"]),
        ({"property": "days.0", "ge": "2024-01-01"}, ["c2"]),
        ({"not": {"property": "lines.0", "exists": False}}, ["c1", "c4"]),
        ({"property": "meta.list", "contains": 1}, ["c2"]),
    ):
        assert [each["carId"] for each in json_of(ask(test))["items"]] == expected
        assert json_of(ask(test, "count"))["count"] == len(expected)
    problem = problem_of(ask({"property": "title.x", "eq": 1}), 400, "unknown_name")
    assert problem["where"] == "filter.property"
    for hidden in ("secret", "secret.x"):
        problem_of(ask({"property": hidden, "exists": True}), 400, "unknown_name")


JSON = st.recursive(
    st.integers(-3, 3) | st.sampled_from(["a", "b", ""]) | st.none() | st.booleans(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), parts, max_size=3),
    max_leaves=8,
)


def reached(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def kind(value: Any) -> type:
    return type(value)


@given(
    stored=st.dictionaries(st.sampled_from(["a", "b", "0"]), JSON, max_size=3),
    steps=st.lists(st.sampled_from(["a", "b", "0", "1"]), min_size=1, max_size=4),
    operator=st.sampled_from(["=", "<>", "<", ">="]),
    value=st.integers(-3, 3) | st.sampled_from(["a", "b", ""]),
)
def test_a_test_is_python_s_own_of_what_a_walk_reaches(
    stored: dict[str, Any], steps: list[str], operator: Any, value: Any
) -> None:
    entity = SCHEMA["car"]
    asked = Compare(".".join(["meta", *steps]), operator, value)
    item = entity.complete(entity.dump(Car(car_id="c", meta=stored, title="t")))
    here = reached(stored, steps)
    same = kind(here) is kind(value)
    expected = {
        "=": same and here == value,
        "<>": not (same and here == value),
        "<": same and here < value,
        ">=": same and here >= value,
    }[operator]
    assert compiled(asked).evaluate(item) == expected


def compiled(asked: Condition) -> Any:
    from shardweave.query.plan import plan_query

    plan = plan_query(SCHEMA, QuerySpec("car", index="byNumber", filter=asked), [SCHEMA["car"].shard_map], 0)
    return plan.branches[0].filter


def test_json_and_python_are_the_same_filter() -> None:
    document = {"index": "byNumber", "filter": {"property": "lines.0.sku", "eq": "x"}}
    assert spec_from_json(SCHEMA["car"], document).filter == (where("lines.0.sku") == "x")
