"""The parts of a store that write. A store makes them, and imports this module, with its first write: a process that
only reads pays for none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ShardweaveError
from ..schema.entity import Entity
from .batches import Batches
from .events.applied_events import AppliedEvents, has_events
from .events.event_applier import Projector
from .events.pending_records import remnants_of
from .events.record_feed import RecordFeed
from .idempotency import Idempotency, Keeping, Said
from .lookups.backfill import Backfill
from .operations import Apply, BatchWriteResult, Delete, Operation, Put, Update, Written
from .parts import StoreParts
from .relations.deletion_work import StoredDeletions
from .relations.parent_deletion import Course, Removing
from .sequences import Numbering, scope_of, sequence_of
from .writing.adder import Adder
from .writing.sender import Sender
from .writing.step_maker import StepMaker
from .writing.write_steps import AddStep, Context, DeleteStep, WritePlan, WriteStep
from .writing.writer import Writer

if TYPE_CHECKING:
    from ..schema.entity_type import EntityType
    from ..schema.schema import Schema
    from ..schema.shard_maps import ShardMaps
    from ..table import Table
    from ..table.retry import RetryClock
    from .attempts import AttemptContext
    from .idempotency_keys import Answer, IdempotencyKey, KeptAnswer
    from .lookups.backfill_state import Readiness
    from .lookups.lookup_queries import Finder
    from .outcomes import Follow
    from .reader import Reader


class WriteParts:
    """The writing half of a store. Safe for many threads; the arguments are those of `Store`, and its reading parts."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        reader: Reader,
        finder: Finder,
        readiness: Readiness,
        moment: Callable[[EntityType[Any]], AttemptContext],
        *,
        clock: Callable[[], int],
        maps: ShardMaps,
        waiting: RetryClock,
        new_revision: Callable[[], str],
        new_token: Callable[[], str],
        workers: int,
    ) -> None:
        self._schema = schema
        generated = frozenset(name for entity in schema.entities.values() for name in entity.keys.names)
        context = Context(new_revision, generated, schema.entities, remnants_of(schema))
        sender = Sender(table, waiting, new_token)
        self._steps = StepMaker(schema, context, moment)
        self._writer = writer = Writer(reader, sender, readiness, waiting, context, moment)
        self._adder = Adder(reader, sender, writer, context, moment)
        self._numbering = Numbering(table, reader, waiting, self._steps, readiness, new_token, moment)
        self._has_sequences = any(entity.sequences for entity in schema.entities.values())
        self.idempotency = Idempotency(schema, reader, sender, readiness, waiting, clock, new_revision)
        self.projector = Projector(schema, writer, self.idempotency)
        self._events = AppliedEvents(schema, self.projector, writer, self._steps, waiting)
        stored = StoredDeletions(reader, sender, schema.entities, new_revision, moment)
        self.removing = Removing(reader, finder, writer, self._steps, waiting, stored)
        self._batches = Batches(reader, sender, self.removing, self._steps, readiness, waiting, moment, workers)
        self.backfill = Backfill(schema, reader, sender, writer, moment, new_revision, workers)
        self.parts = StoreParts(
            schema,
            table,
            reader,
            sender,
            writer,
            self._numbering,
            readiness,
            context,
            moment,
            waiting,
            maps,
            self.removing,
        )
        self.feed = RecordFeed(self.parts)

    def write(self, operation: Operation) -> Written:
        """Carry out one operation."""
        if isinstance(operation, Apply):
            self.projector.apply(self._schema.read_model(operation.read_model), operation.event)
            return Written(None, created=False)
        return written_by(self._alone(operation))

    def delete(self, delete: Delete, seconds: float | None, follow: Follow | None) -> bool:
        """Carry out a deletion within so many seconds; False if there was nothing to delete."""
        return self._alone(delete, self.removing.course(seconds, follow)).removes

    def transact(self, operations: Sequence[Operation]) -> tuple[Entity | None, ...]:
        """Carry out several operations, all or none."""
        if has_events(operations):
            return tuple(plan.record for plan in self._events.transact(operations, self._numbered))
        steps = self._steps.make_all(self._numbered(operations))
        return tuple(plan.record for plan in self._writer.transact(steps))

    def execute(
        self,
        operations: Sequence[Operation],
        once: IdempotencyKey | None,
        answer: Callable[[tuple[Written, ...]], bytes],
        seconds: float | None,
        follow: Follow | None,
    ) -> bytes:
        """Carry out operations, once if they have a key, and return their answer."""
        deletes = any(isinstance(each, Delete) for each in operations)
        course = self.removing.course(seconds, follow) if deletes else None

        def said(plans: Sequence[WritePlan]) -> bytes:
            return answer(tuple(map(written_by, plans)))

        if once is not None:
            return self._once(once, operations, said, course).answer
        if has_events(operations):
            return said(self._events.transact(operations, self._numbered))
        steps = self._steps.make_all(self._numbered(operations), named=len(operations) > 1)
        return said(self._writer.transact(steps) if len(steps) > 1 else [self._run(step, course) for step in steps])

    def idempotent(self, once: IdempotencyKey, operations: Sequence[Operation], answer: Answer) -> KeptAnswer:
        """Carry out operations and store their answer in the same transaction, or return the stored answer."""
        return self._once(once, operations, lambda plans: answer(tuple(plan.record for plan in plans)))

    def write_batch(
        self,
        puts: Sequence[Entity | Put],
        deletes: Sequence[Delete],
        updates: Sequence[Update],
        seconds: float,
        follow: Follow | None,
        names: Sequence[str],
    ) -> BatchWriteResult:
        """Carry out writes, each on its own."""
        operations = [each if isinstance(each, Put) else Put(each) for each in puts]
        failed: dict[int, ShardweaveError] = {}
        numbered = [each for each in self._numbering.numbered(operations, failed) if isinstance(each, Put)]
        refused: dict[int, ShardweaveError] = {}
        updated: list[Update] = [*updates]
        if self._has_sequences and any(each.upsert is not False for each in updates):
            numbers = self._numbering.numbered(updated, refused)
            updated = [each for each in numbers if isinstance(each, Update)]
        for position, error in refused.items():
            updated[position] = replace(updated[position], refused=error)
        return self._batches.write(numbered, deletes, seconds, failed, follow, updated, names)

    def take(self, entity: EntityType[Any], name: str, within: Any, count: int) -> range:
        """The next numbers of a sequence."""
        sequence = sequence_of(entity, name)
        return self._numbering.take(entity, sequence, scope_of(entity, sequence, within), count)

    def advance(self, entity: EntityType[Any], name: str, within: Any, to: int) -> None:
        """Make a sequence continue above `to`."""
        sequence = sequence_of(entity, name)
        self._numbering.advance(entity, sequence, scope_of(entity, sequence, within), to)

    def _alone(self, operation: Operation, course: Course | None = None) -> WritePlan:
        (numbered,) = self._numbered([operation])
        return self._run(self._steps.make(numbered), course)

    def _once(
        self, once: IdempotencyKey, operations: Sequence[Operation], said: Said, course: Course | None = None
    ) -> KeptAnswer:
        def write(keeping: Keeping) -> object:
            if has_events(operations):
                return self._events.transact(operations, self._numbered, keeping)
            steps = self._steps.make_all(self._numbered(operations), named=len(operations) > 1)
            if len(steps) != 1:
                return self._writer.transact_keeping(steps, keeping)
            return self.removing.run(steps[0], lambda step: self._writer.transact_keeping([step], keeping)[0], course)

        return self.idempotency.transacted(once, said, write)

    def _numbered(self, operations: Sequence[Operation]) -> Sequence[Operation]:
        return self._numbering.numbered(operations) if self._has_sequences else operations

    def _run(self, step: WriteStep, course: Course | None) -> WritePlan:
        if isinstance(step, AddStep):
            return self._adder.run(step)
        if not isinstance(step, DeleteStep):
            return self._writer.run(step)
        return self.removing.run(step, self._writer.run, course)


def written_by(plan: WritePlan) -> Written:
    """The result of an operation that was carried out as planned."""
    return Written(plan.record, plan.creates, plan.before)
