"""What the keys of a record say: their texts hold properties.

A read of an index gives the table's keys, the index's own, and other keys that it projects. A property that the index
does not project itself can be shown and filtered on where it is an element of one of those. The table can't look into a
key, so that such a test is made here.

A key says of every record of a view whether it has a property, and which value, where the key is there whenever the
property is: the table's keys and the view's own always are. Of other keys, one that is not sharded is there whatever
is missing (in a format where missing is empty, unless all but the unique and the timestamp property is missing); a
sharded one only when no element is missing, so that it says something of an element whose companions never are.
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
    """The properties that the keys of every record of a view say, each with the attribute of a key that does."""
    found: dict[str, str] = {}
    for key in _keys(entity):
        if view.projected is None or key.name in view.projected:
            for name in _said_by(entity, view, key):
                found.setdefault(name, key.name)
    return found


def hidden_in(entity: EntityType[Any], view: IndexView, names: Iterable[str]) -> list[str]:
    """Those of some properties that a read of a view does not give, in order."""
    if view.projected is None:
        return []
    return sorted(set(names) - view.projected - keys_that_say(entity, view).keys())


def is_unclear(entity: EntityType[Any], view: IndexView, name: str) -> bool:
    """Whether a key alone shows a property, and says the same of a None as of a default that is not None."""
    if view.projected is None or name in view.projected or name not in keys_that_say(entity, view):
        return False
    each = entity.properties[name]
    return may_be_none(each) and not (each.default.is_constant and each.default.form() is None)


def attributes_for(entity: EntityType[Any], view: IndexView, names: Iterable[str]) -> list[str]:
    """What to read in a view for some properties that it gives: their attributes, or those of keys that say them."""
    if view.projected is None:
        return list(names)
    keys = keys_that_say(entity, view)
    return [name if name in view.projected else keys[name] for name in names]


def values_in_keys(entity: EntityType[Any], item: Item, names: Collection[str] | None = None) -> dict[str, Value]:
    """The properties in the keys that an item has, as they would be stored beside them: a key pads a number, which says
    no more for that. With `names`, those in keys that hold one of them."""
    found: dict[str, Value] = {}
    for key in _keys(entity):
        text = item.get(key.name)
        if isinstance(text, str) and (names is None or any(element.name in names for element in key.elements)):
            parts = text.split(entity.keys.format.element_delimiter)[int(key.sharded) :]
            found |= entity.keys.parse_elements(key.name, key.elements, parts)
    return {name: stored_form(value) for name, value in found.items()}


def value_in(entity: EntityType[Any], item: Item, name: str) -> Value:
    """A property of an item, or of the keys that say it; None where it has none."""
    return item[name] if name in item else values_in_keys(entity, item, (name,)).get(name)


def _keys(entity: EntityType[Any]) -> list[Generated]:
    """The keys whose texts hold properties: generated ones, and the table's."""
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
