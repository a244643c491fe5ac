"""boto3's exceptions -> the errors of the library.

Mapped by error code; an unknown code by its HTTP status. Text decides in one case, an item that is too large, for
which DynamoDB has no code of its own. What DynamoDB says is passed on, since it names attributes and indexes, but
never the values that it quotes: between the first and the last quote or bracket of a kind, everything is left out.

An error is a refusal, after which nothing was carried out, only in a reply that can be trusted (`is_refusal`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

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
from .replies import is_whole, readable


def table_error(error: Exception, method: str) -> ShardweaveError:
    """The library's error for what boto3 raised in calling `method`."""
    if isinstance(error, ClientError):
        try:
            return _from_response(error.response, method)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            return TableUnavailable("DynamoDB's error has another form than it always has", where=method, fix="retry")
    if isinstance(error, _CREDENTIAL_ERRORS):
        fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `aws configure` writes a profile"
        return AccessDenied("no usable AWS credentials were found", where=method, fix=fix)
    if isinstance(error, ParamValidationError):
        return InvalidRequest("the request does not have the form that DynamoDB requires", where=method)
    return TableUnavailable(f"DynamoDB gave no usable answer ({type(error).__name__})", where=method, fix="retry")


def is_refusal(response: Mapping[str, Any], parsed: Mapping[str, Any]) -> bool:
    """Whether a reply says that the request was not carried out: an error of the caller's (4xx) in a reply that arrived
    whole, as DynamoDB gives it. One that is too large (413) may be refused by anyone on the way."""
    status = response["status_code"]
    if not 400 <= status < 500 or not is_whole(response):
        return False
    if status == 413:
        return True
    code = parsed.get("Error", {}).get("Code", "")
    return readable(response) is not None and _BY_CODE.get(code) is not _unavailable


def _from_response(response: Mapping[str, Any], method: str) -> ShardweaveError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    make = _BY_CODE.get(code)
    if make is not None:
        return make(response, method)
    if status >= 500:
        return _unavailable(response, method)
    return TableError(
        f"DynamoDB refused the request with {code or f'status {status}'}: {_text(response)}", where=method
    )


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
    # The service's model spells the field in both ways, depending on the error.
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
    "InternalServerError": _unavailable,
    "InternalServerErrorException": _unavailable,
    "InternalFailure": _unavailable,
    "ServiceUnavailable": _unavailable,
    "ServiceUnavailableException": _unavailable,
    "RequestTimeout": _unavailable,
    "RequestTimeoutException": _unavailable,
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

_STREAM_READS = frozenset({"get_shard_iterator", "get_records"})

_CREDENTIAL_ERRORS = (
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)


# -- what the makers share --------------------------------------------------------------------------------------------

_TOO_LARGE = re.compile(r"Item size (to update )?has exceeded the maximum allowed size")
_QUOTED = re.compile(r"""\{.*\}|\[.*\]|'.*'|".*"|(?<=numeric value: ).*""", re.DOTALL)


def _text(response: Mapping[str, Any]) -> str:
    """What DynamoDB said, without values."""
    return _QUOTED.sub("...", str(response.get("Error", {}).get("Message", "")))


def _item(holder: Mapping[str, Any]) -> dict[str, Any] | None:
    stored = holder.get("Item")
    return native_item(stored) if stored else None


def _throttling_reason(reason: Mapping[str, Any]) -> str:
    return " ".join(str(reason[part]) for part in ("reason", "resource") if reason.get(part))
