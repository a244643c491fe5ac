"""What a caller sees of a record: the entity itself when it was read whole, else a mapping of its properties.

Where an index projects only keys, the properties in the keys' texts are shown too: they were read, after all. What is
not stored shows its default, as it does in the whole record.
"""

from __future__ import annotations

from typing import Any

from ..entity_type import EntityType
from ..shard_key.key import AnyKey
from ..table.values import Item, Value
from .from_keys import values_in_keys
from .plan import Plan


class Part(dict[str, Value]):
    """Some properties of a record by stored name, and its shard key where its entity has an origin."""

    key: AnyKey | None = None


def _value(entity: EntityType[Any], name: str, value: Value) -> Value:
    """An empty set is stored as an empty list."""
    return set() if value == [] and entity.properties[name].is_set else value


def shown(plan: Plan, item: Item) -> Any:
    """The record, or, when properties are left out, the Part that is there."""
    if plan.whole:
        return plan.entity.load(item)
    in_keys = values_in_keys(plan.entity, item)
    visible = {name: in_keys[name] for name in in_keys if name in plan.entity.properties} | plan.entity.visible(item)
    for name, default in plan.defaults:
        if name not in visible and (form := default.form()) is not None:
            visible[name] = form
    names = visible if plan.shown is None else plan.shown
    part = Part((name, _value(plan.entity, name, visible[name])) for name in names if name in visible)
    plan.entity.readable(part)
    part.key = plan.entity.key_in(item)
    return part
