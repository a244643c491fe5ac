"""What is given every change of a table, in order: the seam between the stream and what is driven by it.

A handler is given one change after the other. When it raises, that change and all after it come again; a change may
also come twice. `ChangeCounts` counts, for each shard, how many changes there were and how many bytes they left: which
shard is written most. Its numbers are approximate, since a change that comes again counts again. It keeps no work for
later, so there is never any to wake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..schema.schema import Schema
from ..table.operations import StreamRecord
from ..table.values import item_bytes

UNKNOWN = "(other)"


@dataclass(frozen=True)
class Traffic:
    """How many changes a shard had, and the bytes of the items that they left."""

    changes: int
    bytes: int


class ChangeHandler(Protocol):
    """Is given every change of a table."""

    def handle(self, change: StreamRecord) -> None:
        """One change. What it raises is for the stream: the change comes again."""

    def drain(self) -> Mapping[str, Traffic]:
        """What was seen since the last time, by shard."""

    def wake(self) -> int:
        """Go on with work that nobody has gone on with, and say how much there was."""

    def proposals(self) -> Mapping[str, str]:
        """What is proposed to whoever runs the table, by entity."""


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
