"""Counting changes by shard: what there is to see, and nothing of what records hold."""

from __future__ import annotations

from shardweave.keys.key_format import KEY_FORMATS
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.change_handler import UNKNOWN, ChangeCounts, Traffic
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.stream_operations import StreamRecord


class Order(Entity, token="order", partition="customer", shard_bumps=[ShardBump(0, char_bits=1, chars=1)]):
    customer: str
    order_id: str = unique_property()


def change(hash_key: str, *, left: str = "") -> StreamRecord:
    new = {"hashKey": hash_key, "note": left} if left else None
    return StreamRecord(
        "MODIFY" if left else "REMOVE", {"hashKey": hash_key, "rangeKey": "r"}, None, new, "1", "e", 0.0
    )


def test_changes_and_what_they_left_are_counted_by_shard() -> None:
    counts = ChangeCounts(Schema([Order]))
    for each in (change("order!0", left="xxxx"), change("order!1", left="y"), change("order!0")):
        counts.handle(each)
    item = len("hashKey") + len("order!0") + len("note")
    assert counts.drain() == {"order!0": Traffic(2, item + 4), "order!1": Traffic(1, item + 1)}


def test_what_was_drained_is_not_counted_again() -> None:
    counts = ChangeCounts(Schema([Order]))
    counts.handle(change("order!0"))
    counts.drain()
    assert counts.drain() == {}


def test_a_shard_is_named_without_the_values_in_its_hash_key() -> None:
    for key_format in KEY_FORMATS.values():
        schema = Schema([Order], key_format=key_format)
        (entity,) = schema.entities.values()
        item = entity.complete({"customer": "Ana", "orderId": "o1"})
        shard = ChangeCounts(schema).shard_of(str(item["hashKey"]))
        assert shard in ("order!0", "order!1")


def test_what_is_of_no_entity_is_counted_together() -> None:
    counts = ChangeCounts(Schema([Order]))
    counts.handle(change("a secret of somebody else"))
    assert list(counts.drain()) == [UNKNOWN]


def test_counting_leaves_no_work_behind() -> None:
    assert ChangeCounts(Schema([Order])).wake() == 0
