"""Where a record is, or could be: one primary key in each generation.

Pure. A record lies in the generation of its timestamp. Who knows only its identity must look in every generation that
has begun, those that begin within the hour included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..entity_type import EntityType
from ..errors import Unreadable
from ..sharding import Generation, ShardMap
from ..table.values import Item


@dataclass(frozen=True)
class Place:
    """A primary key, and the generation that it belongs to."""

    generation: Generation
    key: Item


@dataclass(frozen=True)
class Found:
    """A stored item, and the generation in which it was found."""

    generation: Generation
    item: Item


@dataclass(frozen=True)
class Sighting:
    """What was seen of an identity: the live record, if any, and its lookup record where there is one. `holders` are
    the records that other lookup records led to, by the primary key of those. `unreadable`: where it is, is not known,
    since its lookup record is damaged."""

    found: Found | None = None
    lookup: Item | None = None
    holders: Mapping[tuple[Any, Any], Sighting] = field(default_factory=dict)
    unreadable: Unreadable | None = None


def home(entity: EntityType[Any], item: Item, shard_map: ShardMap) -> Place:
    """Where the record of `item` belongs."""
    generation = shard_map.sole or shard_map.generation_of(entity.keys.timestamp(item))
    return place_in(entity, item, generation)


def places(entity: EntityType[Any], values: Item, shard_map: ShardMap, now_ms: int) -> tuple[Place, ...]:
    """Everywhere that a record can be of which `values` holds the identity and what decides its shard; oldest
    generation first. An identity that holds the timestamp has one place."""
    if entity.timestamp in entity.identity:
        return (home(entity, values, shard_map),)
    generations = shard_map.begun(entity.in_unit(now_ms), entity.time_unit)
    return tuple(place_in(entity, values, generation) for generation in generations)


def place_in(entity: EntityType[Any], values: Item, generation: Generation) -> Place:
    """The place of an identity in one generation. Raises KeyTooLong."""
    keys = entity.keys
    space = generation.space
    suffix = space.suffix_of(keys.format.hash(keys.shard_text(values))) if space.chars else ""
    return Place(generation, keys.primary_key(values, suffix))
