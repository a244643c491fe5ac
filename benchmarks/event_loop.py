"""What calls of a program on an event loop cost, as the loop's own work and from threads: many reads, and a page."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fan.records import INDEX, LATENCY, LIMIT, SCHEMA, SHARDS, TABLE, THROTTLE, Person
from benchmarks.lanes import started
from benchmarks.tables import Table
from shardweave import AsyncDatabase, CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Waits
from shardweave.store import Store
from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.metered import MeteredTable

TITLE = "event_loop: calls on an event loop, as its own work and from threads"
ROUNDS, CALLS, WARMING = 20, 1000, 2


@dataclass
class Side:
    """A database on the event loop, and what its rounds took. `asked` is what is measured, in so many tasks."""

    name: str
    db: AsyncDatabase
    wall: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)

    async def measure(self, what: str, ask: Callable[[AsyncDatabase], Awaitable[object]], *, keep: bool) -> None:
        begun, began = time.perf_counter(), time.process_time()
        await ask(self.db)
        wall, cpu = (time.perf_counter() - begun) * 1000, (time.process_time() - began) * 1000
        if keep:
            self.wall.setdefault(what, []).append(wall)
            self.cpu.setdefault(what, []).append(cpu)


async def gets(db: AsyncDatabase) -> None:
    """One read in each of many tasks."""
    found = await asyncio.gather(*(db.get(Person, f"p{number}") for number in range(CALLS)))
    if found != [None] * CALLS:
        raise RuntimeError("the server knows of no record")


async def page(db: AsyncDatabase) -> None:
    """One page over all shards."""
    found = await db.query(Person, index=INDEX, limit=LIMIT)
    if len(found.items) != LIMIT:
        raise RuntimeError("another page was expected")


ASKED: dict[str, Callable[[AsyncDatabase], Awaitable[None]]] = {"gets": gets, "page": page}


def run() -> list[Table]:
    here = Path(sys.executable)
    with ExitStack() as stack:
        server = stack.enter_context(started(["benchmarks.fan.server"], here))
        url = server.stdout.readline().strip()  # type: ignore[union-attr]
        measuring = stack.enter_context(started(["benchmarks.event_loop", url], here))
        told = json.loads(measuring.stdout.readline())  # type: ignore[union-attr]
    return [
        _table(told, "gets", f"{CALLS:,} tasks that read one record each", CALLS),
        _table(told, "page", f"A page of {LIMIT} over {SHARDS} lanes", SHARDS),
    ]


async def measured(url: str) -> dict[str, dict[str, Any]]:
    """Of each side, the milliseconds of each round."""
    async with AsyncExitStack() as stack:
        sides = [
            Side("work of the loop", _database(DynamoDBTable, url, "direct")),
            Side("threads", _database(_for_threads, url, "direct")),
            Side("threads, over botocore", _database(DynamoDBTable, url, "botocore")),
        ]
        for side in sides:
            stack.push_async_callback(side.db.close)
        for number in range(-WARMING, ROUNDS):
            for side in sides[:: 1 if number % 2 else -1]:
                for what, ask in ASKED.items():
                    await side.measure(what, ask, keep=number >= 0)
    return {side.name: {"wall": side.wall, "cpu": side.cpu} for side in sides}


def _database(table_of: Callable[..., Any], url: str, transport: str) -> AsyncDatabase:
    table = table_of(SCHEMA.layout, TABLE, endpoint_url=url, max_pool_connections=THROTTLE, transport=transport)
    maps = LeasedMaps(table, Waits())
    keys = CursorKeys("bench", {"bench": b"b" * 32})
    queries = QueryRunner(SCHEMA, table, keys, maps=maps, throttle=THROTTLE)
    return AsyncDatabase.over(Store(SCHEMA, table, maps=maps, first=queries.first), queries)


def _for_threads(*arguments: Any, **settings: Any) -> MeteredTable:
    """The same table, which does not say that loops can use it."""
    return MeteredTable(DynamoDBTable(*arguments, **settings))


def _table(told: dict[str, dict[str, Any]], what: str, title: str, requests: int) -> Table:
    bound = -(-requests // THROTTLE) * LATENCY * 1000
    of_loop = next(iter(told.values()))["cpu"][what]
    rows: list[list[Any]] = []
    for name, taken in told.items():
        wall, cpu = taken["wall"][what], taken["cpu"][what]
        ratio = statistics.median(mine / other for mine, other in zip(of_loop, cpu, strict=True))
        rows.append([name, min(wall), statistics.median(wall), min(cpu), statistics.median(wall) / bound, ratio])
    return Table(
        f"{title}, {LATENCY * 1000:.0f} ms at the server for each, throttle {THROTTLE}",
        ["side", "best ms", "median ms", "CPU ms", "median / bound", "CPU, the loop's / side"],
        rows,
        f"The bound is ceil({requests} / {THROTTLE}) x {LATENCY * 1000:.0f} = {bound:.0f} ms. {ROUNDS} rounds, the "
        f"sides in turn; the server is a process of its own on the loopback interface. CPU: the process that asks, all "
        f"threads, the best round; the ratio is the median of pairs.",
    )


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1]))), flush=True)
