"""What a create, an update and a batch of 1,000 cost over the bare boto3 calls that they come to."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.lane.sides import VARIABLES
from benchmarks.lanes import started
from benchmarks.tables import Table
from benchmarks.write.users import IDENTITY, SCHEMA, TABLE, properties
from services.user_service import User
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Store
from shardweave.store.operations import Put
from shardweave.table import Guard
from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.operations import Operation

TITLE = "writes: create, update and a batch of 1,000 over the bare boto3 calls"
ROUNDS = 25
BATCH = 1000

Request = tuple[str, dict[str, Any]]


class RecordingTable:
    """A table that keeps the requests it sends while it is told to."""

    def __init__(self, table: DynamoDBTable) -> None:
        self._table = table
        self.layout = table.layout
        self.guards_inside_writes = table.guards_inside_writes
        self.kept: list[Request] | None = None

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if self.kept is not None:
            self.kept.append((operation.method, operation.request(TABLE)))
        return self._table.run(operation, guard=guard)

    def close(self) -> None:
        self._table.close()


@dataclass
class Work:
    """One kind of write, by the library and by the calls that it comes to, with their CPU milliseconds."""

    name: str
    times: int
    write: Callable[[Store, int], Any]
    requests: list[Request] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    botocore: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


def run() -> list[Table]:
    os.environ.update(VARIABLES)
    with ExitStack() as stack:
        server = stack.enter_context(started(["benchmarks.write.server"], Path(sys.executable)))
        url = server.stdout.readline().strip()  # type: ignore[union-attr]
        works = measured(url)
    return [costs(works)]


def measured(url: str) -> list[Work]:
    import boto3

    # The read of the shard maps in force comes once in several writes, so it stands in none of the kinds.
    table = RecordingTable(DynamoDBTable(SCHEMA.layout, TABLE, endpoint_url=url, transport="direct"))
    other = DynamoDBTable(SCHEMA.layout, TABLE, endpoint_url=url, transport="botocore")
    client, store = boto3.client("dynamodb", endpoint_url=url), Store(SCHEMA, table, maps=StaticMaps())
    over_botocore = Store(SCHEMA, other, maps=StaticMaps())
    works = [
        Work("create, 6 generated properties", 20, lambda store, number: store.create(properties(number), User)),
        Work(
            "update of one property",
            20,
            lambda store, number: store.update(User, IDENTITY, {"phone": f"+1{number:010d}"}),
        ),
        Work(f"batch of {BATCH:,}", 1, lambda store, _: batch(store)),
    ]
    for work in works:
        table.kept = work.requests
        work.write(store, 0)
        table.kept = None
    for number in range(ROUNDS):
        for work in works:
            sides: list[tuple[list[float], Callable[[int], Any]]] = [
                (work.ours, partial(work.write, store)),
                (work.botocore, partial(work.write, over_botocore)),
                (work.bare, lambda _, work=work: bare(client, work.requests)),
            ]
            for milliseconds, side in sides[:: 1 if number % 2 else -1]:
                began = time.process_time()
                for each in range(work.times):
                    side(each)
                milliseconds.append((time.process_time() - began) * 1000 / work.times)
    table.close()
    other.close()
    return works


def batch(store: Store) -> None:
    if not store.batch_write([Put(properties(number), User) for number in range(BATCH)]).complete:
        raise RuntimeError("not everything was written")


def bare(client: Any, requests: list[Request]) -> None:
    """The same requests, ready-made, one after another."""
    for method, request in requests:
        getattr(client, method)(**request)


def costs(works: list[Work]) -> Table:
    rows = []
    for work in works:
        ratio = statistics.median(mine / other for mine, other in zip(work.ours, work.bare, strict=True))
        calls = ", ".join(f"{count} {name}" for name, count in counted(work.requests).items())
        best, before, least = min(work.ours), min(work.botocore), min(work.bare)
        saved = statistics.median(mine / other for mine, other in zip(work.ours, work.botocore, strict=True))
        rows.append([work.name, calls, best, before, least, best / before, saved, best / least, ratio])
    columns = ["write", "calls", "ours ms", "over botocore ms", "bare calls ms", "ours / over botocore (best)"]
    columns += ["(pairs)", "ours / bare (best)", "ours / bare (pairs)"]
    return Table(
        "CPU time of writes, and of the calls they come to",
        columns,
        rows,
        f"Validation, generated properties, conditions, rendering, and reading the answers, against the same requests "
        f"ready-made and sent by a plain boto3 {version('boto3')} client; best of {ROUNDS} rounds, the sides in turn, "
        f"against a server on the loopback interface.",
    )


def counted(requests: list[Request]) -> dict[str, int]:
    names = [method for method, _ in requests]
    return {name: names.count(name) for name in dict.fromkeys(names)}
