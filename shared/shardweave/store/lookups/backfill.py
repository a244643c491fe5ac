"""Backfill: adding the stored records to a lookup or an enforced relation that was declared later.

Format: the progress is stored in the marker of `backfill_state`, after each page:
    _source, _after     the hash key (by position) or the scan that is read, and the last key that was processed
    _map                the shard map to which that position belongs
    _refused            how many records could not be added

Guarantees: every record that exists during the whole run is in the lookup at the end, whatever programs that know the
lookup write in the meantime, and if a re-shard moves it: when the shard map changes, the run starts again. Each record
is added by one transaction, on condition that it still has the revision that was read. A run may be stopped and started
again at any time, by any process; of two concurrent runs one stops. The lookup is ready only after a run without
refused records: two records with the same unique value are reported, and are not added until one of them is changed.

A backfill can't detect writes of programs that don't know the lookup, so start it only when no such program writes any
more.

Costs: a read of the entity's records (of the whole table, for an entity that is partitioned or has more than 4,096 hash
keys), one of their lookup records, and a transaction for each record that is not in the lookup yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import (
    AlreadyExists,
    Conflict,
    KeyTooLong,
    RecordUnreadable,
    ValidationFailed,
    ValueRefused,
)
from ...schema.entity_type import REVISION, EntityType
from ...schema.schema import Schema
from ...table.concurrency import MAX_WORKERS, run_concurrently
from ...table.operations import MAX_BATCH_GET, PutItem, Query, Scan
from ...table.values import Item
from ..attempts import AttemptContext
from ..locations import ReadResult
from ..outcomes import BackfillReport, NotFilled
from ..reader import Reader
from ..writing.sender import Sender
from ..writing.write_actions import absent, as_read
from ..writing.writer import Writer
from .backfill_state import READY, STATE, can_be_asked, marker_key, record_queries
from .backfill_steps import FillStep, is_counted, leads_to
from .lookup_records import lookup_keys

FILLING = "filling"
MAX_ASKED = 4096
MAX_REPORTED = 100
_SOURCE, _AFTER, _MAP, _REFUSED = "_source", "_after", "_map", "_refused"


Followed = Callable[[BackfillReport], None]


@dataclass(frozen=True)
class Backfill:
    """Backfills of one schema's lookups and enforced relations."""

    schema: Schema
    reader: Reader
    sender: Sender
    writer: Writer
    moment_of: Callable[[EntityType[Any]], AttemptContext]
    new_revision: Callable[[], str]
    workers: int = MAX_WORKERS

    def run(self, entity: EntityType[Any], name: str, *, again: bool, follow: Followed) -> BackfillReport:
        """Backfill a lookup or relation. With `again` also one that is ready. Raises Conflict if another run is in
        progress."""
        run = _Run(self, entity, name, BackfillReport(entity.token, name))
        run.take_marker()
        if run.marker.get(STATE) == READY and not again:
            return replace(run.report, ready=True)
        for _ in run.pages():
            follow(run.report)
        return run.report


@dataclass
class _Run:
    """One run: its marker as it was saved last, and its report."""

    parts: Backfill
    entity: EntityType[Any]
    name: str
    report: BackfillReport
    marker: dict[str, Any] = field(default_factory=dict)

    def take_marker(self) -> None:
        """Read the marker, or set one: from then on no process treats the entity as new, even if its last record is
        deleted."""
        key = marker_key(self.entity, self.name)
        (found,) = self.parts.reader.items([key])
        if found is None:
            put = PutItem({**key, STATE: FILLING, REVISION: self.parts.new_revision()}, absent(self.entity))
            self.parts.sender.send([put])
            (found,) = self.parts.reader.items([key])
        self.marker = dict(found or {})

    def pages(self) -> Iterator[None]:
        """Process the records page by page. When the shard map has changed, they are read again from the beginning,
        since those that were moved may not have been read at either place."""
        moment = self.parts.moment_of(self.entity)
        sources = list(self._sources(moment))
        source, after, refused = self._begun(_map(moment), sources) or (0, None, 0)
        while source < len(sources):
            page = self.parts.reader.page(replace(sources[source], start_key=after, limit=MAX_BATCH_GET))
            refused += self._fill(page.items)
            after = page.last_key
            source += after is None
            current = self.parts.moment_of(self.entity)
            if _map(current) != _map(moment):
                moment, sources = current, list(self._sources(current))
                source, after, refused = 0, None, 0
                self.report = replace(self.report, refused=0, examples=())
            self._save({_SOURCE: source, _AFTER: after, _MAP: _map(moment), _REFUSED: refused})
            yield
        self._save({}, ready=refused == 0)
        self.report = replace(self.report, ready=refused == 0)
        yield

    def _begun(self, under_map: list[int], sources: Sequence[Query | Scan]) -> tuple[int, Item | None, int] | None:
        """The position of an earlier run; None if the run has to start again, since the position is damaged or of
        another shard map."""
        saved = self.marker
        source, after, refused = saved.get(_SOURCE, 0), saved.get(_AFTER), saved.get(_REFUSED, 0)
        if saved.get(_MAP) != under_map or not all(type(each) is int and each >= 0 for each in (source, refused)):
            return None
        if after is None:
            return source, None, refused
        design = self.entity.keys.design
        names = {design.hash_name, design.range_name}
        if not isinstance(after, Mapping) or after.keys() != names or {type(after[name]) for name in names} != {str}:
            return None
        asked = sources[source] if source < len(sources) else None
        reached = isinstance(asked, Scan) or (asked is not None and after[design.hash_name] == asked.hash_value)
        return (source, after, refused) if reached else None

    def _sources(self, moment: AttemptContext) -> Iterator[Query | Scan]:
        if can_be_asked(self.entity, moment, MAX_ASKED):
            yield from record_queries(self.entity, moment)
        else:
            yield Scan(consistent=True)

    def _fill(self, items: Sequence[Item]) -> int:
        """Add a page of records, and return how many were refused."""
        entity, parts = self.entity, self.parts
        hash_name = entity.keys.design.hash_name
        own = [item for item in items if parts.schema.entity_of_key(item[hash_name]) is entity]
        identities = [entity.identity_from(item) for item in own]
        seen = parts.reader.find_now([(entity, identity) for identity in identities])
        left = self._unfilled(list(zip(identities, seen, strict=True)))
        outcomes = run_concurrently(self._fill_one, left, parts.workers)
        refused = [each for each in outcomes if each is not None]
        self.report = replace(
            self.report,
            read=self.report.read + len(own),
            filled=self.report.filled + len(left) - len(refused),
            refused=self.report.refused + len(refused),
            examples=(*self.report.examples, *refused)[:MAX_REPORTED],
        )
        return len(refused)

    def _unfilled(self, seen: list[tuple[Item, ReadResult]]) -> list[tuple[Item, ReadResult]]:
        """The records that are not in the lookup yet."""
        entity, lookup = self.entity, self.entity.lookups.get(self.name)
        current = entity.upgrades.current_or_stored
        stored = [(each, current(each[1].found.item)) for each in seen if each[1].found is not None]
        if lookup is None:
            return [each for each, item in stored if not is_counted(entity, self.name, item)]
        left, keyed = [], []
        for each, item in stored:
            try:
                keyed += [(each, item, key) for key in lookup_keys(entity, lookup, item)]
            except (ValueRefused, KeyTooLong):
                left.append(each)
        records = self.parts.reader.items([key for _, _, key in keyed])
        pairs = zip(keyed, records, strict=True)
        missing = {id(each): each for (each, item, key), record in pairs if not leads_to(entity, record, key, item)}
        return [*left, *missing.values()]

    def _fill_one(self, seen: tuple[Item, ReadResult]) -> NotFilled | None:
        identity, sighting = seen
        try:
            self.parts.writer.run(FillStep(self.entity, identity, self.name), sighting)
        except (AlreadyExists, ValueRefused, KeyTooLong, RecordUnreadable, ValidationFailed) as error:
            return NotFilled(identity, error)
        return None

    def _save(self, progress: dict[str, Any], *, ready: bool = False) -> None:
        """Save the progress. A lookup that is ready stays ready while it is filled again."""
        state = READY if ready or self.marker.get(STATE) == READY else FILLING
        seen = as_read(self.marker)
        rev = self.parts.new_revision()
        marker = {**marker_key(self.entity, self.name), STATE: state, REVISION: rev, **progress}
        put = PutItem(marker, seen, return_on_failure=True)
        refusal = self.parts.sender.send([put])
        if refusal is not None and (refusal.reasons[0].item or {}).get(REVISION) != rev:
            raise Conflict(
                "another backfill is under way", where=f"{self.entity.token}.{self.name}", fix="let it end, or stop it"
            )
        self.marker = marker


def _map(moment: AttemptContext) -> list[int]:
    return [moment.shard_map.id, moment.shard_map.version]
