"""The table's stream through the `dynamodbstreams` client: its shards, its positions, its records.

A position is a text. After a page with records it is the last record's sequence number. A page may be empty though more
follows, and then only DynamoDB's iterator knows how far the reading got, so the position is
`<position before>@<iterator>`. An iterator is valid for 15 minutes; when it has expired, reading continues from the
position before it. If that is `LATEST`, which would skip changes, StreamTrimmed is raised instead.

A read is two requests (an iterator, then its records), one when the position holds the iterator. The stream's name
costs one more, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...errors import StreamTrimmed, TableNotFound
from .. import Guard
from ..stream_operations import StreamPage, StreamRead, StreamRecord, StreamShard
from ..values import from_attribute_values
from .attempts import Attempts

if TYPE_CHECKING:
    from .client import Connection

_SEPARATOR = "@"


class Stream:
    """The stream of one table."""

    def __init__(self, connection: Callable[[], Connection], table: str) -> None:
        self._connection = connection
        self._table = table
        self._arn: str | None = None

    def shards(self, guard: Guard | None = None) -> tuple[StreamShard, ...]:
        """Every shard, parents before children."""
        listed = {shard.id: shard for shard in map(_shard, self._described(guard))}
        ordered: dict[str, StreamShard] = {}
        for shard in listed.values():
            line = [shard]
            while line[-1].parent in listed and line[-1].parent not in ordered:
                line.append(listed[str(line[-1].parent)])
            ordered.update((each.id, each) for each in reversed(line))
        return tuple(ordered.values())

    def read(self, operation: StreamRead, guard: Guard | None = None) -> StreamPage:
        """One page after the operation's position."""
        after, _, iterator = operation.after.partition(_SEPARATOR)
        if not iterator:
            return self._page(operation, after, self._iterator(operation, guard), guard)
        try:
            return self._page(operation, after, iterator, guard)
        except StreamTrimmed:
            if after == "LATEST":
                raise
            return self._page(operation, after, self._iterator(replace(operation, after=after), guard), guard)

    def _described(self, guard: Guard | None) -> Iterator[Mapping[str, Any]]:
        request = {"StreamArn": self._stream_arn(guard)}
        while True:
            described = self._connection().call_streams("describe_stream", request, Attempts(guard))[
                "StreamDescription"
            ]
            yield from described["Shards"]
            if not described.get("LastEvaluatedShardId"):
                return
            request["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]

    def _iterator(self, operation: StreamRead, guard: Guard | None) -> str:
        request = {"StreamArn": self._stream_arn(guard), **operation.request(self._table)}
        return str(self._connection().call_streams("get_shard_iterator", request, Attempts(guard))["ShardIterator"])

    def _page(self, operation: StreamRead, after: str, iterator: str, guard: Guard | None) -> StreamPage:
        request = {"ShardIterator": iterator, "Limit": operation.limit}
        response = self._connection().call_streams("get_records", request, Attempts(guard))
        records = tuple(map(_record, response["Records"]))
        following = response.get("NextShardIterator")
        if records:
            position = records[-1].sequence
        else:
            position = f"{after}{_SEPARATOR}{following}" if following else after
        return StreamPage(records, position, closed=not following)

    def _stream_arn(self, guard: Guard | None) -> str:
        if self._arn is None:
            described = self._connection().call("describe_table", {"TableName": self._table}, Attempts(guard))["Table"]
            if not described.get("LatestStreamArn"):
                raise TableNotFound("the table has no stream", where=self._table, fix="turn its stream on")
            self._arn = str(described["LatestStreamArn"])
        return self._arn


def _shard(shard: Mapping[str, Any]) -> StreamShard:
    closed = bool(shard.get("SequenceNumberRange", {}).get("EndingSequenceNumber"))
    return StreamShard(shard["ShardId"], shard.get("ParentShardId"), closed)


def _record(record: Mapping[str, Any]) -> StreamRecord:
    change = record["dynamodb"]
    created: datetime = change["ApproximateCreationDateTime"]
    identity = record.get("userIdentity") or {}
    return StreamRecord(
        event=record["eventName"],
        key=from_attribute_values(change["Keys"]),
        old=_image(change, "OldImage"),
        new=_image(change, "NewImage"),
        sequence=change["SequenceNumber"],
        event_id=record["eventID"],
        created=created.timestamp(),
        by_service=identity.get("Type") == "Service",
    )


def _image(change: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    image = change.get(name)
    return from_attribute_values(image) if image else None
