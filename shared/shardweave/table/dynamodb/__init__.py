"""The table on DynamoDB, over the direct transport or the boto3 client.

Guarantees: one operation is one request (a stream read is two), rendered by the operation itself; every failure is one
of `errors` under TableError; `guard` is called on every attempt, after it was signed and before it is sent, and stops
the attempt by raising. An unreadable reply leads to a retry and finally an error, never to a success. The error of a
write says correctly whether it may have been carried out. Retries are as in botocore's standard mode, except that a
write without a condition is not sent again if the outcome of an earlier attempt is unknown.

Operations on items use the direct transport (see `transport`) if it supports the process's environment; everything else
uses botocore's clients. After `connection` has been accessed, botocore is used for everything, so that hooks of its
clients see every request.

Costs: making a client of botocore takes about a quarter of a second, most of it imports. botocore is imported and the
client made together with the table if all requests need it, otherwise at the first request that needs it; the streams
client is made when a stream is first read. One table, its clients and its connections serve all threads. Over botocore
an operation costs what that needs to make, sign and send a request; reading the reply adds little to loading its JSON.

This package alone imports botocore; `shardweave.table` does not import it.

    client     the connection: settings, the one place that calls boto3
    attempts   the attempts of a call: the guard before each, and whether they may have been carried out
    attempt_events  tracking attempts by botocore's events
    replies    parsing replies: unconverted JSON
    trust      checks of replies
    items      the reply's items -> native values
    answers    responses -> answers
    error_replies   replies that are errors -> our errors
    secret     a secret of Secrets Manager
    settings   how connections are made
    stack      the stack that a deployed table belongs to
    stream     shards, positions and records of the table's stream
    transport  the direct transport
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ...errors import ConfigurationError, TableUnavailable
from .. import Guard
from ..layout import TableLayout
from ..many import RunMany
from ..operations import WRITES, BatchGet, GetItem, Operation, Query, Scan, TransactGet
from ..stream_operations import StreamRead, StreamShards
from . import answers
from .attempts import Attempts
from .secret import read_secret
from .settings import DEFAULTS, Settings
from .stream import Stream
from .transport.choice import Direct, Surroundings, direct_or_why_not, wanted
from .transport.direct import DirectTransport
from .transport.endpoint import HostEndpoint
from .transport.rounds import Attempted
from .transport.signing import Signer

__all__ = ["DynamoDBTable", "create_table", "new_session", "read_secret"]

if TYPE_CHECKING:
    from botocore.session import Session

    from .client import Connection

R = TypeVar("R")

_DIRECT = (GetItem, BatchGet, TransactGet, Query, Scan, *WRITES)
"""The operations that the direct transport supports."""


class DynamoDBTable:
    """A DynamoDB table. Implements `Table`.

    `client` and `streams_client` are boto3 clients to use instead of creating new ones; they stay open when the table
    is closed. Clients made here are made by `session`, when it is given. The other settings are for them: the longest
    request lasts about `max_attempts` times the two timeouts (seconds), plus the pauses between attempts. Give
    `max_pool_connections` at least the number of threads that use the table. With `stock_parser`, botocore's own parser
    reads the replies: the answers are the same.

    `transport`: "auto" uses the direct transport if possible, "direct" requires it, and "botocore" uses botocore for
    everything, like SHARDWEAVE_TRANSPORT=botocore in the environment. `observe` is called for each attempt of the
    direct transport.
    """

    def __init__(
        self,
        layout: TableLayout,
        name: str,
        *,
        client: Any = None,
        streams_client: Any = None,
        session: Session | None = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        max_pool_connections: int = DEFAULTS.max_pool_connections,
        connect_timeout: float = DEFAULTS.connect_timeout,
        read_timeout: float = DEFAULTS.read_timeout,
        max_attempts: int = DEFAULTS.max_attempts,
        stock_parser: bool = DEFAULTS.stock_parser,
        transport: Literal["auto", "direct", "botocore"] = "auto",
        observe: Callable[[Attempted], object] | None = None,
    ) -> None:
        settings = Settings(
            endpoint_url=endpoint_url,
            region=region,
            max_pool_connections=max_pool_connections,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            max_attempts=max_attempts,
            stock_parser=stock_parser,
        )
        self.name = name
        self._layout = layout
        self._lock = threading.Lock()
        self._new_connection = partial(_connection, settings, client, streams_client, session)
        self._connection: Connection | None = None
        self._stream = Stream(self._botocore, name)
        given = client is not None or streams_client is not None or stock_parser or not _is_plain(session)
        self._direct = None if given and transport != "direct" else self._chosen(settings, transport, observe)
        self._transport = self._direct
        if self._direct is None:
            self._botocore()

    @property
    def connection(self) -> Connection:
        """The boto3 clients, which are used for everything from now on."""
        self._direct = None
        return self._botocore()

    @property
    def run_many(self) -> RunMany | None:
        """Carries out parallel reads, if the table supports it; see `Lanes`."""
        return None if self._direct is None else self._direct.run_many

    @property
    def waits_on_loop(self) -> bool:
        """Whether work of an event loop may use it, see `waiting`."""
        return self._direct is not None

    @property
    def layout(self) -> TableLayout:
        return self._layout

    @property
    def guards_inside_writes(self) -> bool:
        return False

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """Carry out one operation. The answer's type is the one that the operation is generic over."""
        answer: Any
        if isinstance(operation, StreamShards):
            answer = self._stream.shards(guard)
        elif isinstance(operation, StreamRead):
            answer = self._stream.read(operation, guard)
        else:
            direct = self._direct
            if direct is not None and isinstance(operation, _DIRECT):
                answer = direct.run(operation, guard)
            else:
                attempts = Attempts.at(operation, guard)
                response = self._botocore().call(operation.method, operation.request(self.name), attempts)
                answer = answers.answer(operation, response, self.name)
        result: R = answer
        return result

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        if self._connection is not None:
            self._connection.close()

    def _botocore(self) -> Connection:
        """The boto3 clients, made when they are first needed."""
        with self._lock:
            if self._connection is None:
                self._connection = self._new_connection()
            return self._connection

    def _chosen(
        self, settings: Settings, transport: str, observe: Callable[[Attempted], object] | None
    ) -> DirectTransport | None:
        """The direct transport, if it is requested and can be used. Raises ConfigurationError."""
        chosen = wanted(transport, os.environ)
        if chosen == "botocore":
            return None
        insists = chosen == "direct"
        found = direct_or_why_not(
            Surroundings.of_process(os.environ),
            self.name,
            settings.region,
            settings.endpoint_url,
            modules_matter=not insists,
        )
        if isinstance(found, Direct):
            return self._direct_transport(found, settings, observe)
        if insists:
            raise ConfigurationError(
                f"the direct transport can't be used here: {found}", where="transport", fix="leave it out"
            )
        return None

    def _direct_transport(
        self, found: Direct, settings: Settings, observe: Callable[[Attempted], object] | None
    ) -> DirectTransport:
        return DirectTransport(
            self.name,
            self._layout.key_names,
            HostEndpoint(found.place, found.trusted),
            Signer(found.credentials, found.region, found.place.header),
            needs_checksum=found.place.is_aws,
            connections=settings.max_pool_connections,
            connect_timeout=settings.connect_timeout,
            read_timeout=settings.read_timeout,
            max_attempts=settings.max_attempts,
            observe=observe,
        )


def new_session(stock_parser: bool = False) -> Session:
    """A botocore session whose clients don't convert replies."""
    from .client import new_session as made

    return made(stock_parser)


def _connection(settings: Settings, client: Any, streams_client: Any, session: Session | None) -> Connection:
    from .client import Connection

    return Connection(settings, client, streams_client, session)


def _is_plain(session: Session | None) -> bool:
    """Whether the clients of a session depend only on the process's environment."""
    if session is None:
        return True
    from .client import is_plain

    return is_plain(session)


def create_table(table: DynamoDBTable, *, timeout: float = 60.0) -> None:
    """Create `table` as its layout says and wait until it and its indexes are active (at most `timeout` seconds), for
    local stages and tests: where tables are deployed, the infrastructure makes them."""
    connection = table.connection
    connection.call("create_table", table.layout.create_request(table.name))
    deadline = time.monotonic() + timeout
    while not _is_active(table):
        if time.monotonic() > deadline:
            raise TableUnavailable(f"the table is not active after {timeout:g} seconds", where=table.name)
        time.sleep(0.2)
    if table.layout.ttl_attribute is not None:
        connection.call(
            "update_time_to_live",
            {
                "TableName": table.name,
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": table.layout.ttl_attribute},
            },
        )


def _is_active(table: DynamoDBTable) -> bool:
    described = table.connection.call("describe_table", {"TableName": table.name})["Table"]
    indexes = described.get("GlobalSecondaryIndexes", ())
    states = [described["TableStatus"], *(index.get("IndexStatus", "ACTIVE") for index in indexes)]
    return all(state == "ACTIVE" for state in states)
