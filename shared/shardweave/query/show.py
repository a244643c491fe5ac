"""What a caller sees of a record: the entity itself when it was read whole, else a mapping of its properties.

Where an index projects only keys, the properties in the keys' texts are shown too: they were read, after all.
"""

from __future__ import annotations

from typing import Any

from ..shard_key.key import AnyKey
from ..table.values import Item, Value
from .plan import Plan


class Part(dict[str, Value]):
    """Some properties of a record by stored name, and its shard key where its entity has an origin."""

    key: AnyKey | None = None


def shown(plan: Plan, item: Item) -> Any:
    """The record, or, when properties are left out, the Part that is there."""
    if plan.whole:
        return plan.entity.load(item)
    visible = _from_keys(plan, item) | plan.entity.visible(item)
    names = visible if plan.shown is None else plan.shown
    part = Part((name, visible[name]) for name in names if name in visible)
    part.key = plan.entity.key_in(item)
    return part


def _from_keys(plan: Plan, item: Item) -> dict[str, Value]:
    keys = plan.entity.keys
    found: dict[str, Value] = {}
    for view in (branch.view for branch in plan.branches):
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
    return found
