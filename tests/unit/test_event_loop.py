"""Code that waits, as work of an event loop: what waits gives the turn away, and what is cancelled ends there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import pytest

from shardweave.database.event_loop import on_loop
from shardweave.errors.outcomes import maybe_written, note_maybe_written
from shardweave.table.concurrency import run_concurrently
from shardweave.table.retry import RetryClock
from shardweave.table.waiting import Flag, Lock, loop_work, new_flag, sleep
from tests.unit.started_threads import started_threads

R = TypeVar("R")

SEEN: ContextVar[str] = ContextVar("seen", default="nothing")
AN_HOUR = 3600.0


def run(call: Callable[[], R]) -> R:
    return asyncio.run(on_loop(call))


async def started(call: Callable[[], R]) -> asyncio.Task[R]:
    """A task of the call, which waits by now."""
    task = asyncio.create_task(on_loop(call))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


def test_a_call_gives_what_it_gives_and_raises_what_it_raises() -> None:
    assert run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run(lambda: sleep(0.001) or 1 // 0)


def test_it_is_known_what_runs() -> None:
    assert loop_work() is None
    assert run(lambda: (loop_work() is not None, sleep(0), loop_work() is not None)) == (True, None, True)
    assert loop_work() is None

    async def elsewhere() -> None:
        task = await started(partial(sleep, 0.01))
        assert loop_work() is None
        await task

    asyncio.run(elsewhere())


def test_while_one_waits_others_go_on() -> None:
    told: list[str] = []

    def patient() -> None:
        told.append("a begins")
        for _ in range(1000):
            RetryClock().sleep(0.001)
            if "b ends" in told:
                break
        told.append("a ends")

    def brief() -> None:
        told.append("b begins")
        RetryClock().sleep(0)
        told.append("b ends")

    async def both() -> None:
        await asyncio.gather(on_loop(patient), on_loop(brief))

    asyncio.run(both())
    assert told == ["a begins", "b begins", "b ends", "a ends"]


def test_each_has_the_context_it_was_begun_in_and_changes_no_other() -> None:
    def work(name: str) -> tuple[str, str]:
        before = SEEN.get()
        SEEN.set(name)
        sleep(0)
        return before, SEEN.get()

    async def both() -> Any:
        SEEN.set("outside")
        found = await asyncio.gather(on_loop(partial(work, "a")), on_loop(partial(work, "b")))
        return found, SEEN.get()

    assert asyncio.run(both()) == ([("outside", "a"), ("outside", "b")], "outside")


# -- flags and locks --------------------------------------------------------------------------------------------------


def test_a_flag_is_set_by_other_work_or_another_thread() -> None:
    flags: list[Flag] = []

    def wait() -> str:
        flags.append(new_flag())
        flags[-1].wait(AN_HOUR)
        return "woken"

    async def whole() -> list[str]:
        first, second = await started(wait), await started(wait)
        flags[0].set()
        setter = threading.Thread(target=flags[1].set)
        setter.start()
        found = await asyncio.gather(first, second, on_loop(lambda: new_flag().set()))
        setter.join()
        return found[:2]

    assert asyncio.run(whole()) == ["woken", "woken"]
    flags[0].set()  # its loop is closed, and nobody waits


def test_a_flag_that_is_set_already_is_not_waited_for() -> None:
    def work() -> None:
        flag = new_flag()
        flag.set()
        flag.wait(None)

    run(work)


def test_a_lock_is_handed_on_in_the_order_in_which_it_was_asked_for() -> None:
    lock, told = Lock(), []

    def work(number: int) -> None:
        with lock:
            told.append(number)
            sleep(0.001)
            told.append(number)

    async def several() -> None:
        await asyncio.gather(*(on_loop(partial(work, number)) for number in range(4)))

    for _ in range(2):
        asyncio.run(several())
        assert told == [0, 0, 1, 1, 2, 2, 3, 3]
        told.clear()


@pytest.mark.parametrize("granted", [False, True])
def test_who_is_cancelled_while_waiting_for_a_lock_keeps_nobody_from_it(granted: bool) -> None:
    lock = Lock()
    release: list[Flag] = []
    waiting: list[asyncio.Task[str]] = []

    def hold() -> None:
        with lock:
            release.append(new_flag())
            release[0].wait(None)
        if granted:
            # It is handed on by now, and not yet taken.
            waiting[0].cancel()

    def take() -> str:
        with lock:
            return "had it"

    async def whole() -> str:
        holder = await started(hold)
        waiting.extend([await started(take), await started(take)])
        if not granted:
            waiting[0].cancel()
            await asyncio.sleep(0)
        await on_loop(release[0].set)
        await holder
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        return await waiting[1]

    assert asyncio.run(whole()) == "had it"


def test_a_lock_is_one_for_threads_and_loops() -> None:
    lock, inside, most = Lock(), [0], [0]

    def work(pause: Callable[[float], object]) -> None:
        for _ in range(50):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                pause(0.0001)
                inside[0] -= 1

    async def loop() -> None:
        await asyncio.gather(*(on_loop(partial(work, sleep)) for _ in range(4)))

    threads = [threading.Thread(target=asyncio.run, args=(loop(),)) for _ in range(2)]
    threads += [threading.Thread(target=work, args=(sleep,)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (inside, most) == ([0], [1])


# -- several pieces at a time -----------------------------------------------------------------------------------------


def test_several_pieces_are_under_way_at_once_and_no_more_than_allowed() -> None:
    under_way, most = [0], [0]

    counting = threading.Lock()

    def piece(number: int) -> tuple[int, str]:
        with counting:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        sleep(0.001 * (number % 3))
        with counting:
            under_way[0] -= 1
        return number * number, SEEN.get()

    def work() -> list[tuple[int, str]]:
        SEEN.set("the work's")
        return run_concurrently(piece, range(20), 4)

    with started_threads() as threads:
        assert run(work) == [(number * number, "the work's") for number in range(20)]
    assert most == [4]
    assert threads == []
    assert len(run_concurrently(piece, range(20), 4)) == 20, "and it is the same in threads"
    assert most == [4]


def test_what_a_piece_raises_is_raised_when_all_have_ended() -> None:
    ended: list[int] = []

    def piece(number: int) -> None:
        if number % 2:
            raise KeyError(number)
        sleep(0.005)
        ended.append(number)

    with pytest.raises(KeyError, match="1"):
        run(lambda: run_concurrently(piece, range(6), 6))
    assert ended == [0, 2, 4]


@pytest.mark.parametrize("sent", [False, True])
def test_cancelled_it_ends_all_pieces_and_says_what_they_say(sent: bool) -> None:
    ended: list[int] = []

    def piece(number: int) -> None:
        try:
            sleep(AN_HOUR)
        except BaseException as error:
            if sent and number == 1:
                note_maybe_written(error)
            ended.append(number)
            raise

    async def whole() -> BaseException:
        task = await started(lambda: run_concurrently(piece, range(4), 3))
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return cancelled.value

    assert maybe_written(asyncio.run(whole())) is sent
    assert ended == [0, 1, 2]


# -- what ends it -----------------------------------------------------------------------------------------------------


def test_a_cancellation_is_raised_where_it_waits() -> None:
    told: list[str] = []

    def work() -> None:
        try:
            sleep(AN_HOUR)
        except asyncio.CancelledError:
            told.append("cancelled")
            raise
        finally:
            sleep(0)
            told.append("put in order")

    async def whole() -> None:
        task = await started(work)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(whole())
    assert told == ["cancelled", "put in order"]


def test_a_time_limit_of_asyncio_ends_it() -> None:
    async def whole() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(on_loop(partial(sleep, AN_HOUR)), 0.01)

    asyncio.run(whole())
