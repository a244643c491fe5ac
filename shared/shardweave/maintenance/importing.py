"""Bringing records in from lines (see `record_lines`), into a table that may be in use.

    create     a record is written where none with its id is, in the revision that its line has
    replace    a record is written over the stored one that is still in the revision of its line; no other is touched

Guarantees: a record is written with its keys, lookups and counters of parents in one transaction, as any other is;
what is stored otherwise is never overwritten, and what was removed does not come back by a replacement. Sequences go on
above every number that comes in, before the record that has it is written. What read models remember of a record is
written where nothing is remembered of it yet, so that the numbers that come in as well are not counted again; not in
the way `replace`. The lines of one import may be in any order:
a record whose parent is not there yet is tried again at the end. An import may be stopped anywhere and repeated: a
record that is there in its line's revision has been imported, and a replacement has a revision that follows from its
line.

Costs: a read of each id, in batches, and a write for each record that is not there yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import (
    AlreadyExists,
    Conflict,
    ImmutableProperty,
    InputError,
    ParentMissing,
    RecordUnreadable,
    ReshardRefused,
    ShardweaveError,
    ValueTaken,
)
from ..schema.entity_type import REVISION, EntityType
from ..schema.identities import given_identity
from ..store.attempts import AttemptContext
from ..store.locations import ReadResult
from ..store.outcomes import UNNUMBERED
from ..store.parts import StoreParts
from ..store.writing.prepare import PreparedRecord, unknown_attributes
from ..store.writing.write_actions import absent
from ..store.writing.write_steps import Context, Refused, WritePlan, WriteStep, creation, replacement
from ..table.concurrency import run_concurrently
from ..table.operations import PutItem
from ..table.values import Item
from .record_lines import CountLine, Line, RecordLine, SequenceLine, generated_names, read_line
from .walk import Pace

BATCH = 100
MAX_WAITING = 100_000
"""Records without their parents that are remembered; more are refused."""
MAX_EXAMPLES = 50


@dataclass(frozen=True)
class NotImported:
    """A line that was refused: its number, and why."""

    number: int
    reason: str


@dataclass
class ImportReport:
    """The outcome of the lines so far. `there`: imported before; `kept`: stored with another revision, not changed;
    `passed`: not records, or expired; `counters`: those of sequences; `counted`: what is remembered of counted
    records."""

    lines: int = 0
    written: int = 0
    there: int = 0
    kept: int = 0
    passed: int = 0
    counters: int = 0
    counted: int = 0
    refused: int = 0
    examples: list[NotImported] = field(default_factory=list)


@dataclass(frozen=True)
class ImportStep(WriteStep):
    """Reads, and writes a record whose revision is given: where none is, or, with `over`, where that revision is."""

    item: Item
    extra: Item
    over: str | None = None

    @property
    def makes(self) -> bool:
        return self.over is None

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        draft = PreparedRecord(dict(self.item))
        if seen.found is None:
            if self.over is not None:
                raise self.not_found()
            return creation(self.entity, draft, seen, moment, context, self.met, self.extra)
        stored = seen.found.item.get(REVISION)
        if stored == self.item[REVISION]:
            return WritePlan()
        if self.over is None:
            raise self.already_exists()
        if stored != self.over:
            raise self.revision_conflict()
        return replacement(self.entity, draft, seen, moment, context, self.met, self.extra)

    def already_done(self, plan: WritePlan, refused: Refused, *, uncertain: bool) -> bool:
        """Whether an earlier attempt of this plan was carried out. Another import of the same line writes the same
        revision, so that it only tells after an attempt without an answer."""
        return uncertain and super().already_done(plan, refused, uncertain=uncertain)


@dataclass(frozen=True)
class _Waiting:
    number: int
    line: RecordLine


class Import:
    """One import into one table. `replace_unchanged`: records that are there are replaced, none is made. `rate` is how
    many records are read and written in a second; 0 is any."""

    def __init__(
        self, parts: StoreParts, clock: Callable[[], int], *, replace_unchanged: bool = False, rate: float = 0
    ) -> None:
        self._parts = parts
        self._clock = clock
        self._replace = replace_unchanged
        self._pace = Pace(rate, parts.waiting)
        self._batch = BATCH if not rate else max(1, min(BATCH, int(rate)))
        self._generated = generated_names(parts.schema)
        self._orphans: list[_Waiting] = []
        self.report = ImportReport()

    def run(
        self, lines: Iterable[bytes], follow: Callable[[ImportReport], object] = lambda report: None
    ) -> ImportReport:
        """Bring in every line; `follow` is told of each batch. Raises what the table raises."""
        for batch in self._batches(lines):
            self._bring(batch)
            follow(self.report)
            self._pace.did(len(batch))
        while self._orphans:
            waiting, self._orphans = self._orphans, []
            for start in range(0, len(waiting), self._batch):
                batch = waiting[start : start + self._batch]
                self._bring(batch)
                self._pace.did(len(batch))
            if len(self._orphans) == len(waiting):
                for each in self._orphans:
                    self._refuse(each.number, "its parent is not there")
                self._orphans = []
        return self.report

    # -- parts

    def _batches(self, lines: Iterable[bytes]) -> Iterator[list[_Waiting]]:
        batch: list[_Waiting] = []
        names: set[tuple[Any, ...]] = set()
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            self.report.lines += 1
            try:
                line = read_line(self._parts.schema, self._generated, text)
                if line is None or self._is_expired(line):
                    self.report.passed += 1
                elif isinstance(line, SequenceLine):
                    self._parts.numbering.advance(line.entity, line.sequence, line.scope, line.last)
                    self.report.counters += 1
                elif isinstance(line, CountLine):
                    self._remember(line)
                else:
                    waiting = _Waiting(number, self._checked(line))
                    name = (line.entity.token, *given_identity(line.entity, line.item).values())
                    if len(batch) == self._batch or name in names:
                        yield batch
                        batch, names = [], set()
                    batch.append(waiting)
                    names.add(name)
            except ReshardRefused:
                raise
            except (InputError, RecordUnreadable) as error:
                self._refuse(number, str(error))
        if batch:
            yield batch

    def _remember(self, line: CountLine) -> None:
        """Write what is remembered of a record, if nothing is yet, for an import that makes records."""
        put = PutItem(line.item, absent(line.entity), return_on_failure=True)
        refusal = None if self._replace else self._parts.sender.send([put])
        stored = line.item if refusal is None else refusal.reasons[0].item or {}
        if self._replace or stored.get(REVISION) != line.item[REVISION]:
            self.report.passed += 1
        else:
            self.report.counted += 1

    def _is_expired(self, line: Line) -> bool:
        return isinstance(line, RecordLine) and line.entity.is_expired(line.item, self._clock() // 1000)

    def _checked(self, line: RecordLine) -> RecordLine:
        """A line whose record can be read. Raises RecordUnreadable, ValueRefused."""
        entity = line.entity
        item = dict(line.item)
        item.setdefault(REVISION, _revision(line))
        entity.load(item)
        given = given_identity(entity, item)
        entity.identify({name: entity.identifying[name].python(value) for name, value in given.items()})
        entity.check_timestamp(item, self._clock())
        return replace(line, item=item)

    def _bring(self, batch: Sequence[_Waiting]) -> None:
        wanted = [(each.line.entity, _identity(each.line)) for each in batch]
        seen = self._parts.reader.find_now(wanted)
        self._advance(batch)
        outcomes = run_concurrently(self._write, list(zip(batch, seen, strict=True)))
        for each, outcome in zip(batch, outcomes, strict=True):
            self._count(each, outcome)

    def _advance(self, batch: Sequence[_Waiting]) -> None:
        """Advance the sequences above the numbers of a batch."""
        highest: dict[tuple[Any, ...], tuple[EntityType[Any], Any, Item, int]] = {}
        for each in batch:
            entity, item = each.line.entity, each.line.item
            for sequence in entity.sequences:
                number = item.get(sequence.property_name)
                if type(number) is int and number not in UNNUMBERED:
                    scope: Item = {element.name: item.get(element.name) for element in sequence.within}
                    name = (entity.token, sequence.property_name, *scope.values())
                    if name not in highest or highest[name][3] < number:
                        highest[name] = (entity, sequence, scope, number)
        for entity, sequence, scope, number in highest.values():
            self._parts.numbering.advance(entity, sequence, scope, number)

    def _write(self, pair: tuple[_Waiting, ReadResult]) -> str | ShardweaveError:
        """What became of a record: `written`, `there`, `kept`; or why it was refused."""
        waiting, seen = pair
        line = waiting.line
        item: dict[str, Any] = dict(line.item)
        over: str | None = None
        if self._replace:
            over, item[REVISION] = str(item[REVISION]), _revision(line)
            stored = {} if seen.found is None else seen.found.item
            if stored.get(REVISION) == over and self._is_same(line, stored):
                return "there"
        try:
            plan = self._parts.writer.run(ImportStep(line.entity, _identity(line), item, line.extra, over), seen)
        except (ParentMissing, ValueTaken) as error:
            return error
        except (AlreadyExists, Conflict):
            return "kept"
        except ReshardRefused:
            raise
        except (InputError, RecordUnreadable, ImmutableProperty) as error:
            return error
        except ShardweaveError as error:
            if error.code != "not_found":
                raise
            return "kept"
        return "written" if plan.writes else "there"

    def _is_same(self, line: RecordLine, stored: Item) -> bool:
        """Whether writing a line would change nothing but the revision: unknown attributes that it lacks stay."""
        entity = line.entity
        unknown = unknown_attributes(entity, entity.current(stored), self._generated)
        before = {**entity.visible(stored), **entity.upgrades.stamp, **unknown, REVISION: ""}
        return before == {**unknown, **line.item, **line.extra, REVISION: ""}

    def _count(self, waiting: _Waiting, outcome: str | ShardweaveError) -> None:
        if isinstance(outcome, ParentMissing) and len(self._orphans) < MAX_WAITING:
            self._orphans.append(waiting)
        elif isinstance(outcome, ShardweaveError):
            self._refuse(waiting.number, str(outcome))
        else:
            setattr(self.report, outcome, getattr(self.report, outcome) + 1)

    def _refuse(self, number: int, reason: str) -> None:
        self.report.refused += 1
        if len(self.report.examples) < MAX_EXAMPLES:
            self.report.examples.append(NotImported(number, reason))


def _identity(line: RecordLine) -> Item:
    return line.entity.identity_from(line.item)


def _revision(line: RecordLine) -> str:
    """A revision that follows from what a line says, so that an import that is repeated writes the same."""
    told = repr(sorted((name, repr(value)) for name, value in {**line.item, **line.extra}.items()))
    return "i" + hashlib.blake2b(told.encode(), digest_size=12).hexdigest()
