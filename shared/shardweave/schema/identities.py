"""Identities: what identifies a record, by the names of properties and of members of models.

    {"orderId": "o1"}        {"address.country": "de", "num": 7}

The name of a member is its path, as in conditions. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .entity_type import EntityType
from .property import Property


def given_identity(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What values by stored name say of the identity, as they say it; what they don't say is left out."""
    found = {}
    for name in entity.identity:
        value = given_at(entity, values, name) if name in entity.nested else values.get(name)
        if value is not None:
            found[name] = value
    return found


def with_identity(entity: EntityType[Any], identity: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document of a record, with what it does not say of the identity."""
    found = {**identity, **document}
    for element in entity.placing_members:
        if (value := found.pop(element.name, None)) is not None:
            found |= _filled(found, element.path, value)
    return found


def _filled(document: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**document, name: value} if document.get(name) is None else dict(document)
    inner = document.get(name)
    if inner is not None and not isinstance(inner, Mapping):
        return dict(document)
    return {**document, name: _filled(inner or {}, rest, value)}


def key_of_step(step: Property, values: Mapping[str, Any]) -> str:
    """The name by which a mapping has a property or member, the stored or the Python one."""
    return step.name if step.name in values and step.stored not in values else step.stored


def given_at(entity: EntityType[Any], values: Any, name: str) -> Any:
    """The member in a key that values have, whose models are mappings or instances; None if they have none."""
    for step in entity.steps_to(name):
        if values is None:
            return None
        is_mapping = isinstance(values, Mapping)
        values = values.get(key_of_step(step, values)) if is_mapping else getattr(values, step.name, None)
    return values
