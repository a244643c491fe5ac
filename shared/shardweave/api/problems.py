"""Problem documents (RFC 9457): the form and the status of every error of the API.

A document has `type` (`urn:shardweave:error:` and the error's stable code, which clients may check), `title`, `status`,
`detail`, and if the error has them `where` (a property or parameter) and `fix`; a validation error lists every fault in
`errors`. It never contains a record's values, and no details of an internal failure.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from .. import errors
from ..values.json_types import left_out
from .http import Response

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:shardweave:error:"
INTERNAL = "internal_error"

STATUSES: dict[type[errors.ShardweaveError], tuple[int, str]] = {
    errors.ShardweaveError: (500, "Internal error"),
    errors.InputError: (400, "The input is wrong"),
    errors.ValidationFailed: (400, "The input does not fit its schema"),
    errors.ValueRefused: (400, "A value is refused"),
    errors.KeyTooLong: (400, "A key would be too long"),
    errors.RecordTooLarge: (413, "The record is too large"),
    errors.ImmutableProperty: (400, "A property never changes"),
    errors.UnknownName: (400, "A name is not known"),
    errors.UnsupportedQuery: (400, "The query can't be answered"),
    errors.LimitExceeded: (400, "A limit is exceeded"),
    errors.InvalidCursor: (400, "The cursor is not valid"),
    errors.CursorMismatch: (400, "The cursor belongs to another query"),
    errors.CursorExpired: (400, "The cursor has expired"),
    errors.InvalidShardKey: (400, "The key is not valid"),
    errors.InvalidShardArguments: (400, "The parts make no key"),
    errors.MalformedRequest: (400, "The request can't be read"),
    errors.BodyTooLarge: (413, "The body is too large"),
    errors.AnswerTooLarge: (413, "The answer would be too long"),
    errors.TooManyReads: (413, "The request would read too much"),
    errors.RateExceeded: (429, "The caller has asked too often"),
    errors.RequestTimeout: (408, "The request did not come in time"),
    errors.UnsupportedMediaType: (415, "The body's type is not supported"),
    errors.Unauthenticated: (401, "The caller is not known"),
    errors.Forbidden: (403, "The caller may not do this"),
    errors.RouteNotFound: (404, "There is no such path"),
    errors.MethodNotAllowed: (405, "The path does not take this method"),
    errors.NotFound: (404, "There is no such record"),
    errors.ReportMissing: (404, "There is no report yet"),
    errors.Conflict: (409, "The stored state does not allow it"),
    errors.AlreadyExists: (409, "Such a record exists"),
    errors.ValueTaken: (409, "Another record has the value"),
    errors.RevisionConflict: (409, "The record has changed"),
    errors.ReshardRefused: (409, "The re-shard can't be done"),
    errors.ReshardUnreadable: (503, "Where the records are can't be read"),
    errors.ShardMapChanged: (503, "The records are moving"),
    errors.ParentMissing: (409, "The record that it belongs to does not exist"),
    errors.HasChildren: (409, "Other records belong to it"),
    errors.DeleteIncomplete: (503, "Records that belong to it are still going"),
    errors.IdempotencyMismatch: (409, "The idempotency key or event id is another's"),
    errors.StillInProgress: (409, "The same request is under way"),
    errors.PreconditionFailed: (412, "The condition does not hold"),
    errors.RecordUnreadable: (500, "A stored record can't be read"),
    errors.LookupNotReady: (503, "A lookup is not ready"),
    errors.LaneFailed: (503, "A part of the query failed"),
    errors.TooManyLaggingLanes: (503, "Too many parts of the query failed"),
    errors.DeadlineTooShort: (503, "The time was too short"),
    errors.TimeLimitTooShort: (400, "The time limit was too short"),
    errors.OutcomeUnknown: (504, "The outcome is not known"),
    errors.BatchIncomplete: (503, "Not everything was processed"),
    errors.ConditionFailed: (409, "The stored state does not allow it"),
    errors.TransactionCanceled: (409, "The stored state does not allow it"),
    errors.TransactionConflict: (503, "Another transaction is in progress"),
    errors.TransactionInProgress: (503, "The transaction is still in progress"),
    errors.Throttled: (503, "The table is busy"),
    errors.TableUnavailable: (503, "The table does not answer"),
    errors.TableFull: (507, "The table has no space left"),
    errors.TableUnusable: (503, "The table can't be used"),
}
"""Status and title by class; other classes have those of their nearest base class."""

OF_CALLERS = (
    errors.BatchIncomplete,
    errors.DeadlineTooShort,
    errors.DeleteIncomplete,
    errors.OutcomeUnknown,
    errors.ShardMapChanged,
    errors.Throttled,
    errors.TooManyLaggingLanes,
    errors.TransactionConflict,
    errors.TransactionInProgress,
)
"""Errors that callers can cause by what they request: they are answered with 5xx, but don't count as failures of the
deployed version."""

PASSING = (
    errors.BatchIncomplete,
    errors.DeadlineTooShort,
    errors.DeleteIncomplete,
    errors.ShardMapChanged,
    errors.TableUnavailable,
    errors.Throttled,
    errors.TransactionConflict,
    errors.TransactionInProgress,
)
"""Temporary errors, after which the same request may succeed later."""

RETRY_AFTER_SECONDS = 1

MAX_FAULTS = 100
"""The maximum number of faults in a document, so that clients can't cause arbitrarily long answers."""

MAX_NAME_CHARACTERS = 80


_DESCRIBES = ConfigDict(defer_build=True)
"""Of models that describe answers in the OpenAPI document, and write none."""


class Fault(BaseModel):
    """One value that does not fit."""

    model_config = _DESCRIBES

    where: str = Field(description="The property's path, or the parameter.")
    detail: str = Field(description="What is wrong with it.")
    type: str = Field(description="A stable word for what is wrong.")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    model_config = _DESCRIBES

    type: str = Field(
        description="The stable name of this kind of error, a URI.",
        examples=sorted({TYPE_PREFIX + kind.code for kind, (status, _) in STATUSES.items() if status < 500}),
    )
    title: str = Field(description="What this kind of error is.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What was wrong this time.")
    where: str = left_out("The property or parameter at fault.")
    fix: str = left_out("What to do.")
    errors: list[Fault] = left_out("Every value that does not fit.")


def status_of(kind: type[errors.ShardweaveError]) -> int:
    """The HTTP status of an error class."""
    return _row(kind)[0]


def is_failure(error: errors.ShardweaveError) -> bool:
    """Whether an error is a failure of the service itself, which callers can't cause."""
    cause = error.__cause__ if isinstance(error, errors.LaneFailed) else error
    return status_of(type(error)) >= 500 and not isinstance(cause, OF_CALLERS)


def passes(error: errors.ShardweaveError) -> bool:
    """Whether repeating the same request may help."""
    cause = error.__cause__ if isinstance(error, errors.LaneFailed) else error
    return isinstance(cause, PASSING)


def problem(error: errors.ShardweaveError) -> Response:
    """The answer of a request that failed with this error."""
    status, title = _row(type(error))
    unnamed = status == 500 and not isinstance(error, errors.RecordUnreadable)
    if unnamed or (isinstance(error, errors.LaneFailed) and _is_internal(error.__cause__)):
        return internal_problem()
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + error.code,
        "title": title,
        "status": status,
        "detail": _detail(error),
    }
    document |= {name: text for name, text in (("where", error.where), ("fix", error.fix)) if text}
    if isinstance(error, errors.ValidationFailed):
        document["errors"] = [
            {"where": _path(fault), "detail": _message(fault), "type": fault.type}
            for fault in error.fields[:MAX_FAULTS]
        ]
    return _response(status, document, error)


def internal_problem() -> Response:
    """The answer of a request with an internal failure; the details are only in the log."""
    detail = "The request could not be carried out; the log says why."
    document = {"type": TYPE_PREFIX + INTERNAL, "title": "Internal error", "status": 500, "detail": detail}
    return _response(500, document, None)


def _is_internal(cause: BaseException | None) -> bool:
    return isinstance(cause, errors.ShardweaveError) and _row(type(cause))[0] == 500


def _row(kind: type[errors.ShardweaveError]) -> tuple[int, str]:
    return next(STATUSES[base] for base in kind.__mro__ if base in STATUSES)


def _detail(error: errors.ShardweaveError) -> str:
    if isinstance(error, errors.ValidationFailed):
        shown = "; ".join(f"{_path(fault)}: {_message(fault)}" for fault in error.fields[:MAX_FAULTS])
        more = max(0, len(error.fields) - MAX_FAULTS) + error.more
        return f"{shown}; and {more} more" if more > 0 else shown
    return error.message


def _path(fault: errors.FieldFault) -> str:
    shortened = [part if isinstance(part, int) else part[:MAX_NAME_CHARACTERS] for part in fault.location]
    return errors.location_text(shortened) or "(the whole)"


def _message(fault: errors.FieldFault) -> str:
    return fault.message.removeprefix("Value error, ")


def _response(status: int, document: dict[str, Any], error: errors.ShardweaveError | None) -> Response:
    headers = {"content-type": MEDIA_TYPE}
    if isinstance(error, errors.MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    if isinstance(error, errors.Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, errors.RateExceeded):
        headers["retry-after"] = str(error.retry_after_seconds)
    elif status == 503 and error is not None and passes(error):
        headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return Response(status, json.dumps(document).encode(), headers)
