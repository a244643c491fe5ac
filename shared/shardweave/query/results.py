"""The result form of a record: the entity itself if it was read whole, else a mapping of its properties.

Where an index projects only keys, the properties in the keys' texts are shown too: they were read, after all.
Properties that are not stored have their default, and each value has its property's type, as in the whole record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..errors import ValidationFailed
from ..keys.shard_key.key import AnyKey
from ..schema.entity_type import EntityType
from ..table.values import Item, Value
from ..values.json_validation import field_faults
from .key_attributes import values_in_keys
from .plan import EntityPlan


class Part(dict[str, Any]):
    """Some properties of a record by stored name, the token of its `entity`, and its shard key where its entity has an
    origin."""

    entity: str = ""
    key: AnyKey | None = None


def _form(entity: EntityType[Any], name: str, value: Value) -> Value:
    """An empty set is stored as an empty list."""
    return set() if value == [] and entity.properties[name].is_set else value


def _typed(entity: EntityType[Any], forms: Mapping[str, Any]) -> Part:
    """The properties in stored form, in the types of a record. Raises ValidationFailed."""
    part, faults = Part(), []
    for name, form in forms.items():
        try:
            part[name] = entity.properties[name].python(form)
        except ValidationError as error:
            faults += field_faults(error, (name,))
    if faults:
        raise ValidationFailed(faults, where=entity.token)
    return part


def shown(plan: EntityPlan, item: Item) -> Any:
    """The record, or, if properties are left out, the Part with the others. Raises RecordUnreadable."""
    if plan.whole:
        return plan.entity.load(item)
    with plan.entity.reading(item):
        return _part(plan, item)


def _part(plan: EntityPlan, item: Item) -> Part:
    in_keys = {} if plan.entity.upgrades.functions else values_in_keys(plan.entity, item)
    visible = {name: in_keys[name] for name in in_keys if name in plan.entity.properties} | plan.entity.visible(item)
    for name, default in plan.defaults:
        if name not in visible and (form := default.form()) is not None:
            visible[name] = form
    names = visible if plan.shown is None else plan.shown
    forms = {name: _form(plan.entity, name, visible[name]) for name in names if name in visible}
    part = _typed(plan.entity, plan.entity.readable(forms))
    part.entity, part.key = plan.entity.token, plan.entity.key_in(item)
    return part
