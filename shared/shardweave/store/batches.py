"""Many records at once: reads by key, and writes that succeed or fail one by one.

Guarantees: answers are in the order of the input; every position has exactly one outcome; two items about one record
are refused before anything is sent. A batch is no transaction.

Costs: reads are those of `reads`. Puts whose identity is made up in the call go 25 to a request, at the price of
plain puts. Every other write depends on what is stored (a put keeps the timestamp, a delete removes only what it has
seen), so it is read, 100 to a request, and then written on its own, several at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..entity import Entity
from ..entity_type import EntityType
from ..errors import (
    BatchIncomplete,
    OutcomeUnknown,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionConflict,
)
from ..table import Table
from ..table.operations import MAX_BATCH_WRITE, BatchWrite
from ..table.values import Item
from .actions import Moment, stored_item
from .operations import BatchWriteResult, Delete, Put, WriteOutcome
from .places import Sighting
from .reads import Reader, Wanted
from .retries import UNANSWERED, Pauses, Waiting
from .steps import CreateStep, Step, StepMaker
from .writer import Writer, check_distinct

MAX_WORKERS = 8
DEADLINE = 60.0
_UNPROCESSED = WriteOutcome("unprocessed")


@dataclass(frozen=True)
class Batches:
    """Batches for many threads at once."""

    table: Table
    reader: Reader
    writer: Writer
    steps: StepMaker
    waiting: Waiting
    moment_of: Callable[[EntityType[Any]], Moment]

    def get(self, entity: EntityType[Any], keys: Sequence[Any], deadline: float | None) -> list[Entity | None]:
        """The live records of the keys, None where there is none. Raises BatchIncomplete naming positions."""
        moment = self.moment_of(entity)
        wanted = [Wanted(entity, entity.identify(key), moment) for key in keys]
        found = [sighting.found for sighting in self.reader.find(wanted, deadline)]
        return [None if each is None else entity.load(each.item) for each in found]

    def write(self, puts: Sequence[Put], deletes: Sequence[Delete], deadline: float) -> BatchWriteResult:
        """Carry out the puts and deletes. Raises InputError when two of them are about one record."""
        ends = self.waiting.monotonic() + deadline
        names = [f"puts[{at}]" for at in range(len(puts))] + [f"deletes[{at}]" for at in range(len(deletes))]
        steps: dict[int, Step] = {}
        outcomes: dict[int, WriteOutcome] = {}
        operations: list[Put | Delete] = [*puts, *deletes]
        for position, operation in enumerate(operations):
            try:
                steps[position] = self.steps.make(operation)
            except ShardweaveError as error:
                error.where = f"{names[position]}.{error.where}" if error.where else names[position]
                outcomes[position] = WriteOutcome("failed", error=error)
        check_distinct(list(steps.values()), [names[position] for position in steps])
        plain = {
            position: step
            for position, step in steps.items()
            if isinstance(step, CreateStep) and step.draft.generated and not step.entity.lookup_placed
        }
        self._write_plain(plain, outcomes, ends)
        self._write_each({at: step for at, step in steps.items() if at not in outcomes}, outcomes, ends)
        ordered = [outcomes[position] for position in range(len(names))]
        return BatchWriteResult(tuple(ordered[: len(puts)]), tuple(ordered[len(puts) :]))

    # -- identities that were made up in this call

    def _write_plain(self, steps: Mapping[int, CreateStep], outcomes: dict[int, WriteOutcome], ends: float) -> None:
        """Write what can go without conditions; what ended without an answer is left to be written one by one."""
        for chunk in _chunks(list(steps.items()), MAX_BATCH_WRITE):
            pauses = self.waiting.pauses(UNANSWERED, ends - self.waiting.monotonic())
            items: dict[int, Item] = {}
            for position, step in chunk:
                try:
                    items[position] = stored_item(step.entity, step.draft.item, self.moment_of(step.entity).shard_map)
                except ShardweaveError as error:
                    outcomes[position] = WriteOutcome("failed", error=error)
            self._write_chunk(dict(chunk), items, outcomes, pauses)

    def _write_chunk(
        self,
        steps: Mapping[int, CreateStep],
        items: Mapping[int, Item],
        outcomes: dict[int, WriteOutcome],
        pauses: Pauses,
    ) -> None:
        left = dict(items)
        while left:
            unprocessed = left
            try:
                answer = self.table.run(BatchWrite(puts=tuple(left.values())))
            except (Throttled, TransactionConflict):
                pass
            except TableUnavailable:
                # Without conditions, sending it again could undo an update that has been made since.
                for position in left:
                    self._write_one(position, steps[position], None, outcomes, uncertain=True)
                return
            except ShardweaveError as error:
                outcomes.update(dict.fromkeys(left, WriteOutcome("failed", error=error)))
                return
            else:
                again = {_key(self.table, item) for item in answer.unprocessed_puts}
                unprocessed = {position: item for position, item in left.items() if _key(self.table, item) in again}
                for position in left.keys() - unprocessed.keys():
                    step = steps[position]
                    outcomes[position] = WriteOutcome("written", step.entity.load(step.draft.item))
            if len(unprocessed) < len(left):
                pauses.progress()
            if unprocessed and not pauses.pause():
                outcomes.update(dict.fromkeys(unprocessed, _UNPROCESSED))
                return
            left = unprocessed

    # -- everything else

    def _write_each(self, steps: Mapping[int, Step], outcomes: dict[int, WriteOutcome], ends: float) -> None:
        seen = self._read_ahead(steps, ends)

        def write(position: int) -> None:
            if self.waiting.monotonic() >= ends:
                outcomes[position] = _UNPROCESSED
            else:
                self._write_one(position, steps[position], seen.get(position), outcomes, uncertain=False)

        if len(steps) < 2:
            for position in steps:
                write(position)
            return
        with ThreadPoolExecutor(min(MAX_WORKERS, len(steps)), thread_name_prefix="batch-write") as pool:
            for _ in pool.map(write, steps):
                pass

    def _read_ahead(self, steps: Mapping[int, Step], ends: float) -> dict[int, Sighting]:
        """What can be read together before the writes. What can't is read by each write itself."""
        wanted = {
            position: Wanted(step.entity, step.wanted, self.moment_of(step.entity))
            for position, step in steps.items()
            if step.wanted is not None
        }
        try:
            sightings = self.reader.find(list(wanted.values()), ends - self.waiting.monotonic())
        except (BatchIncomplete, Throttled, TableUnavailable):
            return {}
        return dict(zip(wanted, sightings, strict=True))

    def _write_one(
        self,
        position: int,
        step: Step,
        seen: Sighting | None,
        outcomes: dict[int, WriteOutcome],
        *,
        uncertain: bool,
    ) -> None:
        try:
            plan = self.writer.run(step, seen, uncertain=uncertain)
        except (Throttled, TransactionConflict, BatchIncomplete) as error:
            outcomes[position] = WriteOutcome("failed", error=OutcomeUnknown(str(error))) if uncertain else _UNPROCESSED
        except ShardweaveError as error:
            outcomes[position] = WriteOutcome("failed", error=error)
        else:
            outcomes[position] = WriteOutcome("written", plan.record)


def _chunks(positions: list[Any], size: int) -> Iterator[list[Any]]:
    return (positions[start : start + size] for start in range(0, len(positions), size))


def _key(table: Table, item: Item) -> tuple[Any, Any]:
    hash_name, range_name = table.layout.key_names
    return item[hash_name], item[range_name]
