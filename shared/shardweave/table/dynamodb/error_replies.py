"""DynamoDB's replies that are errors -> the errors of the library.

Errors are mapped by their code; an unknown code by its HTTP status. The message text decides in one case, an item that
is too large, for which DynamoDB has no separate code. DynamoDB's message is passed on, since it names attributes and
indexes, but without the values that it quotes: everything between the first and the last quote or bracket of a kind is
removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import (
    AccessDenied,
    CancellationReason,
    ConditionFailed,
    IdempotentParameterMismatch,
    InvalidRequest,
    RecordTooLarge,
    ShardweaveError,
    StreamTrimmed,
    TableError,
    TableNotFound,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from .items import native_item
from .trust import UNAVAILABLE_CODES


def parsed_error(status: int, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """The JSON of an error, with its code and message in `Error` as in botocore; `body` is None if it is not a JSON
    object. Without a code, the status is the code."""
    code, message = str(status), ""
    if body is not None:
        given = body.get("__type", code)
        code = "" if given is None else given
        message = body.get("message", body.get("Message", ""))
        if not isinstance(code, str):
            return parsed_error(status, None)
        code = code.split(":", 1)[0].rsplit("#", 1)[-1]
    parsed = {**(body or {}), "Error": {"Code": code, "Message": message}}
    return parsed | {"ResponseMetadata": {"HTTPStatusCode": status}}


def error_of(response: Mapping[str, Any], method: str, table: str = "") -> ShardweaveError:
    """The library's error for an error reply, in the form of `parsed_error` or of botocore, to a request to `table`."""
    try:
        if table and response.get("Error", {}).get("Code") in _MISSING and method not in _STREAM_READS:
            message = f"the table {table}, or what the request names in it, does not exist"
            return TableNotFound(message, where=method, fix="check names and region")
        return _error(response, method)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return TableUnavailable("DynamoDB's error has another form than it always has", where=method, fix="retry")


def _error(response: Mapping[str, Any], method: str) -> ShardweaveError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    make = _BY_CODE.get(code)
    if make is not None:
        return make(response, method)
    if status >= 500:
        return _unavailable(response, method)
    if code in ("", str(status)):
        # It has no code of DynamoDB's, and its text may be a whole page.
        fix = "check the endpoint, and what answers in its place: a proxy, a page to log in, a redirect"
        return TableError(f"the answer has status {status} and is not DynamoDB's", where=method, fix=fix)
    text = _text(response)
    return TableError(f"DynamoDB refused the request with {code}{f': {text}' if text else ''}", where=method)


# -- one maker for each kind ------------------------------------------------------------------------------------------


def _condition_failed(response: Mapping[str, Any], method: str) -> ShardweaveError:
    return ConditionFailed(_item(response))


def _canceled(response: Mapping[str, Any], method: str) -> ShardweaveError:
    reasons = response.get("CancellationReasons", ())
    return TransactionCanceled([CancellationReason(reason.get("Code", "None"), _item(reason)) for reason in reasons])


def _conflict(response: Mapping[str, Any], method: str) -> ShardweaveError:
    return TransactionConflict("a transaction is in progress on the same item", where=method, fix="retry")


def _in_progress(response: Mapping[str, Any], method: str) -> ShardweaveError:
    return TransactionInProgress("a transaction with this token is still running", where=method, fix="retry")


def _mismatch(response: Mapping[str, Any], method: str) -> ShardweaveError:
    return IdempotentParameterMismatch(
        "the token was used with another content in the last ten minutes", where=method, fix="use a new token"
    )


def _throttled(response: Mapping[str, Any], method: str) -> ShardweaveError:
    # The service's model has both spellings of the field, depending on the error.
    reasons = response.get("ThrottlingReasons") or response.get("throttlingReasons") or ()
    return Throttled(reasons=[_throttling_reason(reason) for reason in reasons])


def _unavailable(response: Mapping[str, Any], method: str) -> ShardweaveError:
    code = response.get("Error", {}).get("Code", "")
    return TableUnavailable(f"DynamoDB failed to answer ({code})", where=method, fix="retry")


def _invalid(response: Mapping[str, Any], method: str) -> ShardweaveError:
    text = _text(response)
    if _TOO_LARGE.search(text):
        return RecordTooLarge("the record exceeds DynamoDB's 400 KB", where=method, fix="store less in one record")
    return InvalidRequest(f"DynamoDB refused the request: {text}", where=method)


def _denied(response: Mapping[str, Any], method: str) -> ShardweaveError:
    code = response.get("Error", {}).get("Code", "")
    return AccessDenied(
        f"DynamoDB refused the credentials ({code})", where=method, fix="check the policy, the keys and the clock"
    )


def _not_found(response: Mapping[str, Any], method: str) -> ShardweaveError:
    if method in _STREAM_READS:
        # A stream shard goes when the last of its records is no longer kept.
        return _trimmed(response, method)
    return TableNotFound(
        "the table, or what the request names in it, does not exist", where=method, fix="check names and region"
    )


def _trimmed(response: Mapping[str, Any], method: str) -> ShardweaveError:
    return StreamTrimmed("the stream no longer keeps this position", where=method, fix="start from TRIM_HORIZON")


_BY_CODE: dict[str, Callable[[Mapping[str, Any], str], ShardweaveError]] = {
    "ConditionalCheckFailedException": _condition_failed,
    "TransactionCanceledException": _canceled,
    "TransactionConflictException": _conflict,
    "TransactionInProgressException": _in_progress,
    "IdempotentParameterMismatchException": _mismatch,
    "ProvisionedThroughputExceededException": _throttled,
    "RequestLimitExceeded": _throttled,
    "ThrottlingException": _throttled,
    "Throttling": _throttled,
    "LimitExceededException": _throttled,
    **dict.fromkeys(UNAVAILABLE_CODES, _unavailable),
    "ValidationException": _invalid,
    "ValidationError": _invalid,
    "SerializationException": _invalid,
    "413": _invalid,
    "AccessDeniedException": _denied,
    "UnrecognizedClientException": _denied,
    "InvalidSignatureException": _denied,
    "IncompleteSignatureException": _denied,
    "MissingAuthenticationTokenException": _denied,
    "ExpiredTokenException": _denied,
    "ResourceNotFoundException": _not_found,
    "TableNotFoundException": _not_found,
    "TrimmedDataAccessException": _trimmed,
    "ExpiredIteratorException": _trimmed,
}

_MISSING = ("ResourceNotFoundException", "TableNotFoundException")

_STREAM_READS = frozenset({"get_shard_iterator", "get_records"})


# -- what the makers share --------------------------------------------------------------------------------------------

_TOO_LARGE = re.compile(r"Item size (to update )?has exceeded the maximum allowed size")
_QUOTED = re.compile(r"""\{.*\}|\[.*\]|'.*'|".*"|(?<=numeric value: ).*""", re.DOTALL)


def _text(response: Mapping[str, Any]) -> str:
    """DynamoDB's message, without values."""
    return _QUOTED.sub("...", str(response.get("Error", {}).get("Message", "")))


def _item(holder: Mapping[str, Any]) -> dict[str, Any] | None:
    stored = holder.get("Item")
    return native_item(stored) if stored else None


def _throttling_reason(reason: Mapping[str, Any]) -> str:
    return " ".join(str(reason[part]) for part in ("reason", "resource") if reason.get(part))
