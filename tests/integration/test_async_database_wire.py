"""The database for an event loop over our own transport: its work is the loop's, and no thread is started."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from shardweave import AsyncDatabase, CursorKeys, errors
from shardweave.errors.outcomes import maybe_written
from shardweave.query.runner import QueryRunner
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Waits
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.waiting import waits_on_loop
from tests.integration.ledger import LedgerServer, Lost
from tests.integration.scripted_server import Reply, table_over
from tests.unit.async_uses import USES, Use, fill
from tests.unit.database_world import SCHEMA, Account, Clock, accounts
from tests.unit.started_threads import started_threads
from tests.unit.write_ledger import Ledger

LONG = 3_600_000


class Wire:
    """A database on an event loop, and a server of the loopback interface that answers its requests."""

    def __init__(self) -> None:
        clock = Clock()
        self.server = LedgerServer()
        inner = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
        self.server.ledger = self.ledger = Ledger(inner)
        Store(SCHEMA, inner, clock=clock).decide_lookups()
        self.client = table_over("direct", SCHEMA.layout, "orders", self.server.url, max_attempts=1)
        self._clock = clock

    def open(self, threads: int = 8) -> AsyncDatabase:
        """A database over the one table."""
        table, clock = self.server.over(self.client, "orders"), self._clock
        maps = LeasedMaps(table, Waits(lease_ms=LONG), clock=clock)
        queries = QueryRunner(SCHEMA, table, CursorKeys("k", {"k": bytes(32)}), maps=maps, clock=clock)
        store = Store(SCHEMA, table, maps=maps, clock=clock, first=queries.first)
        return AsyncDatabase.over(store, queries, threads=threads)

    def asked(self, operation: str) -> int:
        return sum(request.operation == operation for request in self.server.requests)

    def holds(self) -> asyncio.Event:
        """The next write is carried out and never answered; set when it has arrived."""
        arrived, loop = asyncio.Event(), asyncio.get_running_loop()
        self.server.meanwhile = lambda: loop.call_soon_threadsafe(arrived.set)
        self.server.fates = [Lost(lambda _: Reply(silent=True))]
        return arrived

    def close(self) -> None:
        self.client.close()
        self.server.close()
        self.ledger.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()


def run(wire: Wire, work: Callable[[AsyncDatabase], Awaitable[Any]], **options: Any) -> list[str]:
    """Do something with a database of ten accounts. Gives the threads that were started for it, none of which is the
    server's."""

    async def whole() -> None:
        async with wire.open(**options) as db:
            await fill(db)
            await work(db)

    with started_threads() as names:
        asyncio.run(whole())
    return [name for name in names if not name.startswith("Thread-")]


@pytest.mark.parametrize("work", USES)
def test_it_does_what_the_other_one_does_without_a_thread(wire: Wire, work: Use) -> None:
    assert waits_on_loop(wire.client)
    assert run(wire, work) == []


def test_over_a_table_that_loops_can_not_use_it_has_threads(wire: Wire) -> None:
    wire.client.connection.client.close()
    assert not waits_on_loop(wire.client)

    async def whole() -> None:
        async with AsyncDatabase(SCHEMA, clock=Clock()) as db:
            await fill(db)

    with started_threads() as names:
        asyncio.run(whole())
    assert any(name.startswith("database") for name in names)


def test_many_tasks_share_the_connections_and_one_reading_of_the_shard_map(wire: Wire) -> None:
    """A21, A22, A32."""

    async def work(db: AsyncDatabase) -> None:
        wire.server.requests.clear()
        fresh = wire.open()
        found = await asyncio.gather(
            *(fresh.get(Account, f"red{number % 10:03}") for number in range(300)),
            *(fresh.count(Account, team_id="red") for _ in range(30)),
        )
        assert [getattr(each, "balance", each) for each in found] == [*(n % 10 for n in range(300)), *[10] * 30]
        await fresh.close()

    assert run(wire, work) == []
    assert wire.asked("GetItem") == 301
    assert wire.server.connections <= 36


def test_no_more_calls_are_under_way_than_it_may_have(wire: Wire) -> None:
    async def whole() -> None:
        async with wire.open(threads=2) as db:
            assert await asyncio.gather(*(db.get(Account, str(number)) for number in range(20))) == [None] * 20

    asyncio.run(whole())
    assert wire.server.connections == 2


def test_several_loops_use_one_database_one_after_the_other_and_at_once(wire: Wire) -> None:
    db = wire.open()

    async def work() -> None:
        for number in range(20):
            found = await db.get(Account, f"red{number % 10:03}")
            assert found is not None
            assert found.balance == number % 10

    asyncio.run(fill(db))
    asyncio.run(work())
    connections = wire.server.connections
    asyncio.run(work())
    assert wire.server.connections == connections, "those of the loop that has ended"
    at_once = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(3)]
    for each in at_once:
        each.start()
    for number in range(20):
        assert db.store.get(Account, f"red{number % 10:03}") is not None, "a thread uses it meanwhile"
    for each in at_once:
        each.join()
    asyncio.run(db.close())


# -- cancellation -----------------------------------------------------------------------------------------------------


def test_a_write_that_was_sent_and_is_cancelled_says_that_it_may_be_written(wire: Wire) -> None:
    """A1, A12."""

    async def work(db: AsyncDatabase) -> None:
        arrived = wire.holds()
        task = asyncio.create_task(db.update(Account, "red001", {"limit": 77}))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        assert maybe_written(cancelled.value)
        found = await db.get(Account, "red001")
        assert found is not None
        assert found.limit == 77

    assert run(wire, work) == []


def test_a_batch_that_was_sent_in_part_and_is_cancelled_says_that_it_may_be_written(wire: Wire) -> None:
    """A1: whichever of its pieces was sent."""

    async def work(db: AsyncDatabase) -> None:
        arrived = wire.holds()
        many = accounts(60, "blue")
        task = asyncio.create_task(db.batch_write(many))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        assert maybe_written(cancelled.value)

    assert run(wire, work) == []


def test_a_write_that_has_no_turn_yet_and_is_cancelled_says_that_nothing_is_written(wire: Wire) -> None:
    async def work(db: AsyncDatabase) -> None:
        arrived = wire.holds()
        first = asyncio.create_task(db.update(Account, "red001", {"limit": 77}))
        await arrived.wait()
        second = asyncio.create_task(db.update(Account, "red002", {"limit": 78}))
        await asyncio.sleep(0)
        for task in (second, first):
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await task
            assert maybe_written(cancelled.value) is (task is first)
        found = await db.get(Account, "red002")
        assert found is not None
        assert found.limit != 78

    run(wire, work, threads=1)


def test_a_time_limit_of_asyncio_is_a_cancellation_and_says_so_in_its_cause(wire: Wire) -> None:
    async def work(db: AsyncDatabase) -> None:
        arrived, limits = wire.holds(), []

        async def limited() -> None:
            async with asyncio.timeout(None) as limit:
                limits.append(limit)
                await db.update(Account, "red001", {"limit": 77})

        task = asyncio.create_task(limited())
        await arrived.wait()
        limits[0].reschedule(asyncio.get_running_loop().time())
        with pytest.raises(TimeoutError) as late:
            await task
        assert late.value.__cause__ is not None
        assert maybe_written(late.value.__cause__)

    run(wire, work)


def test_closing_waits_for_what_is_under_way(wire: Wire) -> None:
    async def whole() -> None:
        db = wire.open()
        await fill(db)
        calls = [asyncio.create_task(db.get(Account, f"red{number:03}")) for number in range(10)]
        await asyncio.sleep(0)
        await asyncio.gather(db.close(), db.close())
        assert all(call.done() for call in calls)
        assert [call.result().balance for call in calls if call.result() is not None] == [*range(10)]
        with pytest.raises(errors.InputError, match="it is closed"):
            await db.get(Account, "red000")

    asyncio.run(whole())


# -- what it needs ----------------------------------------------------------------------------------------------------


def test_without_greenlets_it_names_the_extra(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "shardweave.database.event_loop", raising=False)
    monkeypatch.setitem(sys.modules, "greenlet", None)
    with pytest.raises(errors.ConfigurationError, match=r"shardweave\[async\]"):
        wire.open()
    asyncio.run(AsyncDatabase(SCHEMA).close())
