"""From a JSON object to the stored properties of a record that need not be complete.

Each property that is given is checked and takes its stored form, as it would on the way into the table, the service's
derivations included; what keys do not need may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..entity_type import EntityType
from ..errors import FieldFault, ValidationFailed
from ..table.values import Value


def item_of(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    """The stored properties of a record, in the order given. Raises ValidationFailed that lists every fault,
    ValueRefused."""
    stored = {entity.stored_name(name): value for name, value in values.items()}
    faults = [FieldFault((name,), "it is given twice", "duplicate") for name in _repeated(entity, values)]
    return _parsed(entity, entity.model.prepare(stored), faults)


def values_of(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    """The stored form of some properties, nothing derived. Raises as `item_of`."""
    faults = [FieldFault((name,), "it is given twice", "duplicate") for name in _repeated(entity, values)]
    return _parsed(entity, {entity.stored_name(name): value for name, value in values.items()}, faults)


def _repeated(entity: EntityType[Any], values: Mapping[str, Any]) -> list[str]:
    return [name for name in values if entity.stored_name(name) != name and entity.stored_name(name) in values]


def _parsed(entity: EntityType[Any], values: Mapping[str, Any], faults: list[FieldFault]) -> dict[str, Value]:
    item: dict[str, Value] = {}
    for name, value in values.items():
        found = entity.properties.get(name)
        if found is None:
            faults.append(FieldFault((name,), f"the entity {entity.token!r} has no such property", "extra_forbidden"))
            continue
        try:
            parsed = found.parse(value)
        except ValidationFailed as failed:
            faults += failed.fields
        else:
            if parsed is not None:
                item[name] = parsed
    if faults:
        raise ValidationFailed(faults)
    return item
