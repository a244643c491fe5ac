"""How long a page over 256 lanes takes, and how much memory, against boto3 on a pool of threads; and without HTTP."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.fan.records import INDEX, LATENCY, LIMIT, SCHEMA, SHARDS, THROTTLE, PreparedTable
from benchmarks.fan.sides import SIDES
from benchmarks.lanes import started
from benchmarks.tables import Table
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec

TITLE = "fan_out: a page over 256 lanes against boto3 on a pool of threads"
ROUNDS, PAGES, WARMING = 20, 3, 5
BOUND = -(-SHARDS // THROTTLE) * LATENCY * 1000
TARGETS = {"ours": "1.50 x the bound", "ours, over botocore": "", "boto3 on a thread pool": "0.25"}


class Side:
    """A process that reads pages."""

    def __init__(self, name: str, url: str, stack: ExitStack) -> None:
        self.name = name
        self.rounds: list[float] = []
        self.pages: list[float] = []
        self.cpu: list[float] = []
        self._process: subprocess.Popen[str] = stack.enter_context(
            started(["benchmarks.fan.sides", name, url], Path(sys.executable))
        )

    def read(self, asked: int | str) -> Any:
        """Read so many pages, or one while memory is watched."""
        print(asked, file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())  # type: ignore[union-attr]
        if asked != "memory":
            self.rounds.append(statistics.mean(answer["pages"]))
            self.pages += answer["pages"]
            self.cpu.append(answer["cpu"])
        return answer


def run() -> list[Table]:
    with ExitStack() as stack:
        server = stack.enter_context(started(["benchmarks.fan.server"], Path(sys.executable)))
        url = server.stdout.readline().strip()  # type: ignore[union-attr]
        sides = [Side(name, url, stack) for name in SIDES]
        expected = [side.read(WARMING)["records"] for side in sides]
        if any(records != expected[0] or len(records) != LIMIT for records in expected):
            raise RuntimeError("the sides read other records")
        memory = [side.read("memory")["bytes"] for side in sides]
        for side in sides:
            side.rounds, side.pages, side.cpu = [], [], []
        for number in range(ROUNDS):
            for side in sides[:: 1 if number % 2 else -1]:
                side.read(PAGES)
    return [_times(sides), _alone(), _memory(sides, memory)]


def _times(sides: list[Side]) -> Table:
    rows: list[list[Any]] = []
    for side in sides:
        ratio = statistics.median(mine / other for mine, other in zip(sides[0].rounds, side.rounds, strict=True))
        best, target = min(side.pages), TARGETS[side.name]
        middle = statistics.median(side.pages)
        rows.append([side.name, best, middle, min(side.cpu), best / BOUND, middle / BOUND, ratio, target])
    columns = ["side", "best ms", "median ms", "CPU ms", "best / bound", "median / bound", "ours / side", "target"]
    return Table(
        f"A page of {LIMIT} over {SHARDS} lanes, {LATENCY * 1000:.0f} ms at the server for each, throttle {THROTTLE}",
        columns,
        rows,
        f"The bound is ceil({SHARDS} / {THROTTLE}) x {LATENCY * 1000:.0f} = {BOUND:.0f} ms. {ROUNDS} rounds of "
        f"{PAGES} pages, the sides in turn; the server is a process of its own on the loopback interface. The last "
        f"ratio is the median of pairs. CPU: the process that asks, all threads, a page. boto3 {version('boto3')}.",
    )


def _alone() -> Table:
    """The fan-out and the merge by themselves: the reads are waits of 10 ms in the same process."""
    rows: list[list[Any]] = []
    for latency in (0.0, LATENCY):
        table = PreparedTable(latency)
        runner = QueryRunner(SCHEMA, table, CursorKeys("bench", {"bench": b"b" * 32}), throttle=THROTTLE)
        times, cpu = [], []
        for _ in range(ROUNDS * PAGES):
            begun, began = time.perf_counter(), time.process_time()
            runner.run(QuerySpec("person", {}, INDEX, limit=LIMIT))
            times.append((time.perf_counter() - begun) * 1000)
            cpu.append((time.process_time() - began) * 1000)
        runner.close()
        bound = BOUND if latency else 0.0
        ratios = [min(times) / bound, statistics.median(times) / bound, 1.5] if bound else ["", "", ""]
        rows.append([f"{latency * 1000:.0f} ms", bound, min(times), statistics.median(times), min(cpu), *ratios])
    columns = ["each read", "bound ms", "best ms", "median ms", "CPU ms", "best / bound", "median / bound", "target"]
    return Table(
        f"The same page from a table in the same process that answers at once, or after {LATENCY * 1000:.0f} ms",
        columns,
        rows,
        "What plan, fan-out, merge, cursor and making the records cost, without requests and replies over HTTP.",
    )


def _memory(sides: list[Side], memory: list[int]) -> Table:
    rows = [[side.name, most / 1e6] for side, most in zip(sides, memory, strict=True)]
    return Table(
        f"Memory of a page over {SHARDS} lanes",
        ["side", "most MB at once"],
        rows,
        "What Python allocates while one page is read, beyond what it held before (tracemalloc).",
    )
