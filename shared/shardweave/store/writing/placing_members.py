"""Members of models that identify or place a record, in the values that writes give.

A value of such a model comes as a mapping, whose names are stored or Python ones, or as an instance. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ImmutableProperty, ValidationFailed
from ...schema.entity_type import EntityType
from ...schema.identities import given_at, key_of_step
from ...schema.property import Property
from ...table.values import Item, Value


def immutable(name: str) -> ImmutableProperty:
    """The error of a change of what identifies or places a record."""
    return ImmutableProperty(
        "it decides the record's identity or place and never changes",
        where=name,
        fix="leave it as it is, or delete the record and create another",
    )


def lost_by(entity: EntityType[Any], name: str) -> str | None:
    """What never changes and would be lost without a property: it, or a member of its model."""
    if name in entity.immutable:
        return name
    return next((each.name for each in entity.placing_members if each.root == name), None)


def check_not_removed(entity: EntityType[Any], given: Mapping[str, Any], error: ValidationFailed) -> None:
    """That values which are not valid don't lack a member that never changes. Raises ImmutableProperty."""
    for element in entity.placing_members:
        at_fault = any(tuple(map(str, each.location)) == element.path[: len(each.location)] for each in error.fields)
        if at_fault and element.root in given and given_at(entity, given, element.name) is None:
            raise immutable(element.name)


def check_patch(entity: EntityType[Any], patch: Mapping[str, Any]) -> None:
    """That a merge patch removes no member that never changes. Raises ImmutableProperty."""
    for element in entity.placing_members:
        inner: Any = patch
        for step in element.path:
            if not isinstance(inner, Mapping) or step not in inner:
                break
            inner = inner[step]
            if inner is None:
                raise immutable(element.name)


def of_identity(entity: EntityType[Any], identity: Item, values: Mapping[str, Any]) -> dict[str, Any]:
    """Properties by stored name, together with the identity, which they may repeat. Raises ImmutableProperty."""
    found = dict(values)
    for name, value in identity.items():
        if name in entity.nested:
            found = _with_member(entity.steps_to(name), found, value, name)
            continue
        if name in values and entity.properties[name].parse(values[name]) != value:
            raise immutable(name)
        found[name] = value
    return found


def _with_member(steps: Sequence[Property], values: Mapping[str, Any], value: Value, name: str) -> dict[str, Any]:
    step, *rest = steps
    key = key_of_step(step, values)
    given = values.get(key)
    if not rest:
        if given is not None and step.parse(given) != value:
            raise immutable(name)
        return {**values, key: value}
    if given is not None and not isinstance(given, Mapping):
        given = step.parse(given)
        if not isinstance(given, Mapping):
            raise immutable(name)
    return {**values, key: _with_member(rest, given or {}, value, name)}
