"""What the keys of a record say: an index gives its own keys and the table's, and their texts hold properties.

A property that an index does not project can be shown and filtered on where it is an element of one of those keys. The
table can't look into a key, so that such a filter is evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..entity_type import EntityType, IndexView
from ..stored_form import stored_form
from ..table.values import Item, Value
from .value_order import may_be_none


def names_in_keys(entity: EntityType[Any], view: IndexView) -> frozenset[str]:
    """The properties that `values_in_keys` finds in every record of a view."""
    elements = (*view.hash_elements, *(() if view.raw else view.range_elements), *entity.keys.design.sort)
    return frozenset(element.name for element in elements)


def hidden_in(entity: EntityType[Any], view: IndexView, names: Iterable[str]) -> list[str]:
    """Those of some properties that a read of a view does not give, in order."""
    if view.projected is None:
        return []
    return sorted(set(names) - view.projected - names_in_keys(entity, view))


def is_unclear(entity: EntityType[Any], view: IndexView, name: str) -> bool:
    """Whether a key alone shows a property, and says the same of a None as of a default that is not None."""
    if view.projected is None or name in view.projected or name not in names_in_keys(entity, view):
        return False
    each = entity.properties[name]
    return may_be_none(each) and not (each.default.is_constant and each.default.form() is None)


def values_in_keys(entity: EntityType[Any], views: Iterable[IndexView], item: Item) -> Mapping[str, Value]:
    """The properties in the keys of an item, as far as it has those keys, as they would be stored beside them: a key
    pads a number, which says no more for that."""
    keys = entity.keys
    found: dict[str, Value] = {}
    for view in views:
        if not view.raw and isinstance(item.get(view.range_name), str) and view.range_elements:
            parts = item[view.range_name].split(keys.format.element_delimiter)
            found |= keys.parse_elements(view.range_name, view.range_elements, parts)
        if isinstance(item.get(view.hash_name), str) and view.hash_elements:
            parts = item[view.hash_name].split(keys.format.element_delimiter)[1:]
            found |= keys.parse_elements(view.hash_name, view.hash_elements, parts)
    design = keys.design
    if design.sort and isinstance(item.get(design.range_name), str):
        parts = item[design.range_name].split(keys.format.element_delimiter)
        found |= keys.parse_elements(design.range_name, design.sort, parts)
    return {name: stored_form(value) for name, value in found.items()}
