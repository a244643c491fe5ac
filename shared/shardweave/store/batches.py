"""Batches of writes that succeed or fail independently.

Guarantees: answers are in the order of the input; every position has exactly one outcome; two items about the same
record are refused before anything is sent. A batch is not a transaction.

Costs: puts whose identity is generated in the call are sent 25 in a request, for the price
of plain puts, unless lookups or parents make each of them a transaction. Every other write depends on the stored record
(a put keeps the timestamp, a delete removes only the record that it has read), so the records are read, 100 in a
request, and then written separately, several in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import (
    BatchIncomplete,
    DeleteIncomplete,
    ShardMapChanged,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionConflict,
)
from ..errors.outcomes import note_maybe_written
from ..schema.entity_type import EntityType
from ..table.concurrency import run_concurrently
from ..table.operations import MAX_BATCH_WRITE
from ..table.retry import UNANSWERED, Backoff, RetryClock
from ..table.values import Item
from .attempts import AttemptContext
from .locations import ReadResult
from .lookups.backfill_state import Readiness
from .operations import BatchWriteResult, Delete, Put, Update, WriteOutcome
from .outcomes import BATCH_LISTS, Follow
from .reader import Reader, Wanted
from .relations.parent_deletion import Course, Removing
from .writing.record_actions import unconditional_item
from .writing.sender import Sender
from .writing.step_maker import StepMaker
from .writing.write_actions import key_of
from .writing.write_steps import CreateStep, WriteStep
from .writing.writer import check_distinct

_UNPROCESSED = WriteOutcome("unprocessed")
_AGAIN = (TableUnavailable, Throttled, TransactionConflict)


@dataclass(frozen=True)
class Plain:
    """A write without conditions: its whole item, and its outcome if it succeeds."""

    step: CreateStep
    item: Item
    outcome: WriteOutcome
    moment: AttemptContext

    @property
    def key(self) -> Item:
        return key_of(self.step.entity, self.item)


@dataclass(frozen=True)
class Batches:
    """Carries out batches; safe for many threads."""

    reader: Reader
    sender: Sender
    removing: Removing
    steps: StepMaker
    readiness: Readiness
    waiting: RetryClock
    moment_of: Callable[[EntityType[Any]], AttemptContext]
    workers: int

    def write(
        self,
        puts: Sequence[Put],
        deletes: Sequence[Delete],
        seconds: float,
        failed: Mapping[int, ShardweaveError] = MappingProxyType({}),
        follow: Follow | None = None,
        updates: Sequence[Update] = (),
        names: Sequence[str] = BATCH_LISTS,
    ) -> BatchWriteResult:
        """Carry out the puts, deletes and updates, but for those that have `failed` already, by position. `follow` is
        told of children that deletes take along. Raises InputError when two of them are about one record, by the
        caller's `names` of the three lists."""
        ends = self.waiting.monotonic() + seconds
        listed = zip(names, (puts, deletes, updates), strict=True)
        places = [f"{name}[{at}]" for name, given in listed for at in range(len(given))]
        steps: dict[int, WriteStep] = {}
        outcomes: dict[int, WriteOutcome] = {}
        operations: list[Put | Delete | Update] = [*puts, *deletes, *updates]
        for position, operation in enumerate(operations):
            if position in failed:
                outcomes[position] = WriteOutcome("failed", error=failed[position])
                continue
            try:
                steps[position] = self.steps.make(operation)
            except ShardweaveError as error:
                outcomes[position] = WriteOutcome("failed", error=error)
        check_distinct(list(steps.values()), [places[position] for position in steps])
        self.readiness.before_writing()
        try:
            self._write_plain(self._plain(steps, outcomes), outcomes, ends)
            left = {at: step for at, step in steps.items() if at not in outcomes}
            self._write_each(left, outcomes, self.removing.course(seconds, follow))
        except BaseException as error:
            if any(map(_maybe_written, list(outcomes.values()))):
                note_maybe_written(error)
            raise
        ordered = [outcomes[position] for position in range(len(places))]
        first, last = len(puts), len(puts) + len(deletes)
        return BatchWriteResult(tuple(ordered[:first]), tuple(ordered[first:last]), tuple(ordered[last:]))

    # -- identities that were made up in this call

    def _plain(self, steps: Mapping[int, WriteStep], outcomes: dict[int, WriteOutcome]) -> dict[int, Plain]:
        """The writes that need no conditions."""
        found = {}
        for position, step in steps.items():
            if not isinstance(step, CreateStep):
                continue
            try:
                moment = self.moment_of(step.entity)
                plan = step.plan(ReadResult(), moment, self.steps.context)
            except ShardweaveError as error:
                outcomes[position] = WriteOutcome("failed", error=error)
                continue
            alone = step.draft.generated and not plan.parents and moment.old_form is None
            item = unconditional_item(plan.actions, generated=alone)
            if item is not None:
                found[position] = Plain(step, item, WriteOutcome("written", plan.record), moment)
        return found

    def _write_plain(self, plain: Mapping[int, Plain], outcomes: dict[int, WriteOutcome], ends: float) -> None:
        positions = list(plain)

        def write(start: int) -> None:
            chunk = {position: plain[position] for position in positions[start : start + MAX_BATCH_WRITE]}
            seconds = ends - self.waiting.monotonic()
            if seconds <= 0:
                outcomes.update(dict.fromkeys(chunk, _UNPROCESSED))
            else:
                self._write_chunk(chunk, outcomes, self.waiting.pauses(UNANSWERED, seconds))

        run_concurrently(write, range(0, len(positions), MAX_BATCH_WRITE), self.workers)

    def _write_chunk(self, chunk: Mapping[int, Plain], outcomes: dict[int, WriteOutcome], pauses: Backoff) -> None:
        left = dict(chunk)
        while left:
            unprocessed = left
            try:
                leases = [each.moment.lease for each in left.values() if each.moment.lease is not None]
                again = self.sender.send_batch([each.item for each in left.values()], leases)
            except ShardweaveError as error:
                if error.maybe_written:
                    # Without conditions, sending it again could undo an update that has been made since.
                    for position, each in left.items():
                        self._write_one(position, each.step, None, outcomes, maybe_sent=each.moment)
                    return
                if isinstance(error, ShardMapChanged):
                    for position, each in left.items():
                        self._write_one(position, each.step, None, outcomes)
                    return
                if not isinstance(error, _AGAIN):
                    outcomes.update(dict.fromkeys(left, WriteOutcome("failed", error=error)))
                    return
            else:
                unprocessed = {position: each for position, each in left.items() if each.key in again}
                written = left.keys() - unprocessed.keys()
                outcomes.update({position: left[position].outcome for position in written})
            if len(unprocessed) < len(left):
                pauses.progress()
            if unprocessed and not pauses.pause():
                outcomes.update(dict.fromkeys(unprocessed, _UNPROCESSED))
                return
            left = unprocessed

    # -- everything else

    def _write_each(self, steps: Mapping[int, WriteStep], outcomes: dict[int, WriteOutcome], course: Course) -> None:
        seen = self._read_ahead(steps, course.ends)

        def write(position: int) -> None:
            if self.waiting.monotonic() >= course.ends:
                outcomes[position] = _UNPROCESSED
            else:
                self._write_one(position, steps[position], seen.get(position), outcomes, course=course)

        run_concurrently(write, steps, self.workers)

    def _read_ahead(self, steps: Mapping[int, WriteStep], ends: float) -> dict[int, ReadResult]:
        """The reads that can be done together before the writes. Each write does the other reads itself."""
        try:
            wanted = {
                position: Wanted(step.entity, step.wanted, self.moment_of(step.entity))
                for position, step in steps.items()
                if step.wanted is not None
            }
            sightings = self.reader.find(list(wanted.values()), ends - self.waiting.monotonic())
        except ShardweaveError:
            return {}
        return dict(zip(wanted, sightings, strict=True))

    def _write_one(
        self,
        position: int,
        step: WriteStep,
        seen: ReadResult | None,
        outcomes: dict[int, WriteOutcome],
        *,
        maybe_sent: AttemptContext | None = None,
        course: Course | None = None,
    ) -> None:
        try:
            write = self.removing.writer.run
            plan = self.removing.run(step, lambda step: write(step, seen, maybe_sent=maybe_sent), course)
        except (Throttled, TransactionConflict, BatchIncomplete, DeleteIncomplete, ShardMapChanged):
            outcomes[position] = _UNPROCESSED
        except ShardweaveError as error:
            outcomes[position] = WriteOutcome("failed", error=error)
        else:
            outcomes[position] = WriteOutcome("written", plan.record)


def _maybe_written(outcome: WriteOutcome) -> bool:
    """Whether an item was carried out, or may have been carried out."""
    return outcome.status == "written" or (outcome.error is not None and outcome.error.maybe_written)
