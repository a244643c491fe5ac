"""The operations on a table's stream of changes, and the answer of each; see `operations`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .operations import Operation
from .values import Item


@dataclass(frozen=True)
class StreamShard:
    """One shard of the stream. A closed shard gets no more records; its children come after it."""

    id: str
    parent: str | None = None
    closed: bool = False


@dataclass(frozen=True)
class StreamShards(Operation[tuple[StreamShard, ...]]):
    """List the stream's shards, parents before children."""

    method: ClassVar[str] = "describe_stream"

    def request(self, table: str) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class StreamRecord:
    """One change. `sequence` orders the records of a shard; `by_service` marks a removal by TTL."""

    event: Literal["INSERT", "MODIFY", "REMOVE"]
    key: Item
    old: Item | None
    new: Item | None
    sequence: str
    event_id: str
    created: float
    """Epoch seconds, approximate."""
    by_service: bool = False


@dataclass(frozen=True)
class StreamPage:
    """Records in order, and the position to continue from: `position` is the next read's `after`. `closed`: nothing
    will follow."""

    records: tuple[StreamRecord, ...]
    position: str
    closed: bool = False


@dataclass(frozen=True)
class StreamRead(Operation[StreamPage]):
    """Read a stream shard after a position: a page's `position`, a record's `sequence`, `TRIM_HORIZON` (the oldest
    kept) or `LATEST`. Raises StreamTrimmed for a position that is no longer kept."""

    shard: str
    after: str = "TRIM_HORIZON"
    limit: int = 100
    method: ClassVar[str] = "get_records"

    def request(self, table: str) -> dict[str, Any]:
        kind = self.after if self.after in ("TRIM_HORIZON", "LATEST") else "AFTER_SEQUENCE_NUMBER"
        request = {"ShardId": self.shard, "ShardIteratorType": kind}
        if kind == "AFTER_SEQUENCE_NUMBER":
            request["SequenceNumber"] = self.after
        return request
