"""What other consumers of the stream are given while records move: each change of a record, once, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.control import control_key
from shardweave.reshard.phases import Phase, ReshardState
from shardweave.reshard.stream_filter import Authoritative
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.entity_type import MARK
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.stream_operations import StreamRecord
from shardweave.values.codecs import Timestamp

MINUTE = 60_000
FLIP = 1_700_000_000_000
ONLY = FLIP + 60 * MINUTE


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 1, 1)]):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()


SCHEMA = Schema([Thing], [])
THING = SCHEMA[Thing]
OLD, NEW = ShardMap.of_bumps((ShardBump(0, 1, 1),)), ShardMap.of_bumps((ShardBump(0, 1, 2),), 1, 1)
MOVING = ReshardState(1, OLD, NEW)
CONTROLS = {
    "before": None,
    "dual_old": replace(MOVING, phase=Phase.DUAL_OLD),
    "dual_new": replace(MOVING, phase=Phase.DUAL_NEW),
    "new_only": replace(MOVING, phase=Phase.NEW_ONLY, only_ms=ONLY),
    "purge": replace(MOVING, phase=Phase.PURGE, only_ms=ONLY),
    "ended": ReshardState(1, NEW, former=OLD, only_ms=ONLY, absorbed_until=0),
    "aborted": ReshardState(1, OLD),
}


def passes(control: ReshardState | None, hash_key: str, at_ms: int, old: Any = None, new: Any = None) -> bool:
    key = {"hashKey": hash_key, "rangeKey": "thingId#a"}
    event = "REMOVE" if new is None else "INSERT" if old is None else "MODIFY"
    change = StreamRecord(event, key, old, new, "1", "1", at_ms / 1000)
    return Authoritative(SCHEMA, lambda entity: control, lease_ms=10_000).lets_through(change)


WRITE = {"rev": "r"}
COUNTS = {
    "before": (True, False),
    "dual_old": (True, False),
    "dual_new": (True, False),
    "new_only": (False, True),
    "purge": (False, True),
    "ended": (False, True),
    "aborted": (True, False),
}


@pytest.mark.parametrize("when", CONTROLS)
def test_of_the_two_copies_one_counts(when: str) -> None:
    now = ONLY + 10 * MINUTE
    assert (
        passes(CONTROLS[when], "thing!0", now, new=WRITE),
        passes(CONTROLS[when], "thing!00", now, new=WRITE),
    ) == COUNTS[when]


@pytest.mark.parametrize("when", ["new_only", "purge", "ended"])
def test_changes_from_before_that_come_late_count_by_when_they_were_made(when: str) -> None:
    assert passes(CONTROLS[when], "thing!0", ONLY - MINUTE, new=WRITE)
    assert not passes(CONTROLS[when], "thing!00", ONLY - MINUTE, new=WRITE)


def test_around_the_moment_a_change_may_count_twice_and_is_never_missed() -> None:
    for at in range(ONLY - 2 * MINUTE, ONLY + 2 * MINUTE, 1000):
        both = [passes(CONTROLS["new_only"], key, at, new=WRITE) for key in ("thing!0", "thing!00")]
        assert any(both)
        assert all(both) == (ONLY - 5_000 <= at < ONLY + 15_000)


def test_a_copys_mark_is_no_news() -> None:
    marked = {**WRITE, MARK: 1}
    assert not passes(CONTROLS["dual_old"], "thing!0", FLIP, old=WRITE, new=marked)
    assert passes(CONTROLS["dual_old"], "thing!0", FLIP, old=WRITE, new={"rev": "r2", MARK: 1})


def test_emptying_the_old_space_and_cleaning_the_new_one_are_no_news() -> None:
    assert not passes(CONTROLS["purge"], "thing!0", ONLY + 90 * MINUTE, old=WRITE)
    assert not passes(CONTROLS["ended"], "thing!0", ONLY + 90 * MINUTE, old=WRITE)
    assert not passes(CONTROLS["aborted"], "thing!00", ONLY, old=WRITE)


def test_what_is_kept_beside_records_is_no_news() -> None:
    assert not passes(None, str(control_key(THING)["hashKey"]), FLIP, new=WRITE)
    assert not passes(None, "thing.thingId!3f", FLIP, new=WRITE)
    assert not passes(None, "other!0", FLIP, new=WRITE)
