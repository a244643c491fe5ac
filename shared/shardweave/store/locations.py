"""The locations where a record is or could be: one primary key in each generation.

Pure. A record is in the generation of its timestamp. If only its identity is known, it may be in any generation that
has begun, including those that begin within the hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import Unreadable
from ..keys.sharding import Generation, ShardMap
from ..schema.entity_type import EntityType
from ..table.values import Item


@dataclass(frozen=True)
class Location:
    """A primary key, and the generation that it belongs to."""

    generation: Generation
    key: Item


@dataclass(frozen=True)
class StoredItem:
    """A stored item, and the generation in which it was found."""

    generation: Generation
    item: Item


@dataclass(frozen=True)
class ReadResult:
    """The result of reading an identity: the live record, if any, and its lookup record, if any. `holders` are the
    records that other lookup records lead to, by the primary keys of the lookup records. `unreadable`: the location is
    unknown, since the lookup record is damaged."""

    found: StoredItem | None = None
    lookup: Item | None = None
    holders: Mapping[tuple[Any, Any], ReadResult] = field(default_factory=dict)
    unreadable: Unreadable | None = None


def location_of(entity: EntityType[Any], item: Item, shard_map: ShardMap) -> Location:
    """The location where the record of `item` belongs."""
    generation = shard_map.sole or shard_map.generation_of(entity.keys.timestamp(item))
    return location_in(entity, item, generation)


def locations(entity: EntityType[Any], values: Item, shard_map: ShardMap, now_ms: int) -> tuple[Location, ...]:
    """All locations where a record can be; `values` has its identity and the properties that determine its shard. The
    oldest generation is first. An identity that contains the timestamp has one location."""
    if entity.timestamp in entity.identity:
        return (location_of(entity, values, shard_map),)
    generations = shard_map.begun(entity.in_unit(now_ms), entity.time_unit)
    return tuple(location_in(entity, values, generation) for generation in generations)


def location_in(entity: EntityType[Any], values: Item, generation: Generation) -> Location:
    """The location of an identity in one generation. Raises KeyTooLong."""
    keys = entity.keys
    space = generation.space
    suffix = space.suffix_of(keys.format.hash(keys.shard_text(values))) if space.chars else ""
    return Location(generation, keys.primary_key(values, suffix))
