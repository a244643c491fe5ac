"""Carrying out operations: read, plan, send, and again when another writer was faster.

Guarantees: several operations are one transaction, all or none. What can't fit a transaction is refused before the
table is called: every action on a record counts twice, since it is mirrored while its entity moves to other shards.
A refusal that shows our own revision in the table is a success whose answer was lost. A single write that was sent
without an answer and is then refused is OutcomeUnknown: it is never planned again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..entity_type import EntityType
from ..errors import InputError, LimitExceeded, OutcomeUnknown, ShardweaveError
from ..table.operations import MAX_TRANSACTION_ACTIONS, MAX_TRANSACTION_BYTES
from .actions import Moment
from .places import Sighting
from .reads import Reader, Wanted
from .retries import CONTENDED, Waiting
from .sending import CONDITION_FAILED, Refusal, Sender
from .steps import Context, Plan, Refused, Step, kept_changing, name_operation

Moments = Callable[[EntityType[Any]], Moment]


class Writer:
    """Writes for many threads at once. `moment_of` is asked anew for every attempt."""

    def __init__(self, reader: Reader, sender: Sender, waiting: Waiting, context: Context, moment_of: Moments) -> None:
        self._reader = reader
        self._sender = sender
        self._waiting = waiting
        self._context = context
        self._moment_of = moment_of

    def run(self, step: Step, seen: Sighting | None = None, *, uncertain: bool = False) -> Plan:
        """Carry out one operation. `seen` spares the first reading; `uncertain`: it may have been done already."""
        (plan,) = self._run((step,), _as_it_is, (seen,) if seen is not None else None, uncertain=uncertain)
        return plan

    def transact(self, steps: Sequence[Step]) -> tuple[Plan, ...]:
        """Carry out several operations in one transaction."""
        check_distinct(steps)
        return self._run(tuple(steps), name_operation, None, uncertain=False)

    def _run(
        self,
        steps: tuple[Step, ...],
        placed: Callable[[ShardweaveError, int], ShardweaveError],
        seen: Sequence[Sighting] | None,
        *,
        uncertain: bool,
    ) -> tuple[Plan, ...]:
        pauses = self._waiting.pauses(CONTENDED)
        while True:
            moments = [self._moment_of(step.entity) for step in steps]
            sightings = self._read(steps, moments) if seen is None else seen
            plans = self._plan(steps, sightings, moments, placed)
            check_size(plans)
            planned = [action for plan in plans for action in plan.actions]
            refusal = self._sender.send(planned) if planned else None
            if refusal is None:
                return plans
            uncertain = uncertain or refusal.uncertain
            refused = _by_step(plans, refusal)
            if any(
                step.already_done(plan, each, uncertain=uncertain)
                for step, plan, each in zip(steps, plans, refused, strict=True)
                if each
            ):
                return plans
            if uncertain:
                raise outcome_unknown()
            steps, seen = self._again(steps, refused, moments, placed), None
            if not pauses.pause():
                blamed = next(position for position, each in enumerate(refused) if each)
                raise placed(kept_changing(steps[blamed]), blamed)

    def _read(self, steps: Sequence[Step], moments: Sequence[Moment]) -> list[Sighting]:
        sightings = [Sighting() for _ in steps]
        asked = [
            (position, Wanted(step.entity, step.wanted, moment))
            for position, (step, moment) in enumerate(zip(steps, moments, strict=True))
            if step.wanted is not None
        ]
        for (position, _), sighting in zip(asked, self._reader.find([each for _, each in asked]), strict=True):
            sightings[position] = sighting
        return sightings

    def _plan(
        self,
        steps: Sequence[Step],
        sightings: Sequence[Sighting],
        moments: Sequence[Moment],
        placed: Callable[[ShardweaveError, int], ShardweaveError],
    ) -> tuple[Plan, ...]:
        plans = []
        for position, step in enumerate(steps):
            try:
                plans.append(step.plan(sightings[position], moments[position], self._context))
            except ShardweaveError as error:
                raise placed(error, position) from error.__cause__
        return tuple(plans)

    @staticmethod
    def _again(
        steps: Sequence[Step],
        refused: Sequence[Refused],
        moments: Sequence[Moment],
        placed: Callable[[ShardweaveError, int], ShardweaveError],
    ) -> tuple[Step, ...]:
        renewed = []
        for position, step in enumerate(steps):
            try:
                renewed.append(step.again(refused[position], moments[position]) if refused[position] else step)
            except ShardweaveError as error:
                raise placed(error, position) from None
        return tuple(renewed)


def check_distinct(steps: Sequence[Step], names: Sequence[str] = ()) -> None:
    """Refuse two operations on one record. `names` are what the caller calls them, by default their positions."""
    first: dict[tuple[object, ...], int] = {}
    for position, step in enumerate(steps):
        identity = (step.entity.token, *(step.identity[name] for name in step.entity.identity))
        earlier = first.setdefault(identity, position)
        if earlier != position:
            one, other = (names[at] if names else f"operations[{at}]" for at in (earlier, position))
            raise InputError(
                f"{one} and {other} are about the same {step.entity.token}", where=other, fix="name each record once"
            )


def check_size(plans: Sequence[Plan]) -> None:
    """Refuse what could not be carried out in one transaction. Raises LimitExceeded with the count."""
    planned = [action for plan in plans for action in plan.actions]
    count = sum(action.weight for action in planned)
    if count > MAX_TRANSACTION_ACTIONS:
        raise LimitExceeded(
            f"the transaction has {count} actions (each on a record counts twice), "
            f"{MAX_TRANSACTION_ACTIONS} are possible",
            where="operations",
            fix="write fewer records at once",
        )
    if len(planned) > 1:
        size = sum(action.bytes for action in planned)
        if size > MAX_TRANSACTION_BYTES:
            raise LimitExceeded(
                f"the transaction has {size} bytes (each record counts twice), {MAX_TRANSACTION_BYTES} are possible",
                where="operations",
                fix="write fewer records at once",
            )


def outcome_unknown() -> OutcomeUnknown:
    """A write that got no answer, and then met another state of the record."""
    return OutcomeUnknown(
        "the table did not answer, and the record was changed since, by this write or another",
        fix="read the record before writing again",
    )


def _by_step(plans: Sequence[Plan], refusal: Refusal) -> list[Refused]:
    """The refused actions of each step."""
    reasons = iter(refusal.reasons)
    return [
        [
            (action, reason)
            for action, reason in zip(plan.actions, [next(reasons) for _ in plan.actions], strict=True)
            if reason.code == CONDITION_FAILED
        ]
        for plan in plans
    ]


def _as_it_is(error: ShardweaveError, position: int) -> ShardweaveError:
    return error
