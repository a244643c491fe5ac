"""Writing stored items as JSON text directly, without creating record objects, if possible.

An entity of plain texts, whole numbers and truth values has little to check: each value's type and a text's length. An
item that passes is answered as it is stored. Everything else is none of this module's: whatever is unusual in an entity
(another type, a serializer, a computed field) or in an item (a missing value, another type, another key, an earlier
version) is said to be no plain one, and goes the way over a record, which says what is wrong. Both ways write the same
bytes, which is tested, so this module decides nothing.

Cost: a look at each value, and one call that writes them all: a fifth of the way over a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from ..schema.entity import Entity
from ..schema.entity_type import REVISION, EntityType
from ..schema.property import Property
from ..schema.upgrades import VERSION
from ..table.values import Item
from ..values.codecs import NO_BOOL

_KINDS = {"str": str, "int": int, "bool": bool}
_TYPE = {"type", "metadata", "ref"}
_TEXT = {*_TYPE, "min_length", "max_length"}
"""What a schema may say of a value. All else, such as a pattern, is checked where a record is made."""
_METHODS = ("__getattr__", "__getattribute__", "model_dump_json", "model_post_init")
_MOST = 1 << 62


@dataclass(frozen=True)
class _Plain:
    """A property whose values are plain. `least` and `most` are the characters that a text has; `private` is checked
    and not shown; one that `may_miss` is left out where nothing is stored."""

    stored: str
    kind: type
    least: int
    most: int
    private: bool
    may_miss: bool


class StoredJson:
    """The JSON text of an entity's items that are plain."""

    def __init__(self, entity: EntityType[Any]) -> None:
        self._keys, self._version = entity.keys, entity.upgrades.version
        self._plain = plain_properties(entity)

    def texts(self, items: Sequence[Item]) -> list[bytes | None]:
        """The JSON text of the record that each whole stored item is, None where a record has to be made."""
        if self._plain is None:
            return [None] * len(items)
        shown = [self._shown(item, self._plain) for item in items]
        plain = [item for item, each in zip(items, shown, strict=True) if each is not None]
        faults = iter(self._keys.faults_in(plain))
        return [None if each is None or next(faults) else to_json(each) for each in shown]

    def _shown(self, item: Item, plain: Sequence[_Plain]) -> dict[str, Any] | None:
        """What is answered of an item whose values are all plain; None for another."""
        shown: dict[str, Any] = {}
        for each in plain:
            value = item.get(each.stored)
            if type(value) is not each.kind:
                if value is None and each.may_miss and each.stored not in item:
                    continue
                return None
            if isinstance(value, str) and not each.least <= len(value) <= each.most:
                return None
            if not each.private:
                shown[each.stored] = value
        is_current = item.get(VERSION, 1) == self._version
        return shown if is_current and type(item.get(REVISION, "")) is str else None


def plain_properties(entity: EntityType[Any]) -> tuple[_Plain, ...] | None:
    """The properties of an entity in their order, None where not all of them are plain."""
    model = entity.model
    fields = _fields_of(entity.reading_model)
    if fields is None or entity.origin is not None or entity.computed or _does_more(model):
        return None
    if [each.name for each in entity.properties.values()] != list(fields):
        return None
    found = [_plain(each, fields[each.name], model) for each in entity.properties.values()]
    plain = tuple(each for each in found if each is not None)
    return plain if len(plain) == len(found) else None


def _fields_of(model: type[BaseModel] | None) -> Mapping[str, Any] | None:
    """The schemas of the fields of a model that is nothing but its fields."""
    schema: Any = getattr(model, "__pydantic_core_schema__", None)
    if not isinstance(schema, Mapping) or schema["type"] != "model" or schema["schema"]["type"] != "model-fields":
        return None
    fields: Mapping[str, Any] = schema["schema"]["fields"]
    return None if schema.get("custom_init") else fields


def _does_more(model: type[Entity]) -> bool:
    """Whether a model has settings of its own, or changes how its records are made or written."""
    if model.model_config != Entity.model_config or _is_serialized(model.__pydantic_core_schema__):
        return True
    classes = [each for each in model.__mro__ if each not in Entity.__mro__]
    return any(name in vars(each) and not _is_made(each, name) for each in classes for name in _METHODS)


def _is_serialized(schema: Any) -> bool:
    """Whether something in a model's schema says how it is written, beside the names of its fields."""
    if isinstance(schema, Mapping):
        named = (str(name) for name in schema)
        said = any(name.startswith("serialization") and name != "serialization_alias" for name in named)
        return said or any(map(_is_serialized, schema.values()))
    return isinstance(schema, (list, tuple)) and any(map(_is_serialized, schema))


def _is_made(model: type, name: str) -> bool:
    """Whether a method was put there by pydantic."""
    return str(getattr(vars(model)[name], "__module__", "")).startswith("pydantic.")


def _plain(each: Property, field: Mapping[str, Any], model: type[Entity]) -> _Plain | None:
    schema, may_miss = field["schema"], False
    if schema["type"] == "default":
        may_miss = "default_factory" not in schema and schema["default"] is None
        schema = schema["schema"]
    schema = schema["schema"] if schema["type"] == "nullable" else schema
    if schema["type"] == "function-before" and schema["function"]["function"] is NO_BOOL.func:
        schema = schema["schema"]
    kind = _KINDS.get(schema["type"])
    if kind is None or set(schema) - (_TEXT if kind is str else _TYPE):
        return None
    if model.model_fields[each.name].serialization_alias != each.stored:
        return None
    most = schema.get("max_length")
    return _Plain(
        each.stored, kind, schema.get("min_length") or 0, _MOST if most is None else most, each.private, may_miss
    )
