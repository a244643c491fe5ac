"""The connection to DynamoDB over boto3's clients: creating and calling them.

The clients are the same as boto3's, created by botocore's session without importing the rest of boto3, which saves
fifty milliseconds of a cold start. Each connection has its own session, or the given one, since creating clients from
the process's default session is not thread-safe.

The guard runs on botocore's `before-send` event, once for every attempt: after signing (which may first have waited for
new credentials), just before the request goes out. So an attempt that a guard let through carries a signature older
than the guard's check, and DynamoDB refuses it once that signature is too old, however long the process was stopped in
between. A guard that ran before signing would leave that gap open. A guard's exception ends the call immediately, since
botocore retries only its own exceptions. `attempts` is informed of each attempt in the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from botocore.parsers import ResponseParserError
from botocore.session import Session

from ...errors import AccessDenied, ConfigurationError, InvalidRequest, ShardweaveError, TableUnavailable
from ...errors.outcomes import note_maybe_written
from .attempt_events import HOOKS, following
from .attempts import Attempts
from .error_replies import error_of
from .replies import ReplyParserFactory, refuse_broken
from .settings import Settings

_SERVICES = ("dynamodb", "dynamodb-streams")


class PlainSession(Session):  # type: ignore[misc]
    """A session that remembers whether a setting of its clients was changed."""

    def __init__(self) -> None:
        super().__init__()
        self.is_plain = True

    def register(self, *arguments: Any, **options: Any) -> None:
        self.is_plain = False
        super().register(*arguments, **options)

    def set_credentials(self, *arguments: Any, **options: Any) -> None:
        self.is_plain = False
        super().set_credentials(*arguments, **options)

    def set_config_variable(self, *arguments: Any, **options: Any) -> None:
        self.is_plain = False
        super().set_config_variable(*arguments, **options)

    def set_default_client_config(self, *arguments: Any, **options: Any) -> None:
        self.is_plain = False
        super().set_default_client_config(*arguments, **options)


def is_plain(session: Session) -> bool:
    """Whether the clients of a session go by what surrounds the process alone."""
    return isinstance(session, PlainSession) and session.is_plain


def new_session(stock_parser: bool = False) -> Session:
    """A session whose clients don't convert replies."""
    session = PlainSession()
    if not stock_parser:
        session.register_component("response_parser_factory", ReplyParserFactory())
    return session


class Connection:
    """The clients of one table. Calls are safe from many threads."""

    def __init__(
        self, settings: Settings, client: Any = None, streams_client: Any = None, session: Session | None = None
    ) -> None:
        self._settings = settings
        self._session = session
        self._lock = threading.Lock()
        self._owned: list[Any] = []
        self._client = self._hooked(client) if client is not None else self._new_client("dynamodb")
        self._streams = self._hooked(streams_client) if streams_client is not None else None

    @property
    def client(self) -> Any:
        """The boto3 client for the table's own operations."""
        return self._client

    @property
    def streams(self) -> Any:
        """The boto3 client for the stream's operations, made on first use."""
        with self._lock:
            if self._streams is None:
                self._streams = self._new_client("dynamodbstreams")
            return self._streams

    def call(self, method: str, request: Mapping[str, Any], attempts: Attempts | None = None) -> dict[str, Any]:
        """Call the table's client. Raises TableError's kinds, and whatever the guard raises; each says whether a write
        may have been carried out."""
        return _call(self._client, method, request, attempts or Attempts())

    def call_streams(self, method: str, request: Mapping[str, Any], attempts: Attempts) -> dict[str, Any]:
        """Call the stream's client in the same way."""
        return _call(self.streams, method, request, attempts)

    def close(self) -> None:
        """Close the connections of the clients that this object created."""
        for client in self._owned:
            client.close()

    def _new_client(self, service: str) -> Any:
        settings = self._settings
        self._session = self._session or new_session(settings.stock_parser)
        config = Config(
            max_pool_connections=settings.max_pool_connections,
            connect_timeout=settings.connect_timeout,
            read_timeout=settings.read_timeout,
            retries={"mode": "standard", "total_max_attempts": settings.max_attempts},
            # Operations render only what the service's model allows, which tests check; DynamoDB checks it again.
            parameter_validation=False,
            tcp_keepalive=True,
            # The complete user agent, since botocore would build it twice for every request.
            user_agent=f"{self._session.user_agent()} shardweave",
        )
        try:
            client = self._session.create_client(
                service, region_name=self._region(), endpoint_url=settings.endpoint_url, config=config
            )
        except NoRegionError:
            raise ConfigurationError(
                "no AWS region is configured",
                where=service,
                fix="pass `region` (--region on a command line), or set AWS_DEFAULT_REGION",
            ) from None
        self._owned.append(client)
        return self._hooked(client, settings.stock_parser)

    def _region(self) -> str | None:
        """The requested region; the stream's client uses the region of a given table client."""
        made_first = getattr(self, "_client", None)
        return self._settings.region or (made_first.meta.region_name if made_first is not None else None)

    @staticmethod
    def _hooked(client: Any, stock_parser: bool = True) -> Any:
        for event, hook in {**HOOKS, **({"before-parse": refuse_broken} if stock_parser else {})}.items():
            for service in _SERVICES:
                name = f"{event}.{service}"
                # What is said of a retry first is what counts. The id keeps a client that several tables share from
                # calling a hook once for each of them.
                register = client.meta.events.register_first if event == "needs-retry" else client.meta.events.register
                register(name, hook, unique_id=f"shardweave-{name}")
        return client


def _call(client: Any, method: str, request: Mapping[str, Any], attempts: Attempts) -> dict[str, Any]:
    try:
        with following(attempts):
            response: dict[str, Any] = getattr(client, method)(**request)
    except (ClientError, BotoCoreError, ResponseParserError) as error:
        failure = table_error(error, method, _table_in(request))
        failure.maybe_written = attempts.maybe_written
        # `from None`: what boto3 says may quote a record's values.
        raise failure from None
    except BaseException as error:
        if attempts.maybe_written:
            note_maybe_written(error)
        raise
    if "Error" in response:
        failure = TableUnavailable("DynamoDB's answer can't be read", where=method, fix="retry")
        failure.maybe_written = attempts.maybe_written
        raise failure
    return response


def _table_in(request: Mapping[str, Any]) -> str:
    """The name of the table that a request is for, in each of the forms that requests have."""
    if "TableName" in request:
        return str(request["TableName"])
    for batch in ("RequestItems", "TransactItems"):
        for each in request.get(batch, ()):
            return each if isinstance(each, str) else _table_in(next(iter(each.values())))
    return ""


def table_error(error: Exception, method: str, table: str = "") -> ShardweaveError:
    """The library's error for what boto3 raised in calling `method` on a table."""
    if isinstance(error, ClientError):
        return error_of(error.response, method, table)
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
