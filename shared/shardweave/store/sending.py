"""Sending one write, alone or as a transaction, until its outcome is known.

Guarantees: identical bytes are sent again while the table throttles, is in conflict with a transaction, or gives no
answer; nothing else is ever sent in their place. A transaction carries a token, so that sending it again is not
carrying it out again. What ends without any answer is OutcomeUnknown, never a plain failure.

Every write of the store goes through a `Sender`, which passes the table the guard of the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import (
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
from ..shard_maps import Lease
from ..table import Guard, Table
from ..table.operations import THROTTLED_CODES, Action, BatchWrite, ConditionCheck, Operation, TransactWrite, key_of
from ..table.values import Item
from .retries import IN_CONFLICT, UNANSWERED, Waiting

CONDITION_FAILED = "ConditionalCheckFailed"
CONFLICT = "TransactionConflict"
_PASSING = {"None", CONFLICT, *THROTTLED_CODES}


@dataclass(frozen=True)
class Refusal:
    """A write that was not carried out, because of conditions. `reasons` has one entry for each action. `uncertain`:
    an earlier attempt at the same write may have been carried out, and itself have made the conditions false.
    """

    reasons: tuple[CancellationReason, ...]
    uncertain: bool


class Sender:
    """Sends for many threads at once. `new_token` gives transaction tokens."""

    def __init__(self, table: Table, waiting: Waiting, new_token: Callable[[], str]) -> None:
        self._table = table
        self._waiting = waiting
        self._new_token = new_token

    def send(self, actions: Sequence[Action], leases: Sequence[Lease] = ()) -> Refusal | None:
        """Send actions as one write, a transaction when there are several. None when it was carried out. No attempt
        goes out unless every lease passes its check. Raises ShardMapChanged when what was planned is no longer to be
        sent, and nothing was; OutcomeUnknown; or what the table raises."""
        guard = guard_of(leases)
        operation = self._operation(actions)
        pauses, conflict_pauses = self._waiting.pauses(UNANSWERED), self._waiting.pauses(IN_CONFLICT)
        unanswered = False
        while True:
            try:
                self._table.run(operation, guard=guard)
            except TableUnavailable as error:
                unanswered = True
                cause: ShardweaveError = error
            except (Throttled, TransactionConflict, TransactionInProgress) as error:
                cause = error
            except ShardMapChanged as error:
                if not all(lease.renew() for lease in leases):
                    raise self._given_up(error, unanswered) from error
                cause = error
            except ConditionFailed as error:
                return Refusal((CancellationReason(CONDITION_FAILED, error.item),), unanswered or error.repeated)
            except TransactionCanceled as error:
                if any(reason.code == CONDITION_FAILED for reason in error.reasons):
                    # With the token, an earlier attempt that had been carried out would have been answered as such.
                    return Refusal(error.reasons, uncertain=False)
                if not all(reason.code in _PASSING for reason in error.reasons):
                    raise
                cause = error
            except ShardweaveError as error:
                if unanswered:
                    raise self._given_up(error, unanswered) from error
                raise
            else:
                return None
            if not (conflict_pauses if _is_conflict(cause) else pauses).pause():
                raise self._given_up(cause, unanswered)

    def send_batch(self, items: Sequence[Item], leases: Sequence[Lease] = ()) -> Sequence[Item]:
        """Put up to 25 items without conditions, once, and give the keys of those that were left. Raises
        ShardMapChanged when nothing was sent, or what the table raises."""
        left = self._table.run(BatchWrite(puts=tuple(items)), guard=guard_of(leases)).unprocessed_puts
        return [key_of(self._table.layout.key_names, item) for item in left]

    def _operation(self, actions: Sequence[Action]) -> Operation[object]:
        if len(actions) == 1 and not isinstance(actions[0], ConditionCheck):
            return actions[0]  # type: ignore[return-value]
        return TransactWrite(tuple(actions), self._new_token())  # type: ignore[return-value]

    @staticmethod
    def _given_up(cause: ShardweaveError, unanswered: bool) -> ShardweaveError:
        if not unanswered:
            return cause
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
