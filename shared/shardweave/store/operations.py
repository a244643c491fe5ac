"""The operations of the store, as values, and the outcomes of a batch of writes.

`Create` and `Put` take a record, or a mapping of properties (stored or Python names) and its model. The others take a
model and a key: the value of the property that identifies a record, or a mapping if there are several.
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
from ..keys.shard_key.key import AnyKey
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.property import Property
from ..schema.property_options import Role
from ..schema.read_models import Event
from ..table.conditions import Condition
from ..table.values import Item
from ..values.codecs import EnumCodec

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
"""New values by property, None to remove one; or a function from the stored record to these."""


Upsert = bool | Mapping[str, Any]
"""The properties, in addition to the others given, of a record that is created if none exists; None if none is
created."""

Rev = str | frozenset[str] | None
"""The revision that a record must have, or several of which it must have one."""


def shard_of(key: Key) -> str | None:
    """The shard in a key, if it is a shard key."""
    return key.shard if isinstance(key, AnyKey) else None


Among = Callable[[Item], bool]
"""Decides whether the caller may see a stored record. For the caller, other records don't exist; and if ids are shared
with other callers (`EntityType.shares_ids`), the caller can create records only with generated ids."""


@dataclass(frozen=True)
class Visible:
    """The records of an entity that the caller may see: those for which `visibility` is true (None: all), which depends
    on the attributes `names`. `claims` are the caller's claims if they alone decide; None if more decides, for which
    `owned` is the filter."""

    visibility: Among | None = None
    names: tuple[str, ...] = ()
    claims: frozenset[str] | None = frozenset()
    owned: Condition | None = None

    def includes(self, item: Item) -> bool:
        """Whether a stored record is visible."""
        return self.visibility is None or self.visibility(item)

    def has_all(self, claims: Collection[str]) -> bool:
        """Whether every record with these claims of the caller is visible."""
        return self.claims is not None and self.claims <= set(claims)


NONE_VISIBLE = Visible(lambda item: False, claims=None)


Related = Callable[[str], Visible]
"""The records of each entity, by its token, that the caller may see. For the caller, relations lead to no other
records, no other record can be a parent, and children are named in errors only if all are visible."""


@dataclass(frozen=True)
class Create:
    """Write a record whose identity no live record has. As in the other operations, `visibility` says which records the
    caller may see, and `related` which records of other entities."""

    record: Entity | Mapping[str, Any]
    model: type[Entity] | str | None = None
    visibility: Among | None = None
    related: Related | None = None


@dataclass(frozen=True)
class Put:
    """Write a whole record, in place of the live one with its identity if there is one. The stored timestamp stays, and
    so do numbers of sequences: a different number is refused. With `rev` only that revision is replaced; with `exists`
    the record must exist. `numbered` are the properties (stored names) whose numbers the store took, not the caller;
    `keeping` those that keep their stored value if a mapping leaves them out, since the caller may not see them.
    `from_json`: see `prepare`. `refused` is an error that is already known: the item of a batch fails with it.
    `returning`: the previous record is returned as `Written.before`."""

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
    """Change properties of a live record. With `rev` only if that is its revision. With `upsert`, a missing record is
    created from the key, the changes and the mapping `upsert`. `from_json`: see `prepare`. `refused` is as in Put."""

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
    """Add to numbers and sets of a live record; a missing number counts as 0, a missing set as empty. `rev` and
    `upsert` are as in Update."""

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
    """Delete a record. With `rev` only if that is its revision. `returning` is as in Put."""

    model: type[Entity] | str
    key: Key
    rev: Rev = None
    visibility: Among | None = None
    related: Related | None = None
    returning: bool = False


@dataclass(frozen=True)
class Written:
    """The result of one operation: the stored record (None after a delete or check), whether it was created, and, if
    requested, the record `before`."""

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


@dataclass(frozen=True)
class Reset:
    """Set numbers that a read model counts to 0, all of a record or those named: what was counted until then is
    settled, and only what changes later counts. With `rev` only in that revision, so nothing is reset that the caller
    has not seen. `visibility` and `related` are as in Create."""

    model: type[Entity] | str
    key: Key
    names: tuple[str, ...] = ()
    rev: Rev = None
    visibility: Among | None = None
    related: Related | None = None


@dataclass(frozen=True)
class Apply:
    """Apply an event to a read model, together with the other operations. If it was applied before, only those are
    carried out."""

    read_model: str
    event: Event


Operation = Create | Put | Update | Add | Delete | Check | Reset | Apply


@dataclass(frozen=True)
class WriteOutcome:
    """The outcome of one item of a batch.

    `written`: carried out (for a delete also if there was nothing to delete); `record` is the stored record.
    `unprocessed`: not carried out, may be sent again. `failed`: see `error`; only an OutcomeUnknown leaves open whether
    it was carried out.
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


def can_be_added_to(entity: EntityType[Any], each: Property) -> bool:
    """Whether a property is a number or set that changes, and that the store does not number."""
    if each.stored in entity.immutable or each.role is Role.UPDATED or each.claim is not None:
        return False
    if any(sequence.property_name == each.stored for sequence in entity.sequences):
        return False
    return each.is_set or (each.is_number and not isinstance(each.codec, EnumCodec))
