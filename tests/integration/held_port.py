"""A port of the loopback interface that nobody else is given, until the block ends."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """The port. It refuses connections until a server, which is told of it, listens there. One that was only looked
    for, and given back, could go to any other process meanwhile."""
    with socket.socket() as holder:
        # Both sockets allow it, so a server may have the port too; the system gives it to no one that asks for any.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        yield port
