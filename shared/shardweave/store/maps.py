"""Which shard map is in force for an entity: asked anew for every attempt of every operation.

The store keeps no map of its own. `DeclaredMaps` answers what the schema declares; anything that knows of maps that
change answers in its place.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..entity_type import EntityType
from ..sharding import ShardMap


class ShardMaps(Protocol):
    """Safe for use by many threads."""

    def current(self, entity: EntityType[Any]) -> ShardMap:
        """The map in force for the entity now."""


class DeclaredMaps:
    """The maps of the declarations."""

    def current(self, entity: EntityType[Any]) -> ShardMap:
        return entity.shard_map
