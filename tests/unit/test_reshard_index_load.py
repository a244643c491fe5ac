"""Indexes with shards of their own: their writes are counted by hash key, and the policy says when they need more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shardweave.errors import Throttled
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.admin import ReshardAdmin
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.load.counters import Load, decode_loads, loads_query
from shardweave.reshard.load.index_load import OwnShards, judged_indexes, own_shards
from shardweave.reshard.load.monitor import LoadWatch
from shardweave.reshard.load.policy import Policy, Standing, Verdict, decode_verdict, encode_verdict, judged
from shardweave.reshard.load.throttle_recorder import FLUSH_MS, ThrottleNotes
from shardweave.reshard.phases import Waits
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import Call, Script, SimulatedTable
from shardweave.table.operations import DeleteItem, GetItem, Operation, PutItem, Query, UpdateItem
from shardweave.table.stream_operations import StreamRead, StreamShards
from shardweave.values.codecs import Timestamp

MINUTE_MS = 60_000
START = 1_700_000_000_000
POLICY = Policy(writes_per_second=10, windows=3, window_ms=MINUTE_MS)
SIXTEEN = ShardMap.of_bumps((ShardBump(0, 2, 2),))


class PhoneCall(Entity, token="call", shard_bumps=[ShardBump(0, 2, 2)]):
    """A call to a desk."""

    call_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    desk: str = "secret"
    word: str = "w"

    desk_hash_key = HashKey("desk", shards=1)
    all_hash_key = HashKey(shards=4)
    word_hash_key = HashKey("word", shards=2)
    wide_hash_key = HashKey("desk", shards=64)


SCHEMA = Schema(
    [PhoneCall],
    [
        Index("byDesk", "desk_hash_key", "created"),
        Index("byDeskWord", "desk_hash_key", "word"),
        Index("all", "all_hash_key", "created"),
        Index("byWord", "word_hash_key", "created", projection="KEYS_ONLY"),
        Index("wide", "wide_hash_key", "created"),
    ],
)
CALL = SCHEMA[PhoneCall]
KEY = OwnShards("deskHashKey", 1, ("byDesk", "byDeskWord"))


# -- counting ---------------------------------------------------------------------------------------------------------


class World:
    """A table whose changes are watched."""

    def __init__(self, policy: Policy = POLICY) -> None:
        self.now = START
        self.table = EmbeddedTable(SCHEMA.layout)
        waits, names = Waits(), iter(range(10**9))

        def token() -> str:
            return f"t{next(names)}"

        def clock() -> int:
            return self.now

        maps = LeasedMaps(self.table, waits, clock=clock, monotonic=clock)
        self.store = Store(SCHEMA, self.table, clock=clock, maps=maps)
        coordinator = Coordinator(self.table, waits, new_token=token, clock=clock)
        self.operator = ReshardAdmin(self.table, coordinator, waits, clock=clock)
        self.watch = LoadWatch(SCHEMA, self.table, maps, self.operator, policy, waits, new_token=token, clock=clock)
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

    def loads(self) -> dict[str, Load]:
        """The numbers of indexes."""
        found = decode_loads(CALL, self.table.run(loads_query(CALL)).items)
        return {name: load for name, load in found.items() if "!" in name}


def test_writes_are_counted_by_the_hash_key_that_has_most_of_them() -> None:
    world = World()
    for number in range(6):
        world.store.create(
            {"call_id": f"c{number}", "desk": "secret" if number < 4 else "other", "word": "w"}, PhoneCall
        )
    world.store.update(PhoneCall, "c1", {"word": "v"})
    world.follow()
    loads = world.loads()
    assert loads["deskHashKey!00"] == Load("deskHashKey!00", 0, 0, 5, 2)
    assert sum(load.writes for name, load in loads.items() if name.startswith("allHashKey!")) == 7
    assert not any(name.startswith("wideHashKey") for name in loads), "it has the table's shards"


def test_a_change_that_an_index_does_not_show_is_no_write_of_it() -> None:
    world = World()
    world.store.create({"call_id": "c1", "word": "w"}, PhoneCall)
    world.follow()
    before = sum(load.writes for name, load in world.loads().items() if name.startswith("wordHashKey"))
    world.store.update(PhoneCall, "c1", {"desk": "other"})
    world.follow()
    after = sum(load.writes for name, load in world.loads().items() if name.startswith("wordHashKey"))
    assert (before, after) == (1, 1)
    world.store.update(PhoneCall, "c1", {"word": "v"})
    world.follow()
    assert sum(load.writes for name, load in world.loads().items() if name.startswith("wordHashKey")) == 2


def test_no_value_of_a_record_is_written_down() -> None:
    world = World()
    world.store.create({"call_id": "c1"}, PhoneCall)
    world.follow()
    assert world.loads()
    assert "secret" not in json.dumps([dict(each) for each in world.table.run(loads_query(CALL)).items], default=str)


# -- throttling -------------------------------------------------------------------------------------------------------

INDEX = "IndexWriteKeyRangeThroughputExceeded arn:aws:dynamodb:eu-west-1:1:table/t/index/"
ITEM = {"hashKey": "call!21", "rangeKey": "callId#a", "deskHashKey": "call!00 |desk#secret", "allHashKey": "call!01"}
PRIMARY = {"hashKey": "call!21", "rangeKey": "callId#a"}


class Refuse:
    """The table refuses a request."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def execute(self, call: Call) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("operation", "index", "counted"),
    [
        (PutItem(ITEM), "byDesk", "deskHashKey!00"),
        (PutItem(ITEM), "all", "allHashKey!01"),
        (UpdateItem(PRIMARY, {"allHashKey": "call!03"}), "all", "allHashKey!03"),
        (DeleteItem(PRIMARY), "byDesk", "deskHashKey!"),
        (Query("deskHashKey", "call!00 |desk#secret", "created", index="byDesk"), "byDesk", "deskHashKey!00"),
        (PutItem(ITEM), "unknown", "21"),
        (PutItem(ITEM), "", "21"),
    ],
    ids=["put", "another index", "update", "delete", "query", "an index of nobody", "the table"],
)
def test_a_throttled_index_is_named(operation: Operation[Any], index: str, counted: str) -> None:
    reason = INDEX + index if index else "TableWriteKeyRangeThroughputExceeded arn:aws:dynamodb:eu-west-1:1:table/t"
    inner = EmbeddedTable(SCHEMA.layout)
    error = Throttled(reasons=[reason])
    now = [FLUSH_MS]
    faulty = SimulatedTable(inner, Script(Refuse(error), matching=[type(operation)]))
    table = ThrottleNotes(faulty, SCHEMA, clock=lambda: now[0])
    with pytest.raises(Throttled):
        table.run(operation)
    now[0] += FLUSH_MS
    table.run(GetItem({"hashKey": "call!00", "rangeKey": "callId#b"}))
    loads = decode_loads(CALL, inner.run(loads_query(CALL)).items)
    assert {name: load.throttled for name, load in loads.items()} == {counted: 1}


# -- judging ----------------------------------------------------------------------------------------------------------


def windows(*rates: float, hot: float = 0.0, throttled: int = 0, key: OwnShards = KEY) -> Iterator[Verdict]:
    """The verdicts of windows with so many writes a second to one hash key, of which a part is of one record."""
    name = f"{key.attribute}!00"
    verdict: Verdict | None = None
    writes = hottest = refused = 0.0
    for number, rate in enumerate((0.0, *rates)):
        writes, hottest, refused = writes + rate * 60, hottest + rate * 60 * hot, refused + throttled
        loads = {name: Load(name, 0, 0, int(writes), int(hottest), int(refused)), "00": Load("00", 0, 0, 0, 0)}
        now = START + number * MINUTE_MS
        indexes = judged_indexes(POLICY, verdict, loads, SIXTEEN, now, [key])
        after = judged(POLICY, verdict, loads, SIXTEEN, now)
        verdict = Verdict(**{**vars(after), "indexes": indexes})
        if number:
            yield verdict


def test_it_is_the_index_that_needs_more_and_not_the_table() -> None:
    *before, last = windows(30, 30, 30)
    assert all(not verdict.said for verdict in before)
    assert last.target is None
    assert last.said == last.advices
    assert last.said == (
        "a hash key of deskHashKey, which has 1 shard in byDesk, byDeskWord, had 30 writes a second in 3 windows, and "
        "may have 10: it is the index that needs more, not the table; declare a HashKey with shards=8 beside it"
    )


def test_where_as_many_as_the_table_has_are_needed_it_needs_no_shards_of_its_own() -> None:
    *_, last = windows(90, 90, 90)
    assert "declare a HashKey without shards beside it" in last.said


def test_throttling_alone_says_so_too() -> None:
    *_, last = windows(0, 0, 0, throttled=400)
    assert "was throttled 400 times in the last of 3 windows" in last.said
    assert "shards=4" in last.said


def test_one_hot_record_is_not_helped_by_shards_of_an_index() -> None:
    *_, last = windows(30, 30, 30, hot=0.9)
    assert last.said == ""


def test_what_was_said_stands_until_the_load_has_been_low_for_as_long() -> None:
    said = [bool(verdict.said) for verdict in windows(30, 30, 9, 30, 30, 30, 9, 4, 9, 4, 4, 4)]
    assert said == [False] * 5 + [True] * 6 + [False]


def test_an_index_with_as_many_shards_as_the_table_is_judged_as_the_table() -> None:
    assert all(not verdict.said for verdict in windows(30, 30, 30, key=OwnShards("deskHashKey", 16, ("byDesk",))))


def test_which_hash_keys_have_shards_of_their_own() -> None:
    assert own_shards(CALL) == [
        KEY,
        OwnShards("allHashKey", 4, ("all",)),
        OwnShards("wordHashKey", 2, ("byWord",)),
        OwnShards("wideHashKey", 64, ("wide",)),
    ]


def test_a_verdict_reads_back_as_it_was() -> None:
    verdict = Verdict(
        START, {"00": 5, "deskHashKey!00": 3}, {"deskHashKey!": 2}, indexes={"deskHashKey": Standing(2, 0, "more")}
    )
    table = EmbeddedTable(SCHEMA.layout)
    table.run(PutItem(encode_verdict(CALL, verdict, "r")))
    record = table.run(GetItem({"hashKey": "call._reshard!", "rangeKey": "_verdict"})).item
    assert record is not None
    assert decode_verdict(record) == verdict
    assert decode_verdict({name: value for name, value in record.items() if name != "indexes"}) is not None


def test_operators_are_told() -> None:
    world = World(Policy(writes_per_second=1, windows=2, window_ms=MINUTE_MS))
    for _ in range(4):
        for number in range(70):
            world.store.create({"desk": "secret", "word": f"w{number}"}, PhoneCall)
        world.follow()
        world.watch.judge()
        world.now += MINUTE_MS
    told = world.operator.status(CALL)
    assert "it is the index that needs more" in told.advice
    assert "deskHashKey" in told.advice
    assert "secret" not in told.advice
    assert "it is the index that needs more" in world.watch.proposals()["call"]
