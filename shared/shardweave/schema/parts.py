"""The arguments of a schema, with the right types, for the checks.

Guarantees: each part has its type, whatever was given. Values of another type are left out, or replaced by their text
or a default, and `faults` reports them, so that all faults can be reported together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Fault
from ..keys.key_format import ORDERED, KeyFormat
from .collection import Collection
from .declarations import Index
from .entity import Entity
from .entity_options import kind_fault, name_of, names_of
from .read_models import ReadModel, no_actions


@dataclass(frozen=True)
class SchemaParts:
    """The arguments of a schema for its checks; the schema is built if they find no faults."""

    models: tuple[type[Entity], ...]
    indexes: tuple[Index, ...]
    read_models: tuple[ReadModel, ...]
    key_format: KeyFormat
    hash_key: str
    range_key: str
    collections: tuple[Collection[Any], ...]
    faults: tuple[Fault, ...]


def schema_parts(
    entities: Any,
    indexes: Any,
    read_models: Any,
    key_format: Any,
    hash_key: Any,
    range_key: Any,
    collections: Any = (),
) -> SchemaParts:
    """The parts from the arguments of a schema."""
    faults: list[Fault] = []
    models = [
        model for where, model in _listed("entities", entities, "entities", faults) if _is_model(where, model, faults)
    ]
    key_format = _sound_format(key_format, faults)
    names = []
    for name, default in ((hash_key, "hashKey"), (range_key, "rangeKey")):
        if not isinstance(name, str):
            faults.append(kind_fault("table key", name, "a name", "give a text"))
        names.append(name if isinstance(name, str) else default)
    return SchemaParts(
        models=tuple(models),
        indexes=tuple(_indexes(indexes, faults)),
        read_models=tuple(_read_models(read_models, faults)),
        key_format=key_format,
        hash_key=names[0],
        range_key=names[1],
        collections=tuple(_collections(collections, faults)),
        faults=(*faults, *(fault for model in dict.fromkeys(models) for fault in model.declaration.faults)),
    )


def _sound_format(given: Any, faults: list[Fault]) -> KeyFormat:
    if not isinstance(given, KeyFormat):
        faults.append(kind_fault("key format", given, "a key format", "use key_format('ordered')"))
        return ORDERED
    wrong = []
    for name, kind in KeyFormat.__annotations__.items():
        value = getattr(given, name)
        if kind == "str" and not isinstance(value, str):
            wrong.append(kind_fault(f"key format: {name}", value, "a text", "give one"))
        elif kind == "bool" and not isinstance(value, bool):
            wrong.append(kind_fault(f"key format: {name}", value, "a bool", "give one, or leave it out"))
        elif name == "hash" and not callable(value):
            wrong.append(kind_fault("key format: hash", value, "a function", "give one from a text to a number"))
    faults += wrong
    return ORDERED if wrong else given


def _listed(place: str, given: Any, wanted: str, faults: list[Fault]) -> list[tuple[str, Any]]:
    """The elements of a list, each with its place."""
    if isinstance(given, Iterable) and not isinstance(given, type):
        return [(f"{place}[{position}]", each) for position, each in enumerate(given)]
    faults.append(kind_fault(place, given, f"a list of {wanted}", f"give {place}=[...]"))
    return []


def _is_model(where: str, given: Any, faults: list[Fault]) -> bool:
    if isinstance(given, type) and issubclass(given, Entity) and given is not Entity:
        return True
    if given is Entity:
        faults.append(Fault(where, "it is the base of all entities, and none itself", "give classes derived from it"))
    else:
        faults.append(kind_fault(where, given, "an entity", "give classes derived from Entity"))
    return False


def _indexes(given: Any, faults: list[Fault]) -> Iterable[Index]:
    for where, index in _listed("indexes", given, "indexes", faults):
        if isinstance(index, Index):
            yield _sound_index(where, index, faults)
        else:
            faults.append(kind_fault(where, index, "an index", "give Index(...)"))


def _sound_index(where: str, index: Any, faults: list[Fault]) -> Index:
    name, entities, projection = index.name, index.entities, index.projection
    if not isinstance(name, str):
        faults.append(kind_fault(f"{where}: name", name, "a text", "give one"))
        name = where.replace("[", "").replace("]", "")
    place = f"index {name}"
    if entities is not None:
        given = entities
        if isinstance(entities, type):
            faults.append(kind_fault(f"{place}: entities", entities, "a tuple of entities", "give entities=(...,)"))
            given = (entities,)
        listed = _listed(f"{place}: entities", given, "entities", faults)
        entities = tuple(model for at, model in listed if _is_model(at, model, faults))
        entities = None if listed and not entities else entities
    for key, given_key in (("hash_key", index.hash_key), ("range_key", index.range_key)):
        if not isinstance(given_key, str):
            fix = "name a key of the entities, or a property"
            faults.append(kind_fault(f"{place}: {key}", given_key, "a name", fix))
    if not isinstance(projection, str):
        projection = names_of(projection)
    faults += [
        kind_fault(f"{place}: {flag}", getattr(index, flag), "a bool", "give one, or leave it out")
        for flag in ("exposed", "descending")
        if not isinstance(getattr(index, flag), bool)
    ]
    sound: Index = replace(
        index,
        name=name,
        hash_key=name_of(index.hash_key),
        range_key=name_of(index.range_key),
        entities=entities,
        projection=projection,
        owner=None if index.owner is None else name_of(index.owner),
    )
    return sound


def _collections(given: Any, faults: list[Fault]) -> Iterable[Collection[Any]]:
    for where, each in _listed("collections", given, "collections", faults):
        if not isinstance(each, Collection):
            faults.append(kind_fault(where, each, "a collection", "give Collection(...)"))
            continue
        listed = _listed(f"{where}: entities", each.entities, "entities", faults)
        models = [model for at, model in listed if _is_model(at, model, faults)]
        if len(models) == len(listed) and listed:
            yield each


def _read_models(given: Any, faults: list[Fault]) -> Iterable[ReadModel]:
    for where, each in _listed("read_models", given, "read models", faults):
        if not isinstance(each, ReadModel):
            faults.append(kind_fault(where, each, "a read model", "give ReadModel(...)"))
            continue
        wrong = _read_model_faults(where, each)
        faults += wrong
        if not wrong:
            yield each


def _read_model_faults(where: str, given: Any) -> list[Fault]:
    faults: list[Fault] = []
    if not isinstance(given.name, str):
        faults.append(kind_fault(f"{where}: name", given.name, "a text", "give one"))
    if not callable(given.project):
        faults.append(kind_fault(f"{where}: project", given.project, "a function", "give one from an event to actions"))
    elif given.project is no_actions:
        faults.append(Fault(f"{where}: project", "it is missing", "give a function from an event or record to actions"))
    if type(given.remember_days) is not int:
        faults.append(kind_fault(f"{where}: remember_days", given.remember_days, "a whole number", "give one"))
    for at, kind in _listed(f"{where}: events", given.events, "events", faults):
        if not isinstance(kind, type):
            faults.append(kind_fault(at, kind, "an event", "give classes derived from Event"))
    for name in ("writes", "records"):
        for at, model in _listed(f"{where}: {name}", getattr(given, name), "entities", faults):
            _is_model(at, model, faults)
    return faults
