"""Every error that leaves the library.

One hierarchy under `ShardweaveError`. Each error says what was wrong, where, and the fix, and has a stable `code`
(a slug that API clients may switch on). An error never holds a record's values or a secret: names, limits, positions
and types only. Conflicts that carry a stored item (`ConditionFailed.item`) keep it out of the message and `repr`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from . import fault_text

Fault = fault_text.Fault
FieldFault = fault_text.FieldFault
Unreadable = fault_text.Unreadable
location_text, use_one_of = fault_text.location_text, fault_text.use_one_of


class ShardweaveError(Exception):
    """The base of all errors. `code` is stable; `where` names the place (a property, an index, a parameter); `fix` says
    what to do. `maybe_written`: a write was sent, ended with this error, and may have been carried out."""

    code: ClassVar[str] = "error"
    maybe_written = False

    def __init__(self, message: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{fault_text.with_fix(self.message, self.fix)}"


class SchemaError(ShardweaveError):
    """A schema that can't be built. `faults` lists everything that is wrong with it, not just the first."""

    code = "invalid_schema"

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n  - ".join([f"The schema has {len(self.faults)} fault(s):", *map(str, self.faults)]))


class ConfigurationError(ShardweaveError):
    """A setting (environment, command line, key material) is missing or unusable."""

    code = "invalid_configuration"


# -- input ------------------------------------------------------------------------------------------------------------


class InputError(ShardweaveError):
    """The caller's input is wrong; nothing was changed."""

    code = "invalid_input"


class ValidationFailed(InputError):
    """A record does not fit its entity. `fields` lists every property at fault; `more` are unknown ones beyond."""

    code = "validation_failed"

    def __init__(self, fields: Sequence[FieldFault], *, where: str = "", more: int = 0) -> None:
        self.fields, self.more = tuple(fields), more
        listed = "; ".join(f"{location_text(each.location) or '(record)'}: {each.message}" for each in self.fields)
        super().__init__(f"not valid: {listed}", where=where, fix="correct what is listed, and give it again")


class ValueRefused(InputError):
    """A value that can't be written to a key: wrong type or unit, out of range, not reversible."""

    code = "value_refused"


class KeyTooLong(InputError):
    """A generated or raw key would exceed DynamoDB's 2,048 (hash) or 1,024 (range) bytes."""

    code = "key_too_long"


class RecordTooLarge(InputError):
    """A record would exceed DynamoDB's 400 KB."""

    code = "record_too_large"


class ImmutableProperty(InputError):
    """An update changes a property that decides identity or placement."""

    code = "immutable_property"


class UnknownName(InputError):
    """An entity, index, property or parameter that the schema does not have."""

    code = "unknown_name"


class UnsupportedQuery(InputError):
    """Conditions that no index (or not the one named) can answer, or a test that does not go with its property."""

    code = "unsupported_query"


class LimitExceeded(InputError):
    """More than a documented limit: page size, branches, filter depth, actions, bytes."""

    code = "limit_exceeded"


class InvalidCursor(InputError):
    """A cursor that was altered, truncated, or not made with this deployment's keys."""

    code = "invalid_cursor"


class CursorMismatch(InputError):
    """A genuine cursor that belongs to another query, order, entity, tenant or principal."""

    code = "cursor_mismatch"


class CursorExpired(InputError):
    """A genuine cursor whose walk began too long ago, or whose shard map is no longer readable."""

    code = "cursor_expired"


class InvalidShardArguments(InputError):
    """Parts that can't form a shard key: an invalid origin, shard or id."""

    code = "invalid_shard_arguments"


class InvalidShardKey(InputError):
    """The text of a shard key that was altered, is another entity's or kind's, or was made with other secrets."""

    code = "invalid_shard_key"


class MalformedRequest(InputError):
    """A request that can't be read: no JSON, no UTF-8, or no object."""

    code = "malformed_request"


class BodyTooLarge(InputError):
    """A request whose body exceeds the limit."""

    code = "body_too_large"


class AnswerTooLarge(InputError):
    """An answer whose first record, with its related records, would exceed the maximum size of an answer."""

    code = "answer_too_large"


class RequestTimeout(InputError):
    """A request that was not completely received in time."""

    code = "request_timeout"


class UnsupportedMediaType(InputError):
    """A request whose body has a media type that the operation does not accept."""

    code = "unsupported_media_type"


class RouteNotFound(InputError):
    """A path that the API does not have."""

    code = "route_not_found"


class Unauthenticated(InputError):
    """The caller is unknown: there is no valid token."""

    code = "unauthenticated"


class Forbidden(InputError):
    """The caller may not do this, regardless of what is stored."""

    code = "forbidden"


class MethodNotAllowed(InputError):
    """A path of the API, with a method that it does not have. `allowed` lists its methods."""

    code = "method_not_allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__("The path does not take this method.", where="method", fix=f"use one of {', '.join(allowed)}")


class DeadlineTooShort(ShardweaveError):
    """The deadline was too short for any progress."""

    code = "deadline_too_short"


class TimeLimitTooShort(DeadlineTooShort):
    """The time limit that the caller set was too short for any progress; the request itself had more time."""

    code = "time_limit_too_short"


class TooManyReads(ShardweaveError):
    """A request that would read too much of the table: too many single records, or too many read units."""

    code = "too_many_reads"


class RateExceeded(ShardweaveError):
    """The caller, or its tenant, has used up its limit per minute. `retry_after_seconds` is the time to wait."""

    code = "rate_exceeded"

    def __init__(self, message: str, *, retry_after_seconds: int, where: str = "", fix: str = "") -> None:
        super().__init__(message, where=where, fix=fix)
        self.retry_after_seconds = retry_after_seconds


class LaneFailed(ShardweaveError):
    """A lane of a query failed and the query was not told to go on without it. `__cause__` is the table's error,
    whose fix is this one's, `cause` its code. `optional`: the query could have gone on without the lane."""

    code = "lane_failed"

    def __init__(self, lane: str, cause: ShardweaveError, *, optional: bool = True) -> None:
        passing = isinstance(cause, (Throttled, TableUnavailable)) or not cause.fix
        again = "try again, or ask with on_shard_error='partial'" if optional else "try again"
        super().__init__(f"the lane failed: {cause.message}", where=lane, fix=again if passing else cause.fix)
        self.cause = cause.code
        self.__cause__ = cause


class TooManyLaggingLanes(ShardweaveError):
    """A walk that went on without failed lanes would have to remember more places than a cursor holds."""

    code = "too_many_lagging_lanes"


# -- state ------------------------------------------------------------------------------------------------------------


class NotFound(ShardweaveError):
    """No live record has this identity."""

    code = "not_found"


class ReportMissing(NotFound):
    """The doctor has not made a report yet."""

    code = "report_missing"


class Conflict(ShardweaveError):
    """The stored state is not the one that the write requires; nothing was changed."""

    code = "conflict"


class AlreadyExists(Conflict):
    """A live record with this identity exists."""

    code = "already_exists"


class ValueTaken(AlreadyExists):
    """A live record with this unique value exists."""

    code = "value_taken"


class ParentMissing(Conflict):
    """The record that an enforced relation leads to does not exist."""

    code = "parent_missing"


class HasChildren(Conflict):
    """A record can't be deleted while others belong to it."""

    code = "has_children"


class DeleteIncomplete(ShardweaveError):
    """A deletion ran out of time while dependent records were being deleted. Deleting the record again continues it."""

    code = "delete_incomplete"
    maybe_written = True


class IdempotencyMismatch(Conflict):
    """An idempotency key, or an event's id, was used before, for another request."""

    code = "idempotency_mismatch"


class StillInProgress(Conflict):
    """The work of an idempotency key, or of an event, has begun and has not ended."""

    code = "still_in_progress"


class RevisionConflict(Conflict):
    """The record's `rev` is not the expected one."""

    code = "revision_conflict"


class PreconditionFailed(ShardweaveError):
    """The record is not in the state that the request asks for."""

    code = "precondition_failed"


class RecordUnreadable(ShardweaveError):
    """A stored record is damaged, of another program, or no longer fits its entity; `record` has the details."""

    code = "record_unreadable"

    def __init__(self, record: Unreadable) -> None:
        super().__init__(record.message, where=record.place, fix=record.fix)
        self.record = record


class LookupNotReady(ShardweaveError):
    """A lookup or enforced relation was added to a filled table and does not hold all of its records yet."""

    code = "lookup_not_ready"


class ReshardRefused(InputError):
    """A re-shard, or a step of it, that can't work."""

    code = "reshard_refused"


class ReshardUnreadable(ShardweaveError):
    """The control record of a re-shard is of a newer version, or damaged: nothing is read or written meanwhile."""

    code = "reshard_unreadable"


class ShardMapChanged(ShardweaveError):
    """The shard map of a read or write is too old to be used, or no longer in force. Nothing was changed."""

    code = "shard_map_changed"


class OutcomeUnknown(ShardweaveError):
    """A write was sent, and may or may not have been carried out. Read before repeating."""

    code = "outcome_unknown"
    maybe_written = True


class BatchIncomplete(ShardweaveError):
    """A batch whose deadline passed: `unprocessed` holds positions in the input, `found` what was read at others."""

    code = "batch_incomplete"

    def __init__(self, unprocessed: Sequence[int], *, total: int, found: Sequence[Any] = ()) -> None:
        self.unprocessed = tuple(unprocessed)
        self.found = tuple(found)
        super().__init__(
            f"{len(self.unprocessed)} of {total} items were not processed before the deadline.",
            fix="send the items at the positions in `unprocessed` again",
        )


# -- the table --------------------------------------------------------------------------------------------------------


class TableError(ShardweaveError):
    """The table refused or failed an operation."""

    code = "table_error"


class InvalidRequest(TableError):
    """The table says that the request itself is wrong (DynamoDB's ValidationException)."""

    code = "invalid_request"


class ConditionFailed(TableError):
    """A write's condition was false. `item` is the stored item when the operation asked for it, else None."""

    code = "condition_failed"

    def __init__(self, item: Mapping[str, Any] | None = None) -> None:
        super().__init__("The condition of the write was not met.")
        self.item = item


@dataclass(frozen=True)
class CancellationReason:
    """The reason why one action of a transaction failed. `code` is DynamoDB's, such as None, ConditionalCheckFailed, or
    TransactionConflict. `item` is the current item if the action asked for it."""

    code: str
    item: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"CancellationReason({self.code!r})"


class TransactionCanceled(TableError):
    """A transaction that changed nothing. `reasons` has one entry for each action, in order."""

    code = "transaction_canceled"

    def __init__(self, reasons: Sequence[CancellationReason]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(f"The transaction was canceled: {', '.join(reason.code for reason in self.reasons)}.")


class TransactionConflict(TableError):
    """A plain operation met a transaction in progress on the same item. Retrying is safe."""

    code = "transaction_conflict"


class TransactionInProgress(TableError):
    """A transaction with this token is still running."""

    code = "transaction_in_progress"


class IdempotentParameterMismatch(TableError):
    """A transaction token was used again with another content."""

    code = "idempotent_parameter_mismatch"


class Throttled(TableError):
    """Capacity was exceeded. `reasons` holds DynamoDB's throttling reasons (with the resource) when given."""

    code = "throttled"

    def __init__(self, message: str = "The table throttled the request.", *, reasons: Sequence[str] = ()) -> None:
        super().__init__(message, fix="retry with backoff")
        self.reasons = tuple(reasons)


class TableUnavailable(TableError):
    """The table gave no usable answer (timeout, connection, 5xx)."""

    code = "table_unavailable"
    maybe_written = True


class TableFull(TableError):
    """There is no space left for what would be written; nothing was changed."""

    code = "table_full"


class TableUnusable(TableError):
    """The table's storage can't be used as it is: it is read-only, damaged, or fails. Trying again does not help."""

    code = "table_unusable"


class TableNotFound(TableError):
    """The table or index does not exist."""

    code = "table_not_found"


class StreamTrimmed(TableError):
    """The stream position is older than what the stream keeps."""

    code = "stream_trimmed"


class StreamPositionUnknown(InvalidRequest):
    """The stream does not have this position yet: it is a position of another stream, or the table is an older copy."""

    code = "stream_position_unknown"


class AccessDenied(TableError):
    """The credentials do not allow the operation."""

    code = "access_denied"
