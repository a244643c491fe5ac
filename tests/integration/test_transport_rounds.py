"""Several calls of the direct transport at once, and what ends them."""

from __future__ import annotations

import os
import signal
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import DeadlineTooShort, ShardweaveError, TableUnavailable, Throttled
from shardweave.errors.outcomes import maybe_written
from shardweave.table.dynamodb.transport.connection import Clocks
from shardweave.table.dynamodb.transport.pool import Pool
from shardweave.table.dynamodb.transport.rounds import Attempted
from shardweave.table.many import Lanes, Outcome
from shardweave.table.operations import GetItem, Query
from tests.integration.local_server import START_SECONDS
from tests.integration.raw_server import (
    Peer,
    Request,
    answer,
    answered,
    item,
    open_files,
    says,
    transport_to,
    whole,
)
from tests.integration.transport_world import PUT, World, name_read, never, read, until

# -- several reads at once --------------------------------------------------------------------------------------------


def test_every_read_has_an_outcome_of_its_own(world: World) -> None:
    """A15, A21, A28."""

    def some_fail(peer: Peer, request: Request) -> None:
        kind = int(request.name) % 4
        if kind == 1:
            peer.close()
        elif kind == 2:
            peer.send(whole({"__type": "ThrottlingException"}, 400))
        else:
            answer(peer, request)

    server = world.server(some_fail)
    transport = world.transport(server)
    outcomes = transport.run_many(Lanes([read(str(number)) for number in range(64)], 8, never))
    for number, outcome in enumerate(outcomes):
        if number % 4 == 1:
            assert type(outcome.error) is TableUnavailable
        elif number % 4 == 2:
            assert type(outcome.error) is Throttled
        else:
            assert outcome.answer is not None
            assert outcome.answer.item is not None
            assert outcome.answer.item["hashKey"] == str(number)
        assert not outcome.late
    assert len(server.requests) == 64


def test_the_one_who_asks_decides_alone_what_is_sent_again(plain: World) -> None:
    """A28: the transport's own repeats do not multiply with theirs."""
    told: list[tuple[int, type[ShardweaveError], int]] = []

    def three_attempts(number: int, error: ShardweaveError, attempts: int) -> float | None:
        told.append((number, type(error), attempts))
        return 0.0 if attempts < 3 else None

    server = plain.server(lambda peer, _: peer.close())
    transport = plain.transport(server, max_attempts=5)
    (outcome,) = transport.run_many(Lanes([read("a")], 4, three_attempts))
    assert told == [(0, TableUnavailable, 1), (0, TableUnavailable, 2), (0, TableUnavailable, 3)]
    assert isinstance(outcome.error, TableUnavailable)
    assert len(server.requests) == 3


def test_a_read_that_can_not_be_asked_fails_alone(plain: World) -> None:
    """A28: requests are made one by one, when there is a connection for them."""
    transport = plain.transport(plain.server())
    wrong = GetItem({"hashKey": "\ud800", "rangeKey": "r"})
    good, bad, also_good = transport.run_many(Lanes([read("a"), wrong, read("b")], 2, never))
    assert bad.error is not None
    assert bad.error.code == "value_refused"
    assert good.answer is not None
    assert also_good.answer is not None


def test_what_has_no_time_left_is_late(world: World) -> None:
    """A12, A25: its connection is closed, and nobody waits for a pause that would end too late."""

    now, asked = [0.0], threading.Semaphore(0)

    def slow(peer: Peer, request: Request) -> None:
        if request.name == "slow":
            asked.release()
            peer.wait()
        elif request.name == "throttled":
            # The last of the slow ones is asked for when the first read of all has ended.
            for _ in range(3):
                asked.acquire(timeout=START_SECONDS)
            peer.send(whole({"__type": "ThrottlingException"}, 400))
        else:
            answer(peer, request)

    def pause(*_: Any) -> float:
        now[0] = 1.0
        return 60.0

    transport = world.transport(world.server(slow), clocks=Clocks(monotonic=lambda: now[0]))
    reads = [read("a"), read("slow"), read("throttled"), read("slow"), read("slow")]
    outcomes = transport.run_many(Lanes(reads, 4, pause, seconds=0.5))
    assert [outcome.late for outcome in outcomes] == [False, True, True, True, True]
    assert [type(outcome.error) for outcome in outcomes[1:3]] == [DeadlineTooShort, Throttled]
    assert transport.pool.idle <= 2
    assert name_read(transport, "b") == "of b"


def test_a_pause_that_would_end_too_late_is_not_waited_for(plain: World) -> None:
    """A25."""
    transport = plain.transport(plain.server(says(whole({"__type": "ThrottlingException"}, 400))))
    (outcome,) = transport.run_many(Lanes([read("a")], 1, lambda *_: 7200.0, seconds=3600))
    assert outcome.late
    assert isinstance(outcome.error, Throttled)


def test_reads_that_pause_hold_nothing(plain: World) -> None:
    """A22."""
    paused = threading.Event()

    def first_throttled(peer: Peer, request: Request) -> None:
        peer.send(whole({"__type": "ThrottlingException"}, 400))

    server = plain.server(first_throttled, answer)
    transport = plain.transport(server, connections=1)
    outcomes: list[Outcome[Any]] = []

    def pause(number: int, error: ShardweaveError, attempts: int) -> float:
        paused.set()
        return 0.5

    page = threading.Thread(target=lambda: outcomes.extend(transport.run_many(Lanes([read("a")], 1, pause))))
    page.start()
    assert paused.wait(START_SECONDS)
    assert transport.run_many(Lanes([read("b")], 1, never))[0].answer is not None
    page.join()
    assert outcomes[0].answer is not None


def test_single_calls_have_connections_that_no_page_takes(plain: World) -> None:
    """A22."""
    held, release = threading.Semaphore(0), threading.Event()

    def hold(peer: Peer, request: Request) -> None:
        if request.operation == "Query":
            held.release()
            release.wait(START_SECONDS)
        peer.send(whole(answered(request)))

    server = plain.server(hold)
    transport = plain.transport(server, connections=4)
    pages = [Query("hashKey", str(number), "rangeKey") for number in range(32)]
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(transport.run_many, Lanes(pages, 32, never)) for _ in range(3)]
        for _ in range(4):
            assert held.acquire(timeout=START_SECONDS)
        assert name_read(transport, "a") == "of a"
        assert not held.acquire(blocking=False)
        release.set()
        assert all(outcome.answer is not None for each in asked for outcome in each.result())
    assert server.connections <= 5


def test_no_number_of_callers_waits_for_each_other(plain: World) -> None:
    """A22: with one connection for all of them, and pauses."""
    count = iter(range(10**6))

    def sometimes(peer: Peer, request: Request) -> None:
        if next(count) % 5 == 0:
            peer.send(whole({"__type": "ThrottlingException"}, 400))
        else:
            peer.send(whole(answered(request)))

    server = plain.server(sometimes)
    transport = plain.transport(server, connections=1, max_attempts=9)

    def page(number: int) -> bool:
        reads = [read(f"{number}.{lane}") for lane in range(8)]
        outcomes = transport.run_many(Lanes(reads, 32, lambda *_: 0.001, seconds=START_SECONDS))
        return all(outcome.answer is not None for outcome in outcomes)

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(page, range(64)))
    assert server.connections <= 2


def test_guards_that_read_do_not_wait_for_each_other(plain: World) -> None:
    """A22: each holds a slot while it asks for another."""
    server = plain.server()
    transport = plain.transport(server, connections=1)
    all_in = threading.Barrier(2)

    def guard() -> None:
        all_in.wait(START_SECONDS)
        name_read(transport, "guarded")
        assert transport.run_many(Lanes([read("a"), read("b")], 2, never))[1].answer is not None

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(transport.run, PUT, guard) for _ in range(2)]:
            each.result(timeout=START_SECONDS)
    assert transport.pool.take_slot(single=False, until=0.0)


def test_the_first_slot_is_waited_for_no_longer_than_there_is_time() -> None:
    """A22."""
    now = [0.0]
    pool = Pool(1, lambda: now[0])
    assert pool.take_slot(single=False, until=None)
    assert not pool.try_slot(single=False)
    assert not pool.take_slot(single=False, until=0.0)
    assert pool.take_slot(single=True, until=0.0)
    pool.give_slots(1, pool.process, single=False)
    pool.give_slots(1, pool.process, single=True)
    assert pool.try_slot(single=False)


# -- exceptions -------------------------------------------------------------------------------------------------------


class Stopped(BaseException):
    """What a program is ended by."""


def test_what_a_guard_raises_closes_the_connection(world: World) -> None:
    """A4, A12: also an error of a kind that a socket raises."""
    server = world.server()
    transport = world.transport(server, max_attempts=3)
    name_read(transport, "a")
    for error in (ConnectionError(), TimeoutError(), ssl.SSLError(), BlockingIOError(), Stopped()):

        def refuse(error: BaseException = error) -> None:
            raise error

        with pytest.raises(type(error)) as raised:
            transport.run(PUT, refuse)
        assert raised.value is error
        assert not maybe_written(error)
        assert transport.pool.idle == 0
    assert len(server.requests) == 1
    assert name_read(transport, "a") == "of a"


def test_an_exception_in_a_round_closes_all_of_its_connections(world: World) -> None:
    """A12."""

    def half(peer: Peer, request: Request) -> None:
        if request.name == "fails":
            peer.send(whole({"__type": "ThrottlingException"}, 400))
        else:
            peer.send(whole(item(request.name))[:20])
            peer.wait()

    def stop(*_: Any) -> float:
        raise Stopped

    before = open_files()
    server = world.server(half)
    transport = world.transport(server)
    reads = [read("a"), read("b"), read("fails"), read("c")]
    with pytest.raises(Stopped):
        transport.run_many(Lanes(reads, 4, stop))
    assert transport.pool.idle <= 1
    transport.close()
    server.then(answer)
    assert name_read(transport, "d") == "of d"
    server.close()
    until(lambda: open_files() <= before)


def test_an_interrupt_between_request_and_reply_closes_the_connection(world: World) -> None:
    """A12, A30: an interrupt meets the work that waits in its thread; that of an event loop meets the loop, or
    whichever work is running just then, so that it may say nothing of the write."""

    def interrupt(peer: Peer, request: Request) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        peer.wait()

    def stop(*_: Any) -> None:
        raise Stopped

    def silence(peer: Peer, request: Request) -> None:
        peer.wait()

    # Only one request interrupts at a time: another would interrupt what comes after.
    server = world.server(interrupt, silence)
    transport = world.transport(server)
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(Stopped) as raised:
            transport.run(PUT)
        assert world.on_loop or maybe_written(raised.value)
        server.then(interrupt, silence)
        with pytest.raises(Stopped):
            transport.run_many(Lanes([read("a"), read("b")], 2, never))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert transport.pool.idle == 0
    server.then(answer)
    assert name_read(transport, "c") == "of c"


def test_a_signal_that_raises_nothing_changes_nothing(world: World) -> None:
    """A30."""

    def interrupt(peer: Peer, request: Request) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        answer(peer, request)

    transport = world.transport(world.server(interrupt))
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        assert [name_read(transport, name) for name in "abc"] == ["of a", "of b", "of c"]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_forked_process_has_connections_of_its_own(world: World) -> None:
    """A13: in both, every answer is the right one, and the parent's connections stay open."""
    server = world.server()
    transport = world.transport(server)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: name_read(transport, str(number)), range(40)))
    connections = server.connections
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert transport.pool.idle == 0
                for number in range(20):
                    assert name_read(transport, f"{child}.{number}") == f"of {child}.{number}"
                transport.close()
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
        for number in range(20):
            assert name_read(transport, f"parent {number}") == f"of parent {number}"
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    assert name_read(transport, "after") == "of after"
    assert server.connections == connections + len(children)


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_each_attempt_is_told_of_without_its_content(plain: World) -> None:
    """A42: and an observer that raises changes nothing."""
    told: list[Attempted] = []

    def observe(attempted: Attempted) -> None:
        told.append(attempted)
        raise ValueError

    def with_id(peer: Peer, request: Request) -> None:
        peer.send(whole(item(request.name), 200, "x-amzn-RequestId: id"))

    server = plain.server(lambda peer, _: peer.close(), with_id)
    transport = plain.transport(server, max_attempts=2, observe=observe)
    name_read(transport, "a")
    name_read(transport, "b")
    shown = [replace(each, milliseconds=0.0) for each in told]
    assert shown[1:] == [
        Attempted("get_item", 2, 200, "id", False, "", 0.0),
        Attempted("get_item", 1, 200, "id", True, "", 0.0),
    ]
    assert (shown[0].number, shown[0].status, shown[0].failure != "") == (1, 0, True)


def test_it_can_be_closed_while_it_is_used_and_used_after_that(world: World) -> None:
    """A44."""
    before = open_files()
    server = world.server()
    transport = world.transport(server)
    begun = threading.Barrier(5)

    def calls(number: int) -> None:
        begun.wait()
        for call in range(30):
            name_read(transport, f"{number}.{call}")

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(calls, number) for number in range(4)]
        begun.wait()
        transport.close()
        for each in running:
            each.result()
    assert name_read(transport, "after") == "of after"
    assert transport.pool.idle == 0
    server.close()
    until(lambda: open_files() <= before)


def test_what_is_not_closed_is_closed_when_it_is_forgotten(plain: World) -> None:
    """A44: without a warning."""
    server = plain.server()
    transport = transport_to(server)
    name_read(transport, "a")
    before = open_files()
    del transport
    until(lambda: open_files() <= before - 1)


def test_threads_get_their_own_answers(world: World) -> None:
    """A21: single calls and pages at the same time, with replies that are cut now and then."""
    count = iter(range(10**9))

    def sometimes(peer: Peer, request: Request) -> None:
        drawn = next(count) % 11
        if drawn == 3:
            peer.send(whole(answered(request))[:30])
            peer.close()
        elif drawn == 7:
            peer.send(whole(answered(request)) + whole(item("late")))
        else:
            peer.send(whole(answered(request)))

    server = world.server(sometimes)
    transport = world.transport(server, connections=6, max_attempts=9)

    def work(number: int) -> None:
        for call in range(15):
            if number % 2:
                name_read(transport, f"{number}.{call}")
            else:
                pages = [Query("hashKey", f"{number}.{call}.{lane}", "rangeKey") for lane in range(10)]
                outcomes = transport.run_many(Lanes(pages, 5, lambda *_: 0.0, seconds=START_SECONDS))
                for lane, outcome in enumerate(outcomes):
                    assert outcome.answer is not None
                    assert {each["hashKey"] for each in outcome.answer.items} == {f"{number}.{call}.{lane}"}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
