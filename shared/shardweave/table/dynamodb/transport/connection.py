"""A connection to DynamoDB: a non-blocking socket, with or without TLS, and establishing it.

A connection has one owner at a time. An operation that would block returns None, and `wants_write` says whether it
waits for writing. A pooled connection is checked before it is reused, through TLS if there is TLS: it is usable only if
no data are waiting. Whether the socket is readable is not sufficient, since a healthy TLS 1.3 connection may have
received session tickets, and the system does not see bytes that are already decrypted. A connection that was idle for
long by either clock is not used either, since networks drop such connections silently, and a suspended process does not
notice the time.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

MAX_IDLE = 20.0
STAGGER = 0.25
"""Seconds between the connection attempts to the addresses of a host name."""

Address = tuple[int, Any]
"""An address family and the argument of `connect`."""

_BLOCKED = (BlockingIOError, InterruptedError, ssl.SSLWantReadError)
_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


@dataclass(frozen=True)
class Clocks:
    """`wall` returns epoch seconds, `boot` seconds including suspend time, `monotonic` the clock of deadlines."""

    wall: Callable[[], float] = time.time
    boot: Callable[[], float] = (
        (lambda: time.clock_gettime(time.CLOCK_BOOTTIME)) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
    )
    monotonic: Callable[[], float] = time.monotonic


class Connection:
    """A connected socket. `reused`: it was used for a complete exchange before."""

    def __init__(self, sock: socket.socket, clocks: Clocks) -> None:
        self.socket = sock
        self.reused = False
        self.wants_write = False
        self.has_tls = isinstance(sock, ssl.SSLSocket)
        self._clocks = clocks
        self._idle_since = (0.0, 0.0)

    def shake_hands(self) -> bool:
        """Continue the TLS handshake; True when it is complete, otherwise call again."""
        if not isinstance(self.socket, ssl.SSLSocket):
            return True
        self.wants_write = False
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return False
        return True

    def send(self, data: memoryview) -> int | None:
        """The number of sent bytes. None: unknown with TLS, and the same bytes must be sent again."""
        self.wants_write = False
        try:
            return self.socket.send(data)
        except (BlockingIOError, InterruptedError):
            self.wants_write = True
            return 0
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return None
        except ssl.SSLWantReadError:
            return None

    def receive(self, size: int) -> bytes | None:
        """The received bytes, up to a maximum; empty at the end of the stream."""
        try:
            return self.socket.recv(size)
        except _BLOCKED:
            return None
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return None

    def receive_into(self, space: memoryview) -> int | None:
        """The number of bytes received into `space`; 0 at the end of the stream."""
        try:
            return self.socket.recv_into(space)
        except _BLOCKED:
            return None
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return None

    def rest(self) -> None:
        """Mark the connection as idle."""
        self.reused = True
        self._idle_since = (self._clocks.wall(), self._clocks.boot())

    def is_usable(self) -> bool:
        """Whether a request may be sent after `rest`."""
        if self.is_old:
            return False
        try:
            self.socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    @property
    def is_old(self) -> bool:
        """Whether it was idle for too long, by either clock."""
        wall, boot = self._idle_since
        return not 0 <= self._clocks.wall() - wall < MAX_IDLE or self._clocks.boot() - boot >= MAX_IDLE

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def forget(self) -> None:
        """Close it only in this process, without a TLS shutdown, since the parent process still uses it."""
        with contextlib.suppress(OSError, ValueError):
            os.close(self.socket.detach())


class Connecting:
    """Connection attempts to a host name with several addresses: each address is tried a little after the one before,
    or when that one fails, and the first established connection is used."""

    def __init__(self, addresses: Sequence[Address], idle_seconds: float) -> None:
        self._left = list(addresses)
        self._idle_seconds = idle_seconds
        self.pending: list[socket.socket] = []
        self.next_at = 0.0
        self.reason = "NoAddress"

    def start_next(self, now: float) -> socket.socket | None:
        """Start connecting to the next possible address; None if there is none left."""
        while self._left:
            family, address = self._left.pop(0)
            self.next_at = now + STAGGER
            try:
                sock = _new_socket(family, self._idle_seconds)
            except OSError as error:
                self.reason = type(error).__name__
                continue
            try:
                sock.connect(address)
            except BlockingIOError:
                pass
            except OSError as error:
                self.reason = type(error).__name__
                sock.close()
                continue
            self.pending.append(sock)
            return sock
        return None

    @property
    def has_more(self) -> bool:
        """Whether there are addresses that were not tried yet."""
        return bool(self._left)

    def is_connected(self, sock: socket.socket) -> bool:
        """Whether a socket that is writable now is connected. If not, it is closed."""
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self.pending.remove(sock)
        if code == 0:
            return True
        self.reason = type(OSError(code, "")).__name__
        sock.close()
        return False

    def close(self) -> None:
        for sock in self.pending:
            sock.close()
        self.pending.clear()


def _new_socket(family: int, idle_seconds: float) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (*_KEEPALIVE, ("TCP_USER_TIMEOUT", int(idle_seconds * 1000))):
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    except OSError:
        sock.close()
        raise
    return sock
