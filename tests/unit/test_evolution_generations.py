"""An old declaration whose records are in several generations of shards: an id is one record's, whichever generation an
old program has put it into."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardweave.errors import AlreadyExists
from shardweave.keys.sharding import ShardBump
from shardweave.store.operations import Create
from tests.unit.evolution_world import FOUR, EvolutionWorld, Row
from tests.unit.rekey_world import NOW

SIXTEEN_LATER = (*FOUR, ShardBump(NOW - 3, char_bits=2, chars=2))
EARLIER, LATER = {"created": NOW - 5}, {"created": NOW - 1}


def evolving() -> EvolutionWorld:
    made = EvolutionWorld(Row({"bumps": SIXTEEN_LATER}, {}))
    for number in range(9):
        made.old_store.create(made.values(number), made.old_model)
    made.rekey().start()
    made.run()
    made.rekey().switch()
    return made


WAYS: dict[str, Callable[[EvolutionWorld, dict[str, object]], object]] = {
    "create": lambda made, values: made.store.create(values, made.model),
    "transaction": lambda made, values: made.store.transact([Create(values, made.model)]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("theirs", "ours"), [(EARLIER, LATER), (LATER, EARLIER), (LATER, LATER)])
def test_an_id_of_an_old_item_in_any_generation_is_taken(
    way: str, theirs: dict[str, int], ours: dict[str, int]
) -> None:
    made = evolving()
    made.old_store.create(made.values(50, total=7, **theirs), made.old_model)
    with pytest.raises(AlreadyExists):
        WAYS[way](made, made.values(50, total=8, **ours))
    assert made.read(50).total == made.read_old(50).total == 7
    made.run()
    assert made.faults() == {}


def test_a_put_replaces_the_record_that_an_old_program_has_just_created() -> None:
    made = evolving()
    made.old_store.create(made.values(50, total=7, **LATER), made.old_model)
    made.store.put(made.values(50, total=8, **LATER), made.model)
    assert made.read(50).total == made.read_old(50).total == 8


def test_ids_that_nobody_has_are_created_in_both_forms() -> None:
    made = evolving()
    for number, when in ((50, EARLIER), (51, LATER)):
        made.store.create(made.values(number, **when), made.model)
        assert made.read_old(number).total == number
    made.run()
    made.rekey().finish()
    made.run()
    assert made.old_keys() == []
    assert len(made.listed()) == 11
    assert made.faults() == {}
