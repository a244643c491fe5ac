"""The operators' commands for re-shards: estimate, start, status, rate, abort, resume.

Guarantees: a start is refused if the target is not possible, and while another re-shard of the entity is in progress;
of two concurrent commands that contradict each other, one is refused. No command waits for records to move: the driver
does the work.

Costs: an estimate counts a few shards at most, and extrapolates to the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Conflict, ReshardRefused
from ..keys.sharding import ShardBump, ShardMap
from ..schema.entity import now_ms
from ..schema.entity_type import EntityType
from ..table import Table
from ..table.operations import Query
from ..table.retry import CONTENDED, RetryClock
from ..table.values import item_bytes
from .coordinator import Coordinator, Seen
from .copy_actions import RECORDS_A_TRANSACTION
from .declaration_guard import MOVING_FIX, placement_of, schema_of
from .load.policy import decode_verdict, verdict_key
from .phases import Phase, ReshardState, Waits, aborted, due_ms, map_in_force, resumed, started
from .retrying_reads import Asking
from .targets import check_target
from .timings import DEPLOYED_PACE
from .work_items import NOTHING, Counts

SAMPLED_SHARDS = 2
MOST_SAMPLED_SHARDS = 32
"""The number of shards that are counted if they have few records, since a single shard might happen to be empty."""
SAMPLED_PAGES = 8
SAMPLED_RECORDS = 50
USUAL_RATE = 300
"""Assumed records a second for copying without a rate: an estimate for a stage, from a measurement on one machine."""
USUAL_EMPTYING = 500
"""Assumed records a second for removing."""
MANY_SHARDS = 16
"""With fewer shards there is no warning, however few the records are."""
KILOBYTE = 1024
READ_BYTES = 4096
"""The bytes of a consistent read for one read unit; an eventually consistent read costs half a unit."""
LOOK_SECONDS = 0.005
"""Assumed seconds of one query of a shard over a network."""
VERIFICATIONS = 2
"""One before the flip, one after the soak."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a re-shard. `records` is None if they can't be counted without reading the whole table;
    then `average_bytes` is None too, and also if there are no records. Write units are for copying and for emptying the
    old space, read units for copying and comparing; the seconds of these steps are at the given rate. `check_seconds`
    is the time for comparing and for checking the indexes, `look_seconds` the time of the queries of all shards, with
    or without records; `wait_seconds` the minimum of the waits. `warning` says why the target, though possible, is a
    poor choice."""

    shards_from: int
    shards_to: int
    records: int | None
    average_bytes: int | None
    copy_units: int | None
    empty_units: int | None
    read_units: int | None
    copy_seconds: int | None
    empty_seconds: int | None
    check_seconds: int | None
    look_seconds: int
    wait_seconds: int
    warning: str | None = None


NOTICED_MS = 10_000
"""How far a clock must be behind before this is reported, since the clocks of processes always differ a little."""


@dataclass(frozen=True)
class Status:
    """The state of an entity's re-shard. `items` are the work items of the current step; times are epoch milliseconds,
    `due_ms` is the earliest end of a wait. `concerned` are hash and range keys of some of the records that `attention`
    is about; `waiting` says that a wait is longer than usual, since the clock was set back. `proposal` is the policy's
    proposal, `advice` its hint that more shards would not help."""

    entity: str
    phase: str
    step: str
    version: int = 0
    round: int = 0
    shards: int = 1
    shards_from: int | None = None
    shards_to: int | None = None
    aborting: bool = False
    moving: bool = False
    attention: str = ""
    concerned: tuple[tuple[str, str], ...] = ()
    items: int = 0
    items_done: int = 0
    counts: Counts = NOTHING
    rate: int = 0
    entered_ms: int | None = None
    due_ms: int | None = None
    waiting: str | None = None
    proposal: str = ""
    advice: str = ""


def _clock_went_back(control: ReshardState, now_ms: int) -> str | None:
    """A message that this clock is far behind the one that began the phase or step, None if it is not."""
    behind = max(control.entered_ms, control.stepped_ms) - now_ms
    if behind < NOTICED_MS:
        return None
    return (
        f"the clock went back: it is {behind // 1000} s behind what it was when this step began, and the wait is longer"
    )


class ReshardAdmin:
    """The operators' commands. `clock` returns epoch milliseconds."""

    def __init__(
        self,
        table: Table,
        coordinator: Coordinator,
        waits: Waits,
        *,
        clock: Callable[[], int] = now_ms,
        waiting: RetryClock | None = None,
    ) -> None:
        self._waiting = waiting or RetryClock()
        self._asking = Asking(table, self._waiting)
        self._coordinator = coordinator
        self._waits = waits
        self._clock = clock

    def status(self, entity: EntityType[Any]) -> Status:
        """The status of an entity's re-shard."""
        seen = self._coordinator.read(entity)
        record = self._asking.item(verdict_key(entity))
        verdict = None if record is None else decode_verdict(record)
        why, advice = ("", "") if verdict is None else (verdict.why, verdict.advices)
        if seen is None:
            phase, shards = Phase.STABLE.name.lower(), _shards(entity.shard_map)
            return Status(entity.token, phase, "rest", shards=shards, proposal=why, advice=advice)
        control = seen.control
        items = self._coordinator.items(entity, control)
        return Status(
            entity=entity.token,
            phase=control.phase.name.lower(),
            step=control.step.value,
            version=control.version,
            round=control.round,
            shards=_shards(map_in_force(entity.shard_map, control)),
            shards_from=None if control.new is None else _shards(control.old),
            shards_to=None if control.new is None else _first(control.new),
            aborting=control.aborting,
            moving=control.moving,
            attention=control.attention,
            concerned=control.concerned,
            items=len(items),
            items_done=sum(item.done for item in items),
            counts=sum((item.counts for item in items), NOTHING),
            rate=control.rate if control.moving else 0,
            entered_ms=control.entered_ms,
            due_ms=due_ms(control, self._waits) if control.moving else None,
            waiting=_clock_went_back(control, self._clock()) if control.moving else None,
            proposal=why,
            advice=advice,
        )

    def estimate(self, entity: EntityType[Any], target: ShardBump, rate: int = 0) -> Estimate:
        """The estimated cost of a re-shard. Raises ReshardRefused if the target is not possible."""
        seen = self._coordinator.read(entity)
        current = map_in_force(entity.shard_map, None if seen is None else seen.control)
        now = entity.in_unit(self._clock())
        check_target(current, target, now)
        records, average = self._sampled(entity, current, now)
        copy_units = empty_units = read_units = copy_seconds = empty_seconds = check_seconds = None
        looks = _looks(entity, _shards(current), target.space.shards)
        if records is not None:
            size = max(1, -(-average // KILOBYTE))
            indexes = sum(name is not None for name in entity.views)
            tokens = -(-2 * records // RECORDS_A_TRANSACTION)
            copy_units = records * (4 + 2 * indexes) * size + tokens
            empty_units = records * (2 + indexes) * size + tokens
            read_units = looks + records * _read_units(entity, average)
            copy_seconds = -(-records // (rate or USUAL_RATE))
            empty_seconds = -(-records // (rate or USUAL_EMPTYING))
            check_seconds = math.ceil(records * _check_seconds(entity))
        return Estimate(
            shards_from=_shards(current),
            shards_to=target.space.shards,
            records=records,
            average_bytes=average if records else None,
            copy_units=copy_units,
            empty_units=empty_units,
            read_units=read_units,
            copy_seconds=copy_seconds,
            empty_seconds=empty_seconds,
            check_seconds=check_seconds,
            look_seconds=round(looks * LOOK_SECONDS),
            wait_seconds=_least_seconds(self._waits),
            warning=_warning(records, target.space.shards),
        )

    def start(self, entity: EntityType[Any], target: ShardBump, rate: int = 0) -> Status:
        """Start a re-shard. Raises Conflict while another one is in progress, ReshardRefused if the target is not
        possible."""

        def change(seen: Seen | None) -> ReshardState:
            control = None if seen is None else seen.control
            now = self._clock()
            return started(
                control,
                map_in_force(entity.shard_map, control),
                target,
                now_ms=now,
                now=entity.in_unit(now),
                waits=self._waits,
                placement=placement_of(entity),
                schema=schema_of(entity),
                rate=rate,
            )

        return self._changed(entity, change)

    def abort(self, entity: EntityType[Any]) -> Status:
        """Abort a re-shard. Raises ReshardRefused if it can't be aborted any more."""
        return self._changed(entity, lambda seen: aborted(_under_way(seen), self._clock()))

    def resume(self, entity: EntityType[Any]) -> Status:
        """Continue a re-shard that stopped for attention, with the current declaration. Raises ReshardRefused if it has
        not stopped, or if the declarations that determine keys and shards have changed."""

        def change(seen: Seen | None) -> ReshardState:
            control = _under_way(seen)
            if control.placement != placement_of(entity):
                raise ReshardRefused(
                    "what places its records was changed while they move",
                    where=entity.token,
                    fix=MOVING_FIX,
                )
            return resumed(control, self._clock(), schema=schema_of(entity))

        return self._changed(entity, change)

    def set_rate(self, entity: EntityType[Any], rate: int) -> Status:
        """Limit the records a second that each mover writes from its next slice on; 0 means no limit. Raises
        ReshardRefused if no re-shard is in progress."""

        def change(seen: Seen | None) -> ReshardState:
            control = _under_way(seen)
            if not control.moving:
                raise _nothing_moves()
            return replace(control, rate=rate)

        return self._changed(entity, change, leave_step=False)

    # -- parts

    def _changed(
        self, entity: EntityType[Any], change: Callable[[Seen | None], ReshardState], *, leave_step: bool = True
    ) -> Status:
        pauses = self._waiting.pauses(CONTENDED)
        while True:
            seen = self._coordinator.read(entity)
            if self._coordinator.replace(entity, seen, change(seen), leave_step=leave_step):
                return self.status(entity)
            if not pauses.pause():
                break
        raise Conflict("the re-shard kept changing", where=entity.token, fix="look at its status, and try again")

    def _sampled(self, entity: EntityType[Any], current: ShardMap, now: int) -> tuple[int | None, int]:
        """The number of records, and their average size."""
        if entity.keys.design.partition:
            return None, 0
        total, sizes = 0, list[int]()
        for generation in current.begun(now, entity.time_unit):
            counted, shards = 0, 0
            for suffix in generation.space.suffixes():
                if shards == MOST_SAMPLED_SHARDS or (shards >= SAMPLED_SHARDS and counted >= SAMPLED_RECORDS):
                    break
                hash_key = entity.keys.hash_key(suffix, (), {})
                count, sample = self._counted(entity, hash_key)
                if count is None:
                    return None, 0
                shards, counted, sizes = shards + 1, counted + count, sizes + sample
            total += counted * generation.space.shards // shards
        return total, sum(sizes) // len(sizes) if sizes else 0

    def _counted(self, entity: EntityType[Any], hash_key: str) -> tuple[int | None, list[int]]:
        """The number of records of a hash key, None if there are too many to count; and the sizes of some."""
        design = entity.keys.design
        names = design.hash_name, hash_key, design.range_name
        sizes = [item_bytes(item) for item in self._asking.run(Query(*names, limit=SAMPLED_RECORDS)).items]
        total, start = 0, None
        for _ in range(SAMPLED_PAGES):
            page = self._asking.run(Query(*names, count_only=True, start_key=start))
            total, start = total + page.count, page.last_key
            if start is None:
                return total, sizes
        return None, sizes


def _under_way(seen: Seen | None) -> ReshardState:
    if seen is None:
        raise _nothing_moves()
    return seen.control


def _nothing_moves() -> ReshardRefused:
    return ReshardRefused("nothing is being moved", where="entity", fix="start a re-shard first")


def _warning(records: int | None, shards: int) -> str | None:
    if records is None or shards <= max(MANY_SHARDS, records):
        return None
    return "there would be more shards than records, and every query looks into each"


def _looks(entity: EntityType[Any], shards_from: int, shards_to: int) -> int:
    """The number of queries to read every shard, if all were empty."""
    shared, own = _indexes(entity)
    of_old = 1 + VERIFICATIONS + 2  # copied, compared, emptied and looked at again
    of_new = 1 + VERIFICATIONS + 2 * shared + own  # swept, compared, the indexes' entries and records
    return of_old * shards_from + of_new * shards_to


def _read_units(entity: EntityType[Any], average: int) -> int:
    """The read units of one record: its reads on each side for copying, sweeping, comparing and removing, the lookups
    on the other side for sweeping and comparing, and the reads of its index entries."""
    shared, own = _indexes(entity)
    paged, alone = average / READ_BYTES, -(-average // READ_BYTES)
    indexes = shared * 1.5 * paged + own * (paged + 0.5 * alone)
    return math.ceil(paged * (4 + 2 * VERIFICATIONS) + alone * (1 + 2 * VERIFICATIONS) + indexes)


def _check_seconds(entity: EntityType[Any]) -> float:
    """The seconds of one record: its share of the pages that are swept, compared and summed up, and of the reads of
    counterparts; and a query for its entry in each index with its own hash key."""
    shared, own = _indexes(entity)
    requests = 2 * (1 + 2 * VERIFICATIONS) + 2 * shared
    return LOOK_SECONDS * (requests / DEPLOYED_PACE.page + own / DEPLOYED_PACE.workers)


def _indexes(entity: EntityType[Any]) -> tuple[int, int]:
    """The number of indexes with the table's hash key, and of those with their own."""
    names = [view.hash_name for name, view in entity.views.items() if name is not None]
    shared = names.count(entity.keys.design.hash_name)
    return shared, len(names) - shared


def _least_seconds(waits: Waits) -> int:
    """The minimum of all waits: settling, soaking, leaving the old space, and checking that it stays empty."""
    waiting = waits.skew_ms + waits.soak_ms + waits.skew_ms + max(waits.quiet_ms, waits.skew_ms)
    return -(-waiting // 1000)


def _shards(shard_map: ShardMap) -> int:
    return sum(each.space.shards for each in shard_map.generations)


def _first(shard_map: ShardMap) -> int:
    return shard_map.generations[0].space.shards
