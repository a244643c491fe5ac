"""Checks of the collections of several entities. Generators of faults, as in `all_faults`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...errors import Fault
from ...keys.key_design import Element, order_difference
from ..declarations import Index
from ..entity import Entity
from ..entity_options import Descending
from ..nested_elements import property_at
from ..parts import SchemaParts
from ..property import properties_of
from ..property_options import Role
from ..resolve import generated_keys, index_models
from .names import IN_URL


def collection_faults(parts: SchemaParts) -> Iterator[Fault]:
    """Every fault of a schema's collections of several entities."""
    yield from _name_faults(parts)
    indexes = {index.name: index for index in parts.indexes}
    for each in parts.collections:
        where = f"collection {each.name}"
        models = list(dict.fromkeys(each.entities))
        if len(models) < len(each.entities):
            yield Fault(where, "it names an entity twice", "name each once")
        if len(models) < 2:
            yield Fault(where, "it has fewer than two entities", "one entity has a collection of its own already")
        strangers = [model.__name__ for model in models if model not in parts.models]
        if strangers:
            yield Fault(where, f"{', '.join(strangers)} is not in the schema", "add it to Schema(entities=[...])")
        index = indexes.get(each.index)
        if index is None:
            known = ", ".join(indexes) or "(the schema has none)"
            yield Fault(where, f"there is no index {each.index!r}", f"use one of {known}")
        elif not strangers:
            yield from _index_faults(parts, where, index, models)


def _name_faults(parts: SchemaParts) -> Iterator[Fault]:
    taken = {model.declaration.collection: f"the collection of {model.__name__}" for model in parts.models}
    models = {model.__name__.lower(): model.__name__ for model in parts.models}
    for each in parts.collections:
        where = f"collection {each.name}"
        if not IN_URL.fullmatch(each.name):
            fix = "use a letter, then letters, digits, - and _"
            yield Fault(where, f"the collection {each.name!r} can't stand in a URL", fix)
        elif each.name in taken:
            yield Fault(where, f"the name {each.name!r} is already {taken[each.name]}", "choose another name")
        elif each.title.lower() in models:
            message = f"its operations would be called as those of {models[each.title.lower()]}"
            yield Fault(where, message, "choose another name")
    names = Counter(each.title.lower() for each in parts.collections)
    for name, times in names.items():
        if times > 1:
            same = [each.name for each in parts.collections if each.title.lower() == name]
            message = f"{times} collections have this name, or one that differs in punctuation or case alone"
            yield Fault(f"collection {same[0]}", message, "give each its own")


def _index_faults(parts: SchemaParts, where: str, index: Index, models: list[type[Entity]]) -> Iterator[Fault]:
    if not index.exposed:
        yield Fault(where, f"the index {index.name!r} is not exposed", "expose it, or query it in Python")
    holders = index_models(parts.models, index)
    outside = [model.__name__ for model in models if model not in holders]
    if outside:
        message = f"the index {index.name!r} does not have {', '.join(outside)}"
        yield Fault(where, message, "declare its keys there, or use another index")
        return
    first, *others = models
    hashed = _elements(first, index.hash_key)
    ranged = _elements(first, index.range_key)
    for model in others:
        if not _fix_alike(hashed, _elements(model, index.hash_key)):
            message = (
                f"the hash key of {index.name} has {_names(hashed)} in {first.__name__}, and "
                f"{_names(_elements(model, index.hash_key))} in {model.__name__}"
            )
            fix = "declare it from properties of the same names and types, in the same order"
            yield Fault(where, message, fix)
        titles = (f"{index.name} of {first.__name__}", f"{index.name} of {model.__name__}")
        both = (ranged, _elements(model, index.range_key))
        raw = [index.range_key in each.model_fields for each in (first, model)]
        difference = order_difference(titles, both, raw=(raw[0], raw[1]))
        if difference is not None:
            yield Fault(where, *difference)


def _elements(model: type[Entity], key: str) -> list[Element]:
    """The elements of a key of an index in one entity; those without a type that a key can have are left out."""
    names: list[str | Descending]
    if key == "hash_key":
        names = list(model.declaration.partition)
    elif key == "range_key":
        unique = [each.name for each in properties_of(model).values() if each.role is Role.UNIQUE]
        names = list(model.declaration.sort_elements or unique)
    elif key in generated_keys(model):
        names = list(generated_keys(model)[key][1].elements)
    else:
        names = [key]
    found = []
    for name in names:
        text, descending = (name.name, True) if isinstance(name, Descending) else (name, False)
        each = property_at(properties_of(model), text)
        if each is not None and each.codec is not None:
            found.append(Element(each.stored, each.codec, descending))
    return found


def _fix_alike(one: list[Element], other: list[Element]) -> bool:
    """Whether one condition fixes both hash keys."""
    same = [element.name for element in one] == [element.name for element in other]
    return same and order_difference(("", ""), (one, other)) is None


def _names(elements: list[Element]) -> str:
    return ", ".join(element.name for element in elements) or "nothing"
