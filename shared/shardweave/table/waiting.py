"""How code waits that runs in a thread, or as work of an event loop.

The library is written once: it waits where it stands. In a thread that is all there is to it. Work of an event loop
(see `event_loop`) has no thread to itself: where it waits, it gives the turn to the loop, and goes on from there when
what it waits for has come. Whatever waits for longer than a moment does so by what is here.

A lock of `threading` is held only where nothing waits; a `Lock` may be held over a wait.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class LoopWork(Protocol):
    """A piece of work of an event loop. Its methods are for the work itself."""

    loop: AbstractEventLoop

    def wait_for(self, awaitable: Awaitable[R]) -> R:
        """What the loop waits for; the turn is given away until then. Raises what ends the work meanwhile, as a
        cancellation does."""

    def run_concurrently(self, work: Callable[[T], R], items: Collection[T], workers: int) -> list[R]:
        """See `concurrency`: as further work of the loop."""


class _Here(threading.local):
    work: LoopWork | None = None


_here = _Here()


def loop_work() -> LoopWork | None:
    """The work of an event loop that asks; None in a thread that may wait."""
    return _here.work


def step(work: LoopWork, go: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `go` gives, which carries `work` on until it next gives the turn away."""
    before, _here.work = _here.work, work
    try:
        return go(*args, **kwargs)
    finally:
        _here.work = before


def waits_on_loop(table: object) -> bool:
    """Whether whoever uses a table waits for it by what is here, so that work of an event loop may use it."""
    return bool(getattr(table, "waits_on_loop", False))


def sleep(seconds: float) -> None:
    """Go on after so many seconds."""
    work = loop_work()
    if work is None:
        time.sleep(seconds)
    else:
        LoopFlag(work).wait(seconds)


class Flag(Protocol):
    """Something that one waits for, and another one sets, once."""

    def wait(self, seconds: float | None) -> object:
        """Wait until it is set, at most so many seconds."""

    def set(self) -> None:
        """From any thread."""


def new_flag() -> Flag:
    """A flag that the caller waits for."""
    work = loop_work()
    return threading.Event() if work is None else LoopFlag(work)


class LoopFlag:
    """A `Flag` for which work of an event loop waits."""

    def __init__(self, work: LoopWork) -> None:
        self._work = work
        self._woken: Future[None] | None = None
        self._is_set = False

    def wait(self, seconds: float | None) -> None:
        loop = self._work.loop
        self._woken = woken = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, self.wake)
        try:
            # Set by another thread after this, it wakes this one, which is its loop's.
            if not self._is_set:
                self._work.wait_for(woken)
        finally:
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        """End the wait that is under way. To be called by the loop, and by its other work."""
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def set(self) -> None:
        self._is_set = True
        here = loop_work()
        if here is not None and here.loop is self._work.loop:
            self.wake()
            return
        # Of a loop that was closed, nobody waits.
        with contextlib.suppress(RuntimeError):
            self._work.loop.call_soon_threadsafe(self.wake)


class Lock:
    """A lock that is handed on in the order in which it was asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._waiting: deque[Flag] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn = new_flag()
            self._waiting.append(turn)
        try:
            turn.wait(None)
        except BaseException:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:
                    self._hand_on()
            raise

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._hand_on()

    def _hand_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._held = False
