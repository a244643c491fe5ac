"""The table on DynamoDB, over the boto3 client.

Guarantees: one operation is one request (a stream read is two), rendered by the operation itself; every failure is one
of `errors` under TableError; `guard` is called on every attempt, after it was signed and before it is sent, and
stops the attempt by raising. A reply that can't be read is repeated, then an error, never a success. What a write
raises says truly whether it may have been carried out. Retries, signing, endpoints and connections are botocore's
(standard mode), but that a write without a condition is not sent again while nothing is known of an earlier attempt.

Costs: creating a table costs the client's creation (about a quarter of a second, most of it imports); the streams
client is made when a stream is first read. One table, its client and its connections serve all threads. An operation
costs what botocore needs to make, sign and send a request; reading the reply adds little to loading its JSON.

This package alone imports botocore; `shardweave.table` does not import it.

    client     the connection: settings, the one place that calls boto3
    attempts   the attempts of a call: the guard before each, and what is known of them
    attempt_events  the same as botocore's events tell of it
    replies    what the client hands on of a reply: its JSON as it is
    trust      what a reply can be trusted for
    items      the reply's items -> native values
    answers    responses -> answers
    error_replies   replies that are errors -> our errors
    failures   boto3's exceptions -> our errors
    secret     a secret of Secrets Manager, over the table's session
    stack      the stack that a deployed table belongs to
    stream     shards, positions and records of the table's stream
    creation   makes the table for local stages and tests
"""

from __future__ import annotations

from typing import Any, TypeVar

from botocore.session import Session

from .. import Guard
from ..layout import TableLayout
from ..operations import Operation, StreamRead, StreamShards
from . import answers
from .attempts import Attempts
from .client import DEFAULTS, Connection, Settings, new_session
from .creation import create_table
from .secret import read_secret
from .stream import Stream

__all__ = ["DynamoDBTable", "Session", "create_table", "new_session", "read_secret"]

R = TypeVar("R")


class DynamoDBTable:
    """A DynamoDB table. Implements `Table`.

    `client` and `streams_client` are boto3 clients to use instead of own ones; they stay open when the table is
    closed. Clients made here are made by `session`, when it is given. The other settings are for them: the longest
    request lasts about `max_attempts` times the two timeouts (seconds), plus the pauses between attempts. Give
    `max_pool_connections` at least the number of threads that use the table. With `stock_parser`, botocore's own parser
    reads the replies: the answers are the same.
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
        self.connection = Connection(settings, client, streams_client, session)
        self._layout = layout
        self._stream = Stream(self.connection, name)

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
            attempts = Attempts.at(operation, guard)
            response = self.connection.call(operation.method, operation.request(self.name), attempts)
            answer = answers.answer(operation, response, self.name)
        result: R = answer
        return result

    def close(self) -> None:
        self.connection.close()
