"""Rebuilding: counting a read model of records again, from the records, while they change.

    begin     each record that the read model writes gets a second count beside its numbers, which begins at 0
    count     every record that feeds it, and every one of which something is remembered, is counted into that
    finish    the numbers become the second count

Meanwhile changes of records are counted into both (see `store.events.counts`), so that the numbers can be read as they
were, and the second count is what it would be without the rebuild. A rebuild begins with what resets have settled, and
keeps it. It may be repeated; what is right already is written only for its mark.

State that is kept (see `progress`), saved every few seconds and at the end of a run that is stopped:
    rebuild    its name; `of`, the declaration of the read model, with another of which a new one begins
    phase      which of the above, and `entity`: the how manieth that is written
    map        the shard map under which the places mean something, where the records of one entity are read
    lanes      see `walk`
    read, counted, corrected, refused    counts

Costs: a read of each item of the table; for each record that counts two reads and a transaction, which also writes what
it adds to; and two writes of each record that the read model writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Conflict, InputError, RecordUnreadable, ShardweaveError, TransactionCanceled, TransactionConflict
from ..reshard.declaration_guard import schema_of
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import EntityType
from ..schema.read_models import ReadModel
from ..store.events.counts import KIND
from ..store.events.record_feed import RecordFeed, fed_by
from ..store.events.sum_steps import BeginStep, CorrectedPlan, FinishStep
from ..store.lookups.lookup_records import owner_identity
from ..store.parts import StoreParts
from ..table.concurrency import run_concurrently
from ..table.values import Item
from .progress import Progress, declared
from .walk import PAGE, Lanes, Pace, Walk, entity_lanes, saved_places, table_lanes

SAVED_SECONDS = 5.0
MAX_EXAMPLES = 20
WORKERS = 4
"""Records that are counted at once; more would only wait for each other where they add to the same one."""
BEGIN, COUNT, FINISH = "begin", "count", "finish"
_CONTENDED = (Conflict, TransactionCanceled, TransactionConflict)


@dataclass(frozen=True)
class RebuildReport:
    """The results so far, including earlier runs of the same rebuild: items `read` and records `counted`; how many
    written records had other numbers and were `corrected`; how many records were `refused`, since they can't be read or
    `project` failed (they add what they added before), at most 20 of them in `examples`."""

    read_model: str
    phase: str = BEGIN
    read: int = 0
    counted: int = 0
    corrected: int = 0
    refused: int = 0
    examples: tuple[str, ...] = ()
    done: bool = False


class Rebuild:
    """One rebuild of one read model. `rate` is how many items are read in a second; 0 is as many as can be."""

    def __init__(
        self,
        parts: StoreParts,
        read_model: ReadModel,
        *,
        rate: float = 0,
        page: int = PAGE,
        workers: int = WORKERS,
    ) -> None:
        if not read_model.records:
            raise InputError(
                "only a read model of records can be rebuilt, since events are not kept",
                where=read_model.name,
                fix="send its events again",
            )
        self._parts = parts
        self._read_model = read_model
        self._page = page
        self._workers = workers
        self._rate = rate
        self._pace = Pace(rate, parts.waiting)
        self._feed = RecordFeed(parts)
        self._progress = Progress(parts, f"rebuild#{read_model.name}")
        self._asking = Asking(parts.table, parts.waiting)
        models = (*read_model.records, *read_model.writes)
        placed = [schema_of(parts.schema[each]) for each in models]
        self._of = declared(*placed, *models, read_model.project)
        self._name = ""
        self.report = RebuildReport(read_model.name)

    def run(
        self,
        follow: Callable[[RebuildReport], object] = lambda report: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> RebuildReport:
        """Go on from where an earlier run came to, to the end, or until `stop` says so; `follow` is told of each round.
        Raises Conflict when another process does the same."""
        saved = self._progress.sound(lambda saved: _decoded(self._read_model.name, saved))
        if saved.get("of") != self._of:
            saved = {}
        self._name = str(saved.get("rebuild") or self._parts.context.new_revision())
        self.report = _decoded(self._read_model.name, saved)
        for phase, number in self._stages(saved):
            if not self._stage(phase, number, saved, follow, stop):
                return self.report
            saved = {}
        self.report = replace(self.report, done=True)
        self._progress.clear()
        return self.report

    # -- parts

    def _stages(self, saved: Mapping[str, Any]) -> list[tuple[str, int]]:
        """What is left to do: phases, and the entity of each."""
        written = range(len(self._read_model.writes))
        stages = [*((BEGIN, each) for each in written), (COUNT, 0), *((FINISH, each) for each in written)]
        at = (saved.get("phase"), saved.get("entity"))
        return stages[stages.index(at) :] if at in stages else stages

    def _stage(
        self,
        phase: str,
        number: int,
        saved: Mapping[str, Any],
        follow: Callable[[RebuildReport], object],
        stop: Callable[[], bool],
    ) -> bool:
        """Do one stage. False where it was stopped."""
        self.report = replace(self.report, phase=phase)
        entity = self._parts.schema[self._read_model.writes[number]]
        while True:
            began = self._map(entity, phase)
            walk = self._walk(entity, phase, saved if saved.get("map") == began else {})
            self._save(phase, number, began, walk)
            waiting = self._parts.waiting
            kept_at = waiting.monotonic()
            for results in walk.rounds():
                for each in results:
                    self.report = _sum(self.report, each)
                if self._map(entity, phase) != began:
                    break
                stopping = stop()
                if stopping or waiting.monotonic() - kept_at >= SAVED_SECONDS:
                    self._save(phase, number, began, walk)
                    kept_at = waiting.monotonic()
                follow(self.report)
                if stopping:
                    return False
                self._pace.did(walk.read)
            if self._map(entity, phase) == began:
                return True
            saved = {}

    def _walk(self, entity: EntityType[Any], phase: str, saved: Mapping[str, Any]) -> Walk[RebuildReport]:
        moment = self._parts.moment_of(entity)
        lanes: Lanes = table_lanes() if phase == COUNT else entity_lanes(entity, moment)
        work = self._counted if phase == COUNT else lambda items: self._marked(entity, phase, items)
        places = saved_places(saved.get("lanes"), lanes)
        sizes: dict[str, Any] = {"page": self._page, "workers": self._workers, "rate": self._rate}
        return Walk(self._asking, entity, lanes, work, places=places, **sizes)

    def _map(self, entity: EntityType[Any], phase: str) -> list[int]:
        """The shard map by which the records of one entity are found; that of the whole table is always the same."""
        if phase == COUNT:
            return []
        moment = self._parts.moment_of(entity)
        return [moment.shard_map.id, moment.shard_map.version]

    def _save(self, phase: str, number: int, began: list[int], walk: Walk[RebuildReport]) -> None:
        report = self.report
        self._progress.save(
            {
                "rebuild": self._name,
                "of": self._of,
                "phase": phase,
                "entity": number,
                "map": began,
                "lanes": [place.encode() for place in walk.places],
                "read": report.read,
                "counted": report.counted,
                "corrected": report.corrected,
                "refused": report.refused,
            }
        )

    # -- the work of a page

    def _marked(self, entity: EntityType[Any], phase: str, items: Sequence[Item]) -> RebuildReport:
        """Begin or finish the records of an entity among the items of a page."""
        hash_name, schema = entity.keys.design.hash_name, self._parts.schema
        own = [item for item in items if schema.entity_of_key(str(item[hash_name])) is entity]
        make = BeginStep if phase == BEGIN else FinishStep

        def mark(item: Item) -> RebuildReport:
            identity = entity.identify(entity.identity_in(item)) if entity.identity else {}
            plan = self._parts.writer.run(make(entity, identity, rebuild=self._name))
            wrong = isinstance(plan, CorrectedPlan) and plan.corrected
            return RebuildReport(self._read_model.name, corrected=int(wrong))

        return self._of_page(entity, len(items), own, mark)

    def _counted(self, items: Sequence[Item]) -> RebuildReport:
        """Count the records, and the memories of records, among the items of a page."""
        found: dict[tuple[str, str], _Named] = {}
        for item in items:
            named = self._named(item)
            if named is not None:
                same = found.get((named.entity.token, repr(named.identity)))
                if same is None or named.is_record:
                    found[named.entity.token, repr(named.identity)] = named
        entity = self._parts.schema[self._read_model.records[0]]

        def count(named: _Named) -> RebuildReport:
            if self._feed.count(self._read_model, named.entity, named.identity, rebuild=self._name) == "unreadable":
                raise _Unreadable
            return RebuildReport(self._read_model.name, counted=int(named.is_record))

        return self._of_page(entity, len(items), list(found.values()), count)

    def _named(self, item: Item) -> _Named | None:
        """The record that an item is of, or remembers; None where it is of another read model, or unusable."""
        schema = self._parts.schema
        head = str(item[schema.hash_key]).partition(schema.key_format.shard_delimiter)[0]
        token, _, name = head.partition(".")
        entity = schema.entities.get(token)
        if entity is None or self._read_model not in fed_by(schema, entity):
            return None
        if name not in ("", KIND + self._read_model.name):
            return None
        try:
            if not entity.identity:
                return _Named(entity, {}, is_record=not name)
            if name:
                return _Named(entity, owner_identity(entity, str(item[schema.range_key])), is_record=False)
            return _Named(entity, entity.identify(entity.identity_in(item)), is_record=True)
        except ShardweaveError:
            return None

    def _of_page(
        self, entity: EntityType[Any], read: int, given: Sequence[Any], work: Callable[[Any], RebuildReport]
    ) -> RebuildReport:
        """The work for some things at once, and then one after the other for those that met each other."""
        name = self._read_model.name

        def tried(each: Any) -> RebuildReport | None:
            try:
                return work(each)
            except _CONTENDED:
                return None
            except (InputError, RecordUnreadable, _Unreadable) as error:
                said = "a record can't be read" if isinstance(error, _Unreadable) else str(error)
                return RebuildReport(name, refused=1, examples=(said,))

        report = RebuildReport(name, read=read)
        outcomes = run_concurrently(tried, given, self._workers)
        for each, outcome in zip(given, outcomes, strict=True):
            report = _sum(report, tried(each) or work(each) if outcome is None else outcome)
        return report


@dataclass(frozen=True)
class _Named:
    """A record that feeds a read model, by its own item or by what is remembered of it."""

    entity: EntityType[Any]
    identity: Item
    is_record: bool


class _Unreadable(Exception):
    """A record that can't be read, and adds what it added before."""


def _sum(one: RebuildReport, other: RebuildReport) -> RebuildReport:
    return replace(
        one,
        read=one.read + other.read,
        counted=one.counted + other.counted,
        corrected=one.corrected + other.corrected,
        refused=one.refused + other.refused,
        examples=(one.examples + other.examples)[:MAX_EXAMPLES],
    )


def _decoded(name: str, saved: Mapping[str, Any]) -> RebuildReport:
    read, done, corrected, refused = (int(saved.get(each, 0)) for each in ("read", "counted", "corrected", "refused"))
    return RebuildReport(name, BEGIN, read, done, corrected, refused)
