"""Checks of read models. Generators of faults, as in `all_faults`.

The identity alone must determine the key of an entity that a read model writes, and its records must not depend on the
time at which events arrive. So its shard must not depend on other properties, and it must have no sequence, no enforced
relation and no creation time set by the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...errors import Fault
from ..declarations import BelongsTo
from ..declarations import Sequence as SequenceDeclaration
from ..entity import Entity, identity_of
from ..parts import SchemaParts
from ..property import properties_of
from ..property_options import Role
from ..read_models import Event, ReadModel, event_types
from ..relations import target_of
from .names import is_name
from .summed_records import member_identity_faults, source_faults


def read_model_faults(parts: SchemaParts) -> Iterator[Fault]:
    """Every fault of a schema's read models."""
    names = Counter(each.name for each in parts.read_models)
    writers: dict[type[Entity], str] = {}
    for each in parts.read_models:
        where = f"read model {each.name}"
        if not is_name(parts, each.name):
            yield Fault(where, f"{each.name!r} is not a valid name", "use a letter, then letters and digits")
        if names[each.name] > 1:
            yield Fault(where, f"{names[each.name]} read models have this name", "give each its own")
        if each.remember_days < 1:
            yield Fault(where, "it remembers events for less than a day", "give remember_days=1 or more")
        if each.records:
            yield from source_faults(parts, where, each)
        yield from _event_faults(where, each)
        for model in each.writes:
            if model not in parts.models:
                yield Fault(where, f"{model.__name__} is not in the schema", "add it to Schema(entities=[...])")
            elif writers.setdefault(model, each.name) != each.name:
                message = f"{model.__name__} is written by {writers[model]} too, whose positions say nothing here"
                yield Fault(where, message, "let one read model write it")
            else:
                yield from _entity_faults(parts, where, model)


def _event_faults(where: str, read_model: ReadModel) -> Iterator[Fault]:
    if not (read_model.events or read_model.records) or not read_model.writes:
        fix = "give events=(...) or records=(...), and writes=(...)"
        yield Fault(where, "it is fed by no events and no records, or writes nothing", fix)
    types: list[str] = []
    for kind in read_model.events:
        if not issubclass(kind, Event) or not event_types(kind):
            fix = f'write type: Literal["{kind.__name__}"] = "{kind.__name__}"'
            yield Fault(where, f"{kind.__name__} does not say what its type is called", fix)
        else:
            types += event_types(kind)
    for name, times in Counter(types).items():
        if times > 1:
            yield Fault(where, f"{times} kinds of events are of type {name!r}", "give each its own")


def _entity_faults(parts: SchemaParts, where: str, model: type[Entity]) -> Iterator[Fault]:
    name, identity = model.__name__, identity_of(model)
    declared = model.declared().values()
    for each in properties_of(model).values():
        if each.role is Role.TIMESTAMP and each.name not in identity:
            fix = "declare it as a plain Timestamp that events give"
            yield Fault(where, f"{name}.{each.name} dates records by the arrival of an event", fix)
    yield from member_identity_faults(where, model)
    if not set(model.declaration.shard_by) <= set(identity):
        yield Fault(where, f"{name} is sharded by what its identity does not say", "leave out shard_by")
    if any(isinstance(each, SequenceDeclaration) for each in declared):
        yield Fault(where, f"{name} is numbered in the order of arrival", "let events give the number")
    if model.declaration.upgrades:
        message = f"{name} has upgrades, which would change what is remembered of events"
        yield Fault(where, message, "leave out upgrades, and let new events, or a rebuild, write the new form")
    enforced = any(isinstance(each, BelongsTo) and each.enforced for each in declared)
    if enforced or _has_children(model, parts.models):
        message = f"{name} takes part in an enforced relation, which events of different records can't keep to"
        yield Fault(where, message, "leave out enforced=True")


def _has_children(model: type[Entity], models: Sequence[type[Entity]]) -> bool:
    """Whether an enforced relation has the model as its target, even if it has other faults."""
    relations = (each for other in models for each in other.declared().values())
    return any(
        isinstance(each, BelongsTo) and each.enforced and target_of(each) == model.declaration.token
        for each in relations
    )
