"""The shard maps in force of an entity, and older ones that can still be read.

A map comes from the declaration unless a re-shard says otherwise. Every attempt of every read and write requests it
again; no caller keeps it. A cursor names the map that it was made with.

A `MapView` has the maps in force, and is valid only for some time: its `lease` says whether it still is. A write checks
this in every attempt, directly before the request is sent; a read checks it after the answer came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import CursorExpired, ShardMapChanged
from ..keys.sharding import ShardMap
from .entity_type import EntityType

if TYPE_CHECKING:
    from .old_forms import OldForm


class Lease(Protocol):
    """The validity of a view. Safe for many threads."""

    def check(self) -> None:
        """Raise ShardMapChanged if the view is too old. It reads nothing, so that it can be called directly before a
        request is sent."""

    def renew(self) -> bool:
        """Read the state again; True if the view is still in force, so that its age starts from now. Does nothing if
        the view is recent. Raises the errors of the table."""

    def outdated(self) -> None:
        """Note that something newer than the view was met: the next view is read again, however recent this one is."""


@dataclass(frozen=True)
class MapView:
    """The maps for reads and writes. `shard_map` is the map in force; on `mirror`, if any, every write is repeated in
    the same transaction; records under `marked`, which is one of the two, get a mark with the version. Every write is
    also repeated in the `old_form`, if any."""

    shard_map: ShardMap
    mirror: ShardMap | None = None
    marked: ShardMap | None = None
    lease: Lease | None = None
    old_form: OldForm | None = None


class ShardMaps(Protocol):
    """A source of shard maps. Safe for many threads."""

    def view(self, entity: EntityType[Any]) -> MapView:
        """The maps for reads and writes."""

    def readable(self, entity: EntityType[Any], map_id: int, *, now: bool = False) -> ShardMap:
        """The map named by a cursor. Raises CursorExpired if it can't be read any more: as was known at most a lease
        ago, or `now`, by a read of its own."""

    def has_evolved(self, entity: EntityType[Any]) -> bool:
        """Whether another entity has taken over the records of this one, which is declared still, for good: nothing is
        kept for it any more."""


class StaticMaps:
    """The declared maps, without reading control records. Only for a table whose records can't be moved while this is
    used, such as a table in memory that only this process uses and never re-shards: with any other table, moved records
    are not found, and new ones are lost. It must be requested with `maps=StaticMaps()`; by default the maps in force
    are read."""

    def view(self, entity: EntityType[Any]) -> MapView:
        return MapView(entity.shard_map)

    def readable(self, entity: EntityType[Any], map_id: int, *, now: bool = False) -> ShardMap:
        if map_id != entity.shard_map.id:
            raise map_expired()
        return entity.shard_map

    def has_evolved(self, entity: EntityType[Any]) -> bool:
        return False


def map_expired() -> CursorExpired:
    """The error of a cursor whose map is no longer kept."""
    return CursorExpired("the cursor's shard map is not readable", where="cursor", fix="start again without a cursor")


def confirm(leases: Iterable[Lease | None]) -> None:
    """Called after answers came: raise ShardMapChanged unless the view used for the requests was in force until
    then."""
    for lease in leases:
        if lease is not None and not lease.renew():
            raise ShardMapChanged("the records have moved meanwhile", fix="ask again")
