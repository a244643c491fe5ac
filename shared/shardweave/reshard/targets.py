"""Targets of a re-shard: the possible shard spaces, and the new shard map.

Pure.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import ReshardRefused
from ..keys.sharding import MAX_SHARDS, MAX_SUFFIX, ShardBump, ShardMap


def new_map(current: ShardMap, target: ShardBump, now: int, version: int) -> ShardMap:
    """N: the target from time zero, and the bumps that have not begun. Times are in the unit of the entity's timestamp
    property."""
    kept = tuple(bump for bump in current.bumps if bump.timestamp > now)
    return ShardMap.of_bumps((replace(target, timestamp=0), *kept), version, version)


def check_target(current: ShardMap, target: ShardBump, now: int) -> None:
    """Raise ReshardRefused if the records can't move to a shard space."""
    if not 1 <= target.char_bits <= 5 or not 0 <= target.chars <= MAX_SUFFIX:
        raise ReshardRefused(
            "must be a shard space", where="target", fix=f"char_bits is 1 to 5, chars 0 to {MAX_SUFFIX}"
        )
    if target.char_bits * target.chars > 20:
        raise ReshardRefused(f"it has over {MAX_SHARDS} shards", where="target", fix="use fewer characters")
    begun = [each for each in current.generations if each.begins <= now]
    coming = [each for each in current.generations if each.begins > now]
    if len(begun) == 1 and begun[0].space == target.space:
        raise ReshardRefused("the records are there already", where="target", fix="name another shard space")
    if any(each.space.chars == target.chars for each in current.generations):
        raise ReshardRefused(
            f"shard suffixes of {target.chars} characters are in use, and the keys of both would be the same",
            where="target.chars",
            fix="use another number of characters, with other char_bits if need be",
        )
    if any(each.space.chars <= target.chars for each in coming):
        raise ReshardRefused(
            "a declared bump that has not begun is not wider",
            where="target.chars",
            fix="use fewer characters, or take that bump out of the declaration first",
        )
