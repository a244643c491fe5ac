"""What can be asked of the store, as values, and what a batch of writes answers.

`Create` and `Put` take a record, or a mapping of properties (stored or Python names) and its model. The others take a
model and a key: the value of the one property that identifies a record, or a mapping of all that do.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from ..errors import ShardweaveError
from ..schema.entity import Entity
from ..shard_key.key import AnyKey
from ..table.conditions import Condition
from ..table.values import Item

Key = (
    str
    | int
    | float
    | bytes
    | Decimal
    | UUID
    | dt.date
    | dt.time
    | dt.timedelta
    | enum.Enum
    | AnyKey
    | Mapping[str, Any]
)
"""A unique value, a mapping of the properties that identify a record, or its shard key."""

Changes = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""New values by property, None to remove one; or a function that gives them for the record as it is stored."""


Upsert = bool | Mapping[str, Any]
"""Whether a record is made where there is none, and of what beside what is given otherwise."""

Rev = str | frozenset[str] | None
"""The revision that a record must have, or those of which it must have one."""


def shard_of(key: Key) -> str | None:
    """The shard that a key tells, if it is a shard key."""
    return key.shard if isinstance(key, AnyKey) else None


Among = Callable[[Item], bool]
"""Whether there is a stored record for whoever asks. For them, no other exists; and where ids are shared with others
(`EntityType.shares_ids`) they make records only with ids that are made up for them."""


@dataclass(frozen=True)
class Visible:
    """The records of an entity that there are for whoever asks: those that `visibility` is true of (None: all), which
    the attributes `names` decide. They are all that have the asker's `claims`; None where more than claims decides,
    which `owned` is the filter for."""

    visibility: Among | None = None
    names: tuple[str, ...] = ()
    claims: frozenset[str] | None = frozenset()
    owned: Condition | None = None

    def includes(self, item: Item) -> bool:
        """Whether a stored record is there."""
        return self.visibility is None or self.visibility(item)

    def has_all(self, claims: Collection[str]) -> bool:
        """Whether every record of these claims of the asker is there."""
        return self.claims is not None and self.claims <= set(claims)


NONE_VISIBLE = Visible(lambda item: False, claims=None)


Related = Callable[[str], Visible]
"""Which records of an entity, by its token, there are for whoever asks. For them, relations lead to no other, no other
is a parent, and children are named where every one is there."""


@dataclass(frozen=True)
class Create:
    """Write a record whose identity no live record has. `visibility` says which there are, and `related` which of other
    entities, as in the others."""

    record: Entity | Mapping[str, Any]
    model: type[Entity] | str | None = None
    visibility: Among | None = None
    related: Related | None = None


@dataclass(frozen=True)
class Put:
    """Write a whole record, in place of the live one with its identity if there is one. The stored timestamp stays, and
    so do numbers of sequences: another one is refused. With `rev` only in place of that revision; with `exists` only in
    place of a record. `numbered` are the properties (stored names) whose numbers the store took, not the caller;
    `keeping` those that stay as they are stored where a mapping leaves them out, since whoever gives it may not see
    them. `from_json`: see `prepare`. `refused` is why it is not carried out, where that is known already: the item of a
    batch fails with it. `returning`: what was there is wanted, as `Written.before`."""

    record: Entity | Mapping[str, Any]
    model: type[Entity] | str | None = None
    rev: Rev = None
    exists: bool = False
    visibility: Among | None = None
    numbered: frozenset[str] = frozenset()
    keeping: frozenset[str] = frozenset()
    related: Related | None = None
    from_json: bool = False
    refused: ShardweaveError | None = None
    returning: bool = False


@dataclass(frozen=True)
class Update:
    """Change properties of a live record. With `rev` only if that is its revision. With `upsert` one is made where
    there is none, of the key, the changes and what `upsert` maps properties to. `from_json`: see `prepare`. `refused`
    is as in Put."""

    model: type[Entity] | str
    key: Key
    changes: Changes
    rev: Rev = None
    visibility: Among | None = None
    related: Related | None = None
    from_json: bool = False
    upsert: Upsert = False
    refused: ShardweaveError | None = None


@dataclass(frozen=True)
class Add:
    """Add to numbers and sets of a live record: to a number that is missing as to 0, to a set that is missing as to an
    empty one. `rev` and `upsert` are as in Update."""

    model: type[Entity] | str
    key: Key
    amounts: Mapping[str, Any]
    rev: Rev = None
    visibility: Among | None = None
    related: Related | None = None
    from_json: bool = False
    upsert: Upsert = False


@dataclass(frozen=True)
class Delete:
    """Remove a record. With `rev` only if that is its revision. `returning` is as in Put."""

    model: type[Entity] | str
    key: Key
    rev: Rev = None
    visibility: Among | None = None
    related: Related | None = None
    returning: bool = False


@dataclass(frozen=True)
class Written:
    """What one operation left: the record as stored (None after a delete or check), and whether it is a new one; and,
    where it was wanted, the record that was there `before`."""

    record: Entity | None
    created: bool
    before: Entity | None = None


@dataclass(frozen=True)
class Check:
    """Change nothing, and require that a live record exists (with `rev`: in that revision), or that none does."""

    model: type[Entity] | str
    key: Key
    rev: Rev = None
    exists: bool = True


Operation = Create | Put | Update | Add | Delete | Check


@dataclass(frozen=True)
class WriteOutcome:
    """What became of one item of a batch.

    `written`: carried out (for a delete also when there was nothing to remove); `record` is the one stored.
    `unprocessed`: not carried out, may be sent again. `failed`: see `error`; only an OutcomeUnknown leaves open
    whether it was carried out.
    """

    status: Literal["written", "unprocessed", "failed"]
    record: Entity | None = None
    error: ShardweaveError | None = None


@dataclass(frozen=True)
class BatchWriteResult:
    """One outcome for each put, each delete and each update, in the order of the input."""

    puts: tuple[WriteOutcome, ...]
    deletes: tuple[WriteOutcome, ...]
    updates: tuple[WriteOutcome, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything was written."""
        return all(outcome.status == "written" for outcome in (*self.puts, *self.deletes, *self.updates))
