"""Which shard maps an entity has now, and which older ones may still be read.

A map comes from the declaration unless a re-shard says otherwise. It is asked for anew by every attempt of every read
and write; nobody keeps one. A cursor names the map that it was made under.

What is in force is a `MapView`, and holds for a while only: its `lease` says whether it still does. A write checks it
on every attempt, right before the request goes out; a read after the answer came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import CursorExpired, ShardMapChanged
from ..keys.sharding import ShardMap
from .entity_type import EntityType


class Lease(Protocol):
    """For how long a view may be relied on. Safe for use by many threads."""

    def check(self) -> None:
        """Raise ShardMapChanged when the view is too old. Reads nothing, so that it can stand right before a request
        is sent."""

    def renew(self) -> bool:
        """Look again, and say whether the view is what is in force still, so that its age counts from now. Does nothing
        while it is young. Raises what the table raises."""

    def outdated(self) -> None:
        """Something was met that the view does not know of: the next one is read anew, however young this one is."""


@dataclass(frozen=True)
class MapView:
    """The maps that reads and writes go by. `shard_map` decides; on `mirror`, if any, every write is repeated in the
    same transaction; records under `marked`, which is one of the two, get the mark of its version."""

    shard_map: ShardMap
    mirror: ShardMap | None = None
    marked: ShardMap | None = None
    lease: Lease | None = None


class ShardMaps(Protocol):
    """Where shard maps come from. Safe for use by many threads."""

    def view(self, entity: EntityType[Any]) -> MapView:
        """What reads and writes go by."""

    def readable(self, entity: EntityType[Any], map_id: int) -> ShardMap:
        """A map that a cursor names. Raises CursorExpired when it can't be read any more."""


class StaticMaps:
    """The declared maps, read from nowhere. Only for a table whose records nothing can move as long as this is used,
    such as one in memory that this process has for itself and gives to no re-shard: on any other, records that were
    moved are not found, and new ones are lost. Asked for by name, `maps=StaticMaps()`; without it the maps in force
    are read."""

    def view(self, entity: EntityType[Any]) -> MapView:
        return MapView(entity.shard_map)

    def readable(self, entity: EntityType[Any], map_id: int) -> ShardMap:
        if map_id != entity.shard_map.id:
            raise map_expired()
        return entity.shard_map


def map_expired() -> CursorExpired:
    """The refusal of a cursor whose map is no longer kept."""
    return CursorExpired("the cursor's shard map is not readable", where="cursor", fix="start again without a cursor")


def confirm(leases: Iterable[Lease | None]) -> None:
    """Called after answers came: raise ShardMapChanged unless what they were asked by was in force until then."""
    for lease in leases:
        if lease is not None and not lease.renew():
            raise ShardMapChanged("the records have moved meanwhile", fix="ask again")
