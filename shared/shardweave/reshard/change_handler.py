"""Change handlers: the interface between the table's stream and the code that processes its changes in order.

A handler is called with one change after another. If it raises, that change and all later ones are delivered again; a
change may also be delivered twice. `ChangeCounts` counts, for each shard, the number of changes and the bytes of the
resulting items, which shows the shards with most writes. Its numbers are approximate, since a repeated change is
counted again. It has no pending work, so `wake` does nothing. `FeedingHandler` is another handler that also feeds the
read models that take their numbers from records, `DeletingHandler` one that continues deletions when it is woken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..schema.schema import Schema
from ..table.stream_operations import StreamRecord
from ..table.values import item_bytes

if TYPE_CHECKING:
    from ..store.events.record_feed import RecordFeed

UNKNOWN = "(other)"


@dataclass(frozen=True)
class Traffic:
    """The number of changes of a shard, and the bytes of the resulting items."""

    changes: int
    bytes: int


class ChangeHandler(Protocol):
    """Processes every change of a table."""

    def handle(self, change: StreamRecord) -> None:
        """Process one change. After an exception the stream delivers the change again."""

    def drain(self) -> Mapping[str, Traffic]:
        """The traffic since the last call, by shard."""

    def wake(self) -> int:
        """Continue pending work that no process has continued, and return how much there was."""

    def proposals(self) -> Mapping[str, str]:
        """The proposals for the operator of the table, by entity."""


class ChangeCounts:
    """Counts changes by shard."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._changes: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def handle(self, change: StreamRecord) -> None:
        shard = self.shard_of(str(change.key[self._schema.hash_key]))
        self._changes[shard] += 1
        self._bytes[shard] += item_bytes(change.new or {})

    def drain(self) -> Mapping[str, Traffic]:
        seen = {shard: Traffic(count, self._bytes[shard]) for shard, count in sorted(self._changes.items())}
        self._changes.clear()
        self._bytes.clear()
        return seen

    def wake(self) -> int:
        return 0

    def proposals(self) -> Mapping[str, str]:
        return {}

    def shard_of(self, hash_key: str) -> str:
        """The shard of a hash key, `user!1`, without the values that may follow in it."""
        if self._schema.entity_of_key(hash_key) is None:
            return UNKNOWN
        return hash_key.partition(self._schema.key_format.element_delimiter)[0]


@dataclass(frozen=True)
class DeletingHandler:
    """A handler that is woken, and then continues the deletions of records with many children: `go_on` returns how many
    these were."""

    handler: ChangeHandler
    go_on: Callable[[], int]

    def handle(self, change: StreamRecord) -> None:
        self.handler.handle(change)

    def drain(self) -> Mapping[str, Traffic]:
        return self.handler.drain()

    def wake(self) -> int:
        return self.handler.wake() + self.go_on()

    def proposals(self) -> Mapping[str, str]:
        return self.handler.proposals()


@dataclass(frozen=True)
class FeedingHandler:
    """Tells a handler of each change, and then the read models that records feed."""

    handler: ChangeHandler
    feed: RecordFeed

    def handle(self, change: StreamRecord) -> None:
        self.handler.handle(change)
        self.feed.handle(change)

    def drain(self) -> Mapping[str, Traffic]:
        return self.handler.drain()

    def wake(self) -> int:
        return self.handler.wake()

    def proposals(self) -> Mapping[str, str]:
        return self.handler.proposals()
