"""What docs/changing-a-schema.md refuses since it moves records: each as an evolution, with both declarations in use.

Each row of the table is made by declaring the new entity beside the old one; the program of the old declaration is not
changed, and reads and writes until `finish` as if it were alone.
"""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.errors import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    NotFound,
    ReshardRefused,
    ShardweaveError,
)
from shardweave.schema.old_mapping import forms_given
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Script, SimulatedTable
from shardweave.table.operations import TransactWrite
from tests.unit.evolution_world import OLD, ROWS, EvolutionWorld, Row, order_class

RECORDS = 9
IDS = [f"o{number}" for number in range(RECORDS)]


def filled(name: str, **options: Any) -> EvolutionWorld:
    made = EvolutionWorld(ROWS[name], **options)
    for number in range(RECORDS):
        made.old_store.create(made.values(number), made.old_model)
    return made


def both(name: str) -> EvolutionWorld:
    """A world in which programs of both declarations write."""
    made = filled(name)
    made.rekey().start()
    made.run()
    made.rekey().switch()
    return made


@pytest.mark.parametrize("name", ROWS)
def test_every_record_is_readable_by_both_declarations_until_the_end(name: str) -> None:
    made = filled(name)
    made.rekey().start()
    assert made.run().passes["bring"].written == RECORDS
    assert made.listed(old=True) == IDS
    made.rekey().switch()
    assert made.listed() == made.listed(old=True) == IDS
    assert [made.read(number).total for number in range(RECORDS)] == list(range(RECORDS))
    made.run()
    made.rekey().finish()
    assert made.listed() == IDS
    assert made.run().state == ""
    assert made.listed() == IDS
    assert made.old_keys() == []
    assert made.new_store(forms=False).get(made.model, made.key(3)).total == 3  # type: ignore[union-attr]
    assert made.faults() == {}


@pytest.mark.parametrize("name", ROWS)
def test_what_one_declaration_writes_the_other_reads(name: str) -> None:
    made = both(name)
    store = made.store
    store.update(made.model, made.key(1), {"total": 50, "state": "paid"})
    store.delete(made.model, made.key(2))
    store.create(made.values(20), made.model)
    assert (made.read_old(1).total, made.read_old(1).state) == (50, "paid")
    assert made.read_old(2) is None
    assert made.read_old(20).total == 20
    made.old_store.update(made.old_model, made.key(3, old=True), {"total": 70})
    made.old_store.delete(made.old_model, made.key(4, old=True))
    made.old_store.create(made.values(21), made.old_model)
    with pytest.raises(AlreadyExists):
        store.create(made.values(21), made.model)
    with pytest.raises(NotFound):
        store.update(made.model, made.key(4), {"total": 1})
    assert store.update(made.model, made.key(3), {"state": "sent"}).total == 70  # type: ignore[attr-defined]
    made.run()
    assert (made.read(3).total, made.read(3).state, made.read_old(3).state) == (70, "sent", "sent")
    assert made.read(21).total == 21
    assert made.listed() == made.listed(old=True)
    assert made.is_equal()
    assert made.faults() == {}


@pytest.mark.parametrize("name", ROWS)
def test_it_is_taken_back_at_any_time_before_it_is_finished(name: str) -> None:
    made = both(name)
    made.store.update(made.model, made.key(1), {"total": 50})
    made.rekey().back()
    with pytest.raises(ReshardRefused):
        made.store.update(made.model, made.key(1), {"total": 51})
    assert made.read_old(1).total == 50
    made.old_store.update(made.old_model, made.key(2, old=True), {"total": 60})
    made.run()
    made.rekey().switch()
    assert (made.read(1).total, made.read(2).total) == (50, 60)
    made.rekey().back()
    before = made.old_items()
    made.rekey().abort()
    assert made.run().state == ""
    assert made.records() == []
    assert made.old_items() == before
    assert made.listed(old=True) == IDS
    assert made.faults() == {}


@pytest.mark.parametrize("name", ROWS)
def test_finish_is_refused_while_the_two_differ(name: str) -> None:
    made = both(name)
    made.old_store.update(made.old_model, made.key(1, old=True), {"total": 5})
    with pytest.raises(Conflict):
        made.rekey().finish()
    made.run()
    made.rekey().finish()
    with pytest.raises(Conflict):
        made.rekey().back()
    assert made.run().state == ""
    assert made.read(1).total == 5


@pytest.mark.parametrize("crash", [1, 4, 9, 15, 22])
@pytest.mark.parametrize("name", ROWS)
def test_a_run_that_dies_is_repeated(name: str, crash: int) -> None:
    made = filled(name)
    made.rekey().start()
    script = Script(matching=WRITES)
    script._left = [None] * crash + [Crash(carried_out=crash % 2 == 0)]
    with suppress(Crashed):
        made.run(table=SimulatedTable(made.inner, script), page=2)
    assert made.run().done
    assert made.is_equal()
    assert made.listed(old=True) == IDS


def test_an_item_that_is_changed_whenever_it_is_brought_in_stops_the_switch() -> None:
    made = filled("token")
    made.rekey().start()
    totals = itertools.count(100)

    class Busy(SimulatedTable):
        """The old program changes a record before each transaction of the run."""

        def run(self, operation: Any, **options: Any) -> Any:
            if isinstance(operation, TransactWrite):
                made.old_store.update(made.old_model, made.key(1, old=True), {"total": next(totals)})
            return super().run(operation, **options)

    assert made.run(table=Busy(made.inner, Script())).passes["bring"].changed == 1
    with pytest.raises(Conflict, match="kept being changed"):
        made.rekey().switch()
    made.run()
    made.rekey().switch()


def act(made: EvolutionWorld, drawn: random.Random, number: int, old: bool) -> None:
    """One write of a program of one declaration."""
    store, model = (made.old_store, made.old_model) if old else (made.store, made.model)
    key, total = made.key(number, old=old), drawn.randrange(100)
    kind = drawn.randrange(4)
    if kind == 0:
        store.delete(model, key)
    elif kind == 1:
        store.create(made.values(number, total=total, created=made.now), model)
    else:
        store.update(model, key, {"total": total, "state": drawn.choice(["open", "paid"])})


@pytest.mark.parametrize("name", ROWS)
@given(seed=st.integers(0, 2**32), turns=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=25))
@settings(max_examples=6, deadline=None)
def test_any_turns_of_both_end_equal(name: str, seed: int, turns: list[tuple[bool, int]]) -> None:
    made, drawn = both(name), random.Random(seed)
    for old, number in turns:
        with suppress(ShardweaveError):
            act(made, drawn, number, old)
        made.now += 1
    report = made.run()
    assert (report.refused, report.differing) == (0, 0)
    assert made.is_equal()
    assert made.listed() == made.listed(old=True)
    assert made.faults() == {}


def test_one_token_for_both_is_refused() -> None:
    old, new = (Schema([order_class(OLD, **options)]) for options in ({}, {"shard_by": "customer_id"}))
    with pytest.raises(ConfigurationError, match="one token"):
        forms_given(new, {OLD: old[OLD]})


def test_a_new_declaration_under_which_an_old_id_may_change_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="identifies the old items"):
        EvolutionWorld(Row({"sort": ("order_id", "state")}, {}))
