"""Re-shards of a server under load, over HTTP: how fast, at what price, and what others notice of it."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.move.server import UNITS
from benchmarks.tables import Table
from tests.integration.local_server import LocalServer
from tests.integration.reshard_load import PATH, Load, Operating, Session, Timed, fill, waits_for

TITLE = "reshard: a server's records move under a load of reads, pages and writes"
USERS, MANY_USERS = 2_000, 20_000
BEFORE_SECONDS = 20
FOUR, SIXTEEN, SIXTY_FOUR = ({"charBits": 2, "chars": chars} for chars in (1, 2, 3))
EMPTYING = {"empty": "removed from the old space", "clean": "removed from the new space, taken back"}


@dataclass(frozen=True)
class Move:
    """One re-shard, and when it began and ended, in seconds of `monotonic`."""

    what: str
    version: int
    shards: str
    began: float
    ended: float


@dataclass(frozen=True)
class Measured:
    """All that came of it. `estimate` is what the server said before the first one."""

    users: int
    moves: list[Move]
    steps: dict[tuple[int, str, str], list[float]]
    units: list[dict[str, Any]]
    estimate: dict[str, Any]
    load: Load


def run() -> list[Table]:
    return run_with(USERS)


def run_full() -> list[Table]:
    return run_with(MANY_USERS)


def run_with(records: int) -> list[Table]:
    """With so many users."""
    measured = _measured(tuple(f"kept-{number}" for number in range(records)))
    return [_moves(measured), _prices(measured), _latencies(measured)]


def _measured(kept: tuple[str, ...]) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        fill(data, kept)
        arguments = "--empty", "--reshard-waits", waits_for(4 + len(kept) // 250)
        server = LocalServer.start(data, *arguments, module="benchmarks.move.server")
        try:
            load, session = Load(server, kept), Session(server)
            operator = Operating(session, len(kept))
            with load.running():
                time.sleep(BEFORE_SECONDS)
                estimate = session.call("POST", f"{PATH}/estimate", SIXTEEN)[1]
                moves = _moved(operator)
            session.close()
            if load.faults:
                raise RuntimeError(f"requests went wrong: {load.faults}")
            load.check_what_is_there()
        finally:
            server.stop()
        units = json.loads((data / UNITS).read_text())
    return Measured(len(kept), moves, operator.steps, units, estimate, load)


def _moved(operator: Operating) -> list[Move]:
    """There, two that are taken back, and back."""
    plots = [("", SIXTEEN), ("dual_old", SIXTY_FOUR), ("dual_new", SIXTY_FOUR), ("", FOUR)]
    moves = []
    for phase, target in plots:
        before = operator.status()["shards"]
        began = time.monotonic()
        operator.start(target)
        version = operator.status()["version"]
        if phase:
            operator.wait_until(lambda found, phase=phase: found["phase"] == phase and _has_begun(found))
            assert operator.aborts()
        operator.wait_for(moving=False)
        what = f"taken back in `{phase}`" if phase else "there" if target is SIXTEEN else "and back"
        shards = f"{before} to {4 ** target['chars']}"
        moves.append(Move(what, version, shards, began, time.monotonic()))
    return moves


def _has_begun(found: dict[str, Any]) -> bool:
    """Whether there is something to take back."""
    return bool(found["phase"] != "dual_old" or found["written"])


# -- tables -----------------------------------------------------------------------------------------------------------


def _moves(measured: Measured) -> Table:
    rows = []
    for move in measured.moves:
        copied = _units(measured, move.version, "copy")
        rows.append(
            [
                move.what,
                move.shards,
                copied["records"],
                round(move.ended - move.began, 1),
                *(_seconds(measured, move.version, phase, step) for phase, step in TIMED_STEPS),
                round(copied["records"] / max(0.1, _seconds(measured, move.version, "dual_old", "copy"))),
            ]
        )
    load = measured.load
    note = (
        f"{measured.users:,} users that stay as they are, and those that two writers create, change and remove "
        f"meanwhile; beside them a reader and two walkers, who never stop. {load.done['reads']:,} reads, "
        f"{load.done['writes']:,} writes, {load.done['walks']:,} whole walks: every walk met each user exactly once, "
        f"no request failed, {load.done['repeated']:,} were answered with 503 and repeated as documented. Movers, load "
        f"and server share the machine; seconds of a phase are with its waits, which are those of a test. "
        "What was taken back is emptied too, which has no column of its own."
    )
    columns = ["re-shard", "shards", "records copied", "seconds in all", "copying", "verifying", "emptying"]
    return Table("Re-shards under load", [*columns, "records a second"], rows, note)


TIMED_STEPS = (("dual_old", "copy"), ("dual_old", "verify"), ("purge", "empty"))


def _prices(measured: Measured) -> Table:
    rows = []
    records = measured.estimate["records"]
    for move in measured.moves:
        for step in ("copy", *EMPTYING):
            found = _units(measured, move.version, step)
            if not found["records"]:
                continue
            what = "copied" if step == "copy" else EMPTYING[step]
            expected = measured.estimate["copyUnits" if step == "copy" else "emptyUnits"] / records
            each = found["units"] / found["records"]
            rows.append(
                [f"{move.what}: {what}", found["records"], found["transactions"], found["units"], each, expected]
            )
    columns = ["re-shard", "records", "transactions", "write units", "units a record", "design"]
    note = (
        "As the table reports consumed capacity. The design's cost of a record of up to 1 KB in G indexes that project "
        "everything, 11 here: 4 + 2G units to copy, 2 + G to remove, and 2 a transaction of up to 25 records for the "
        "token."
    )
    return Table("Write units", columns, rows, note)


def _latencies(measured: Measured) -> Table:
    first = measured.moves[0]
    kinds = sorted({each.kind for each in measured.load.timed})
    rows = []
    for kind in kinds:
        timed = [each for each in measured.load.timed if each.kind == kind]
        before = [each for each in timed if each.began < first.began]
        during = [each for each in timed if first.began <= each.began < first.ended]
        rows.append([kind, *_percentiles(before), *_percentiles(during)])
    columns = ["request", "before: number", "median ms", "99 % ms", "during: number", "median ms ", "99 % ms "]
    note = (
        f"Over HTTP, repetitions included, in the {BEFORE_SECONDS} s before the first re-shard, and while it ran. "
        "While records move, a create, an update and a delete are transactions on both copies."
    )
    return Table("Latency of others' requests", columns, rows, note)


def _percentiles(timed: list[Timed]) -> list[Any]:
    milliseconds = sorted(each.seconds * 1000 for each in timed)
    if not milliseconds:
        return [0, "", ""]
    return [len(timed), statistics.median(milliseconds), milliseconds[len(milliseconds) * 99 // 100]]


def _units(measured: Measured, version: int, step: str) -> dict[str, Any]:
    found = [each for each in measured.units if (each["version"], each["step"]) == (version, step)]
    return found[0] if found else {"records": 0, "transactions": 0, "units": 0}


def _seconds(measured: Measured, version: int, phase: str, step: str) -> Any:
    seen = measured.steps.get((version, phase, step))
    return round(seen[1] - seen[0], 1) if seen else 0.0
