"""Checks of the names in a schema. Generators of faults, as in `all_faults`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...errors import Fault
from ...keys.shard_key.key import is_entity_origin
from ..declarations import TABLE_KEYS
from ..entity import Entity
from ..entity_type import MARK, REVISION
from ..parts import SchemaParts
from ..property import properties_of
from ..property_options import Role
from ..resolve import generated_keys

_NAME = re.compile("[A-Za-z][A-Za-z0-9]{0,254}")
_RAW_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,254}")
_PYTHON_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
IN_URL = re.compile("[A-Za-z][A-Za-z0-9_-]*")
"""The form of a collection's name."""
_MIN_INDEX_NAME = 3


def is_name(parts: SchemaParts, name: str) -> bool:
    """Whether a name has only letters and digits, so that it contains no delimiter; underscores are allowed in key
    formats of another library that allows them."""
    return bool((_RAW_NAME if parts.key_format.raw_values else _NAME).fullmatch(name))


def name_faults(parts: SchemaParts) -> Iterator[Fault]:
    """Faults of invalid names, and of duplicate names."""
    if not parts.models:
        yield Fault("schema", "it has no entities", "give Schema(entities=[...])")
    named = [("entity", model.__name__, model.declaration.token) for model in parts.models]
    named += [("index", index.name, index.name) for index in parts.indexes]
    named += [("table key", name, name) for name in (parts.hash_key, parts.range_key)]
    for kind, place, name in named:
        if not is_name(parts, name):
            yield Fault(f"{kind} {place}", f"{name!r} is not a valid name", "use a letter, then letters and digits")
        elif kind == "index" and len(name) < _MIN_INDEX_NAME:
            yield Fault(f"index {name}", "DynamoDB wants at least 3 characters in its name", "choose a longer name")
    for model in parts.models:
        if not IN_URL.fullmatch(model.declaration.collection):
            message = f"the collection {model.declaration.collection!r} can't stand in a URL"
            yield Fault(f"entity {model.__name__}", message, "use a letter, then letters, digits, - and _")
        if not model.declaration.separator:
            yield Fault(f"entity {model.__name__}", "the separator of its key is empty", "leave it out, or give one")
        origin = model.declaration.origin
        if origin is not None and not is_entity_origin(origin):
            message = f"{origin!r} is not a valid origin"
            yield Fault(f"entity {model.__name__}", message, "use one ASCII letter or digit other than 0")
    repeated: dict[str, list[str]] = {
        "token": [model.declaration.token for model in parts.models],
        "collection": [model.declaration.collection for model in parts.models],
        "origin": [model.declaration.origin for model in parts.models if model.declaration.origin is not None],
        "index": [index.name for index in parts.indexes],
        "table key": [parts.hash_key, parts.range_key],
    }
    for kind, names in repeated.items():
        for name, times in Counter(names).items():
            if times > 1:
                yield Fault(f"{kind} {name}", f"the {kind} {name!r} is used {times} times", "give each its own")


def collisions(parts: SchemaParts) -> Iterator[Fault]:
    """Faults of attributes with the same name and different meanings: in one entity, or a property of one entity and a
    generated key of another."""
    generated: dict[str, tuple[str, str]] = {}
    for model in parts.models:
        for name, (stored, key) in generated_keys(model).items():
            place, kind = f"entity {model.__name__}.{name}", type(key).__name__
            other_kind, other_place = generated.setdefault(stored, (kind, place))
            if other_kind != kind:
                yield Fault(place, f"{stored!r} is a {kind} here and a {other_kind} in {other_place}", "rename one")
    for model in parts.models:
        yield from _collisions_inside(parts, model)
        own = {stored for stored, _ in generated_keys(model).values()}
        for each in properties_of(model).values():
            if each.stored in generated and each.stored not in own:
                place = f"entity {model.__name__}.{each.name}"
                yield Fault(place, f"{each.stored!r} is a generated key in {generated[each.stored][1]}", "rename one")
    ttl = {each.stored for m in parts.models for each in properties_of(m).values() if each.role is Role.TTL}
    if len(ttl) > 1:
        yield Fault("schema", f"the TTL has several names: {', '.join(sorted(ttl))}", "a table has one TTL attribute")
    for model in parts.models:
        for each in properties_of(model).values():
            if each.stored in ttl and each.role is not Role.TTL:
                message = f"the table's TTL attribute is {each.stored!r}, so records would be removed by it"
                yield Fault(f"entity {model.__name__}.{each.name}", message, "make it a ttl_property(), or rename it")


def _collisions_inside(parts: SchemaParts, model: type[Entity]) -> Iterator[Fault]:
    taken = {parts.hash_key: "the table's hash key", parts.range_key: "the table's range key"}
    taken |= {REVISION: "the stored revision", MARK: "an internal attribute"}
    named = [(each.name, each.stored, "property") for each in properties_of(model).values()]
    named += [(name, stored, "generated key") for name, (stored, _) in generated_keys(model).items()]
    for name, stored, kind in named:
        place = f"entity {model.__name__}.{name}"
        if stored in taken:
            yield Fault(place, f"{stored!r} is already {taken[stored]}", f"rename the {kind}")
        taken[stored] = f"the {kind} {name}"
        if name in TABLE_KEYS:
            yield Fault(place, f"{name!r} is what indexes call a key of the table", f"rename the {kind}")
        if not _PYTHON_NAME.fullmatch(name) or not is_name(parts, stored):
            yield Fault(place, f"{stored!r} is not a valid name", "use a letter, then letters, digits and underscores")
