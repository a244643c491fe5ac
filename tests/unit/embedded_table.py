"""What the tests of the embedded table share: a layout, a clock, and what other processes run."""

from __future__ import annotations

from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import PutItem, TransactWrite, UpdateItem
from shardweave.table.stream_operations import StreamRead, StreamRecord
from shardweave.table.values import Item

LAYOUT = TableLayout(
    indexes=(
        IndexLayout("byText", KeyAttribute("hashKey"), KeyAttribute("text")),
        IndexLayout("byNumber", KeyAttribute("group"), KeyAttribute("number", "N"), ("color",)),
    ),
    ttl_attribute="ttl",
)
SHARD = "shard-0"


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def key(range_key: str, hash_key: str = "h") -> dict[str, Any]:
    return {"hashKey": hash_key, "rangeKey": range_key}


def item(range_key: str, /, hash_key: str = "h", **attributes: Any) -> dict[str, Any]:
    return {**key(range_key, hash_key), **attributes}


def changes(table: EmbeddedTable, after: str = "TRIM_HORIZON") -> list[StreamRecord]:
    """Every record of the stream after a position."""
    found: list[StreamRecord] = []
    while True:
        page = table.run(StreamRead(SHARD, after))
        if not page.records:
            return found
        found += page.records
        after = page.position


def replayed(records: list[StreamRecord]) -> dict[tuple[Any, ...], Item | None]:
    """The items that the stream says there are, None for one that was removed."""
    return {tuple(record.key.values()): record.new for record in records}


def write_until_killed(path: str, answers: Connection) -> None:
    """Write a single item and a pair in one transaction, over and over, telling each number when it is written."""
    table = EmbeddedTable(LAYOUT, path)
    first = int(answers.recv())
    for number in count(first):
        table.run(PutItem(item(f"single{number}", text=str(number))))
        pair = (PutItem(item(f"left{number}", text="left")), PutItem(item(f"right{number}", group="g", number=number)))
        table.run(TransactWrite(pair, token=f"token{number}"))
        answers.send(number)


def add_many(path: str, times: int, start: Any) -> None:
    """Open the table when every process is ready, and count on one item."""
    start.wait()
    table = EmbeddedTable(LAYOUT, path)
    for _ in range(times):
        table.run(UpdateItem(key("counter"), add={"total": 1}))
    table.close()
