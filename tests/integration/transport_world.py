"""Servers that misbehave on purpose, with and without TLS, and direct transports to them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardweave.errors import ShardweaveError
from shardweave.table.dynamodb.transport.direct import DirectTransport
from shardweave.table.operations import GetItem, PutItem
from tests.integration.local_server import START_SECONDS
from tests.integration.raw_server import (
    RawServer,
    Turn,
    transport_to,
)


def read(name: str) -> GetItem:
    return GetItem({"hashKey": name, "rangeKey": "r"})


PUT = PutItem({"hashKey": "h", "rangeKey": "r"})


def never(number: int, error: ShardweaveError, attempts: int) -> None:
    """Nothing is sent again."""


@dataclass
class World:
    """Makes servers, with or without TLS, and transports to them, whose calls are work of event loops or not; closes
    them at the end."""

    trusted: Path
    context: ssl.SSLContext | None
    on_loop: bool = False

    def __post_init__(self) -> None:
        self._made: list[Any] = []

    def server(self, *turns: Turn, **options: Any) -> RawServer:
        server = RawServer(*turns, context=self.context, **options)
        self._made.append(server)
        return server

    def transport(self, server: RawServer, **settings: Any) -> DirectTransport:
        made = transport_to(server, self.trusted, on_loop=self.on_loop, **settings)
        self._made.insert(0, made)
        return made

    def close(self) -> None:
        for each in self._made:
            each.close()


def name_read(transport: DirectTransport, name: str) -> Any:
    found = transport.run(read(name)).item
    assert found is not None
    assert found["hashKey"] == name
    return found["note"]


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.002)
