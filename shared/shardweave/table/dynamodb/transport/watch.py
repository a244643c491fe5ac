"""What a round waits for: sockets, each with what to do about it. Thinner than `selectors`: every lane pays for it.

Work of an event loop waits for the same sockets. The loop knows of them only while it does: of the one descriptor that
stands for all of them where the system has that, else of each. So nothing is left with a loop when a round ends, a loop
does not run in circles while a round is busy with something else, and a kept connection can serve any loop and thread.
"""

from __future__ import annotations

import math
import select
import socket
from typing import Any

from ...waiting import LoopFlag, LoopWork, loop_work

READ, WRITE = select.POLLIN, select.POLLOUT


def new_watch(*, many: bool) -> Watch:
    """For the thread that asks, or its event loop's work."""
    work = loop_work()
    return Watch(many=many) if work is None else LoopWatch(work, many=many)


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


class LoopWatch(Watch):
    """For one piece of an event loop's work."""

    def __init__(self, work: LoopWork, *, many: bool) -> None:
        super().__init__(many=many)
        self._work = work
        self._events: dict[int, int] = {}

    def add(self, sock: socket.socket, events: int, about: Any) -> int:
        number = super().add(sock, events, about)
        self._events[number] = events
        return number

    def change(self, number: int, events: int) -> None:
        super().change(number, events)
        self._events[number] = events

    def remove(self, number: int) -> None:
        super().remove(number)
        del self._events[number]

    def wait(self, seconds: float | None) -> list[tuple[socket.socket, Any]]:
        """As the other one's, but that the loop goes on meanwhile, in any case once."""
        loop, flag = self._work.loop, LoopFlag(self._work)
        watched = self._events if self._epoll is None else {self._epoll.fileno(): READ}
        try:
            for number, events in watched.items():
                if events & READ:
                    loop.add_reader(number, flag.wake)
                if events & WRITE:
                    loop.add_writer(number, flag.wake)
            flag.wait(seconds)
        finally:
            for number, events in watched.items():
                if events & READ:
                    loop.remove_reader(number)
                if events & WRITE:
                    loop.remove_writer(number)
        return super().wait(0)
