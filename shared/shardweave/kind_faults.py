"""What is not even of the kind that a schema is made of, found before anything is read from it.

Each check is a generator of faults; what they pass can be examined by all other checks.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from .declarations import Lookup, Unique
from .entity import Entity, Role
from .errors import Fault
from .key_format import KeyFormat
from .sharding import ShardBump

if TYPE_CHECKING:
    from .schema import Schema


def kind_faults(schema: Schema) -> list[Fault]:
    """Everything in a schema that is of the wrong kind."""
    from .schema import Index

    faults: list[Fault] = []
    models: tuple[Any, ...] = schema.models
    indexes: tuple[Any, ...] = schema.indexes
    key_format: Any = schema.key_format
    for position, model in enumerate(models):
        if isinstance(model, type) and issubclass(model, Entity):
            faults += [*_declaration_faults(model), *_property_faults(model), *_lookup_faults(model)]
        else:
            faults.append(_fault(f"entities[{position}]", model, "an entity", "give classes derived from Entity"))
    for position, index in enumerate(indexes):
        if not isinstance(index, Index):
            faults.append(_fault(f"indexes[{position}]", index, "an index", "give Index(...)"))
    if not isinstance(key_format, KeyFormat):
        faults.append(_fault("key format", key_format, "a key format", "use key_format('ordered')"))
    names: tuple[Any, ...] = (schema.hash_key, schema.range_key)
    for name in names:
        if not isinstance(name, str):
            faults.append(_fault("table key", name, "a name", "give a text"))
    return faults


def _declaration_faults(model: type[Entity]) -> Iterator[Fault]:
    place = f"entity {model.__name__}"
    declaration: Any = model.declaration
    for keyword in ("token", "collection", "separator"):
        if not isinstance(getattr(declaration, keyword), str):
            yield _fault(f"{place}: {keyword}", getattr(declaration, keyword), "a text", "give one")
    for position, bump in enumerate(declaration.shard_bumps):
        where, fix = f"{place}: shard_bumps[{position}]", "give ShardBump(timestamp, char_bits=2, chars=1)"
        if not isinstance(bump, ShardBump):
            yield _fault(where, bump, "a bump", fix)
        elif not all(type(each) is int for each in (bump.timestamp, bump.char_bits, bump.chars)):
            yield Fault(where, "its numbers are not all whole numbers", fix)


def _property_faults(model: type[Entity]) -> Iterator[Fault]:
    """Properties whose values have no stored form, or can't be in the key that they are declared for."""
    from .schema import properties_of

    for name, field in model.model_fields.items():
        if _holds_a_model(field.annotation):
            message = "a value of its type is a model, which has no stored form"
            yield Fault(f"entity {model.__name__}.{name}", message, "declare a dict, or properties of its own")

    for name, each in properties_of(model).items():
        if each.role is Role.UNIQUE and each.codec is None:
            message = "a value of its type can't be in a key, and it identifies the record"
            yield Fault(f"entity {model.__name__}.{name}", message, "declare a text, a number, a UUID, a date")


def _holds_a_model(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_a_model(each) for each in typing.get_args(annotation))


def _lookup_faults(model: type[Entity]) -> Iterator[Fault]:
    for name, declared in model.declared().items():
        canonical: Any = declared.canonical if isinstance(declared, (Lookup, Unique)) else None
        if canonical is not None and not callable(canonical):
            place = f"entity {model.__name__}.{name}: canonical"
            yield _fault(place, canonical, "a function", "give a function from a value to its canonical form")


def _fault(where: str, found: Any, wanted: str, fix: str) -> Fault:
    return Fault(where, f"it is no {wanted.removeprefix('a ').removeprefix('an ')} but {type(found).__name__}", fix)
