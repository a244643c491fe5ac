"""Each index against the table, where an index shows too much, too little, or is only behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave.errors import Fault
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.sums import BUCKETS, Sums
from shardweave.table.operations import Describe, PageAnswer, Query, Scan
from tests.unit.doctor_world import Clinic


class Index:
    """The table, whose index `city` is read through `shown`, for so many reads."""

    def __init__(self, inner: Any, shown: Callable[[tuple[Any, ...]], tuple[Any, ...]], reads: int = 10**6) -> None:
        self._inner = inner
        self._shown = shown
        self._left = reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        answer = self._inner.run(operation, **options)
        if isinstance(operation, (Query, Scan)) and operation.index == "city" and self._left:
            self._left -= 1
            items = self._shown(answer.items)
            if isinstance(operation, Query):
                items = tuple(each for each in items if each[operation.hash_name] == operation.hash_value)
                items = tuple(each for each in items if each[operation.range_name] == operation.interval.low)
            return PageAnswer(items, len(items), len(items), answer.last_key, answer.units)
        return answer


def hidden(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item for item in items if item["customerId"] != "c1")


def doctor(world: Clinic, shown: Any, **options: Any) -> Doctor:
    return world.doctor(Index(world.inner, shown, **options))


def test_an_entry_that_an_index_lacks_is_named() -> None:
    world = Clinic()
    report = doctor(world, hidden).run()
    (finding,) = report.findings.all_named
    assert (finding.kind, finding.about, finding.key[1]) == ("index_entry_missing", "index city", "customerId#c1")
    assert report.code == 2


def test_an_entry_of_what_is_not_there_is_named() -> None:
    world = Clinic()
    item = dict(world.one("customer!", customerId="c1"))
    left = {**item, "rangeKey": "customerId#gone", "customerId": "gone"}

    def shown(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*items, left) if any(each["customerId"] == "c1" for each in items) else items

    (finding,) = doctor(world, shown).run().findings.all_named
    assert (finding.kind, finding.key[1]) == ("index_entry_left", "customerId#gone")


@pytest.mark.parametrize("reads", [1, 8, 20])
def test_an_index_that_is_behind_for_a_while_is_no_fault(reads: int) -> None:
    assert doctor(Clinic(), hidden, reads=reads).run().findings.counts == {}


def test_an_index_that_is_right_is_read_once() -> None:
    world = Clinic()
    world.table.calls.clear()
    world.examined()
    asked = [each for each in world.table.calls if isinstance(each, (Scan, Query)) and each.index == "city"]
    assert len(asked) == 8, "a page of each segment"


def test_an_index_that_is_still_being_filled_is_left_out() -> None:
    world = Clinic()
    table = Index(world.inner, hidden)
    assert Doctor(world.new_store(table).parts, world.clock, hidden=["city"]).run().findings.counts == {}  # type: ignore[arg-type]


def test_a_layout_that_differs_takes_a_person() -> None:
    world = Clinic()

    class Bare(Index):
        def run(self, operation: Any, **options: Any) -> Any:
            answer = super().run(operation, **options)
            if not isinstance(operation, Describe):
                return answer
            return type(answer)("t", "ACTIVE", (), {}, 80, 0)

    report = world.doctor(Bare(world.inner, lambda items: items)).run()
    assert report.layout == (Fault("index city", "the table does not have it.", "deploy this schema's stack"),)
    assert report.code == 2


def test_sums_of_two_sides_are_even_exactly_where_both_have_the_same() -> None:
    sums = Sums()
    things = [f"thing {number}" for number in range(500)]
    for thing in things:
        sums.add(thing, 2)
    assert len(sums.unequal) > BUCKETS / 2
    other = Sums(sums.encode())
    for thing in reversed(things):
        other.add(thing, -2)
    assert not other.unequal
    other.add("more", 1)
    assert len(other.unequal) == 1
    sums.merge(other)
    assert sums.unequal
