"""Checks of read models that are fed by records. Generators of faults, as in `all_faults`.

A record that such a read model writes is made by its first addition, from its key alone: everything else must have a
default. It must not expire, since the sums would be lost with it. What feeds a read model must not be written by one,
so that no change goes round in a circle.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from ...errors import Fault
from ..entity import Entity, identity_of
from ..nested_elements import is_nested
from ..parts import SchemaParts
from ..property import properties_of
from ..property_options import Role
from ..read_models import ReadModel, sums_in


def source_faults(parts: SchemaParts, where: str, read_model: ReadModel) -> Iterator[Fault]:
    """Every fault of the entities that feed a read model, and of those that it writes from them."""
    if read_model.events:
        fix = "declare two, each with entities of its own to write"
        yield Fault(where, "it takes both events and records", fix)
    written = {model: each.name for each in parts.read_models for model in each.writes}
    for model in dict.fromkeys(read_model.records):
        if model not in parts.models:
            yield Fault(where, f"{model.__name__} is not in the schema", "add it to Schema(entities=[...])")
        elif model in written:
            message = f"{model.__name__}, which feeds it, is itself written by {written[model]}"
            yield Fault(where, message, "feed it from the records or events that feed that one")
    if len(set(read_model.records)) < len(read_model.records):
        yield Fault(where, "records names an entity twice", "name each once")
    for model in dict.fromkeys(read_model.writes):
        if model in parts.models:
            yield from _target_faults(where, model)


def _target_faults(where: str, model: type[Entity]) -> Iterator[Fault]:
    name, identity, properties = model.__name__, identity_of(model), list(properties_of(model).values())
    yield from member_identity_faults(where, model)
    if not sums_in(properties, identity):
        message = f"{name} has no number to add to"
        yield Fault(where, message, "declare one whose default is 0, such as messages: int = 0")
    for each in properties:
        if each.stored in sums_in(properties, identity) and _is_bounded(each.annotation):
            message = f"{name}.{each.name} has bounds, which a sum would meet when it is too late to refuse it"
            yield Fault(where, message, "leave them out")
        if each.role is Role.TTL:
            yield Fault(where, f"{name}.{each.name} lets the sums expire", "leave it out")
        elif each.required and each.name not in identity and each.role is not Role.UPDATED:
            message = f"{name}.{each.name} has no default, and a record is made by what is added to it"
            yield Fault(where, message, "give it a default")


def member_identity_faults(where: str, model: type[Entity]) -> Iterator[Fault]:
    """Faults of what a read model writes whose records are identified by members of models: events and sums write
    whole properties, each at its own time, so that a model may be there without its member, or before it."""
    for name in filter(is_nested, identity_of(model)):
        fix = "declare a property of the entity that has its value"
        yield Fault(where, f"{model.__name__} is identified by {name!r}, a member of a model", fix)


def _is_bounded(annotation: Any) -> bool:
    """Whether a type has constraints of pydantic, such as ge=0."""
    return any(type(each).__module__ == "annotated_types" for each in typing.get_args(annotation)[1:])
