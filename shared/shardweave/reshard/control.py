"""The control record: where an entity's re-shard is written down, under one key in the table.

Format:
    hashKey    user._reshard!        the entity's token, a name that no lookup has, no shard
    rangeKey   _control
    phase, step, round, version, ...  the fields of `Control`; times in epoch milliseconds
    old, new, former   {id, bumps: [[from, char_bits, chars], ...]}
    rev        a revision, new with every change

`decode_control(encode_control(control, ...))` is the control. Every change is one put on condition of the revision that
was seen, so changes are decided one after the other. No entity's token holds a point, so no query meets the record.

Pure.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..entity_type import REVISION, EntityType
from ..sharding import ShardBump, ShardMap
from ..table.values import Item, Value
from .phases import Control, Phase, Step

CONTROL = "_control"
_MAPS = ("old", "new", "former")


def partition_key(entity: EntityType[Any]) -> str:
    """The hash key under which everything about an entity's re-shards is."""
    return f"{entity.token}._reshard{entity.keys.format.shard_delimiter}"


def control_key(entity: EntityType[Any]) -> dict[str, Value]:
    """The key of the control record."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: CONTROL}


def encode_control(entity: EntityType[Any], control: Control, rev: str) -> dict[str, Value]:
    """The record of a control value in a revision."""
    plain = {each.name: getattr(control, each.name) for each in fields(control) if each.name not in _MAPS}
    stored = {name: value for name, value in plain.items() if value is not None}
    stored |= {"phase": int(control.phase), "step": control.step.value}
    maps = {name: _map_value(shard_map) for name in _MAPS if (shard_map := getattr(control, name)) is not None}
    return {**control_key(entity), **stored, **maps, REVISION: rev}


def decode_control(item: Item) -> Control:
    """The control value of a record."""
    version = int(item["version"])
    plain = {each.name: item[each.name] for each in fields(Control) if each.name in item and each.name not in _MAPS}
    maps = {name: _map(item[name], version) for name in _MAPS if name in item}
    return Control(**{**plain, **maps, "phase": Phase(item["phase"]), "step": Step(item["step"])})


def _map_value(shard_map: ShardMap) -> dict[str, Value]:
    bumps = [[each.begins, each.space.char_bits, each.space.chars] for each in shard_map.generations]
    return {"id": shard_map.id, "bumps": bumps}


def _map(value: Any, version: int) -> ShardMap:
    bumps = tuple(ShardBump(int(begins), int(bits), int(chars)) for begins, bits, chars in value["bumps"])
    return ShardMap.of_bumps(bumps, int(value["id"]), version)
