"""The HTTP server: a listening socket on loopback, a line when it is ready, an orderly stop.

Guarantees: it listens on loopback only. The port is opened before anything else, so that a port in use is reported at
once. `ready <address>` is printed when the first request would be answered. After SIGTERM or SIGINT, running requests
have 5 seconds to finish; then a client that has not read its answer loses it.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from ..errors import ConfigurationError
from ..errors.exit_codes import Unavailable
from .asgi import AsgiApi
from .protocol import LimitedProtocol

GRACE_SECONDS = 5
LAST_SECONDS = 0.5
"""The part of those seconds that is left when unread answers are dropped."""
IDLE_SECONDS = 75
"""How long a connection is kept between two requests. A client that uses it just when it is closed does not learn what
became of its request, so this is longer than most clients keep a connection."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises ConfigurationError."""
    address = _loopback(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # asyncio turns off the delay that would make an answer take 40 ms only for a socket whose protocol is named.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((str(address), port))
        found.listen(128)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise Unavailable(f"{port} is in use", where="--port", fix="stop what uses it, or choose 0") from None
        raise ConfigurationError(
            f"{address} port {port} can't be used: {error.strerror}", where="--port", fix="choose another"
        ) from None
    return found


def address_of(listening: socket.socket) -> str:
    """The address for clients."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpServer(uvicorn.Server):
    """Serves the API until it is told to stop. `ready` is called when requests are answered, `stopping` when the stop
    begins, and `every_second` in between, on the event loop."""

    def __init__(
        self,
        app: AsgiApi,
        ready: Callable[[], None],
        protocol: type[LimitedProtocol] = LimitedProtocol,
        *,
        stopping: Callable[[], None] = lambda: None,
        every_second: Callable[[], None] = lambda: None,
    ) -> None:
        async def notify() -> None:
            every_second()

        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_keep_alive=IDLE_SECONDS,
            callback_notify=notify,
            timeout_notify=1,
        )
        super().__init__(config)
        self._ready = ready
        self._told_to_stop = stopping

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self.server_state.connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer requests, and call `ready`."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish running requests within the time limit, and accept no more."""
        self._told_to_stop()
        last_moment = asyncio.get_running_loop().call_later(GRACE_SECONDS - LAST_SECONDS, self._drop_untaken)
        await super().shutdown(sockets)
        last_moment.cancel()

    def _drop_untaken(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedProtocol) and connection.flow.write_paused:
                connection.transport.abort()


def _loopback(host: str) -> Any:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise ConfigurationError(f"{host!r} is not an address", where="--host", fix="use 127.0.0.1") from None
    if not address.is_loopback:
        raise ConfigurationError(
            "the local server is open to whoever reaches it, so it listens on loopback only",
            where="--host",
            fix="use 127.0.0.1, and deploy for others",
        )
    return address
