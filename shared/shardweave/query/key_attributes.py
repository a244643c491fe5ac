"""Properties that can be read from the keys of a record.

A read of an index returns the table's keys, the index's own keys, and other keys that it projects. A property that the
index does not project can be shown and filtered on if it is an element of one of these keys. DynamoDB can't evaluate a
filter on a part of a key, so the library does.

A key can be used for a property only if every record of the view that has the property also has the key. That holds for
the table's keys and the view's own keys. A projected key without a shard is always present (in a format where missing
elements are empty: unless all elements except the unique and the timestamp property are missing). A projected key with
a shard is present only if no element is missing, so it can be used for an element whose other elements are never
missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..keys.key_design import Generated
from ..schema.entity_type import EntityType, IndexView
from ..table.values import Item, Value
from ..values.stored_form import stored_form
from .value_order import may_be_none


def keys_that_say(entity: EntityType[Any], view: IndexView) -> Mapping[str, str]:
    """The properties that can be read from keys in every record of a view, each with the attribute of such a key."""
    found: dict[str, str] = {}
    for key in _keys(entity):
        if view.projected is None or key.name in view.projected:
            for name in _said_by(entity, view, key):
                found.setdefault(name, key.name)
    return found


def hidden_in(entity: EntityType[Any], view: IndexView, names: Iterable[str]) -> list[str]:
    """The properties, of some, that a read of a view does not return, in order."""
    if view.projected is None:
        return []
    return sorted(set(names) - view.projected - keys_that_say(entity, view).keys())


def is_unclear(entity: EntityType[Any], view: IndexView, name: str) -> bool:
    """Whether a property is only in a key, and the key does not distinguish None from a default that is not None."""
    if view.projected is None or name in view.projected or name not in keys_that_say(entity, view):
        return False
    each = entity.condition_property(name)
    return may_be_none(each) and not (each.default.is_constant and each.default.form() is None)


def attributes_for(entity: EntityType[Any], view: IndexView, names: Iterable[str]) -> list[str]:
    """The attributes to read in a view for some properties: their own, or those of keys that contain them."""
    if view.projected is None:
        return list(names)
    keys = keys_that_say(entity, view)
    return [name if name in view.projected else keys[name] for name in names]


def values_in_keys(entity: EntityType[Any], item: Item, names: Collection[str] | None = None) -> dict[str, Value]:
    """The properties decoded from an item's keys, in stored form (without the padding that keys add to numbers). With
    `names`, only from keys that contain one of these properties."""
    found: dict[str, Value] = {}
    for key in _keys(entity):
        text = item.get(key.name)
        if isinstance(text, str) and (names is None or any(element.name in names for element in key.elements)):
            parts = text.split(entity.keys.format.element_delimiter)[int(key.sharded) :]
            found |= entity.keys.parse_elements(key.name, key.elements, parts)
    return {name: stored_form(value) for name, value in found.items()}


def value_in(entity: EntityType[Any], item: Item, name: str) -> Value:
    """A property of an item, from its attribute or a key; None if it has none."""
    return item[name] if name in item else values_in_keys(entity, item, (name,)).get(name)


def _keys(entity: EntityType[Any]) -> list[Generated]:
    """The keys whose texts contain properties: generated keys, and the table's keys."""
    design = entity.keys.design
    table = (Generated(design.hash_name, design.partition, sharded=True),
             Generated(design.range_name, design.sort, sharded=False))  # fmt: skip
    return [key for key in (*table, *design.generated) if key.elements]


def _said_by(entity: EntityType[Any], view: IndexView, key: Generated) -> list[str]:
    design, names = entity.keys.design, [element.name for element in key.elements]
    if key.name in (design.hash_name, design.range_name, view.hash_name, view.range_name):
        return names
    if not key.sharded:
        return [name for name in names if not (design.key_format.missing_as_empty and name in design.hints)]
    always = {*entity.identity, entity.timestamp}
    return [name for name in names if always.issuperset(set(names) - {name})]
