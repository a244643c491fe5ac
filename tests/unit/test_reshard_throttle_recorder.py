"""Requests that are throttled for the range of a key are counted by shard, and make a proposal."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import CancellationReason, TableUnavailable, Throttled, TransactionCanceled
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.load.counters import Load, decode_loads, loads_query
from shardweave.reshard.load.policy import Policy, judged
from shardweave.reshard.load.throttle_recorder import FLUSH_MS, ThrottleNotes
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import Call, Script, SimulatedTable
from shardweave.table.operations import (
    BatchGet,
    DeleteItem,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactWrite,
    UpdateItem,
)
from shardweave.values.codecs import Timestamp

KEY_RANGE = "TableWriteKeyRangeThroughputExceeded arn:aws:dynamodb:eu-west-1:1:table/t"
MINUTE_MS = 60_000
POLICY = Policy(windows=2, throttled=10)
MAP = ShardMap.of_bumps((ShardBump(0, 2, 1),))


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 2, 1)]):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()


SCHEMA = Schema([Thing], [])
KEY = {"hashKey": "thing!2", "rangeKey": "thingId#a"}
OTHER = {"hashKey": "thing!3", "rangeKey": "thingId#b"}


class Refuse:
    """The table refuses a request."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def execute(self, call: Call) -> Any:
        raise self._error


def counted(operation: Operation[Any], error: Exception, *, times: int = 1) -> dict[str, int]:
    """What is counted when a request is refused so often, by suffix."""
    inner = EmbeddedTable(SCHEMA.layout)
    faults = Script(*[Refuse(error)] * times, matching=[type(operation)])
    now = [FLUSH_MS]
    table = ThrottleNotes(SimulatedTable(inner, faults), SCHEMA, clock=lambda: now[0])
    for _ in range(times):
        with pytest.raises(type(error)):
            table.run(operation)
    now[0] += FLUSH_MS
    table.run(GetItem(OTHER))
    loads = decode_loads(SCHEMA[Thing], inner.run(loads_query(SCHEMA[Thing])).items)
    return {suffix: load.throttled for suffix, load in loads.items()}


@pytest.mark.parametrize(
    "operation",
    [Query("hashKey", "thing!2", "rangeKey"), PutItem(KEY), UpdateItem(KEY, {"a": 1}), DeleteItem(KEY), GetItem(KEY)],
    ids=lambda operation: type(operation).__name__,
)
def test_a_request_counts_for_its_shard(operation: Operation[Any]) -> None:
    assert counted(operation, Throttled(reasons=[KEY_RANGE])) == {"2": 1}


def test_it_is_written_now_and_then_and_none_is_forgotten() -> None:
    assert counted(PutItem(KEY), Throttled(reasons=[KEY_RANGE]), times=7) == {"2": 7}


def test_of_a_transaction_the_actions_count_that_were_too_much() -> None:
    error = TransactionCanceled([CancellationReason("None"), CancellationReason("ThrottlingError")])
    assert counted(TransactWrite((PutItem(KEY), DeleteItem(OTHER))), error) == {"3": 1}


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (PutItem(KEY), Throttled(reasons=["TableWriteAccountLimitExceeded arn"])),
        (PutItem(KEY), Throttled()),
        (PutItem(KEY), TableUnavailable("no answer")),
        (Scan(), Throttled(reasons=[KEY_RANGE])),
        (BatchGet((KEY, OTHER)), Throttled(reasons=[KEY_RANGE])),
        (TransactWrite((PutItem(KEY),)), TransactionCanceled([CancellationReason("ConditionalCheckFailed")])),
        (PutItem({**KEY, "hashKey": "other!2"}), Throttled(reasons=[KEY_RANGE])),
    ],
    ids=["a limit of the account", "no reason", "no answer", "a scan", "several shards", "a condition", "no entity"],
)
def test_what_more_shards_would_not_help_does_not_count(operation: Operation[Any], error: Exception) -> None:
    assert counted(operation, error) == {}


def judge(*throttled: int, writes: int = 0, hot: int = 0) -> Any:
    """The verdict after windows in which so many requests to shard 2 were throttled."""
    verdict = judged(POLICY, None, {"2": Load("2", 0, 0, 0, 0, 0)}, MAP, 0)
    total = 0
    for number, count in enumerate(throttled, 1):
        total += count
        load = Load("2", 0, 0, writes * number, hot * number, total)
        verdict = judged(POLICY, verdict, {"2": load}, MAP, number * MINUTE_MS)
    return verdict


def test_throttling_in_enough_windows_in_a_row_is_a_proposal_that_says_so() -> None:
    verdict = judge(400, 300)
    assert verdict.target == ShardBump(0, 2, 2)
    assert verdict.why == (
        "shard '2' was throttled 300 times in the last of 2 windows; in 16 shards it would be half of that or less"
    )


def test_a_few_throttled_requests_or_one_window_of_them_are_none() -> None:
    assert judge(10, 10).target is None
    assert judge(0, 400).target is None


def test_throttling_for_the_sake_of_one_record_is_none_and_is_said() -> None:
    verdict = judge(400, 400, writes=30_000, hot=25_000)
    assert verdict.target is None
    assert "one record" in verdict.advice
