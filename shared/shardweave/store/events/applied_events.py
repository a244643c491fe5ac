"""Applying events in one transaction with other writes.

The transaction has the actions of the other operations, and for each event that was not applied before its actions and
its marker. So all is seen together, or nothing, and an event counts once, however often it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import Conflict, InputError, NotFound, ShardweaveError, StillInProgress
from ...schema.read_models import ReadModel
from ...schema.schema import Schema
from ...table.retry import CONTENDED, RetryClock
from ..idempotency import Keeping, TakenMeanwhile
from ..idempotency_keys import IdempotencyKey
from ..operations import Apply, Operation
from ..writing.step_maker import StepMaker, name_operation
from ..writing.write_actions import WriteAction
from ..writing.write_steps import WritePlan, WriteStep
from ..writing.writer import Writer
from .event_applier import EVENT_ID, Projector, key_of_event

Numbered = Callable[[Sequence[Operation]], Sequence[Operation]]


def has_events(operations: Sequence[Operation]) -> bool:
    """Whether any of the operations applies an event."""
    return any(isinstance(each, Apply) for each in operations)


@dataclass(frozen=True)
class AppliedEvents:
    """Carries out operations of which some apply events; safe for many threads."""

    schema: Schema
    projector: Projector
    writer: Writer
    steps: StepMaker
    waiting: RetryClock

    def transact(
        self, operations: Sequence[Operation], numbered: Numbered, keeping: Keeping | None = None
    ) -> tuple[WritePlan, ...]:
        """Carry out operations in one transaction, and return a plan for each, that of an event without a record.
        Raises TakenMeanwhile if actions of `keeping` may have been refused, and the errors of `transact` and `apply`,
        which name their operation."""
        events = self._events(operations)
        given = numbered(operations)
        pauses = self.waiting.pauses(CONTENDED)
        while True:
            due = self._due(events)
            steps, owners = self._steps(given, due)
            if not steps and keeping is None:
                return (WritePlan(),) * len(operations)

            def kept(
                plans: Sequence[WritePlan], owners: Sequence[int] = owners, due: Mapping[int, _Event] = due
            ) -> list[WriteAction]:
                own = [] if keeping is None else keeping(_by_operation(plans, owners, operations))
                marks = (each.projector.idempotency.taking(each.key) for each in due.values())
                return [*own, *(action for actions in marks for action in actions)]

            def placed(error: ShardweaveError, at: int, owners: Sequence[int] = owners) -> ShardweaveError:
                return name_operation(error, owners[at])

            names = [f"operations[{owner}]" for owner in owners]
            try:
                plans = self.writer.transact_named(steps, names, placed, kept)
            except (Conflict, NotFound) as refusal:
                taken = isinstance(refusal, TakenMeanwhile)
                if taken and keeping is not None:
                    raise
                if not taken and self._due(events).keys() == due.keys():
                    raise
                if not pauses.pause():
                    message = "an event is being applied by others"
                    raise StillInProgress(message, where=EVENT_ID, fix="deliver it again later") from None
            else:
                return _by_operation(plans, owners, operations)

    # -- parts

    def _events(self, operations: Sequence[Operation]) -> dict[int, _Event]:
        """The events by position. Raises InputErrors."""
        found: dict[int, _Event] = {}
        first: dict[tuple[str, str], int] = {}
        for position, each in enumerate(operations):
            if not isinstance(each, Apply):
                continue
            try:
                read_model = self.schema.read_model(each.read_model)
                event = _Event(self.projector, read_model, each)
                event.steps()
            except ShardweaveError as error:
                raise name_operation(error, position) from error.__cause__
            earlier = first.setdefault((read_model.name, each.event.event_id), position)
            if earlier != position:
                message = f"operations[{earlier}] applies the same event"
                raise InputError(message, where=f"operations[{position}]", fix="give each event once")
            found[position] = event
        return found

    def _due(self, events: Mapping[int, _Event]) -> dict[int, _Event]:
        """The events that were not applied yet. Raises IdempotencyMismatch."""
        due = {}
        for position, each in events.items():
            try:
                if not each.is_applied():
                    due[position] = each
            except ShardweaveError as error:
                raise name_operation(error, position) from None
        return due

    def _steps(self, operations: Sequence[Operation], due: Mapping[int, _Event]) -> tuple[list[WriteStep], list[int]]:
        """The steps, and the position of the operation of each."""
        steps: list[WriteStep] = []
        owners: list[int] = []
        for position, each in enumerate(operations):
            try:
                if not isinstance(each, Apply):
                    made: Sequence[WriteStep] = [self.steps.make(each, strict=True)]
                else:
                    made = due[position].steps() if position in due else []
            except ShardweaveError as error:
                raise name_operation(error, position) from error.__cause__
            steps += made
            owners += [position] * len(made)
        return steps, owners


@dataclass(frozen=True)
class _Event:
    """One event that is to be applied."""

    projector: Projector
    read_model: ReadModel
    given: Apply

    @property
    def key(self) -> IdempotencyKey:
        return key_of_event(self.read_model, self.given.event)

    def steps(self) -> Sequence[WriteStep]:
        return self.projector.steps(self.read_model, self.given.event)

    def is_applied(self) -> bool:
        return self.projector.is_applied(self.read_model, self.given.event)


def _by_operation(
    plans: Sequence[WritePlan], owners: Sequence[int], operations: Sequence[Operation]
) -> tuple[WritePlan, ...]:
    """One plan for each operation; that of an event has no record."""
    found = [WritePlan()] * len(operations)
    for plan, owner in zip(plans, owners, strict=True):
        if not isinstance(operations[owner], Apply):
            found[owner] = plan
    return tuple(found)
