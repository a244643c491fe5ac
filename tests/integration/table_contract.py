"""What the files of the contract suite share: the layout of their tables, and how they fill and read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from shardweave.table import Table
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import BatchWrite, GetItem, PageAnswer, Query, Scan
from shardweave.table.stream_operations import StreamRead, StreamRecord, StreamShards
from shardweave.table.values import Item

OpenTable = Callable[[TableLayout], Table]
"""Makes a new, empty table of the backend that the test runs on."""

LAYOUT = TableLayout(
    indexes=(
        IndexLayout("byText", KeyAttribute("hashKey"), KeyAttribute("text")),
        IndexLayout("byNumber", KeyAttribute("hashKey"), KeyAttribute("number", "N")),
        IndexLayout("byBinary", KeyAttribute("hashKey"), KeyAttribute("binary", "B")),
        IndexLayout("keysOnly", KeyAttribute("group"), KeyAttribute("text"), "KEYS_ONLY"),
        IndexLayout("some", KeyAttribute("group"), KeyAttribute("number", "N"), ("color",)),
    ),
    ttl_attribute="ttl",
)
RANGE_KEYS = {"byText": "text", "byNumber": "number", "byBinary": "binary", "keysOnly": "text", "some": "number"}


def key(range_key: str, hash_key: str = "h") -> dict[str, Any]:
    return {"hashKey": hash_key, "rangeKey": range_key}


def item(range_key: str, /, hash_key: str = "h", **attributes: Any) -> dict[str, Any]:
    return {**key(range_key, hash_key), **attributes}


def fill(table: Table, items: Sequence[Item]) -> None:
    for start in range(0, len(items), 25):
        answer = table.run(BatchWrite(puts=tuple(items[start : start + 25])))
        assert answer.unprocessed_puts == ()


def stored(table: Table, range_key: str, hash_key: str = "h") -> Item | None:
    return table.run(GetItem(key(range_key, hash_key), consistent=True)).item


def query(index: str | None = None, /, hash_value: Any = "h", **parts: Any) -> Query:
    """A query of the table or of an index of LAYOUT."""
    hash_name = "group" if index in ("keysOnly", "some") else "hashKey"
    return Query(hash_name, hash_value, RANGE_KEYS[index] if index else "rangeKey", index=index, **parts)


def pages(table: Table, operation: Query | Scan) -> Iterator[PageAnswer]:
    """Every page, each begun at the last key of the one before."""
    while True:
        page = table.run(operation)
        yield page
        if page.last_key is None:
            return
        operation = replace(operation, start_key=page.last_key)


def every_item(table: Table, operation: Query | Scan) -> list[Item]:
    return [found for page in pages(table, operation) for found in page.items]


def values(items: Sequence[Item], name: str) -> list[Any]:
    return [each[name] for each in items]


def changes(table: Table) -> list[StreamRecord]:
    """Every record of the stream, shard by shard."""
    found: list[StreamRecord] = []
    for shard in table.run(StreamShards()):
        position = "TRIM_HORIZON"
        while True:
            page = table.run(StreamRead(shard.id, position))
            found += page.records
            position = page.position
            # An open shard never ends: with one writer, an empty page is its end for now.
            if page.closed or not page.records:
                break
    return found


def summary(records: list[StreamRecord]) -> list[tuple[object, ...]]:
    """What happened to which item, and its images."""
    return [(record.event, record.key["rangeKey"], record.old, record.new) for record in records]
