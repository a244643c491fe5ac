"""The retry decision, as in botocore's standard mode.

A failure is throttling, transient, or neither; only the first two are retried. The pause before attempt n + 1 is a
random part of `base * 2**(n - 1)` seconds, at most 20; if the server requests a longer pause, at most five seconds are
added. Each retry uses a part of a quota that the calls of one table share, so that a failing table does not get three
times as many requests. A test compares all of this with the installed botocore.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ....errors import ShardweaveError

THROTTLED_CODES = frozenset(
    {
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottledException",
        "TooManyRequestsException",
        "ProvisionedThroughputExceededException",
        "TransactionInProgressException",
        "RequestLimitExceeded",
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "RequestThrottled",
        "SlowDown",
        "PriorRequestNotComplete",
        "EC2ThrottledException",
    }
)
TRANSIENT_CODES = frozenset({"RequestTimeout", "RequestTimeoutException", "PriorRequestNotComplete"})
TRANSIENT_STATUSES = frozenset({500, 502, 503, 504})

_READS = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ResourceNotFoundException",
        "ThrottlingException",
    }
)
_WRITES = _READS | {"ItemCollectionSizeLimitExceededException", "ReplicatedWriteConflictException"}
_SINGLE_WRITES = _WRITES | {"ConditionalCheckFailedException", "TransactionConflictException"}
KNOWN_CODES: dict[str, frozenset[str]] = {
    "get_item": _READS,
    "batch_get_item": _READS,
    "query": _READS,
    "scan": _READS,
    "transact_get_items": _READS | {"TransactionCanceledException"},
    "put_item": _SINGLE_WRITES,
    "update_item": _SINGLE_WRITES,
    "delete_item": _SINGLE_WRITES,
    "batch_write_item": _WRITES,
    "transact_write_items": _READS
    | {"TransactionCanceledException", "TransactionInProgressException", "IdempotentParameterMismatchException"},
    "get_secret_value": frozenset(
        {
            "DecryptionFailure",
            "InternalServiceError",
            "InvalidParameterException",
            "InvalidRequestException",
            "ResourceNotFoundException",
        }
    ),
}
"""The errors that the service's description names for each method."""

REPEATED_BY_DESCRIPTION = frozenset({"ReplicatedWriteConflictException"})
"""Those of them that the description marks as retryable, without throttling."""

THROTTLED_BASE, OTHER_BASE = 1.0, 0.025
MAX_PAUSE, MAX_ASKED_FOR = 20.0, 5.0
QUOTA, COST, THROTTLED_COST, UNREPEATED = 500, 14, 5, 1


class Kind(Enum):
    """The kinds of failures that may be retried."""

    THROTTLED = "throttled"
    TRANSIENT = "transient"


def kind_of(method: str, code: str, status: int) -> Kind | None:
    """The kind of an error in a reply; None for an error that a retry can't fix."""
    known = code in KNOWN_CODES[method]
    if code in THROTTLED_CODES or (status == 429 and not known):
        return Kind.THROTTLED
    transient = code in TRANSIENT_CODES or status in TRANSIENT_STATUSES
    return Kind.TRANSIENT if transient or (known and code in REPEATED_BY_DESCRIPTION) else None


@dataclass(frozen=True, slots=True)
class Failed:
    """The failure of the `number`th attempt with `error`. `asked_for`: the pause in seconds that the server
    requests."""

    error: ShardweaveError
    kind: Kind | None
    number: int
    asked_for: float | None = None


def pause_of(failed: Failed, drawn: float) -> float:
    """The seconds to wait before the next attempt; `drawn` is a random number from 0 to 1."""
    base = THROTTLED_BASE if failed.kind is Kind.THROTTLED else OTHER_BASE
    pause = drawn * min(base * 2.0 ** (failed.number - 1), MAX_PAUSE)
    return pause if failed.asked_for is None else max(pause, min(failed.asked_for, MAX_ASKED_FOR + pause))


class Quota(Protocol):
    """The retry quota of all calls of a table."""

    def take(self, cost: int) -> bool:
        """Take an amount from the quota; False if not enough is left."""

    def give(self, amount: int) -> None:
        """Return an amount to the quota, up to its initial value."""


class Retries:
    """Decides the retries of one call."""

    def repeat(self, failed: Failed) -> float | None:
        """The seconds to wait before the next attempt; None if there is none."""
        raise NotImplementedError

    def succeeded(self) -> None:
        """Note that the call has got its answer."""


class StandardRetries(Retries):
    """Retries as in botocore's standard mode."""

    def __init__(self, quota: Quota, max_attempts: int, draw: Callable[[], float]) -> None:
        self._quota = quota
        self._max_attempts = max_attempts
        self._draw = draw
        self._last_cost = UNREPEATED

    def repeat(self, failed: Failed) -> float | None:
        if failed.kind is None or failed.number >= self._max_attempts:
            return None
        cost = THROTTLED_COST if failed.kind is Kind.THROTTLED else COST
        if not self._quota.take(cost):
            return None
        self._last_cost = cost
        return pause_of(failed, self._draw())

    def succeeded(self) -> None:
        self._quota.give(self._last_cost)


class GivenRetries(Retries):
    """Retries decided by the caller of parallel reads, from an error and the number of attempts."""

    def __init__(self, pause_after: Callable[[ShardweaveError, int], float | None]) -> None:
        self._pause_after = pause_after

    def repeat(self, failed: Failed) -> float | None:
        return self._pause_after(failed.error, failed.number)
