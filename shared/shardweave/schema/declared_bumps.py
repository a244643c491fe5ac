"""The shard bumps of an entity, each with its moment as the number that timestamps of its records are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..keys.sharding import ShardBump
from ..values.codecs import TimestampCodec
from ..values.times import epoch_of
from .property import properties_of
from .property_options import Role

if TYPE_CHECKING:
    from .entity import Entity


def declared_bumps(model: type[Entity]) -> tuple[ShardBump, ...]:
    """The bumps of a declaration, in the unit of its timestamp property, or in milliseconds if it has none."""
    bumps = model.declaration.shard_bumps
    if all(type(each.timestamp) is int for each in bumps):
        return bumps
    codecs = [each.codec for each in properties_of(model).values() if each.role is Role.TIMESTAMP]
    unit: Literal["ms", "s"] = next((each.unit for each in codecs if isinstance(each, TimestampCodec)), "ms")
    return tuple(replace(each, timestamp=epoch_of(each.timestamp, unit, "shard_bumps")) for each in bumps)
