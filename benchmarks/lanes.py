"""What one lane costs: a Query of a page over HTTP, its records as native values, against other libraries."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.lane import peer
from benchmarks.lane.records import TABLES, page
from benchmarks.lane.sides import SIDES, VARIABLES
from benchmarks.tables import Table

TITLE = "lanes: CPU time of one Query against boto3 and pydynox"
ROOT = Path(__file__).parent.parent
ROUNDS = 60
CALLS = 15
WARMING = 100
TARGETS = {("records25", "pydynox"): 0.7, ("records3", "pydynox"): 0.6}


class Side:
    """A process that runs lanes of one library."""

    def __init__(self, name: str, python: Path, url: str, stack: ExitStack) -> None:
        self.name = name
        self.milliseconds: dict[str, list[float]] = {table: [] for table in TABLES}
        self._process = stack.enter_context(started(["benchmarks.lane.sides", name, url], python))

    def run(self, table: str, calls: int) -> Any:
        """Run so many lanes; gives the records of the last."""
        print(table, calls, file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())  # type: ignore[union-attr]
        self.milliseconds[table].append(answer["seconds"] / calls * 1000)
        return answer["records"]


@contextmanager
def started(module: Sequence[str], python: Path) -> Iterator[subprocess.Popen[str]]:
    """A module as a process, with pipes; it is ended when the context is."""
    environment = {**os.environ, **VARIABLES, "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
    command = [str(python), "-m", *module]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run() -> list[Table]:
    here = Path(sys.executable)
    with ExitStack() as stack:
        server = stack.enter_context(started(["benchmarks.lane.server"], here))
        url = server.stdout.readline().strip()  # type: ignore[union-attr]
        pythons = {name: peer.python() if name == peer.PACKAGE else here for name in SIDES}
        sides = [Side(name, python, url, stack) for name, python in pythons.items() if python is not None]
        for table in TABLES:
            measure(sides, table)
    return [costs(sides, table) for table in TABLES]


def measure(sides: list[Side], table: str) -> None:
    """Rounds in which every side runs the same lanes in turn, so that what slows the machine slows all of them."""
    expected = sides[0].run(table, WARMING)
    for side in sides[1:]:
        if side.run(table, WARMING) != expected:
            raise RuntimeError(f"{side.name} reads other records from {table} than {sides[0].name}")
    for side in sides:
        side.milliseconds[table].clear()
    for number in range(ROUNDS):
        for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
            side.run(table, CALLS)


def costs(sides: Sequence[Side], table: str) -> Table:
    ours = sides[0].milliseconds[table]
    rows: list[list[Any]] = []
    for side in sides:
        theirs = side.milliseconds[table]
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
        target = TARGETS.get((table, side.name), "")
        rows.append([side.name, min(theirs), statistics.median(theirs), min(ours) / min(theirs), ratio, target])
    if sides[-1].name != peer.PACKAGE:
        rows.append([peer.PACKAGE, "can't be installed here", "", "", "", ""])
    return Table(
        f"A page of {TABLES[table]} records",
        ["side", "min ms", "median ms", "ours / side (min)", "ours / side (median of pairs)", "target"],
        rows,
        f"CPU time of the process that asks, all of its threads, for one Query of {len(page(TABLES[table])):,} bytes "
        f"from a server on the loopback interface; {ROUNDS} rounds of {CALLS} lanes, the sides in turn. "
        f"boto3 {version('boto3')}, pydynox {peer.version()}.",
    )
