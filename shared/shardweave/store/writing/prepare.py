"""Preparing records: from the given values to the properties that will be stored.

Pure. A draft is a record's properties in stored form with its new revision: times set, `prepare` called, validated
whole, creation time checked, immutable properties compared with the stored ones. Generated attributes come later.

JSON has no bytes, no sets and no long decimals. So if values come `from_json`, a part without a declared type keeps the
stored value if it equals the JSON form of the stored value at the same place.

Costs one validation; none if nothing has to be derived, since a record object was validated when it was created.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...errors import ImmutableProperty, InputError, ValidationFailed, ValueRefused
from ...keys.key_design import Element
from ...schema.entity import Entity
from ...schema.entity_type import MARK, REVISION, EntityType
from ...schema.relations import COUNTED, SequenceType
from ...schema.upgrades import VERSION
from ...table.values import Item, Value
from ...values.codecs import TimestampCodec
from ...values.kept_members import with_kept_members
from ...values.stored_form import stored_form
from ...values.untyped import as_stored
from ..operations import Changes, Put
from ..outcomes import UNNUMBERED
from .placing_members import check_not_removed, immutable, lost_by, of_identity

_INTERNAL = (REVISION, MARK, COUNTED, VERSION)
MAX_EXPIRY_SECONDS = 10**11
"""A TTL from here on can only be milliseconds: as seconds it lies beyond the year 5138, as milliseconds after 1973."""
NOTHING: Item = MappingProxyType({})


@dataclass(frozen=True)
class PreparedRecord:
    """The properties of a record to be stored, and its revision. `generated`: its identity was generated in this call,
    so that no other record can have it."""

    item: dict[str, Value]
    generated: bool = False


def new_draft(
    entity: EntityType[Any], given: Entity | Mapping[str, Any], now_ms: int, rev: str, kept: Item = NOTHING
) -> PreparedRecord:
    """A record to be created. Times that are not given are set (an import may give them). `kept` are the properties
    that were validated before. Raises ValidationFailed, ValueRefused."""
    draft = _draft(entity, given, rev, lambda values: _set_missing_times(entity, values, now_ms), kept)
    _check_identity(entity, draft.item)
    entity.check_timestamp(draft.item, now_ms)
    return draft


def replacing_draft(entity: EntityType[Any], put: Put, stored: Item, now_ms: int, rev: str) -> PreparedRecord:
    """A whole record that replaces a stored one, whose timestamp and numbers stay. Raises ImmutableProperty too."""

    keeping, given, stored = put.keeping, put.record, entity.as_known(stored)
    if put.from_json and isinstance(given, Mapping):
        given = _as_stored(entity, entity.by_stored_name(given), stored)
    names = [*keeping] if entity.timestamp is None else [*keeping, entity.timestamp]
    said = entity.by_stored_name(given) if isinstance(given, Mapping) else entity.properties
    kept = entity.readable({name: stored[name] for name in names if name in stored and name not in said})

    def take_over(values: dict[str, Any]) -> None:
        for name in keeping:
            if name in stored:
                values.setdefault(name, kept.get(name, stored[name]))
            elif entity.properties[name].none_when_missing:
                values.setdefault(name, None)
        if entity.timestamp is not None and entity.timestamp in stored:
            values[entity.timestamp] = stored[entity.timestamp]
        _set_updated(entity, values, now_ms)

    draft = _draft(entity, given, rev, take_over, kept)
    for sequence in entity.sequences:
        if keeps_number(sequence, stored, draft.item):
            name = sequence.property_name
            if name not in put.numbered and draft.item.get(name) not in (*UNNUMBERED, stored[name]):
                raise _another_number(name)
            draft.item[name] = stored[name]
    if not entity.keys.fault_in(stored):
        _check_immutable(entity, stored, draft.item)
    return draft


def changed_draft(
    entity: EntityType[Any], stored: Item, changes: Changes, now_ms: int, rev: str, *, from_json: bool = False
) -> PreparedRecord | None:
    """A stored record with some properties changed; None removes one. The result is None if nothing changes. Raises
    ImmutableProperty too."""
    if code := entity.keys.fault_in(stored):
        raise entity.unreadable(stored, code)
    stored = entity.current(stored)
    values = entity.whole(entity.visible(stored))
    given = entity.by_stored_name(changes if isinstance(changes, Mapping) else _told(changes(entity.load(stored))))
    if not given:
        return None
    if from_json:
        given = _as_stored(entity, given, stored)
    for name, value in given.items():
        if value is None and name in entity.properties:
            if lost := lost_by(entity, name):
                raise immutable(lost)
            if entity.properties[name].null_stored or entity.properties[name].none_when_missing:
                values[name] = None
            else:
                values.pop(name, None)
        else:
            values[name] = value
    _set_updated(entity, values, now_ms)
    try:
        others = {name: value for name, value in values.items() if name not in given}
        item = entity.dump(entity.revalidate(entity.prepared(values, others), others))
    except ValidationFailed as error:
        if not any(not each.location or each.location[0] in given for each in error.fields):
            entity.load(stored)  # if no given value is at fault, a stored one may be
        check_not_removed(entity, given, error)
        raise
    item |= _kept_members(entity, item, stored)
    _check_forms(entity, item, stored)
    _keep_order_of_times(entity, item)
    _check_immutable(entity, stored, item)
    for sequence in entity.sequences:
        _check_number(sequence, stored, item, given=sequence.property_name in given)
    return PreparedRecord(item | {REVISION: rev})


def rewritten_draft(entity: EntityType[Any], stored: Item, rev: str) -> PreparedRecord:
    """A stored record as its next write without changes would store it: derived properties are computed again, missing
    properties get their defaults. The time of the last write stays. Raises RecordUnreadable, ImmutableProperty, and
    ValidationFailed if its properties don't fit the entity any more."""
    if code := entity.keys.fault_in(stored):
        raise entity.unreadable(stored, code)
    stored = entity.current(stored)
    values = entity.whole(entity.visible(stored))
    item = entity.dump(entity.revalidate(entity.prepared(values, values), values))
    item |= _kept_members(entity, item, stored)
    _check_forms(entity, item, stored)
    _check_immutable(entity, stored, item)
    for sequence in entity.sequences:
        _check_number(sequence, stored, item, given=False)
    return PreparedRecord(item | {REVISION: rev})


def upserted_draft(
    entity: EntityType[Any], identity: Item, start: Mapping[str, Any], changes: Changes, now_ms: int, rev: str
) -> PreparedRecord:
    """A record to be created by an upsert: from its start values and the changes; if the changes are a function, it is
    called with a record of the start values. Raises ImmutableProperty for another identity, and what `new_draft`
    does."""
    values = of_identity(entity, identity, entity.by_stored_name(start))
    if isinstance(changes, Mapping):
        given = entity.by_stored_name(changes)
    else:
        first = new_draft(entity, values, now_ms, rev, identity)
        given = entity.by_stored_name(_told(changes(entity.record_of(first.item))))
    for name, value in given.items():
        each = entity.properties.get(name)
        if value is None and each is not None and not (each.null_stored or each.none_when_missing):
            values.pop(name, None)
        else:
            values[name] = value
    return new_draft(entity, of_identity(entity, identity, values), now_ms, rev, identity)


def _told(changes: Any) -> Mapping[str, Any]:
    """The changes that a function returned. Raises InputError if they are no changes."""
    if isinstance(changes, Mapping):
        return changes
    if inspect.iscoroutine(changes):
        changes.close()
    message = f"the function must return a mapping of properties to new values, got {type(changes).__name__}"
    fix = 'return {"state": "shipped"}, or {} to change nothing; an async function is not awaited'
    raise InputError(message, where="changes", fix=fix)


def _as_stored(entity: EntityType[Any], given: Mapping[str, Any], stored: Item) -> dict[str, Any]:
    """The given values by stored name; parts without a declared type that equal the JSON form of the stored value are
    replaced by the stored value."""
    found = dict(given)
    for name in given.keys() & stored.keys():
        each = entity.properties.get(name)
        if each is None or each.read_untyped is None:
            continue
        try:
            form = stored_form(given[name])
        except ValueRefused:
            continue  # it is refused below, with its place
        kept = as_stored(form, stored[name])
        if kept != form:
            found |= entity.readable({name: kept})
    return found


def _kept_members(entity: EntityType[Any], item: Item, stored: Item) -> dict[str, Value]:
    """The properties with models, with the members of the stored ones that are not declared."""
    return {
        name: with_kept_members(each.annotation, stored[name], item[name])
        for name, each in entity.properties.items()
        if each.holds_models and isinstance(item.get(name), (Mapping, list)) and stored.get(name)
    }


def unknown_attributes(entity: EntityType[Any], stored: Item, generated: frozenset[str]) -> dict[str, Value]:
    """The attributes of a stored item that the schema does not know. They belong to another program (or a newer version
    of this one), and changes of the record keep them. `generated` are the names of all generated attributes in the
    schema, which are recomputed instead."""
    return {
        name: value
        for name, value in stored.items()
        if name not in entity.properties and name not in generated and name not in _INTERNAL
    }


def _draft(
    entity: EntityType[Any],
    given: Entity | Mapping[str, Any],
    rev: str,
    set_times: Callable[[dict[str, Any]], None],
    kept: Item = NOTHING,
) -> PreparedRecord:
    generated = False
    if isinstance(given, Mapping):
        values = entity.by_stored_name(given)
        set_times(values)
        values = entity.prepared(values, kept)
        item = entity.dump(entity.revalidate(values, kept))
        generated = entity.unique in entity.identity and entity.unique not in values
    else:
        # A record object and its copies may be written more than once, so its identity counts as given, although a
        # default may have generated it when the object was created.
        item = entity.dump(given)
        set_times(item)
        prepared = entity.prepared(item, None)
        if prepared != item:
            item = entity.dump(entity.revalidate(entity.whole(prepared), entity.whole(dict(item))))
    _check_forms(entity, item, {})
    _keep_order_of_times(entity, item)
    return PreparedRecord(item | {REVISION: rev}, generated)


def _set_missing_times(entity: EntityType[Any], values: dict[str, Any], now_ms: int) -> None:
    for name in (entity.timestamp, entity.updated):
        if name is not None and values.get(name) is None:
            values[name] = in_unit(entity, name, now_ms)


def _set_updated(entity: EntityType[Any], values: dict[str, Any], now_ms: int) -> None:
    if entity.updated is not None:
        values[entity.updated] = in_unit(entity, entity.updated, now_ms)


def in_unit(entity: EntityType[Any], name: str, now_ms: int) -> int:
    """A time in the unit of a property."""
    codec = entity.properties[name].codec
    return now_ms // 1000 if isinstance(codec, TimestampCodec) and codec.unit == "s" else now_ms


def _check_forms(entity: EntityType[Any], item: Item, stored: Item) -> None:
    """Refuse values that a declared codec can't encode, also for properties in no key: a text that is not a version, a
    time in the wrong unit, a TTL in milliseconds, which would never expire. A value that is already `stored` is
    accepted."""
    for name, codec in entity.declared_codecs:
        if item.get(name) is not None and stored.get(name) != item[name]:
            entity.keys.encode(Element(name, codec), item[name])
    ttl = entity.ttl
    if ttl is not None and item.get(ttl) is not None and stored.get(ttl) != item[ttl]:
        _check_expiry(ttl, item[ttl])


def _check_expiry(name: str, seconds: Value) -> None:
    if seconds < 0:
        raise ValueRefused("a TTL is in epoch seconds, and can't be negative", where=name, fix="leave it out")
    if seconds >= MAX_EXPIRY_SECONDS:
        reason = "a TTL is in epoch seconds, and this one would lie after the year 5138"
        raise ValueRefused(reason, where=name, fix="give seconds: divide milliseconds by 1000")


def _keep_order_of_times(entity: EntityType[Any], item: dict[str, Value]) -> None:
    """The time of the last write is not before the creation time, even if that is some minutes ahead."""
    created, updated = entity.timestamp, entity.updated
    if created is None or updated is None or created not in item or updated not in item:
        return
    codecs = [entity.properties[name].codec for name in (created, updated)]
    if all(isinstance(codec, TimestampCodec) for codec in codecs):
        milliseconds = int(item[created]) * (1000 if entity.time_unit == "s" else 1)
        item[updated] = max(item[updated], in_unit(entity, updated, milliseconds))


def _check_identity(entity: EntityType[Any], item: Item) -> None:
    """Refuse an empty text as identity, since no URL path can contain it."""
    members = [each.name for each in entity.placing_members if each.value_in(item) == ""]
    for name in entity.identity:
        if item.get(name) == "" or name in members:
            raise ValueRefused("what identifies a record can't be empty", where=name, fix="give it a value")


def _check_immutable(entity: EntityType[Any], stored: Item, item: Item) -> None:
    for name in entity.unlike(stored, item):
        raise immutable(name)


def keeps_number(sequence: SequenceType, stored: Item, item: Item) -> bool:
    """Whether a stored record has a number, and stays in the same scope."""
    same = all(stored.get(element.name) == item.get(element.name) for element in sequence.within)
    return same and stored.get(sequence.property_name) not in UNNUMBERED


def _check_number(sequence: SequenceType, stored: Item, item: Item, *, given: bool) -> None:
    """Refuse changes of a number, except together with its scope; then a new number must be `given`, since the old one
    belongs to the old scope."""
    name = sequence.property_name
    if keeps_number(sequence, stored, item):
        if item.get(name) != stored[name]:
            raise _another_number(name)
    elif stored.get(name) not in UNNUMBERED and (not given or item.get(name) in UNNUMBERED):
        scope = ", ".join(element.name for element in sequence.within)
        fix = "give a number that nothing has there, or put the whole record without one, which takes the next"
        raise ImmutableProperty(f"another {scope} needs another number", where=name, fix=fix)


def _another_number(name: str) -> ImmutableProperty:
    return ImmutableProperty("it is numbered by the store", where=name, fix="leave it as it is")
