"""Every number of a query has a least and a greatest value, and a query of no branch is none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, InputError, LaneFailed, LimitExceeded, Throttled, ValueRefused
from shardweave.query.fanout import FanOut
from shardweave.query.spec import BranchSpec, Equal, QuerySpec
from shardweave.table.embedded import EmbeddedTable
from tests.unit.query_world import NOW, People


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    world = People()
    world.fill(3)
    yield world
    world.close()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("limit", 0),
        ("limit", 501),
        ("limit", True),
        ("limit", 2.0),
        ("limit", "5"),
        ("budget", 0),
        ("budget", 1_000_001),
        ("budget", "5"),
        ("time_limit_ms", 0),
        ("time_limit_ms", 3_600_001),
        ("time_limit_ms", 10**400),
        ("time_limit_ms", 1.5),
    ],
)
def test_a_number_outside_its_limits_is_refused(people: People, name: str, number: Any) -> None:
    spec = QuerySpec("person", index="first", **{name: number})
    for ask in (people.runner.run, people.runner.count, people.runner.explain):
        with pytest.raises(LimitExceeded):
            ask(spec)


@pytest.mark.parametrize(("name", "number"), [("limit", 500), ("budget", 1_000_000), ("time_limit_ms", 3_600_000)])
def test_the_greatest_is_taken(people: People, name: str, number: int) -> None:
    assert len(people.runner.run(QuerySpec("person", index="first", **{name: number})).items) == 3


@given(st.integers(), st.integers())
def test_any_time_window_is_answered(people: People, earliest: int, latest: int) -> None:
    spec = QuerySpec("person", index="first", earliest=earliest, latest=latest)
    if earliest > latest:
        with pytest.raises(ValueRefused, match="begins above its end"):
            people.runner.run(spec)
        return
    assert len(people.runner.run(spec).items) == (3 if earliest <= NOW <= latest else 0)


@pytest.mark.parametrize("throttle", [0, -1, 1001, True, 1.5])
def test_a_throttle_outside_its_limits_is_refused(people: People, throttle: Any) -> None:
    with pytest.raises(ConfigurationError, match="1 to 1000 reads"):
        FanOut(EmbeddedTable(people.schema.layout), throttle)


@pytest.mark.parametrize("more", [{}, {"index": "first"}, {"conditions": {"first": "x"}}])
def test_no_branch_is_not_every_record(people: People, more: dict[str, Any]) -> None:
    before = len(people.table.operations)
    for ask in (people.runner.run, people.runner.count, people.runner.explain):
        with pytest.raises(InputError):
            ask(QuerySpec("person", branches=(), **more))
    assert len(people.table.operations) == before
    assert len(people.runner.run(QuerySpec("person", branches=(BranchSpec(),), limit=3)).items) == 3


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"conditions": {"first": "x"}}, "conditions.first"),
        ({"conditions": ["first"]}, "conditions"),
        ({"conditions": {1: Equal("x")}}, "conditions"),
        ({"filter": {"property": "first", "eq": "x"}}, "filter"),
        ({"branches": (BranchSpec({"first": "x"}),)}, "branches[0].conditions.first"),  # type: ignore[dict-item]
        ({"branches": ({"index": "first"},)}, "branches"),
        ({"earliest": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, "earliest"),
        ({"latest": True}, "latest"),
        ({"reverse": "no"}, "reverse"),
        ({"hydrate": 1}, "hydrate"),
        ({"properties": "first"}, "properties"),
        ({"properties": (1,)}, "properties"),
        ({"properties": ()}, "properties"),
    ],
)
def test_a_part_of_another_type_is_refused_at_its_place(people: People, wrong: dict[str, Any], where: str) -> None:
    for ask in (people.runner.run, people.runner.count, people.runner.explain):
        with pytest.raises(InputError) as refused:
            ask(QuerySpec("person", **wrong))
        assert refused.value.where == where


def test_an_explanation_names_the_time_window(people: People) -> None:
    reasons = people.runner.explain(QuerySpec("person", index="first", earliest=5, latest=9)).reasons
    assert any("records made from 5 to 9 alone are given" in reason for reason in reasons)


def test_a_failed_lane_does_not_advise_what_was_done_or_has_no_meaning() -> None:
    assert "partial" in LaneFailed("lane", Throttled()).fix
    assert LaneFailed("lane", Throttled(), optional=False).fix == "try again"


def test_a_cursor_that_is_no_text_is_refused(people: People) -> None:
    cursor: Any = 5
    with pytest.raises(InputError, match="a cursor must be text"):
        people.runner.run(QuerySpec("person", index="first", cursor=cursor))
