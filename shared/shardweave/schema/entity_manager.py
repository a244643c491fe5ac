"""A schema from an Entity Manager configuration, whose keys are byte for byte those of that library, version 8.

Format (JSON): `entities` (each with `uniqueProperty`, `timestampProperty`, `shardBumps`), `generatedProperties`
(`sharded` and `unsharded`, each a list of properties by name), `hashKey`, `rangeKey`, `indexes`, `propertyTranscodes`
and the delimiters. What only tunes that library's queries (`defaultLimit`, `defaultPageSize`, `throttle`) is accepted
and not used.

That library does not say which entity has which property, so here every entity may have all of them: its unique and
timestamp properties are required, the others optional. Stored names are exactly the configuration's. Every fault is
reported at once with its path in the configuration.
"""

from __future__ import annotations

import keyword
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from ..errors import Fault, SchemaError
from ..keys.key_format import ENTITY_MANAGER
from ..keys.sharding import ShardBump
from ..values.codecs import NO_BOOL, DecimalCodec, Timestamp
from .declarations import TABLE_KEYS, Index
from .entity import Entity, HashKey, RangeKey
from .property_options import timestamp_property, unique_property
from .schema import Schema

_SAFE = 2**53 - 1
"""The largest whole number up to which JavaScript tells all of them apart."""

TYPES: Mapping[str, Any] = {
    "string": str,
    "timestamp": Timestamp,
    "int": Annotated[int, Field(ge=-_SAFE, le=_SAFE), NO_BOOL],
    "number": Annotated[Decimal, DecimalCodec(18), NO_BOOL],
    "fix6": Annotated[Decimal, DecimalCodec(6), Field(ge=Decimal(-_SAFE) / 10**6, le=Decimal(_SAFE) / 10**6), NO_BOOL],
    "bigint": Annotated[int, NO_BOOL],
    "bigint20": Annotated[int, Field(gt=-(10**20), lt=10**20), NO_BOOL],
    "boolean": bool,
}
"""The types of the transcodes that a property can have."""


def schema_from_config(config: Mapping[str, Any]) -> Schema:
    """The schema of a configuration. Raises SchemaError that lists every fault."""
    try:
        read = Configuration.model_validate(config)
    except ValidationError as error:
        raise SchemaError(
            [_shape_fault(each) for each in error.errors(include_url=False, include_input=False)]
        ) from None
    faults = list(_faults(read))
    if faults:
        raise SchemaError(faults)
    names = _python_names(read)
    return Schema(
        entities=[_entity(read, token, names) for token in read.entities],
        indexes=[_index(read, name, names) for name in read.indexes],
        key_format=replace(
            ENTITY_MANAGER,
            shard_delimiter=read.shard_key_delimiter,
            value_delimiter=read.generated_value_delimiter,
            element_delimiter=read.generated_key_delimiter,
        ),
        hash_key=read.hash_key,
        range_key=read.range_key,
    )


# -- the configuration ------------------------------------------------------------------------------------------------


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Bump(_Part):
    timestamp: int
    char_bits: int = Field(alias="charBits")
    chars: int


class _Entity(_Part):
    unique_property: str = Field(alias="uniqueProperty")
    timestamp_property: str = Field(alias="timestampProperty")
    shard_bumps: list[_Bump] = Field(default=[], alias="shardBumps")
    default_limit: int | None = Field(default=None, alias="defaultLimit")
    default_page_size: int | None = Field(default=None, alias="defaultPageSize")


class _Generated(_Part):
    sharded: dict[str, list[str]] = Field(default={})
    unsharded: dict[str, list[str]] = Field(default={})


class _Index(_Part):
    hash_key: str = Field(alias="hashKey")
    range_key: str = Field(alias="rangeKey")
    projections: list[str] | None = None


class Configuration(_Part):
    """An Entity Manager configuration, as far as JSON can hold one."""

    entities: dict[str, _Entity]
    hash_key: str = Field(alias="hashKey")
    range_key: str = Field(alias="rangeKey")
    generated_properties: _Generated = Field(default=_Generated(), alias="generatedProperties")
    indexes: dict[str, _Index] = Field(default={})
    property_transcodes: dict[str, str] = Field(default={}, alias="propertyTranscodes")
    shard_key_delimiter: str = Field(default="!", alias="shardKeyDelimiter")
    generated_value_delimiter: str = Field(default="#", alias="generatedValueDelimiter")
    generated_key_delimiter: str = Field(default="|", alias="generatedKeyDelimiter")
    throttle: int | None = None


def _shape_fault(error: Any) -> Fault:
    path = _path(*error["loc"]) or "configuration"
    if error["type"] == "extra_forbidden":
        return Fault(path, "there is no such setting", "remove it; functions (transcodes) can't be in JSON")
    return Fault(path, error["msg"], "see the configuration's format")


def _path(*parts: str | int) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


# -- faults -----------------------------------------------------------------------------------------------------------


def _faults(config: Configuration) -> Iterator[Fault]:
    transcodes = config.property_transcodes
    for name, transcode in transcodes.items():
        if transcode not in TYPES:
            path = _path("propertyTranscodes", name)
            yield Fault(path, f"there is no transcode {transcode!r}", f"use one of {', '.join(TYPES)}")
    for token, entity in config.entities.items():
        yield from _entity_faults(transcodes, token, entity)
    for side in ("sharded", "unsharded"):
        for name, elements in getattr(config.generated_properties, side).items():
            path = _path("generatedProperties", side, name)
            if not elements:
                yield Fault(path, "it has no elements", "name at least one property")
            for element in elements:
                if element not in transcodes:
                    message = f"{element!r} is not a property"
                    yield Fault(path, message, f"add it to propertyTranscodes, or use one of {', '.join(transcodes)}")
    yield from _name_faults(config)
    for name, index in config.indexes.items():
        yield from _index_faults(config, name, index)


def _entity_faults(transcodes: Mapping[str, str], token: str, entity: _Entity) -> Iterator[Fault]:
    roles = {
        "uniqueProperty": (entity.unique_property, ("string",)),
        "timestampProperty": (entity.timestamp_property, ("timestamp", "int", "bigint", "bigint20")),
    }
    for role, (name, possible) in roles.items():
        path = _path("entities", token, role)
        if name not in transcodes:
            message = f"{name!r} is not a property"
            yield Fault(path, message, f"add it to propertyTranscodes, or use one of {', '.join(transcodes)}")
        elif transcodes[name] in TYPES and transcodes[name] not in possible:
            yield Fault(path, f"{name!r} is a {transcodes[name]}", f"give it the transcode {' or '.join(possible)}")
    if entity.unique_property == entity.timestamp_property:
        path = _path("entities", token, "timestampProperty")
        yield Fault(path, "it is the unique property too", "name two properties")


def _name_faults(config: Configuration) -> Iterator[Fault]:
    """Attributes of one name that are two things."""
    named = [("hashKey", config.hash_key), ("rangeKey", config.range_key)]
    named += [(_path("propertyTranscodes", name), name) for name in config.property_transcodes]
    named += [(_path("generatedProperties", "sharded", name), name) for name in config.generated_properties.sharded]
    named += [(_path("generatedProperties", "unsharded", name), name) for name in config.generated_properties.unsharded]
    taken: dict[str, str] = {}
    for path, name in named:
        if name in taken:
            yield Fault(path, f"{name!r} is already {taken[name]}", "rename one of them")
        taken.setdefault(name, path)


def _index_faults(config: Configuration, name: str, index: _Index) -> Iterator[Fault]:
    generated = config.generated_properties
    hashes = [config.hash_key, *generated.sharded]
    ranges = [config.range_key, *generated.unsharded, *config.property_transcodes]
    if index.hash_key not in hashes:
        path = _path("indexes", name, "hashKey")
        yield Fault(path, f"there is no hash key {index.hash_key!r}", f"use one of {', '.join(hashes)}")
    if index.range_key not in ranges:
        path = _path("indexes", name, "rangeKey")
        yield Fault(path, f"there is no range key {index.range_key!r}", f"use one of {', '.join(ranges)}")
    elif config.property_transcodes.get(index.range_key) == "boolean":
        path = _path("indexes", name, "rangeKey")
        yield Fault(path, "a boolean can't be the range key of an index", "use a generated property")
    keys = {config.hash_key, config.range_key, *generated.sharded, *generated.unsharded, index.range_key}
    for place, projected in enumerate(index.projections or ()):
        path = _path("indexes", name, "projections", place)
        if projected in keys:
            yield Fault(path, f"{projected!r} is a key", "leave it out")
        elif projected not in config.property_transcodes:
            yield Fault(path, f"{projected!r} is not a property", "add it to propertyTranscodes, or leave it out")


# -- the schema -------------------------------------------------------------------------------------------------------


def _python_names(config: Configuration) -> dict[str, str]:
    """The Python name of each property and generated property: the configuration's, or, where Python or the library
    has another use for that, the same with `its_` before it."""
    generated = config.generated_properties
    names: dict[str, str] = {}
    for name in (*config.property_transcodes, *generated.sharded, *generated.unsharded):
        python_name = name
        while _is_taken(python_name) or python_name in names.values():
            python_name = f"its_{python_name}"
        names[name] = python_name
    return names


def _is_taken(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(Entity, name) or name in TABLE_KEYS or name.startswith("model_")


def _entity(config: Configuration, token: str, names: Mapping[str, str]) -> type[Entity]:
    declared = config.entities[token]
    keys: dict[str, Any] = {}
    for name, elements in config.generated_properties.sharded.items():
        keys[names[name]] = HashKey(*(names[element] for element in elements), stored=name)
    for name, elements in config.generated_properties.unsharded.items():
        keys[names[name]] = RangeKey(*(names[element] for element in elements), stored=name)
    with_keys = types.new_class(token, (Entity,), exec_body=lambda namespace: namespace.update(keys))
    fields: dict[str, Any] = {}
    for name, transcode in config.property_transcodes.items():
        if name == declared.unique_property:
            fields[names[name]] = (TYPES[transcode], unique_property(alias=name))
        elif name == declared.timestamp_property:
            fields[names[name]] = (Timestamp, timestamp_property(default=..., alias=name))
        else:
            fields[names[name]] = (Optional[TYPES[transcode]], Field(default=None, alias=name))  # noqa: UP045
    bumps = sorted(declared.shard_bumps, key=lambda bump: bump.timestamp)
    keywords = {
        "token": token,
        "shard_bumps": [ShardBump(bump.timestamp, bump.char_bits, bump.chars) for bump in bumps],
    }
    return create_model(token, __base__=with_keys, __cls_kwargs__=keywords, **fields)


def _index(config: Configuration, name: str, names: Mapping[str, str]) -> Index:
    declared = config.indexes[name]
    return Index(
        name,
        "hash_key" if declared.hash_key == config.hash_key else names[declared.hash_key],
        "range_key" if declared.range_key == config.range_key else names[declared.range_key],
        projection="ALL" if declared.projections is None else [names[each] for each in declared.projections],
    )
