"""How many records get their keys in a second: ours in each key format, and entity-manager on Node."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.key import peer
from benchmarks.tables import Table

TITLE = "key_building: records a second against entity-manager on Node"
ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "data" / "entity_manager_8_0_vectors.json"
FORMATS = ("ordered", "article", "entity_manager")
TARGET = 1.5
ROUNDS, TIMES, WARMING = 40, 30, 200


class Side:
    """A process that builds keys."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, stack: ExitStack) -> None:
        self.name = name
        self.rates: list[float] = []
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
        self._process = stack.enter_context(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
            )
        )
        stack.callback(self._process.kill)

    def build(self, times: int, users: int) -> Any:
        """Build the keys of all users so many times, and give the last record."""
        print(times, file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())  # type: ignore[union-attr]
        self.rates.append(times * users / answer["seconds"])
        return answer["last"]


def run() -> list[Table]:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    users = len(golden["users"])
    with ExitStack() as stack:
        ours = [
            Side(each, [sys.executable, "-P", "-m", "benchmarks.key.side", str(GOLDEN), each], ROOT, stack)
            for each in FORMATS
        ]
        folder = peer.installed()
        theirs = None if folder is None else Side("", [peer.node(), "side.mjs", str(GOLDEN)], folder, stack)
        sides = [*ours, *([] if theirs is None else [theirs])]
        last = {side.name: side.build(WARMING, users) for side in sides}
        if theirs is not None and last[""] != golden["users"][-1]["record"] | last[""]:
            raise RuntimeError("entity-manager builds other keys than the golden ones")
        if last["entity_manager"] != golden["users"][-1]["record"]:
            raise RuntimeError("the entity_manager format builds other keys than the golden ones")
        for side in sides:
            side.rates.clear()
        for number in range(ROUNDS):
            for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
                side.build(TIMES, users)
    return [_table(ours, theirs)]


def _table(ours: Sequence[Side], theirs: Side | None) -> Table:
    rows: list[list[Any]] = []
    for side in ours:
        ratio: Any = ""
        if theirs is not None:
            ratio = statistics.median(mine / other for mine, other in zip(side.rates, theirs.rates, strict=True))
        rows.append([f"ours, {side.name}", max(side.rates), statistics.median(side.rates), ratio, TARGET])
    if theirs is not None:
        rows.append(
            [f"entity-manager {peer.VERSION} on Node", max(theirs.rates), statistics.median(theirs.rates), "", ""]
        )
    else:
        rows.append([f"entity-manager {peer.VERSION}", "can't be installed here", "", "", ""])
    return Table(
        "Records that get their keys in a second of CPU",
        ["side", "best", "median", "ours / entity-manager (median of pairs)", "target"],
        rows,
        f"The 150 golden users, {TIMES} times in each of {ROUNDS} rounds, the sides in turn; whole records are built. "
        "Seconds of CPU, of the thread that builds. "
        f"`ordered` is the default; `entity_manager` builds the same keys as the other side, with its hash.",
    )
