"""Resolving names in declarations: the generated keys of an entity, the properties of a key, the entities of an index.

Nothing is checked here: unknown names are left to the checks, and these functions also work for invalid schemas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from pydantic.alias_generators import to_camel

from .declarations import Index
from .entity import Entity, HashKey, RangeKey
from .entity_options import Descending
from .property import properties_of


@cache
def generated_keys(model: type[Entity]) -> dict[str, tuple[str, HashKey | RangeKey]]:
    """A model's generated keys by Python name, each with its stored name: `first_name_range_key` is stored as
    `firstNameRangeKey` unless another name is set."""
    return {
        name: (to_camel(name) if key.stored is None else key.stored, key)
        for name, key in model.declared().items()
        if isinstance(key, (HashKey, RangeKey))
    }


def key_properties(model: type[Entity], key: str) -> tuple[str, ...]:
    """The properties of a model in one key of an index, by Python name."""
    if key == "hash_key":
        return model.declaration.partition
    if key == "range_key":
        return model.declaration.sort
    found = generated_keys(model).get(key)
    if found is None:
        return (key,)
    names: Sequence[str | Descending] = found[1].elements
    return tuple(each.name if isinstance(each, Descending) else each for each in names)


def index_models(models: Iterable[type[Entity]], index: Index) -> list[type[Entity]]:
    """The entities of a schema that an index holds."""
    return [
        model
        for model in models
        if (index.entities is None or model in index.entities)
        and _has_key(model, index.hash_key, "hash_key")
        and _has_key(model, index.range_key, "range_key")
    ]


def _has_key(model: type[Entity], name: str, table_key: str) -> bool:
    return name == table_key or name in model.declared() or (table_key == "range_key" and name in model.model_fields)


def projected_names(index: Index, models: Sequence[type[Entity]]) -> list[str]:
    """The stored names of an index's projected properties."""
    if isinstance(index.projection, str):
        return []
    stored: dict[str, str] = {}
    for model in models:
        stored |= {name: each.stored for name, each in properties_of(model).items()}
        stored |= {name: attribute for name, (attribute, _) in generated_keys(model).items()}
    return [stored[name] for name in dict.fromkeys(index.projection) if name in stored]
