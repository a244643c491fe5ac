"""Rewriting: writing every record of an entity again, with its current declaration.

A record that lacks what was added to the declaration (a generated property, a default, what `prepare` derives) gets it
with its next write. A rewrite is that write for all of them. Each is conditioned on the revision that was read; where
another writer was faster, the record is read again, and what that one left is what is rewritten. A record that was
removed stays removed. Private properties, attributes that the schema does not know, creation time and the time of the
last change stay. Validators do not run again on what is stored. A record that is already as it would be written is only
read, so a rewrite may be repeated. Afterwards, lookups and enforced relations that do not hold all records are filled.

State that is kept (see `progress`), saved every few seconds and at the end of a run that is stopped:
    of, map                   the declaration by which records were rewritten, and the shard map under which the places
                              mean something; with another one it begins anew
    lanes                     see `walk`
    read, written, refused    counts; `examples` of what was refused, by key and code

Costs: a read of each record, and a write, which the table's stream tells of, for each that is not as it would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import (
    Conflict,
    ImmutableProperty,
    KeyTooLong,
    RecordTooLarge,
    RecordUnreadable,
    UnknownName,
    ValidationFailed,
    ValueRefused,
)
from ..reshard.declaration_guard import schema_of
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import MARK, REVISION, EntityType
from ..store.attempts import AttemptContext
from ..store.locations import ReadResult, StoredItem
from ..store.parts import StoreParts
from ..store.writing.prepare import rewritten_draft
from ..store.writing.write_steps import Context, WritePlan, WriteStep, replacement
from ..table.concurrency import MAX_WORKERS, run_concurrently
from ..table.conditions import compare
from ..table.values import Item
from .progress import Progress, declared
from .walk import PAGE, Pace, Walk, entity_lanes, saved_places

SAVED_SECONDS = 5.0
MAX_EXAMPLES = 20
REFUSED = (
    Conflict,
    ImmutableProperty,
    KeyTooLong,
    RecordTooLarge,
    RecordUnreadable,
    UnknownName,
    ValidationFailed,
    ValueRefused,
)
"""What is said of one record, and leaves the others alone."""


@dataclass(frozen=True)
class NotRewritten:
    """A record that can't be written with the current declaration: its identity, and the reason."""

    identity: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class RewriteReport:
    """The results so far, including earlier runs of the same rewrite. At most 20 refused records are named."""

    entity: str
    read: int = 0
    written: int = 0
    refused: int = 0
    examples: tuple[NotRewritten, ...] = ()
    done: bool = False


@dataclass(frozen=True)
class RewriteStep(WriteStep):
    """Reads a record, and writes it if its next write would change it."""

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if seen.found is None:
            return WritePlan()
        stored = seen.found.item
        draft = rewritten_draft(self.entity, stored, context.new_revision())
        plan = replacement(self.entity, draft, seen, moment, context, self.met)
        same = plan.written is not None and compare(_content(plan.written), "=", _content(stored))
        return WritePlan() if same else plan


def _content(item: Item) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in (REVISION, MARK)}


class Rewrite:
    """One rewrite of one entity's records. `rate` is how many are read in a second; 0 is as many as can be."""

    def __init__(
        self,
        parts: StoreParts,
        entity: EntityType[Any],
        *,
        rate: float = 0,
        page: int = PAGE,
        workers: int = MAX_WORKERS,
    ) -> None:
        self._parts = parts
        self._entity = entity
        self._page = page
        self._workers = workers
        self._rate = rate
        self._progress = Progress(parts, f"rewrite#{entity.token}")
        self._asking = Asking(parts.table, parts.waiting)
        self._of = declared(schema_of(entity), entity.model)
        self.report = RewriteReport(entity.token)

    def run(
        self,
        follow: Callable[[RewriteReport], object] = lambda report: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> RewriteReport:
        """Go on from where an earlier run came to, to the end, or until `stop` says so; `follow` is told of each round.
        Raises Conflict when another process does the same."""
        saved = self._progress.sound(lambda saved: _decoded(self._entity.token, saved))
        if saved.get("of") != self._of:
            saved = {}
        while not self._walked(saved, follow, stop):
            saved = {}
        if self.report.done:
            self._progress.clear()
        return self.report

    # -- parts

    def _walked(
        self, saved: Mapping[str, Any], follow: Callable[[RewriteReport], object], stop: Callable[[], bool]
    ) -> bool:
        """Walk on. False where the shard map has changed, so that all is to be walked again."""
        moment = self._parts.moment_of(self._entity)
        lanes = entity_lanes(self._entity, moment)
        places = saved_places(saved.get("lanes"), lanes) if saved.get("map") == _map(moment) else None
        self.report = RewriteReport(self._entity.token) if places is None else _decoded(self._entity.token, saved)
        sizes: dict[str, Any] = {"page": self._page, "workers": self._workers, "rate": self._rate}
        walk = Walk(self._asking, self._entity, lanes, self._rewritten, places=places, **sizes)
        pace, waiting = Pace(self._rate, self._parts.waiting), self._parts.waiting
        kept_at = waiting.monotonic()
        for results in walk.rounds():
            for each in results:
                self.report = _sum(self.report, each)
            if _map(self._parts.moment_of(self._entity)) != _map(moment):
                return False
            stopping = stop() and not walk.done
            if stopping or waiting.monotonic() - kept_at >= SAVED_SECONDS:
                self._progress.save({"of": self._of, "map": _map(moment), **_encoded(self.report, walk)})
                kept_at = waiting.monotonic()
            follow(self.report)
            if stopping:
                return True
            pace.did(walk.read)
        self.report = replace(self.report, done=True)
        return True

    def _rewritten(self, items: Sequence[Item]) -> RewriteReport:
        """Rewrite the entity's records of a page."""
        entity, hash_name = self._entity, self._entity.keys.design.hash_name
        own = [item for item in items if self._parts.schema.entity_of_key(str(item[hash_name])) is entity]
        seconds = self._parts.moment_of(entity).seconds
        live = [item for item in own if not entity.is_expired(item, seconds)]
        outcomes = run_concurrently(self._rewrite_one, live, self._workers)
        refused = [each for each in outcomes if isinstance(each, NotRewritten)]
        return RewriteReport(entity.token, len(live), outcomes.count(True), len(refused), tuple(refused))

    def _rewrite_one(self, item: Item) -> bool | NotRewritten:
        """Whether the record was written; what is said of it where it can't be."""
        entity = self._entity
        identity = entity.identity_in(item)
        try:
            step = RewriteStep(entity, entity.identify(identity) if entity.identity else {})
            return self._parts.writer.run(step, self._seen(item)).writes
        except REFUSED as error:
            return NotRewritten(identity, str(error))

    def _seen(self, item: Item) -> ReadResult | None:
        """The record as it was read, None where it has to be read anew to know whose generation it is of."""
        entity, shard_map = self._entity, self._parts.moment_of(self._entity).shard_map
        chars = len(entity.keys.suffix_of_key(str(item[entity.keys.design.hash_name])))
        found = next((each for each in shard_map.generations if each.space.chars == chars), None)
        return None if found is None else ReadResult(StoredItem(found, item))


def _map(moment: AttemptContext) -> list[int]:
    return [moment.shard_map.id, moment.shard_map.version]


def _sum(one: RewriteReport, other: RewriteReport) -> RewriteReport:
    return replace(
        one,
        read=one.read + other.read,
        written=one.written + other.written,
        refused=one.refused + other.refused,
        examples=(one.examples + other.examples)[:MAX_EXAMPLES],
    )


def _encoded(report: RewriteReport, walk: Walk[Any]) -> dict[str, Any]:
    return {
        "lanes": [place.encode() for place in walk.places],
        "read": report.read,
        "written": report.written,
        "refused": report.refused,
    }


def _decoded(token: str, saved: Mapping[str, Any]) -> RewriteReport:
    read, written, refused = (int(saved.get(name, 0)) for name in ("read", "written", "refused"))
    return RewriteReport(token, read, written, refused)
