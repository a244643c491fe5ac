"""Which shard map an entity has now, and which older ones may still be read.

A map comes from the declaration unless a re-shard says otherwise. It is asked for anew by every attempt of every read
and write; nobody keeps one. A cursor names the map that it was made under.
"""

from __future__ import annotations

from typing import Any, Protocol

from .entity_type import EntityType
from .errors import CursorExpired
from .sharding import ShardMap


class ShardMaps(Protocol):
    """Where shard maps come from. Safe for use by many threads."""

    def current(self, entity: EntityType[Any]) -> ShardMap:
        """The map that reads and writes go by."""

    def readable(self, entity: EntityType[Any], map_id: int) -> ShardMap:
        """A map that a cursor names. Raises CursorExpired when it can't be read any more."""


class StaticMaps:
    """The declared maps, which is all there is while nothing was ever moved."""

    def current(self, entity: EntityType[Any]) -> ShardMap:
        return entity.shard_map

    def readable(self, entity: EntityType[Any], map_id: int) -> ShardMap:
        if map_id != entity.shard_map.id:
            raise CursorExpired(
                "the cursor's shard map is not readable", where="cursor", fix="start again without a cursor"
            )
        return entity.shard_map
