"""Sending one write, as a single request or a transaction, until its outcome is known.

Guarantees: the same bytes are sent again if the table throttles, reports a conflict with a transaction, or gives no
answer; nothing else is sent instead. A transaction has a client token, so that sending it again does not carry it out
again. If any attempt may have been carried out, the write ends as OutcomeUnknown and not as another failure, whatever
happened in the last attempt; the error's `maybe_written` decides this, not its class. A write without a condition is
not sent again after an attempt with unknown outcome.

Every write of the store is sent by a `Sender`, which passes the guard of the attempt to the table.
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
    """A write that was refused because of its conditions. `reasons` has one entry for each action. `uncertain`: an
    earlier attempt of the same write may have been carried out, and may itself have made the conditions false.
    `unanswered`: an earlier attempt got no answer, and may be carried out yet, if the conditions become true.
    """

    reasons: tuple[CancellationReason, ...]
    uncertain: bool
    unanswered: bool = False


class Sender:
    """Sends writes; safe for many threads. `new_token` gives transaction tokens."""

    def __init__(self, table: Table, waiting: RetryClock, new_token: Callable[[], str]) -> None:
        self._table = table
        self._waiting = waiting
        self._new_token = new_token

    def send(self, actions: Sequence[Action], leases: Sequence[Lease] = ()) -> Refusal | None:
        """Send actions as one write, as a transaction if there are several. Returns None if it was carried out. No
        attempt is sent unless every lease is valid. Raises ShardMapChanged if the plan must no longer be sent and
        nothing was sent; OutcomeUnknown; or an error of the table if nothing was carried out."""
        return self._send(_Sending(self._operation(actions)), leases)

    def send_update(self, update: UpdateItem, leases: Sequence[Lease] = ()) -> Item | Refusal:
        """Send a single update, and return its answer. Raises as `send` does."""
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
        """Put up to 25 items without conditions, once, and return the keys of those that were not written. Raises
        ShardMapChanged if nothing was sent, or an error of the table with its `maybe_written`."""
        left = self._table.run(BatchWrite(puts=tuple(items)), guard=guard_of(leases)).unprocessed_puts
        return [key_of(self._table.layout.key_names, item) for item in left]

    def _operation(self, actions: Sequence[Action]) -> Operation[object]:
        if len(actions) == 1 and not isinstance(actions[0], ConditionCheck):
            # The item that made the conditions false is requested, since an attempt without an answer may have written
            # it.
            return replace(actions[0], return_on_failure=True)  # type: ignore[return-value]
        return TransactWrite(tuple(actions), self._new_token())  # type: ignore[return-value]


@dataclass
class _Sending:
    """The state of one write. `unknown`: an attempt may have been carried out; `answer` is the last answer."""

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
        """The meaning of a refusal: None if the write itself made the conditions false, so that it was carried out."""
        if isinstance(self.operation, TransactWrite):
            return replace(refusal, unanswered=self.unknown)
        if self.unknown and _is_left_by(self.operation, refusal.reasons[0].item):
            return None
        return replace(refusal, uncertain=self.unknown, unanswered=self.unknown)


def _refusal(error: ConditionFailed | TransactionCanceled) -> Refusal | None:
    """The refusal of a write by its conditions. It is certain for a transaction, since with its token an earlier
    attempt that was carried out would be answered as a success."""
    if isinstance(error, ConditionFailed):
        return Refusal((CancellationReason(CONDITION_FAILED, error.item),), uncertain=False)
    refused = any(reason.code == CONDITION_FAILED for reason in error.reasons)
    return Refusal(error.reasons, uncertain=False) if refused else None


def _is_left_by(operation: Operation[object], stored: Item | None) -> bool:
    """Whether a stored item is the result of the write."""
    if stored is None:
        return False
    if isinstance(operation, PutItem):
        return stored == operation.item
    if not isinstance(operation, UpdateItem) or operation.add or not operation.set:
        return False
    kept = all(name in stored and stored[name] == value for name, value in operation.set.items())
    return kept and not any(name in stored for name in operation.remove)


def _is_told_by_token(error: ShardweaveError) -> bool:
    """Whether `error` means that no attempt with the token was carried out."""
    return isinstance(error, TransactionCanceled) and not all(reason.code in _PASSING for reason in error.reasons)


def _outcome_unknown() -> OutcomeUnknown:
    return OutcomeUnknown(
        "the table did not answer, so the write may or may not have been carried out",
        fix="read the record before writing again",
    )


def guard_of(leases: Sequence[Lease]) -> Guard | None:
    """The guard of every attempt of a write that depends on leases."""
    if not leases:
        return None

    def guard() -> None:
        for lease in leases:
            lease.check()

    return guard


def _is_conflict(error: ShardweaveError) -> bool:
    """Whether a write was not carried out because of a concurrent transaction."""
    if isinstance(error, TransactionCanceled):
        return any(reason.code == CONFLICT for reason in error.reasons)
    return isinstance(error, TransactionConflict)
