"""What a round waits for: sockets, each with what to do about it. Thinner than `selectors`: every lane pays for it."""

from __future__ import annotations

import math
import select
import socket
from typing import Any

READ, WRITE = select.POLLIN, select.POLLOUT


class Watch:
    """For one thread. For `many` sockets, the system keeps the list where it can."""

    def __init__(self, *, many: bool) -> None:
        self._epoll = select.epoll() if many and hasattr(select, "epoll") else None
        self._poll: Any = self._epoll or select.poll()
        self._watched: dict[int, tuple[socket.socket, Any]] = {}

    def add(self, sock: socket.socket, events: int, about: Any) -> int:
        """Watch a socket; gives the number by which it is changed and removed."""
        number = sock.fileno()
        self._poll.register(number, events)
        self._watched[number] = (sock, about)
        return number

    def change(self, number: int, events: int) -> None:
        """Wait for other events of it."""
        self._poll.modify(number, events)

    def remove(self, number: int) -> None:
        """Watch it no more."""
        del self._watched[number]
        self._poll.unregister(number)

    def wait(self, seconds: float | None) -> list[tuple[socket.socket, Any]]:
        """Those on which something happened, with what to do about each, as it was when they were added."""
        if self._epoll is not None:
            happened = self._epoll.poll(-1 if seconds is None else math.ceil(seconds * 1000) / 1000)
        else:
            happened = self._poll.poll(None if seconds is None else math.ceil(seconds * 1000))
        return [self._watched[number] for number, _ in happened]

    def close(self) -> None:
        if self._epoll is not None:
            self._epoll.close()
