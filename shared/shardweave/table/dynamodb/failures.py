"""boto3's exceptions -> the errors of the library."""

from __future__ import annotations

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

from ...errors import AccessDenied, InvalidRequest, ShardweaveError, TableUnavailable
from .error_replies import error_of


def table_error(error: Exception, method: str) -> ShardweaveError:
    """The library's error for what boto3 raised in calling `method`."""
    if isinstance(error, ClientError):
        return error_of(error.response, method)
    if isinstance(error, _CREDENTIAL_ERRORS):
        fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; `aws configure` writes a profile"
        return AccessDenied("no usable AWS credentials were found", where=method, fix=fix)
    if isinstance(error, ParamValidationError):
        return InvalidRequest("the request does not have the form that DynamoDB requires", where=method)
    return TableUnavailable(f"DynamoDB gave no usable answer ({type(error).__name__})", where=method, fix="retry")


_CREDENTIAL_ERRORS = (
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
