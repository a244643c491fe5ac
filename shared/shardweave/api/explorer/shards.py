"""How busy and how full an entity's shards are, for operators: the numbers that the load monitor counts.

    GET  /v1/_shards/user

Guarantees: each shard of the map in force is in it, also one that nothing was ever written to; no value of a record is.
Costs: one query, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ...keys.sharding import ShardMap
from ...reshard.load.counters import Load, decode_loads, loads_query
from ...reshard.phases import map_in_force
from ...reshard.retrying_reads import Asking
from ...schema.entity import now_ms
from ...schema.entity_type import EntityType
from ...table.retry import RetryClock
from ..parts import Parts

MAX_SHOWN = 4096


class ShardLoad(BaseModel):
    """One shard's numbers since counting began. They are approximate: a batch of changes that is delivered again is
    counted again, and what a re-shard copies is not counted."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    shard: str = Field(description="Its suffix, empty for the only shard.")
    generation: int = Field(description="The time from which new records are in its generation.")
    items: int = Field(description="Records added less those removed.")
    bytes: int = Field(description="Bytes added less those removed.")
    writes: int = Field(description="Changes of records.")
    throttled: int = Field(description="Requests that the table refused for this shard.")


class ShardLoads(BaseModel):
    """The shards of an entity."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    entity: str
    at: int = Field(description="When it was read, in epoch milliseconds.")
    shards: list[ShardLoad] = Field(description=f"By generation and shard, at most {MAX_SHOWN:,}.")
    more: int = Field(description="Shards that are left out.")


def shard_loads(parts: Parts, entity: EntityType[Any], waiting: RetryClock) -> ShardLoads:
    """The shards in force. Raises the table's errors."""
    control = None if parts.maps is None else parts.maps.control(entity)
    clock = now_ms if parts.maps is None else parts.maps.clock
    loads = decode_loads(entity, Asking(parts.table, waiting).all(loads_query(entity)))
    return shown_loads(entity.token, map_in_force(entity.shard_map, control), loads, clock())


def shown_loads(token: str, shard_map: ShardMap, loads: Mapping[str, Load], at: int) -> ShardLoads:
    """The numbers of each shard of a map. Pure."""
    total = sum(each.space.shards for each in shard_map.generations)
    shards: list[ShardLoad] = []
    for generation in shard_map.generations:
        for suffix in generation.space.suffixes():
            if len(shards) == MAX_SHOWN:
                break
            load = loads.get(suffix, Load(suffix, 0, 0, 0, 0))
            shards.append(
                ShardLoad(
                    shard=suffix,
                    generation=generation.begins,
                    items=max(0, load.items),
                    bytes=max(0, load.bytes),
                    writes=load.writes,
                    throttled=load.throttled,
                )
            )
    return ShardLoads(entity=token, at=at, shards=shards, more=total - len(shards))
