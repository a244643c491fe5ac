"""What writes are given and end with, as values: time limits, changed children, applied events, backfills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import NotFound, ShardweaveError, ValueRefused
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..table.values import Item

UNNUMBERED = (None, 0)
"""The values of a numbered property that mean "no number"."""
MOST_SECONDS = 60.0
"""The default time limit of a batch."""
BATCH_LISTS = ("puts", "deletes", "updates")
"""The names of the lists of a batch, in errors."""
SECONDS = 10.0
"""The default time limit of one deletion with children."""

Fate = Literal["deleted", "detached", "unknown"]
"""The outcome for a child; unknown if the table did not answer, so that it may or may not be changed."""

Follow = Callable[[EntityType[Any], Entity, Fate], None]
"""Called for each child after it was written."""


@dataclass(frozen=True)
class Applied:
    """The result of applying an event. `repeated`: it had been applied before, and nothing was done."""

    event_id: str
    repeated: bool


@dataclass(frozen=True)
class Deletion:
    """The deletion of a parent that was begun and has not ended: which record it is, since when (epoch milliseconds),
    how many records belonged to it then, and how many are left. `held_until` is the time (epoch milliseconds) until
    which only the process that worked on it last goes on with it, which may have ended; in the past if any may."""

    entity: str
    key: Mapping[str, Any]
    since: int
    total: int
    left: int
    held_until: int = 0


@dataclass(frozen=True)
class NotFilled:
    """A record that can't be added to the lookup: its identity, and the reason."""

    identity: Item
    error: ShardweaveError


@dataclass(frozen=True)
class BackfillReport:
    """The progress of a run: the numbers of records read and added, and those refused (at most 100 of them are
    named)."""

    entity: str
    lookup: str
    read: int = 0
    filled: int = 0
    refused: int = 0
    examples: tuple[NotFilled, ...] = ()
    ready: bool = False


def not_found(entity: EntityType[Any]) -> NotFound:
    """No live record of the entity has the key."""
    return NotFound(f"there is no such {entity.token}", where="key", fix="check the key")


def check_number_in(entity: EntityType[Any], identity: Item) -> None:
    """Refuse an identity whose number means "the next one": each write would make another record. Raises
    ValueRefused."""
    for each in entity.sequences:
        if identity.get(each.property_name, 1) in UNNUMBERED:
            fix = "create the record without it, which takes the next number"
            raise ValueRefused("no record has the number 0", where=each.property_name, fix=fix)
