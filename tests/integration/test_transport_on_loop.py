"""The direct transport as the work of one event loop: many calls at once, and what ends them from outside."""

from __future__ import annotations

import asyncio
import itertools
import random
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shardweave.database.event_loop import on_loop
from shardweave.errors.outcomes import maybe_written
from shardweave.table.dynamodb.transport.pool import Pool
from shardweave.table.many import Lanes
from shardweave.table.operations import PutItem
from tests.integration.raw_server import Peer, Request, answer, answered, item, open_files, whole
from tests.integration.transport_world import PUT, World, name_read, never, read, until
from tests.unit.started_threads import started_threads


@pytest.fixture
def plain(certificates: tuple[Path, ssl.SSLContext]) -> Iterator[World]:
    made = World(certificates[0], None)
    yield made
    made.close()


@pytest.fixture
def secure(certificates: tuple[Path, ssl.SSLContext]) -> Iterator[World]:
    made = World(*certificates)
    yield made
    made.close()


@pytest.fixture(params=["plain", "secure"])
def world(request: pytest.FixtureRequest) -> World:
    found: World = request.getfixturevalue(request.param)
    return found


async def begun(call: Callable[[], Any], holds: Callable[[], object]) -> asyncio.Task[Any]:
    """A task of a call, when something holds."""
    task = asyncio.create_task(on_loop(call))
    while not holds():
        await asyncio.sleep(0.002)
    return task


async def cancelled(task: asyncio.Task[Any]) -> BaseException:
    """What a task that is cancelled ends with."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await task
    return ended.value


# -- many at once -----------------------------------------------------------------------------------------------------


def test_tasks_get_their_own_answers_over_a_few_connections_without_a_thread(world: World) -> None:
    """A21, A22: single calls and pages, with replies that are cut now and then."""
    count = itertools.count()

    def sometimes(peer: Peer, request: Request) -> None:
        drawn = next(count) % 11
        if drawn == 3:
            peer.send(whole(item(request.name))[:30])
            peer.close()
        elif drawn == 7:
            peer.send(whole({"__type": "ThrottlingException"}, 400))
        else:
            answer(peer, request)

    server = world.server(sometimes)
    url = server.url.replace("localhost", "127.0.0.1")
    transport = world.transport(server, url=url, max_attempts=9, draw=lambda: 0.0)

    most: list[int] = []

    def page(number: int) -> list[str]:
        lanes = Lanes([read(f"{number}.{lane}") for lane in range(12)], 6, lambda *_: 0.0)
        most.append(sum(peer.is_open for peer in server.peers))
        return [outcome.answer.item["note"] for outcome in transport.run_many(lanes) if outcome.answer is not None]  # type: ignore[index]

    async def all_of_them() -> None:
        singles = [on_loop(partial(name_read, transport, str(number))) for number in range(150)]
        pages = [on_loop(partial(page, number)) for number in range(10)]
        found = await asyncio.gather(*singles, *pages)
        assert found[:150] == [f"of {number}" for number in range(150)]
        assert found[150:] == [[f"of {number}.{lane}" for lane in range(12)] for number in range(10)]

    with started_threads() as names:
        for _ in range(2):
            asyncio.run(all_of_them())
    assert [name for name in names if not name.startswith("Thread-")] == []
    assert max(most) <= 9
    assert transport.pool.take_slot(single=False, until=0.0)


def test_slots_go_to_whoever_waits_longest_and_may_have_one() -> None:
    """A22: a page and single calls take turns as they came, and the reserve is for single calls."""
    pool, told = Pool(1, lambda: 0.0), []

    def wait(name: str) -> None:
        assert pool.take_slot(single=name.startswith("single"), until=None)
        told.append(name)

    async def whole_story() -> None:
        await asyncio.gather(on_loop(partial(wait, "round 1")), on_loop(partial(wait, "single 1")))
        names = ("single 2", "round 2", "single 3", "round 3")
        waiting = [await begun(partial(wait, name), lambda: True) for name in names]
        for single in (True, True, True, False, False):
            await asyncio.sleep(0)
            pool.give_slots(1, pool.process, single=single)
            await asyncio.sleep(0.001)
        await asyncio.gather(*waiting)

    asyncio.run(whole_story())
    assert told == ["round 1", "single 1", "single 2", "single 3", "round 2", "round 3"]


@pytest.mark.parametrize("granted", [False, True])
def test_who_is_cancelled_while_waiting_for_a_slot_keeps_nobody_from_it(granted: bool) -> None:
    """A22."""
    pool = Pool(1, lambda: 0.0)

    async def whole_story() -> None:
        assert pool.take_slot(single=False, until=None)
        waiting = [await begun(partial(pool.take_slot, single=False, until=None), lambda: True) for _ in range(2)]
        await asyncio.sleep(0)
        if granted:
            pool.give_slots(1, pool.process, single=False)
        await cancelled(waiting[0])
        if not granted:
            pool.give_slots(1, pool.process, single=False)
        assert await waiting[1]

    asyncio.run(whole_story())
    assert not pool.try_slot(single=False)


def test_a_guard_that_waits_holds_nobody_else_up(plain: World) -> None:
    """A4, A22: it reads, over the one connection that there is beside its own, and others go on."""
    server = plain.server()
    transport = plain.transport(server, connections=1)

    def guard() -> None:
        name_read(transport, "guarded")
        assert transport.run_many(Lanes([read("a"), read("b")], 2, never))[1].answer is not None

    async def several() -> None:
        await asyncio.gather(*(on_loop(partial(transport.run, PUT, guard)) for _ in range(20)))

    asyncio.run(several())
    assert sum(request.operation == "PutItem" for request in server.requests) == 20
    assert transport.pool.take_slot(single=False, until=0.0)


def test_a_name_is_asked_for_once_by_all_who_need_it(plain: World) -> None:
    """A26."""
    server = plain.server()
    transport = plain.transport(server)

    async def several() -> list[Any]:
        return await asyncio.gather(*(on_loop(partial(name_read, transport, str(number))) for number in range(40)))

    with started_threads() as names:
        assert asyncio.run(several()) == [f"of {number}" for number in range(40)]
    assert [name for name in names if not name.startswith("Thread-")] == ["asyncio_0"]


# -- what ends them ---------------------------------------------------------------------------------------------------


def half(peer: Peer, request: Request) -> None:
    peer.send(whole(answered(request))[:20])
    peer.wait()


@pytest.mark.parametrize("turn", [half, lambda peer, _: peer.wait()], ids=["half a reply", "no reply"])
def test_what_is_cancelled_closes_its_connections_and_says_whether_it_may_be_written(world: World, turn: Any) -> None:
    """A1, A12."""
    before = open_files()
    server = world.server(turn)
    transport = world.transport(server)

    async def whole_story() -> None:
        task = await begun(partial(transport.run, PUT), lambda: len(server.requests) == 1)
        assert maybe_written(await cancelled(task))
        reads = Lanes([read(str(number)) for number in range(5)], 5, never)
        task = await begun(partial(transport.run_many, reads), lambda: len(server.requests) == 6)
        assert not maybe_written(await cancelled(task))
        assert transport.pool.idle == 0
        server.then(answer)
        assert await on_loop(partial(name_read, transport, "a")) == "of a"

    asyncio.run(whole_story())
    transport.close()
    server.close()
    until(lambda: open_files() <= before)


def test_what_is_cancelled_before_it_is_sent_is_not_written(plain: World, secure: World) -> None:
    """A1, A12, A27: in a handshake, and while a large request leaves."""
    before = open_files()
    silent, slow = secure.server(mute=True), plain.server(lambda peer, _: peer.wait(), heads_only=True)
    large = PutItem({"hashKey": "h", "rangeKey": "r", "text": "x" * 20_000_000})

    async def whole_story() -> None:
        for transport, put, known in (
            (secure.transport(silent), PUT, silent.peers),
            (plain.transport(slow), large, slow.requests),
        ):
            task = await begun(partial(transport.run, put), partial(len, known))
            assert not maybe_written(await cancelled(task))
            assert transport.pool.idle == 0

    asyncio.run(whole_story())
    for server in (silent, slow):
        server.close()
    until(lambda: open_files() <= before)


def test_what_is_cancelled_at_any_moment_never_says_less_than_is_true(world: World) -> None:
    """A1, A12, A15, A44: against the server's own list; answers that are read are the right ones all the while."""
    arrived, lock = set(), threading.Lock()

    def note(peer: Peer, request: Request) -> None:
        if request.operation == "PutItem":
            with lock:
                arrived.add(request.name)
        answer(peer, request)

    before = open_files()
    server = world.server(note)
    transport = world.transport(server, url=server.url.replace("localhost", "127.0.0.1"))
    draw = random.Random(18)
    said: dict[str, bool] = {}

    async def write(name: str) -> None:
        task = asyncio.create_task(on_loop(partial(transport.run, PutItem({"hashKey": name, "rangeKey": "r"}))))
        for _ in range(draw.randrange(12)):
            await asyncio.sleep(0)
        if draw.random() < 0.3:
            await asyncio.sleep(draw.random() * 0.01)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            said[name] = maybe_written(error)
        else:
            said[name] = True

    async def all_of_them() -> None:
        for batch in range(12):
            names = [f"{batch}.{number}" for number in range(25)]
            reads: list[Awaitable[Any]] = [on_loop(partial(name_read, transport, name)) for name in names]
            await asyncio.gather(*map(write, names), *reads)

    asyncio.run(all_of_them())
    transport.close()
    server.close()
    assert not {name for name in arrived if not said[name]}, "each that arrived may have been carried out"
    assert not all(said.values()), "some were cancelled before they were sent"
    assert transport.pool.take_slot(single=False, until=0.0), "and no slot is lost"
    until(lambda: open_files() <= before)
