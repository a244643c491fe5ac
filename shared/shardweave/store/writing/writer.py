"""Carrying out operations: read, plan, send, and repeat if another writer changed the record first.

Guarantees: several operations are one transaction. Operations that don't fit into a transaction are refused before
anything is written, with the number of operations that fit: during a re-shard, each record of the entity is written
twice. If a refusal shows the write's own revision in the table, the write was carried out and its answer was lost. A
single write whose first attempt got no answer, and which is then refused, is OutcomeUnknown: it is not planned again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...errors import (
    HasChildren,
    ImmutableProperty,
    InputError,
    LimitExceeded,
    OutcomeUnknown,
    ParentMissing,
    RecordUnreadable,
    RevisionConflict,
    ShardMapChanged,
    ShardweaveError,
    TransactionCanceled,
    ValueRefused,
)
from ...errors.outcomes import note_maybe_written
from ...schema.entity_type import EntityType
from ...schema.identities import given_identity
from ...schema.shard_maps import Lease
from ...table.conditions import Condition
from ...table.operations import MAX_TRANSACTION_ACTIONS, MAX_TRANSACTION_BYTES, UpdateItem
from ...table.retry import CONTENDED, RetryClock
from ...table.values import Item
from ..attempts import AttemptContext, PrimaryKey
from ..idempotency import Keeping, TakenMeanwhile
from ..locations import ReadResult
from ..lookups.backfill_state import Readiness
from ..lookups.unique_values import NOTHING_MET
from ..noticed import notice
from ..reader import Reader, Wanted
from ..relations.enforced import Parent, being_deleted, counter_key, damaged_counter
from .condition_checks import presence_actions
from .merge_transaction import Placed, combined
from .sender import CONDITION_FAILED, INVALID, Refusal, Sender
from .step_maker import name_operation
from .write_actions import ActionRole, WriteAction, is_known
from .write_steps import Context, Refused, WritePlan, WriteStep, kept_changing

Moments = Callable[[EntityType[Any]], AttemptContext]


class Writer:
    """Carries out operations; safe for many threads. `moment_of` is called for every attempt."""

    def __init__(
        self,
        reader: Reader,
        sender: Sender,
        readiness: Readiness,
        waiting: RetryClock,
        context: Context,
        moment_of: Moments,
    ) -> None:
        self._reader = reader
        self._sender = sender
        self._readiness = readiness
        self._waiting = waiting
        self._context = context
        self._moment_of = moment_of

    def run(
        self, step: WriteStep, seen: ReadResult | None = None, *, maybe_sent: AttemptContext | None = None
    ) -> WritePlan:
        """Carry out one operation. `seen` replaces the first read. With `maybe_sent` it may have been carried out
        already, with the maps of that context: any failure now is OutcomeUnknown."""
        try:
            (plan,) = self._run((step,), _as_it_is, (seen,) if seen is not None else None, maybe_sent=maybe_sent)
        except ShardweaveError as error:
            if maybe_sent is not None and not isinstance(error, OutcomeUnknown):
                raise outcome_unknown() from error
            raise
        except BaseException as error:
            if maybe_sent is not None:
                note_maybe_written(error)
            raise
        return plan

    def transact(self, steps: Sequence[WriteStep], seen: Sequence[ReadResult] | None = None) -> tuple[WritePlan, ...]:
        """Carry out several operations in one transaction. `seen` replaces the first read."""
        check_distinct(steps)
        return self._run(tuple(steps), name_operation, seen)

    def transact_keeping(self, steps: Sequence[WriteStep], keeping: Keeping) -> tuple[WritePlan, ...]:
        """Carry out operations in one transaction, together with the actions of `keeping`. Raises TakenMeanwhile if
        these were refused."""
        check_distinct(steps)
        placed = name_operation if len(steps) > 1 else _as_it_is
        return self._run(tuple(steps), placed, None, keeping=keeping)

    def transact_named(
        self, steps: Sequence[WriteStep], names: Sequence[str], placed: Placed, keeping: Keeping
    ) -> tuple[WritePlan, ...]:
        """Like `transact_keeping`, where the caller says what steps are called, and how an error names one."""
        check_distinct(steps, names)
        return self._run(tuple(steps), placed, None, keeping=keeping)

    def _run(
        self,
        steps: tuple[WriteStep, ...],
        placed: Placed,
        seen: Sequence[ReadResult] | None,
        *,
        maybe_sent: AttemptContext | None = None,
        keeping: Keeping | None = None,
    ) -> tuple[WritePlan, ...]:
        self._prepare(steps)
        pauses = self._waiting.pauses(CONTENDED)
        while True:
            moments = [self._moment_of(step.entity) for step in steps]
            if maybe_sent is not None and not all(moment.has_maps_of(maybe_sent) for moment in moments):
                raise outcome_unknown()
            try:
                sightings = self._read(steps, moments) if seen is None or _is_of_another_map(seen, moments) else seen
                plans = self._plan(steps, sightings, moments, placed)
                if any(moment.old_form is not None for moment in moments):
                    plans = self._with_old_forms(steps, plans, sightings, moments, placed)
                plans, leases = self._with_parents(steps, plans, placed)
                if len(plans) != 1 or not plans[0].is_one_action:
                    plans = combined(steps, plans, placed)
                planned = [action for plan in plans for action in plan.actions]
                planned += [] if keeping is None else keeping(plans)
                moving = {
                    step.entity.token: None
                    for step, moment in zip(steps, moments, strict=True)
                    if moment.mirror is not None
                }
                check_size(planned, plans, [*moving])
                leases += [moment.lease for moment in moments if moment.lease is not None]
                refusal = self._sender.send([each.action for each in planned], leases) if planned else None
            except TransactionCanceled as error:
                raise _of_counter(plans, planned, error) or error from None
            except ShardMapChanged:
                steps, seen = tuple(step.on_another_map() for step in steps), None
                if not pauses.pause():
                    raise
                continue
            if refusal is None:
                return plans
            if any(
                each.part is ActionRole.KEPT and reason.code == CONDITION_FAILED
                for each, reason in zip(planned, refusal.reasons, strict=True)
            ):
                raise TakenMeanwhile("another request with the key was faster")
            uncertain = refusal.uncertain or maybe_sent is not None
            refused = _by_step(plans, refusal)
            if any(
                step.already_done(plan, each, uncertain=uncertain)
                for step, plan, each in zip(steps, plans, refused, strict=True)
                if each
            ):
                return plans
            if uncertain:
                raise outcome_unknown()
            _look_again_at_marks(refused, moments)
            if any(moment.old_form is not None for moment in moments):
                self._follow(steps, refused, moments)
            steps, seen = self._again(steps, refused, moments, placed, unanswered=refusal.unanswered), None
            if not pauses.pause():
                blamed = next(position for position, each in enumerate(refused) if each)
                raise placed(kept_changing(steps[blamed]), blamed)

    def _follow(
        self, steps: Sequence[WriteStep], refused: Sequence[Refused], moments: Sequence[AttemptContext]
    ) -> None:
        """Bring each record after its old item, if another program has changed that."""
        for step, own, moment in zip(steps, refused, moments, strict=True):
            for each in (planned for planned, _ in own if planned.part is ActionRole.OLD_FORM):
                from .old_form_actions import following_step

                assert moment.old_form is not None
                key = moment.old_form.key(each.key_or_item)
                (old,) = self._reader.items([key])
                with suppress(RevisionConflict):
                    self.run(following_step(step.entity, step.identity, moment.old_form, key, old))

    def _prepare(self, steps: Sequence[WriteStep]) -> None:
        if not self._readiness.announced and any(step.makes for step in steps):
            self._readiness.before_writing()
        for link in [link for step in steps for link in step.relies_on]:
            self._readiness.require(self._context.entities[link.token], link.relation)

    def _read(self, steps: Sequence[WriteStep], moments: Sequence[AttemptContext]) -> list[ReadResult]:
        """Read the records of the steps, and those that lookup records lead to."""
        if all(step.wanted is None and step.met is NOTHING_MET for step in steps):
            return [ReadResult()] * len(steps)
        asked: dict[tuple[int, PrimaryKey | None], Wanted] = {}
        for position, (step, moment) in enumerate(zip(steps, moments, strict=True)):
            if step.wanted is not None:
                asked[position, None] = Wanted(step.entity, step.wanted, moment)
            for key, identity in step.met.holders(step.entity):
                asked[position, key] = Wanted(step.entity, identity, moment)
        found = dict(zip(asked, self._reader.find(list(asked.values())), strict=True))
        sightings = []
        for position in range(len(steps)):
            holders = {key: seen for (at, key), seen in found.items() if at == position and key is not None}
            sightings.append(replace(found.get((position, None), ReadResult()), holders=holders))
        return sightings

    def _with_parents(
        self, steps: Sequence[WriteStep], plans: Sequence[WritePlan], placed: Placed
    ) -> tuple[tuple[WritePlan, ...], list[Lease]]:
        """The plans with a check of each parent that they need, and the leases that the parents' locations depend on.
        Raises ParentMissing."""
        if not any(plan.parents for plan in plans):
            return tuple(plans), []
        written = {step.name: plan.written for step, plan in zip(steps, plans, strict=True) if plan.writes}
        asked = {
            (position, parent.name): (parent, self._moment_of(parent.entity))
            for position, plan in enumerate(plans)
            for parent in plan.parents
            if parent.name not in written
        }
        for position, (step, plan) in enumerate(zip(steps, plans, strict=True)):
            for parent in plan.parents:
                if written.get(parent.name) is not None:
                    _seen(parent, written[parent.name], step, position, placed)
        seen = self._reader.find([Wanted(parent.entity, parent.identity, moment) for parent, moment in asked.values()])
        checks: dict[int, list[WriteAction]] = {}
        for ((position, _), (parent, moment)), sighting in zip(asked.items(), seen, strict=True):
            found, about = sighting.found, parent.property_name
            seen_as = _seen(parent, None if found is None else found.item, steps[position], position, placed)
            assert found is not None, "what is not there is not seen"
            checks.setdefault(position, []).extend(
                presence_actions(
                    parent.entity,
                    found,
                    moment,
                    revision_matters=False,
                    part=ActionRole.PARENT,
                    about=about,
                    seen=seen_as,
                )
            )
        checked = tuple(
            replace(plan, actions=(*plan.actions, *checks[position])) if position in checks else plan
            for position, plan in enumerate(plans)
        )
        return checked, [moment.lease for _, moment in asked.values() if moment.lease is not None]

    def _plan(
        self,
        steps: Sequence[WriteStep],
        sightings: Sequence[ReadResult],
        moments: Sequence[AttemptContext],
        placed: Placed,
    ) -> tuple[WritePlan, ...]:
        plans = []
        for position, step in enumerate(steps):
            try:
                plans.append(step.plan(_readable(sightings[position]), moments[position], self._context))
            except RecordUnreadable as error:
                # For callers who see only some records, an unreadable record does not exist.
                notice(error.record)
                raise placed(error if step.visibility is None else step.not_found(), position) from error.__cause__
            except ShardweaveError as error:
                raise placed(_of_stored(step, sightings[position], error), position) from error.__cause__
        return tuple(plans)

    def _with_old_forms(
        self,
        steps: Sequence[WriteStep],
        plans: Sequence[WritePlan],
        sightings: Sequence[ReadResult],
        moments: Sequence[AttemptContext],
        placed: Placed,
    ) -> tuple[WritePlan, ...]:
        """The plans, with the old items of records that are being brought in."""
        from .old_form_actions import with_old_form  # only loaded while a table is brought in

        found = []
        for position, (step, plan) in enumerate(zip(steps, plans, strict=True)):
            try:
                found.append(with_old_form(step, plan, sightings[position], moments[position], self._context))
            except ShardweaveError as error:
                raise placed(error, position) from None
        return tuple(found)

    @staticmethod
    def _again(
        steps: Sequence[WriteStep],
        refused: Sequence[Refused],
        moments: Sequence[AttemptContext],
        placed: Placed,
        *,
        unanswered: bool,
    ) -> tuple[WriteStep, ...]:
        renewed = []
        for position, step in enumerate(steps):
            try:
                for planned, _ in refused[position]:
                    if planned.part is ActionRole.COUNTER and isinstance(planned.action, UpdateItem):
                        raise being_deleted(planned.about)
                renewed.append(step.again(refused[position], moments[position]) if refused[position] else step)
            except ShardweaveError as error:
                if unanswered and isinstance(error, HasChildren):
                    note_maybe_written(error)  # the attempt on its way is carried out when the children have gone
                raise placed(error, position) from None
        return tuple(renewed)


def _of_counter(
    plans: Sequence[WritePlan], planned: Sequence[WriteAction], error: TransactionCanceled
) -> RecordUnreadable | None:
    """The error if a refusal is about a parent's counter to which the table could not add; None if it is about
    something else."""
    of_counters = zip(planned, error.reasons, strict=False)
    refused = [
        each.key_or_item for each, reason in of_counters if each.part is ActionRole.COUNTER and reason.code == INVALID
    ]
    parents = [tally.parent for plan in plans for tally in plan.tallies]
    found = (each for each in parents if counter_key(each.entity, each.identity) in refused)
    parent = next(found, None)
    return None if parent is None else damaged_counter(parent.entity, parent.identity)


def _of_stored(step: WriteStep, seen: ReadResult, error: ShardweaveError) -> ShardweaveError:
    """The error of planning a write; an error about the stored record if its identity differs from that in its key."""
    if not isinstance(error, (ImmutableProperty, ValueRefused)) or seen.found is None or step.visibility is not None:
        return error
    stored = seen.found.item
    if given_identity(step.entity, stored) == step.identity:
        return error
    return step.entity.unreadable(stored, step.entity.keys.fault_in(stored) or "invalid")


def _readable(seen: ReadResult) -> ReadResult:
    """The read result. Raises RecordUnreadable if the record could not be read."""
    if seen.unreadable is not None:
        raise RecordUnreadable(seen.unreadable)
    return seen


def _seen(parent: Parent, item: Item | None, step: WriteStep, position: int, placed: Placed) -> tuple[Condition, ...]:
    """The state of a step's parent that must not change. Raises ParentMissing."""
    try:
        return parent.seen(item, step.related)
    except ParentMissing as missing:
        raise placed(missing, position) from None


def check_distinct(steps: Sequence[WriteStep], names: Sequence[str] = ()) -> None:
    """Refuse two operations on the same record. `names` are the caller's names of the operations, by default their
    positions."""
    first: dict[tuple[object, ...], int] = {}
    for position, step in enumerate(steps):
        earlier = first.setdefault(step.name, position)
        if earlier != position:
            one, other = (names[at] if names else f"operations[{at}]" for at in (earlier, position))
            raise InputError(
                f"{one} and {other} are about the same {step.entity.token}", where=other, fix="name each record once"
            )


def check_size(planned: Sequence[WriteAction], plans: Sequence[WritePlan] = (), moving: Sequence[str] = ()) -> None:
    """Refuse operations that don't fit into one transaction. `plans` are the plans of the operations, `moving` the
    entities in a re-shard, whose records are written twice. Raises LimitExceeded with the number of operations that
    fit."""
    if len(planned) <= 1:
        return
    count, size = len(planned), sum(action.bytes for action in planned)
    if count > MAX_TRANSACTION_ACTIONS:
        amount, most = f"{count} actions", str(MAX_TRANSACTION_ACTIONS)
    elif size > MAX_TRANSACTION_BYTES:
        amount, most = f"{size} bytes", str(MAX_TRANSACTION_BYTES)
    else:
        return
    fit = _fitting(plans, len(planned) - sum(len(plan.actions) for plan in plans))
    why = f" while a re-shard moves {', '.join(moving)}, whose records are written twice" if moving else ""
    alone = len(plans) == 1
    few = "change fewer of its values that lookups have at once" if alone else "write fewer records at once"
    raise LimitExceeded(
        f"the transaction has {amount}{why}, {most} are possible",
        where="record" if alone else "operations",
        fix=f"write at most {fit} of its {len(plans)} operations at once" if fit else few,
    )


def _fitting(plans: Sequence[WritePlan], beside: int) -> int:
    """How many of the first operations fit into one transaction, together with the actions `beside` them."""
    count, size = beside, 0
    for position, plan in enumerate(plans):
        count += len(plan.actions)
        size += sum(action.bytes for action in plan.actions)
        if count > MAX_TRANSACTION_ACTIONS or size > MAX_TRANSACTION_BYTES:
            return position
    return len(plans)


def _look_again_at_marks(refused: Sequence[Refused], moments: Sequence[AttemptContext]) -> None:
    """Drop the maps of an attempt that met a newer mark, which shows that a re-shard has begun since: with the same
    maps the write would be refused again until their lease ends."""
    for each, moment in zip(refused, moments, strict=True):
        if moment.lease is not None and not all(is_known(reason.item or {}, moment) for _, reason in each):
            moment.lease.outdated()


def outcome_unknown() -> OutcomeUnknown:
    """The error of a write whose attempt got no answer, and which then met another state of the record."""
    return OutcomeUnknown(
        "the table did not answer, and the record was changed since, by this write or another",
        fix="read the record before writing again",
    )


def _by_step(plans: Sequence[WritePlan], refusal: Refusal) -> list[Refused]:
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


def _is_of_another_map(seen: Sequence[ReadResult], moments: Sequence[AttemptContext]) -> bool:
    """Whether a record was read in a location that a newer shard map does not use."""
    return any(
        sighting.found is not None and sighting.found.generation not in moment.shard_map.generations
        for sighting, moment in zip(seen, moments, strict=True)
    )


def _as_it_is(error: ShardweaveError, position: int) -> ShardweaveError:
    return error
