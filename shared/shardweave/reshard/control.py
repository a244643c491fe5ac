"""The control record: the item with the state of an entity's re-shard.

Format:
    hashKey    user._reshard!        the entity's token, a name that no lookup has, no shard
    rangeKey   _control
    phase, step, round, version, ...  the fields of `ReshardState`; times in epoch milliseconds
    old, new, former   {id, bumps: [[from, char_bits, chars], ...]}
    rev        a revision, new with every change
    format     1; 2 while a table is brought in; absent in records that were written before it was

Attributes that this version does not know are kept as they are. A version whose records an older version would
misinterpret increases `format`; the older version then refuses all reads and writes of the entity, since it can't
handle the re-shard correctly.

`decode_control(encode_control(control, ...))` is the control. Every change is one put on condition of the revision that
was read, so changes are serialized. Tokens of entities contain no point, so queries of entities never find the record.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from ..errors import ReshardUnreadable, ShardweaveError
from ..keys.sharding import ShardBump, ShardMap, bump_faults
from ..schema.entity_type import REVISION, EntityType
from ..table.values import Item, Value
from .phases import Phase, ReshardState, ReshardStep

CONTROL = "_control"
FORMAT, REKEY_FORMAT = 1, 2
_MAPS = ("old", "new", "former")
_OTHERS = {*_MAPS, "phase", "step", "concerned", "unknown"}
_TYPES = {each.name: str(each.type) for each in fields(ReshardState) if each.name not in _OTHERS}
_KNOWN = frozenset({*_TYPES, *_OTHERS, "format", REVISION})
_KINDS = {"int": (int,), "int | None": (int,), "str": (str,), "bool": (bool,)}


def partition_key(entity: EntityType[Any]) -> str:
    """The hash key of all items about an entity's re-shards."""
    return f"{entity.token}._reshard{entity.keys.format.shard_delimiter}"


def control_key(entity: EntityType[Any]) -> dict[str, Value]:
    """The key of the control record."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: CONTROL}


def encode_control(entity: EntityType[Any], control: ReshardState, rev: str) -> dict[str, Value]:
    """The control record of a state, with a revision."""
    plain = {name: getattr(control, name) for name in _TYPES}
    stored = {name: value for name, value in plain.items() if value is not None}
    written = REKEY_FORMAT if control.rekey else FORMAT
    stored |= {"format": written, "phase": int(control.phase), "step": control.step.value}
    stored |= {"concerned": [list(each) for each in control.concerned]}
    maps = {name: _map_value(shard_map) for name in _MAPS if (shard_map := getattr(control, name)) is not None}
    return {**dict(control.unknown), **control_key(entity), **stored, **maps, REVISION: rev}


def decode_control(entity: EntityType[Any], item: Item) -> ReshardState:
    """The state in a control record. Raises ReshardUnreadable."""
    with readable(entity, item):
        version = _checked("version", item["version"])
        plain = {name: _checked(name, item[name]) for name in _TYPES if name in item}
        maps = {name: _map(item[name], version) for name in _MAPS if name in item}
        known = {entity.keys.design.hash_name, entity.keys.design.range_name, *_KNOWN}
        control = ReshardState(
            **{**plain, **maps},
            phase=Phase(item["phase"]),
            step=ReshardStep(item["step"]),
            concerned=tuple((str(hash_key), str(range_key)) for hash_key, range_key in item.get("concerned", ())),
            unknown=tuple((name, item[name]) for name in sorted(item) if name not in known),
        )
        if control.rate < 0 or (control.moving and control.new is None):
            raise ValueError("phase")
        return control


@contextmanager
def readable(entity: EntityType[Any], item: Item) -> Iterator[None]:
    """A context for decoding a record about an entity's re-shards. Raises ReshardUnreadable for a newer format, and
    instead of other exceptions for a damaged record."""
    where = f"{entity.token}: {item.get(entity.keys.design.range_name, '')}"[:200]
    written = item.get("format", FORMAT)
    if type(written) is int and written > REKEY_FORMAT:
        raise ReshardUnreadable(
            f"the record about its re-shard has the format {written}; this version reads formats to {REKEY_FORMAT}",
            where=where,
            fix="use the version that wrote it, or a newer one, everywhere; nothing is read or written until then",
        )
    try:
        _check_format(written)
        yield
    except (KeyError, ValueError, TypeError, AttributeError, ShardweaveError) as error:
        raise ReshardUnreadable(
            "the record about its re-shard is damaged, so where its records are is not known",
            where=where,
            fix="put it back as it was, from a copy of the table or the stream; nothing is read or written until then",
        ) from error


def _check_format(written: Any) -> None:
    if type(written) is not int or written not in (FORMAT, REKEY_FORMAT):
        raise ValueError("format")


def _checked(name: str, value: Any) -> Any:
    """A value of the type that the field has."""
    if type(value) not in _KINDS[_TYPES[name]]:
        raise TypeError(name)
    return value


def _map_value(shard_map: ShardMap) -> dict[str, Value]:
    bumps = [[each.begins, each.space.char_bits, each.space.chars] for each in shard_map.generations]
    return {"id": shard_map.id, "bumps": bumps}


def _map(value: Any, version: int) -> ShardMap:
    bumps = tuple(ShardBump(int(begins), int(bits), int(chars)) for begins, bits, chars in value["bumps"])
    if not bumps or bump_faults(bumps):
        raise ValueError("bumps")
    return ShardMap.of_bumps(bumps, int(value["id"]), version)
