"""Reads a JSON object as the stored properties of a record that may be incomplete.

Each given property is checked and converted to its stored form, as if it were written to the table, including
properties that the service derives. Properties that keys do not need may be missing; a member of a model that is in a
key may be given by its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import FieldFault, InputError, ValidationFailed
from ..schema.entity_type import EntityType
from ..schema.property import GIVEN_TWICE
from ..table.values import Value
from ..values.json_types import is_open
from ..wire.record_models import RecordModels, as_given, validated


def item_of(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    """The stored properties of a record, in the order given. Raises ValidationFailed that lists every fault,
    ValueRefused."""
    return _stored(entity, entity.prepared(_read(entity, values), None))


def values_of(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    """The stored form of some properties, nothing derived. Raises as `item_of`."""
    return _stored(entity, _read(entity, values))


def whole_record(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a whole record, in Python types: read like a body of the API, but an import may also give the
    time of the last write, and use the Python names of properties. Raises ValidationFailed that lists every fault."""
    _refuse(_repeated(entity, values))
    given = {entity.stored_name(name): value for name, value in values.items() if name not in entity.computed}
    try:
        read = as_given(entity, validated(RecordModels(entity).put, given, every_digit=_open(entity)), given)
    except InputError as error:
        error.where = ""
        raise
    return {name: _exact(entity, name, given, value) for name, value in read.items()}


def _read(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The given properties, in their Python types."""
    faults = _repeated(entity, values)
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name in entity.computed:
            continue
        stored = entity.stored_name(name)
        found = entity.properties.get(stored) or entity.nested.get(stored)
        if found is None:
            faults.append(FieldFault((name,), f"the entity {entity.token!r} has no such property", "extra_forbidden"))
            continue
        try:
            read[stored] = _exact(
                entity, stored, {stored: value}, found.read_json(value, every_digit=is_open(found.annotation))
            )
        except ValidationFailed as failed:
            faults += failed.fields
    _refuse(faults)
    return read


def _exact(entity: EntityType[Any], name: str, given: Mapping[str, Any], read: Any) -> Any:
    """For a property of any type, the given value, whose numbers have all their digits."""
    each = entity.condition_property(name)
    if not is_open(each.annotation):
        return read
    return given[name] if each.read_untyped is None else each.read_untyped(given[name])


def _open(entity: EntityType[Any]) -> list[str]:
    return [name for name, each in entity.properties.items() if is_open(each.annotation)]


def _stored(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    item = {name: entity.condition_property(name).parse(value) for name, value in values.items()}
    return {name: value for name, value in item.items() if value is not None}


def _repeated(entity: EntityType[Any], values: Mapping[str, Any]) -> list[FieldFault]:
    return [FieldFault((name,), GIVEN_TWICE, "duplicate") for name in entity.repeated(values)]


def _refuse(faults: list[FieldFault]) -> None:
    if faults:
        raise ValidationFailed(faults)
