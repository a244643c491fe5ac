"""Walking over records in lanes: a page of every lane at a time, from the places of an earlier walk.

A lane is a list of sources (see `work_items.Source`), which are read one after the other. Where the hash keys of an
entity are few, they are the sources; else, and for the whole table, segments of a scan. Reads are consistent.

A place says how far a lane has come: the number of its source, and the last key that was worked on in it. As plain
values, places can be kept. What a page gives counts only together with the place after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..errors import ReshardRefused
from ..reshard.retrying_reads import Asking
from ..reshard.work_items import Source, Sources
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..store.attempts import AttemptContext
from ..store.lookups.backfill_state import can_be_asked
from ..store.parts import StoreParts
from ..table.concurrency import MAX_WORKERS, run_concurrently
from ..table.retry import RetryClock
from ..table.values import Item

LANES = 16
PAGE = 100
ROUND_SECONDS = 5.0
"""How long a round takes at most, by a rate: then so much is read at once."""
MAX_HASH_KEYS = 4096
"""An entity with more is found by a scan."""

R = TypeVar("R")


@dataclass(frozen=True)
class Place:
    """The position of a lane."""

    source: int = 0
    after: Item | None = None

    def encode(self) -> list[Any]:
        return [self.source, None if self.after is None else dict(self.after)]

    @classmethod
    def decode(cls, saved: Any) -> Place:
        """The inverse of `encode`."""
        source, after = saved
        return cls(int(source), after)


class Lane(Protocol):
    """Sources, each made when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> Source: ...


Lanes = Sequence[Lane]


@dataclass(frozen=True)
class Segment:
    """One of `total` equal parts of all that is read, for a worker of its own."""

    number: int = 0
    total: int = 1


ALL = Segment()


def table_lanes(segment: Segment = ALL) -> Lanes:
    """The whole table, or a segment of it."""
    count = LANES * segment.total
    return [[Source(None, number, count)] for number in range(segment.number, count, segment.total)]


def entity_lanes(entity: EntityType[Any], moment: AttemptContext, segment: Segment = ALL) -> Lanes:
    """Everything that can hold records of an entity by the shard map in force, or a segment of that. Where it is
    scanned, there is more in it."""
    if not can_be_asked(entity, moment, MAX_HASH_KEYS):
        return table_lanes(segment)
    generations = moment.shard_map.begun(entity.in_unit(moment.now_ms), entity.time_unit)
    count = min(LANES * segment.total, sum(each.space.shards for each in generations))
    return [Sources(entity, generations, number, count) for number in range(segment.number, count, segment.total)]


def records_among(schema: Schema, entity: EntityType[Any], items: Iterable[Item], moment: AttemptContext) -> list[Item]:
    """The live records of an entity among stored items, one copy of each: the one in the moment's shard map."""
    hash_name, keys = entity.keys.design.hash_name, entity.keys
    widths = {each.space.chars for each in moment.shard_map.generations}
    return [
        item
        for item in items
        if schema.entity_of_key(str(item[hash_name])) is entity
        and len(keys.suffix_of_key(str(item[hash_name]))) in widths
        and not entity.is_expired(item, moment.seconds)
    ]


def check_readable(parts: StoreParts, entities: Sequence[EntityType[Any]]) -> None:
    """Raises ReshardRefused, which names them all, if the records of some entities can't be read now, since they are
    still being brought in; so before anything is done with those of the others."""
    refused: list[ReshardRefused] = []
    for entity in entities:
        try:
            parts.moment_of(entity)
        except ReshardRefused as error:
            refused.append(error)
    if refused:
        named = [error.where for error in refused]
        others = [f"--entity {each.token}" for each in entities if each.token not in named]
        more = f"; or choose the other entities alone: {' '.join(others)}" if others else ""
        raise ReshardRefused(refused[0].message, where=", ".join(named), fix=f"{refused[0].fix}{more}")


class Walk(Generic[R]):
    """One walk. `work` is told of each page's items, several pages at once, and what it gives is given on. By a `rate`,
    of items a second, pages are so small that a round has no more than a few seconds of it; see Pace, which keeps it by
    how many items the last round has `read`.
    """

    def __init__(
        self,
        asking: Asking,
        entity: EntityType[Any],
        lanes: Lanes,
        work: Callable[[Sequence[Item]], R],
        *,
        places: Sequence[Place] | None = None,
        page: int = PAGE,
        workers: int = MAX_WORKERS,
        rate: float = 0,
    ) -> None:
        self._asking = asking
        self._entity = entity
        self._lanes = lanes
        self._work = work
        most = int(rate * ROUND_SECONDS / max(1, len(lanes))) if rate else page
        self._page_size = max(1, min(page, most))
        self._workers = workers
        self.read = 0
        self.places = list(places) if places is not None else [Place()] * len(lanes)
        assert len(self.places) == len(lanes)

    @property
    def done(self) -> bool:
        return not self._open

    @property
    def _open(self) -> list[int]:
        return [number for number, lane in enumerate(self._lanes) if self.places[number].source < len(lane)]

    def rounds(self) -> Iterator[list[R]]:
        """Round after round, to the end."""
        while not self.done:
            yield self.round()

    def round(self) -> list[R]:
        """One page of every lane that is not at its end. `places` are those after what was given; a round that failed
        has not moved them."""
        numbers = self._open
        found = run_concurrently(self._page, numbers, self._workers)
        for number, (place, _, _) in zip(numbers, found, strict=True):
            self.places[number] = place
        self.read = sum(read for _, read, _ in found)
        return [result for _, _, result in found]

    def _page(self, number: int) -> tuple[Place, int, R]:
        place = self.places[number]
        source = self._lanes[number][place.source]
        page = self._asking.page(self._entity, source, place.after, self._page_size)
        after = Place(place.source + 1) if page.last_key is None else Place(place.source, page.last_key)
        return after, len(page.items), self._work(page.items)


class Pace:
    """Keeps work to a number of things a second; 0 is no limit. Time in which less was done is not made up for."""

    def __init__(self, a_second: float, waiting: RetryClock) -> None:
        self._a_second = a_second
        self._waiting = waiting
        self._begun = waiting.monotonic()

    def did(self, count: float) -> None:
        """So many were done since the last time: wait until that is not too many."""
        if not self._a_second:
            return
        now, due = self._waiting.monotonic(), self._begun + count / self._a_second
        if due > now:
            self._waiting.sleep(due - now)
        self._begun = max(now, due)


def saved_places(saved: Any, lanes: Lanes) -> list[Place] | None:
    """The places that were kept, None where they are not those of these lanes."""
    try:
        places = [Place.decode(each) for each in saved]
    except (TypeError, ValueError):
        return None
    return places if len(places) == len(lanes) else None
