"""Remnants: the properties that events have set of a record that can't be shown, kept until it can, or until the record
is created manually.

Format:
    hashKey     order.*waiting!3f        token of the entity, and a shard that the identity alone decides
    rangeKey    orderId#o1               the identity, or the token of a singleton
    _projected  who said what, see `lww_registers`
    _values     what was said
    rev         a revision of its own
    the table's TTL attribute: `remember_days` after it was last written

There is either a record or a remnant, never both: a write of one removes the other in the same transaction, on
conditions of both. A record that is created manually is complete: it takes over the marks of the remnant, so that older
events have no effect, but not its values. From then on the marks are in the record, and are deleted with it.

Costs: one more action when a record of an entity that a read model writes is created, and another round if a remnant
exists; nothing when a record is replaced or deleted.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import RecordUnreadable, Unreadable
from ...schema.entity_type import REVISION, EntityType
from ...schema.schema import Schema
from ...table.conditions import Compare, Condition, Or
from ...table.operations import DeleteItem, PutItem
from ...table.values import Item, Value
from ..attempts import AttemptContext
from ..lookups.lookup_records import internal_key, owner_text
from ..writing.write_actions import ActionRole, WriteAction, absent, as_read
from .lww_registers import PROJECTED, Known, Marks

_VALUES = "_values"
_WAITING = "*waiting"


@dataclass(frozen=True)
class Remnants:
    """The settings of an entity's remnants: the table's TTL attribute, and for how many seconds they are kept."""

    ttl: str
    seconds: int

    def key(self, entity: EntityType[Any], identity: Item) -> dict[str, Value]:
        """The key of a record's remnant. Raises KeyTooLong."""
        range_key = owner_text(entity, identity) or entity.token
        return internal_key(entity, _WAITING, range_key)

    def put(
        self,
        entity: EntityType[Any],
        identity: Item,
        known: Known,
        moment: AttemptContext,
        rev: str,
        condition: Condition | None,
    ) -> WriteAction:
        """The action that writes a remnant."""
        item = {
            **self.key(entity, identity),
            PROJECTED: known.marks.encode(),
            _VALUES: dict(known.values),
            REVISION: rev,
            self.ttl: moment.seconds + self.seconds,
        }
        return WriteAction(PutItem(item, condition, return_on_failure=True), ActionRole.REMNANT)

    def clear(
        self, entity: EntityType[Any], identity: Item, remnant: Item | None, moment: AttemptContext
    ) -> WriteAction:
        """The action that deletes the remnant, if it is still the one that was read."""
        condition = self.as_seen(entity, remnant, moment)
        return WriteAction(
            DeleteItem(self.key(entity, identity), condition, return_on_failure=True), ActionRole.REMNANT
        )

    def as_seen(self, entity: EntityType[Any], remnant: Item | None, moment: AttemptContext) -> Condition:
        """The condition that the remnant is unchanged; None: there is none, or it has expired."""
        if remnant is None:
            return Or((absent(entity), Compare(self.ttl, "<=", moment.seconds)))
        return as_read(remnant)


def known_of(entity: EntityType[Any], identity: Item, remnant: Item | None) -> Known:
    """The state in a remnant; empty if there is none. Raises RecordUnreadable."""
    if remnant is None:
        return Known()
    marks, values = marks_of(entity, identity, remnant), remnant.get(_VALUES)
    if not isinstance(values, Mapping):
        raise _damaged(entity, identity, remnant)
    return Known(values, marks)


def marks_of(entity: EntityType[Any], identity: Item, item: Item) -> Marks:
    """The marks in a record or a remnant. Raises RecordUnreadable."""
    try:
        return Marks.decode(item[PROJECTED])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise _damaged(entity, identity, item) from None


def _damaged(entity: EntityType[Any], identity: Item, item: Item) -> RecordUnreadable:
    named = {name: entity.identifying[name].python(value) for name, value in identity.items()}
    stored = tuple(item[name] for name in (entity.keys.design.hash_name, entity.keys.design.range_name))
    more: dict[str, Any] = {"collection": entity.collection or entity.token, "stored_key": stored}
    return RecordUnreadable(Unreadable(entity.token, named, "events_damaged", **more))


def taken_over(entity: EntityType[Any], identity: Item, remnant: Item | None) -> dict[str, Value]:
    """The attributes that a manually created record takes over from a remnant: the marks, but no values. Raises
    RecordUnreadable."""
    if remnant is None:
        return {}
    return {PROJECTED: replace(known_of(entity, identity, remnant).marks, gone=False).encode()}


def remnants_of(schema: Schema) -> Mapping[str, Remnants]:
    """The settings of remnants for each entity that a read model of events writes, by token."""
    ttl = schema.layout.ttl_attribute or ""
    return {
        schema[model].token: Remnants(ttl, read_model.remember_seconds)
        for read_model in schema.read_model_list
        if read_model.events
        for model in read_model.writes
    }
