"""Scanning: reading all records of an entity, whatever partition they are in, from a saved position on.

Format of a position, JSON text that grows with the lanes and not with the table; it has keys of records:
    {"scan": 1, "entity": "order", "segment": [0, 4], "map": 2, "begun": 1730000000000, "lanes": [[0, {...}], ...]}

Guarantees: a record that is there from beginning to end is told once, as it was at some moment between; one that is
created, removed or expires meanwhile, or not; one that is removed and made again may be told for each. So it is while
records move, too: a scan keeps to the copies of the shard map with which it began, which every write keeps up until the
map's tokens have expired; whether that map is still kept is read after each round of answers, and before they are told.
Once it is not, the scan ends with CursorExpired, and what was told before stays right. Records are in no order. A page
that failed is not lost: the next one goes on from the same place.

Costs: a consistent read of each record, a request for each 100 of a lane, and one of the control record for each page.
Where the hash keys of an entity contain a partition, or are over 4,096, the whole table is scanned instead, with what
else it holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from typing_extensions import TypeVar

from ..errors import CursorExpired, CursorMismatch, InputError, InvalidCursor, RecordUnreadable, Unreadable
from ..keys.sharding import ShardMap
from ..reshard.retrying_reads import Asking
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.attempts import AttemptContext
from ..store.parts import StoreParts
from ..table.concurrency import MAX_WORKERS
from ..table.values import Item
from .walk import ALL, PAGE, Pace, Place, Segment, Walk, entity_lanes, records_among, saved_places

FORMAT = 1
MAX_SEGMENTS = 1000
MAX_POSITION = 200_000
"""More characters than 16 lanes with the longest keys have."""

E = TypeVar("E", bound=Entity, default=Any)


@dataclass(frozen=True)
class ScanPage(Generic[E]):
    """Some records of a scan, none where only others were read. `unreadable` are stored records that can't be read.
    `position` is where a scan goes on after this page; None at the end."""

    items: tuple[E, ...]
    unreadable: tuple[Unreadable, ...] = ()
    position: str | None = None


@dataclass(frozen=True)
class ScanState:
    """What a position says. `begun_ms` is when the scan began, by which the generations are chosen."""

    token: str
    segment: Segment
    map_id: int
    begun_ms: int
    places: tuple[Place, ...]

    def encode(self) -> str:
        """The text of a position."""
        document = {
            "scan": FORMAT,
            "entity": self.token,
            "segment": [self.segment.number, self.segment.total],
            "map": self.map_id,
            "begun": self.begun_ms,
            "lanes": [place.encode() for place in self.places],
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def decode(cls, position: str, entity: EntityType[Any], segment: Segment) -> ScanState:
        """The inverse of `encode`. Raises InvalidCursor, CursorMismatch."""
        try:
            found = _state(json.loads(position[:MAX_POSITION]), entity)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidCursor(
                "must be the position of a scan", where="position", fix="give that of a page as it is, or leave it out"
            ) from None
        if (found.token, found.segment) != (entity.token, segment):
            raise CursorMismatch(
                "it is of a scan of another entity, or of another segment",
                where="position",
                fix="give the entity, segment and segments of that scan, or leave it out",
            )
        return found


def _state(document: Any, entity: EntityType[Any]) -> ScanState:
    numbers = (document["map"], document["begun"], *document["segment"], *(lane[0] for lane in document["lanes"]))
    if document["scan"] != FORMAT or not isinstance(document["entity"], str):
        raise ValueError
    if any(type(number) is not int or not 0 <= number < 2**53 for number in numbers):
        raise ValueError
    names = {entity.keys.design.hash_name, entity.keys.design.range_name}
    places = [Place(source, after) for source, after in document["lanes"]]
    for each in places:
        if each.after is not None and (
            set(each.after) != names or not all(isinstance(value, str) for value in each.after.values())
        ):
            raise ValueError
    number, total = document["segment"]
    return ScanState(document["entity"], Segment(number, total), document["map"], document["begun"], tuple(places))


def checked_segment(segment: Any, segments: Any) -> Segment:
    """One of `segments` equal parts. Raises InputError."""
    if isinstance(segments, bool) or not isinstance(segments, int) or not 1 <= segments <= MAX_SEGMENTS:
        message = f"must be a number from 1 to {MAX_SEGMENTS}"
        raise InputError(message, where="segments", fix="give the number of workers, or leave it out")
    if isinstance(segment, bool) or not isinstance(segment, int) or not 0 <= segment < segments:
        message = "must be a number from 0 to one less than segments"
        raise InputError(message, where="segment", fix="give each worker another one, the first 0")
    return Segment(segment, segments)


class RecordScan(Generic[E]):
    """One scan of one entity's records, or of a segment of them. `rate` is how many records are read in a second, 0 as
    many as can be. Not for several threads at once. Raises InvalidCursor, CursorMismatch."""

    def __init__(
        self,
        parts: StoreParts,
        entity: EntityType[E],
        *,
        position: str | None = None,
        segment: Segment = ALL,
        rate: float = 0,
        page: int = PAGE,
        workers: int = MAX_WORKERS,
    ) -> None:
        self._parts = parts
        self._entity = entity
        self._segment = segment
        self._page = page
        self._workers = workers
        self._given = None if position is None else ScanState.decode(position, entity, segment)
        self._rate = rate
        self._pace = Pace(rate, parts.waiting)
        self._read = 0
        self._walk: Walk[Sequence[Item]] | None = None
        self._moment: AttemptContext | None = None

    def next_page(self) -> ScanPage[E] | None:
        """The next page, None after the last one. Raises CursorExpired, and the errors of the table; after one of those
        it may be called again."""
        if self._walk is None or self._moment is None:
            self._moment = self._first_moment()
            self._walk = self._begun(self._moment)
        walk, moment = self._walk, self._moment
        if walk.done:
            return None
        self._pace.did(self._read)
        self._read = 0
        before = list(walk.places)
        try:
            found = [item for items in walk.round() for item in items]
            now = self._parts.moment_of(self._entity).now_ms
            self._kept_map(moment.shard_map.id)
        except BaseException:
            walk.places = before
            raise
        own = records_among(self._parts.schema, self._entity, found, replace(moment, now_ms=now))
        self._read = walk.read
        return self._made(own, self._position(walk, moment))

    # -- parts

    def _first_moment(self) -> AttemptContext:
        """When the scan began, and the shard map then in force."""
        if self._given is None:
            return self._parts.moment_of(self._entity)
        return AttemptContext(self._given.begun_ms, self._kept_map(self._given.map_id))

    def _begun(self, moment: AttemptContext) -> Walk[Sequence[Item]]:
        lanes = entity_lanes(self._entity, moment, self._segment)
        places = None if self._given is None else saved_places([each.encode() for each in self._given.places], lanes)
        if self._given is not None and places is None:
            raise _expired()
        asking = Asking(self._parts.table, self._parts.waiting)
        options: dict[str, Any] = {"places": places, "page": self._page, "workers": self._workers, "rate": self._rate}
        return Walk(asking, self._entity, lanes, lambda items: items, **options)

    def _kept_map(self, map_id: int) -> ShardMap:
        """The scan's shard map, if all of its records are kept now. Raises CursorExpired."""
        try:
            return self._parts.maps.readable(self._entity, map_id, now=True)
        except CursorExpired:
            raise _expired() from None

    def _position(self, walk: Walk[Any], moment: AttemptContext) -> str | None:
        if walk.done:
            return None
        token, segment = self._entity.token, self._segment
        return ScanState(token, segment, moment.shard_map.id, moment.now_ms, tuple(walk.places)).encode()

    def _made(self, items: Sequence[Item], position: str | None) -> ScanPage[E]:
        records: list[E] = []
        unreadable: list[Unreadable] = []
        for item in items:
            try:
                records.append(self._entity.load(item))
            except RecordUnreadable as error:
                unreadable.append(replace(error.record, position=len(records)))
        return ScanPage(tuple(records), tuple(unreadable), position)


def _expired() -> CursorExpired:
    return CursorExpired(
        "the records have moved, and the copies that the scan read are no longer kept",
        where="position",
        fix="scan again from the beginning",
    )
