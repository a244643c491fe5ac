"""Sending one write, alone or as a transaction, until its outcome is known.

Guarantees: identical bytes are sent again while the table throttles, is in conflict with a transaction, or gives no
answer; nothing else is ever sent in their place. A transaction carries a token, so that sending it again is not
carrying it out again. What may have been carried out by any of its attempts ends as OutcomeUnknown, never as a plain
failure, whatever the last attempt met; the error's `maybe_written` decides, not its kind. A write without a condition
is not sent again after an attempt of which nothing is known.

Every write of the store goes through a `Sender`, which passes the table the guard of the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import (
    CancellationReason,
    ConditionFailed,
    OutcomeUnknown,
    ShardMapChanged,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from ...errors.outcomes import note_maybe_written
from ...schema.shard_maps import Lease
from ...table import Guard, Table
from ...table.operations import (
    THROTTLED_CODES,
    Action,
    BatchWrite,
    ConditionCheck,
    Operation,
    PutItem,
    TransactWrite,
    UpdateItem,
    key_of,
    may_be_repeated,
)
from ...table.retry import IN_CONFLICT, UNANSWERED, RetryClock
from ...table.values import Item

CONDITION_FAILED = "ConditionalCheckFailed"
CONFLICT = "TransactionConflict"
INVALID = "ValidationError"
_PASSING = {"None", CONFLICT, *THROTTLED_CODES}
_AGAIN = (TableUnavailable, Throttled, TransactionConflict, TransactionInProgress)


@dataclass(frozen=True)
class Refusal:
    """A write that was not carried out, because of conditions. `reasons` has one entry for each action. `uncertain`:
    an earlier attempt at the same write may have been carried out, and itself have made the conditions false.
    """

    reasons: tuple[CancellationReason, ...]
    uncertain: bool


class Sender:
    """Sends for many threads at once. `new_token` gives transaction tokens."""

    def __init__(self, table: Table, waiting: RetryClock, new_token: Callable[[], str]) -> None:
        self._table = table
        self._waiting = waiting
        self._new_token = new_token

    def send(self, actions: Sequence[Action], leases: Sequence[Lease] = ()) -> Refusal | None:
        """Send actions as one write, a transaction when there are several. None when it was carried out. No attempt
        goes out unless every lease passes its check. Raises ShardMapChanged when what was planned is no longer to be
        sent, and nothing was; OutcomeUnknown; or what the table raises, and then nothing was carried out."""
        return self._send(_Sending(self._operation(actions)), leases)

    def send_update(self, update: UpdateItem, leases: Sequence[Lease] = ()) -> Item | Refusal:
        """Send an update alone, and give what it answers. Raises as `send` does."""
        sending = _Sending(update)
        refusal = self._send(sending, leases)
        return (sending.answer.attributes or {}) if refusal is None else refusal

    def _send(self, sending: _Sending, leases: Sequence[Lease]) -> Refusal | None:
        try:
            return self._sent(sending, leases)
        except ShardweaveError as error:
            if sending.unknown and not _is_told_by_token(error):
                raise _outcome_unknown() from error
            raise
        except BaseException as error:
            if sending.unknown:
                note_maybe_written(error)
            raise

    def _sent(self, sending: _Sending, leases: Sequence[Lease]) -> Refusal | None:
        guard = guard_of(leases)
        pauses, conflict_pauses = self._waiting.pauses(UNANSWERED), self._waiting.pauses(IN_CONFLICT)
        while True:
            try:
                sending.answer = self._table.run(sending.operation, guard=guard)
            except ShardweaveError as error:
                sending.unknown = sending.unknown or error.maybe_written
                if isinstance(error, (ConditionFailed, TransactionCanceled)) and (refusal := _refusal(error)):
                    return sending.judged(refusal)
                if not sending.goes_on(error, leases):
                    raise
                if not (conflict_pauses if _is_conflict(error) else pauses).pause():
                    raise
            else:
                return None

    def send_batch(self, items: Sequence[Item], leases: Sequence[Lease] = ()) -> Sequence[Item]:
        """Put up to 25 items without conditions, once, and give the keys of those that were left. Raises
        ShardMapChanged when nothing was sent, or what the table raises, whose `maybe_written` counts."""
        left = self._table.run(BatchWrite(puts=tuple(items)), guard=guard_of(leases)).unprocessed_puts
        return [key_of(self._table.layout.key_names, item) for item in left]

    def _operation(self, actions: Sequence[Action]) -> Operation[object]:
        if len(actions) == 1 and not isinstance(actions[0], ConditionCheck):
            # What refuses it is wanted, since that may be what an attempt without an answer has left.
            return replace(actions[0], return_on_failure=True)  # type: ignore[return-value]
        return TransactWrite(tuple(actions), self._new_token())  # type: ignore[return-value]


@dataclass
class _Sending:
    """One write on its way. `unknown`: an attempt at it may have been carried out; `answer` is that to the last."""

    operation: Operation[Any]
    unknown: bool = False
    answer: Any = None

    def goes_on(self, error: ShardweaveError, leases: Sequence[Lease]) -> bool:
        """Whether the write is to be sent again after `error`."""
        if self.unknown and not may_be_repeated(self.operation):
            return False
        if isinstance(error, ShardMapChanged):
            return all(lease.renew() for lease in leases)
        if isinstance(error, TransactionCanceled):
            return all(reason.code in _PASSING for reason in error.reasons)
        return isinstance(error, _AGAIN)

    def judged(self, refusal: Refusal) -> Refusal | None:
        """What a refusal means: None when what the write leaves is what has refused it."""
        if isinstance(self.operation, TransactWrite):
            return refusal
        if self.unknown and _is_left_by(self.operation, refusal.reasons[0].item):
            return None
        return replace(refusal, uncertain=self.unknown)


def _refusal(error: ConditionFailed | TransactionCanceled) -> Refusal | None:
    """A write that conditions have refused. Of a transaction that is certain: with its token, an earlier attempt that
    had been carried out would have been answered as such."""
    if isinstance(error, ConditionFailed):
        return Refusal((CancellationReason(CONDITION_FAILED, error.item),), uncertain=False)
    refused = any(reason.code == CONDITION_FAILED for reason in error.reasons)
    return Refusal(error.reasons, uncertain=False) if refused else None


def _is_left_by(operation: Operation[object], stored: Item | None) -> bool:
    """Whether a stored item is as the write would have left it."""
    if stored is None:
        return False
    if isinstance(operation, PutItem):
        return stored == operation.item
    if not isinstance(operation, UpdateItem) or operation.add or not operation.set:
        return False
    kept = all(name in stored and stored[name] == value for name, value in operation.set.items())
    return kept and not any(name in stored for name in operation.remove)


def _is_told_by_token(error: ShardweaveError) -> bool:
    """Whether `error` says of every attempt with one token that none was carried out."""
    return isinstance(error, TransactionCanceled) and not all(reason.code in _PASSING for reason in error.reasons)


def _outcome_unknown() -> OutcomeUnknown:
    return OutcomeUnknown(
        "the table did not answer, so the write may or may not have been carried out",
        fix="read the record before writing again",
    )


def guard_of(leases: Sequence[Lease]) -> Guard | None:
    """What stands before every attempt of a write that rests on leases."""
    if not leases:
        return None

    def guard() -> None:
        for lease in leases:
            lease.check()

    return guard


def _is_conflict(error: ShardweaveError) -> bool:
    """Whether a write was not carried out because of a transaction in progress."""
    if isinstance(error, TransactionCanceled):
        return any(reason.code == CONFLICT for reason in error.reasons)
    return isinstance(error, TransactionConflict)
