"""When more shards are proposed: what is counted, how windows are judged, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.admin import ReshardAdmin
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.load.counters import Load, LoadCounter
from shardweave.reshard.load.monitor import LoadWatch
from shardweave.reshard.load.policy import Policy, Verdict, decode_verdict, encode_verdict, judged
from shardweave.reshard.phases import Waits
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from shardweave.table.stream_operations import StreamRead, StreamShards
from shardweave.values.codecs import Timestamp

MINUTE_MS = 60_000
START = 1_700_000_000_000
POLICY = Policy(writes_per_second=10, bytes_per_shard=1_000_000, windows=3, window_ms=MINUTE_MS)
SLOW = Policy(writes_per_second=1, windows=3, window_ms=MINUTE_MS)
MAP = ShardMap.of_bumps((ShardBump(0, 2, 1),))


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 2, 1)]):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    word: str = ""


SCHEMA = Schema([Thing], [])
THING = SCHEMA[Thing]


def load(suffix: str, *, items: int = 0, size: int = 0, writes: int = 0, hot: int = 0) -> Load:
    return Load(suffix, items, size, writes, hot)


def windows(*rates: float, size: int = 0, hot: float = 0.0, policy: Policy = POLICY) -> list[Verdict]:
    """The verdicts of windows with so many writes a second to one shard, of which a part is of one record."""
    verdict = judged(policy, None, {"0": load("0", size=size)}, MAP, START)
    seen, writes, hottest = [], 0.0, 0.0
    for number, rate in enumerate(rates, 1):
        writes, hottest = writes + rate * 60, hottest + rate * 60 * hot
        loads = {"0": load("0", size=size, writes=int(writes), hot=int(hottest))}
        verdict = judged(policy, verdict, loads, MAP, START + number * MINUTE_MS)
        seen.append(verdict)
    return seen


# -- judging


def test_nothing_is_proposed_while_shards_do_what_they_may() -> None:
    assert all(verdict.target is None and not verdict.why for verdict in windows(9, 9, 9, 9, 9))


def test_too_many_writes_in_enough_windows_in_a_row_are_a_proposal_that_says_why() -> None:
    *before, last = windows(30, 30, 30)
    assert all(verdict.target is None for verdict in before)
    assert last.target == ShardBump(0, 3, 2)
    assert last.why == (
        "shard '0' had 30 writes a second in 3 windows, and may have 10; in 64 shards it would be half of that or less"
    )


def test_a_window_in_between_begins_the_count_anew() -> None:
    assert all(verdict.target is None for verdict in windows(30, 30, 9, 30, 30))


def test_a_proposal_stands_until_the_load_has_been_low_for_as_long() -> None:
    seen = windows(30, 30, 30, 9, 9, 9, 4, 4, 4)
    assert [verdict.target is not None for verdict in seen[2:]] == [True] * 6 + [False]


def test_a_shard_that_holds_too_much_is_a_proposal_too() -> None:
    last = windows(1, 1, 1, size=3_000_000)[-1]
    assert last.target == ShardBump(0, 3, 2)
    assert "holds 3,000,000 bytes, and may hold 1,000,000" in last.why


def test_one_hot_record_is_not_helped_by_shards_and_is_said() -> None:
    last = windows(30, 30, 30, hot=0.9)[-1]
    assert last.target is None
    assert last.advice == "one record takes most of the writes of shard '0': more shards don't help it"


def test_where_no_wider_space_is_possible_that_is_said() -> None:
    wide = ShardMap.of_bumps((ShardBump(0, 1, 16),))
    verdict = judged(POLICY, None, {"0" * 16: load("0" * 16)}, wide, START)
    for number in range(1, 4):
        loads = {"0" * 16: load("0" * 16, writes=number * 60 * 1000)}
        verdict = judged(POLICY, verdict, loads, wide, START + number * MINUTE_MS)
    assert verdict.target is None
    assert "no wider shard space is possible" in verdict.why


def test_shards_that_are_no_more_do_not_count() -> None:
    verdict = judged(POLICY, Verdict(START), {"000": load("000", writes=10**6)}, MAP, START + MINUTE_MS)
    assert verdict.high == 0


@given(st.lists(st.floats(0, 100), max_size=12))
def test_a_proposal_never_comes_before_enough_windows_in_a_row(rates: list[float]) -> None:
    above = 0
    proposed = False
    for rate, verdict in zip(rates, windows(*rates), strict=True):
        above = above + 1 if int(rate * 60) > 600 else 0
        if verdict.target is not None and not proposed:
            assert above >= POLICY.windows - 1
        proposed = verdict.target is not None


@pytest.mark.parametrize("target", [None, ShardBump(0, 2, 3)])
def test_a_verdict_reads_back_as_it_was(target: ShardBump | None) -> None:
    verdict = Verdict(START, {"0": 5, "": 3}, {"0": 2, "": 1}, 1, 0, target, "why", "advice")
    table = EmbeddedTable(SCHEMA.layout)
    table.run(PutItem(encode_verdict(THING, verdict, "r")))
    (record,) = table.run(Scan()).items
    assert decode_verdict(record) == verdict


def test_a_policy_that_does_not_exist_is_refused() -> None:
    assert Policy.of_mode("apply", "RESHARD_POLICY").mode == "apply"
    with pytest.raises(ConfigurationError, match="use off, propose, apply"):
        Policy.of_mode("always", "RESHARD_POLICY")


# -- counting and acting


@dataclass
class World:
    """A table whose changes are watched."""

    policy: Policy = SLOW
    now: int = START
    table: EmbeddedTable = field(default_factory=lambda: EmbeddedTable(SCHEMA.layout))

    def __post_init__(self) -> None:
        waits = Waits()
        names = iter(range(10**9))

        def token() -> str:
            return f"t{next(names)}"

        def clock() -> int:
            return self.now

        maps = LeasedMaps(self.table, waits, clock=clock, monotonic=clock)
        self.store = Store(SCHEMA, self.table, clock=clock, maps=maps)
        self.operator = ReshardAdmin(
            self.table, Coordinator(self.table, waits, new_token=token, clock=clock), waits, clock=clock
        )
        self.watch = LoadWatch(
            SCHEMA, self.table, maps, self.operator, self.policy, waits, new_token=token, clock=clock
        )
        self.position = "TRIM_HORIZON"

    def follow(self) -> None:
        """Give the watch all changes since the last time."""
        (shard,) = self.table.run(StreamShards())
        while True:
            page = self.table.run(StreamRead(shard.id, self.position))
            self.position = page.position
            for change in page.records:
                self.watch.count(change)
            self.watch.drain()
            if not page.records:
                return

    def loads(self) -> Mapping[str, Any]:
        return {
            item["rangeKey"]: {name: item.get(name, 0) for name in ("items", "writes")}
            for item in self.table.run(Scan()).items
            if item["rangeKey"].startswith("load#")
        }


def test_items_and_writes_of_each_shard_are_added_up() -> None:
    world = World()
    record = world.store.create({"thing_id": "a"}, Thing)
    world.store.update(Thing, "a", {"word": "b"})
    world.store.create({"thing_id": "b"}, Thing)
    world.store.delete(Thing, "b")
    world.follow()
    suffix = {name: THING.make_key({"thingId": name, "created": record.created})["hashKey"][-1] for name in "ab"}
    assert world.loads()[f"load#{suffix['a']}"]["items"] == 1
    assert sum(each["writes"] for each in world.loads().values()) == 4
    assert sum(each["items"] for each in world.loads().values()) == 1


def test_its_own_numbers_are_not_counted() -> None:
    world = World()
    world.store.create({}, Thing)
    world.follow()
    before = world.loads()
    world.follow()
    assert world.loads() == before


def busy(world: World) -> None:
    """Four windows in which a shard is written more than it may."""
    for _ in range(5):
        for number in range(70):
            world.table.run(_write(f"n{number % 50}", world.now + number))
        world.follow()
        world.watch.judge()
        world.now += MINUTE_MS


def _write(name: str, number: int) -> Any:
    item = THING.complete({"thingId": name, "created": START, "word": str(number), "rev": f"r{number}"})
    return PutItem({**item, "hashKey": "thing!1"})


def test_a_proposal_is_shown_to_operators_and_nothing_else_happens() -> None:
    world = World()
    busy(world)
    status = world.operator.status(THING)
    assert "writes a second" in status.proposal
    assert not status.moving
    assert world.watch.proposals() == {"thing": status.proposal}


def test_with_apply_it_is_started() -> None:
    world = World(Policy("apply", 1, windows=3, window_ms=MINUTE_MS))
    busy(world)
    status = world.operator.status(THING)
    assert status.moving
    assert status.shards_to == 16


def test_with_off_nothing_is_counted() -> None:
    world = World(Policy("off"))
    busy(world)
    assert world.loads() == {}


def test_a_counter_begins_anew_when_it_is_drained() -> None:
    counter = LoadCounter()
    assert list(counter.drain()) == []
