"""What every table does with its stream, and what it says of itself."""

from __future__ import annotations

import pytest

from shardweave.errors import ConditionFailed, TransactionCanceled
from shardweave.table import Table
from shardweave.table.conditions import Exists, Missing
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import (
    BatchWrite,
    ConditionCheck,
    DeleteItem,
    Describe,
    PutItem,
    TransactWrite,
    UpdateItem,
)
from shardweave.table.stream_operations import StreamRead, StreamShards
from tests.integration.table_contract import (
    LAYOUT,
    OpenTable,
    changes,
    every_item,
    fill,
    item,
    key,
    query,
    summary,
    values,
)


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


def test_every_change_is_in_the_stream_with_both_images(table: Table) -> None:
    table.run(PutItem(item("a", n=1)))
    table.run(PutItem(item("a", n=2)))
    table.run(UpdateItem(key("a"), add={"n": 1}))
    table.run(DeleteItem(key("a")))
    records = changes(table)
    assert summary(records) == [
        ("INSERT", "a", None, item("a", n=1)),
        ("MODIFY", "a", item("a", n=1), item("a", n=2)),
        ("MODIFY", "a", item("a", n=2), item("a", n=3)),
        ("REMOVE", "a", item("a", n=3), None),
    ]
    assert all(record.key == key("a") for record in records)
    assert not any(record.by_service for record in records)
    assert len({record.event_id for record in records}) == 4


def test_the_changes_of_an_item_keep_their_order(table: Table) -> None:
    for number in range(20):
        for name in ("a", "b", "c"):
            table.run(PutItem(item(name, hash_key=name, n=number)))
    records = changes(table)
    for name in ("a", "b", "c"):
        of_item = [record for record in records if record.key["rangeKey"] == name]
        assert [record.new["n"] for record in of_item if record.new] == list(range(20))


def test_what_changes_nothing_is_not_in_the_stream(table: Table) -> None:
    table.run(PutItem(item("a", n=1, tags={"x", "y"})))
    table.run(PutItem(item("a", n=1, tags={"y", "x"})))
    table.run(UpdateItem(key("a"), set={"n": 1}))
    table.run(UpdateItem(key("a"), remove=("absent",)))
    table.run(BatchWrite(puts=(item("a", n=1, tags={"x", "y"}),)))
    table.run(TransactWrite((PutItem(item("a", n=1, tags={"x", "y"})),)))
    table.run(DeleteItem(key("absent")))
    assert summary(changes(table)) == [("INSERT", "a", None, item("a", n=1, tags={"x", "y"}))]


def test_what_fails_is_not_in_the_stream(table: Table) -> None:
    with pytest.raises(ConditionFailed):
        table.run(PutItem(item("a"), condition=Exists("hashKey")))
    with pytest.raises(TransactionCanceled):
        table.run(TransactWrite((PutItem(item("a")), ConditionCheck(key("b"), Exists("hashKey")))))
    assert changes(table) == []


def test_batches_and_transactions_are_in_the_stream_item_by_item(table: Table) -> None:
    table.run(BatchWrite(puts=(item("a"), item("b"))))
    table.run(TransactWrite((DeleteItem(key("a")), PutItem(item("c")), ConditionCheck(key("b"), Exists("hashKey")))))
    records = changes(table)
    found = sorted((record.key["rangeKey"], record.event) for record in records)
    assert found == [("a", "INSERT"), ("a", "REMOVE"), ("b", "INSERT"), ("c", "INSERT")]


def test_an_index_makes_no_records_of_its_own(table: Table) -> None:
    table.run(PutItem(item("a", text="t", group="g", number=1)))
    assert len(changes(table)) == 1


def test_a_stream_is_read_page_by_page(table: Table) -> None:
    fill(table, [item(f"{place:02}", hash_key="h") for place in range(10)])
    (shard,) = [shard for shard in table.run(StreamShards()) if table.run(StreamRead(shard.id)).records]
    first = table.run(StreamRead(shard.id, limit=4))
    assert len(first.records) == 4
    second = table.run(StreamRead(shard.id, first.position, limit=4))
    third = table.run(StreamRead(shard.id, second.position, limit=4))
    read = [record.key["rangeKey"] for page in (first, second, third) for record in page.records]
    assert sorted(read) == [f"{place:02}" for place in range(10)]


def test_reading_goes_on_after_any_record(table: Table) -> None:
    for number in range(6):
        table.run(PutItem(item("a", n=number)))
    (shard,) = [shard for shard in table.run(StreamShards()) if table.run(StreamRead(shard.id)).records]
    whole = table.run(StreamRead(shard.id)).records
    for place, record in enumerate(whole):
        assert table.run(StreamRead(shard.id, record.sequence)).records == whole[place + 1 :]


def test_a_position_at_the_end_sees_what_comes_later(table: Table) -> None:
    table.run(PutItem(item("a", n=1)))
    shards = table.run(StreamShards())
    ends = {shard.id: table.run(StreamRead(shard.id, "LATEST")).position for shard in shards}
    assert [record for shard, end in ends.items() for record in table.run(StreamRead(shard, end)).records] == []
    table.run(PutItem(item("a", n=2)))
    later = [record for shard, end in ends.items() for record in table.run(StreamRead(shard, end)).records]
    assert summary(later) == [("MODIFY", "a", item("a", n=1), item("a", n=2))]


def test_positions_order_the_records_of_a_shard(table: Table) -> None:
    for number in range(12):
        table.run(PutItem(item("a", n=number), condition=Exists("hashKey") if number else Missing("hashKey")))
    sequences = [int(record.sequence) for record in changes(table)]
    assert sequences == sorted(set(sequences))


def test_what_the_service_removes_for_its_ttl_is_marked() -> None:
    # On DynamoDB this takes up to two days and the emulators never do it, so only the embedded table can be asked.
    table = EmbeddedTable(LAYOUT, None)
    fill(table, [item("past", ttl=1_000, text="t"), item("future", ttl=3_000), item("text", ttl="1000"), item("none")])
    assert table.expire(2_000.0) == 1
    table.run(DeleteItem(key("future")))
    removals = [record for record in changes(table) if record.event == "REMOVE"]
    assert [(record.key, record.old, record.by_service) for record in removals] == [
        (key("past"), item("past", ttl=1_000, text="t"), True),
        (key("future"), item("future", ttl=3_000), False),
    ]
    assert values(every_item(table, query()), "rangeKey") == ["none", "text"]
    assert every_item(table, query("byText")) == []
    table.close()


# -- what the table says of itself ------------------------------------------------------------------------------------


def test_a_table_describes_its_indexes(table: Table) -> None:
    description = table.run(Describe())
    assert description.status == "ACTIVE"
    by_name = {index.name: index for index in description.indexes}
    assert by_name == {index.name: index for index in LAYOUT.indexes}
    assert description.index_states == dict.fromkeys(by_name, "ACTIVE")
