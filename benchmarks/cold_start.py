"""What a cold start of the API function costs, against the parts that any function of its kind is made of."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from benchmarks.cold import environment
from benchmarks.cold.account import KNOWN, Account, known_shard
from benchmarks.cold.imports import by_package
from benchmarks.tables import Table

TITLE = "cold start: import and first request of the API function against its parts alone"
ROUNDS = 40
WARMING = 2
REPORTS = 8
TARGET_MS = 0.0
RESTORED = "restored"

OURS, ALONE = "the API function", "logger, metrics, validation, client"
MODULES = {OURS: "functions.api.handler", ALONE: "benchmarks.cold.parts_alone"}
REQUESTS = {
    "one record": (f"/v1/users/{KNOWN}", ""),
    "a page of ten, and a token for the next": ("/v1/users", "limit=10"),
}


@dataclass
class Side:
    """The cold starts of one module with one request, in milliseconds. `restored`: the first requests of copies that
    were made after the import."""

    imports: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    restored: list[float] = field(default_factory=list)

    @property
    def totals(self) -> list[float]:
        return [sum(pair) for pair in zip(self.imports, self.requests, strict=True)]


def run() -> list[Table]:
    account = Account()
    try:
        with environment.layer() as packages:
            variables = environment.variables(packages, account.url) | {"KNOWN_SHARD": known_shard()}
            return [*(measure(variables, request) for request in REQUESTS), imports(variables)]
    finally:
        account.close()


def measure(variables: Mapping[str, str], request: str) -> Table:
    """Rounds in which each side starts once in each way, in turn, so that what slows the machine slows both."""
    sides = {name: Side() for name in MODULES}
    for number in range(-WARMING, ROUNDS):
        order = list(sides)[:: 1 if number % 2 else -1]
        for name in order:
            times = start(variables, MODULES[name], *REQUESTS[request])
            snapshot = {**variables, "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
            restored = start(snapshot, MODULES[name], *REQUESTS[request], RESTORED)
            if number >= 0:
                sides[name].imports.append(times["import"])
                sides[name].requests.append(times["request"])
                sides[name].restored.append(restored["request"])
    return costs(request, sides)


def start(variables: Mapping[str, str], module: str, path: str, query: str, *way: str, **more: str) -> dict[str, Any]:
    """One cold start; `more` are variables of the process. What it reports of itself is under `report`."""
    command = [*environment.COMMAND, "benchmarks.cold.start", module, path, query, *way]
    done = subprocess.run(command, env={**variables, **more}, capture_output=True, text=True, check=True)
    times: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if times["status"] != 200:
        raise RuntimeError(f"{module} answered {times['status']}:\n{done.stdout[-2000:]}")
    return times | {"report": done.stderr}


def imports(variables: Mapping[str, str]) -> Table:
    """Where the imports' time goes. Reporting it makes each of them slower."""
    (request, *_) = REQUESTS.values()
    spent: dict[str, list[Mapping[str, float]]] = {name: [] for name in MODULES}
    for _ in range(REPORTS):
        for name, module in MODULES.items():
            report = start(variables, module, *request, PYTHONPROFILEIMPORTTIME="1")["report"]
            spent[name].append(by_package(report))
    packages = sorted({each for reports in spent.values() for report in reports for each in report})
    rows = [
        [package, *(min(report.get(package, 0.0) for report in reports) for reports in spent.values())]
        for package in packages
    ]
    return Table(
        "Where the time of the imports goes",
        ["package", *(f"{name}, ms" for name in MODULES)],
        rows,
        f"By `python -X importtime`, which slows them, best of {REPORTS}: all that is imported until one record is "
        "answered.",
    )


def costs(request: str, sides: Mapping[str, Side]) -> Table:
    rows: list[Sequence[Any]] = []
    for name, side in sides.items():
        parts = (side.imports, side.requests, side.totals)
        rows.append([name, *(cell for part in parts for cell in (min(part), statistics.median(part)))])
    for name, side in sides.items():
        cells = min(side.restored), statistics.median(side.restored)
        rows.append([f"{name}, restored", "", "", *cells, *cells])
    best, more = beyond(sides[OURS].totals, sides[ALONE].totals)
    restored_best, restored_more = beyond(sides[OURS].restored, sides[ALONE].restored)
    columns = [f"{part}, {kind} ms" for part in ("import", "first request", "both") for kind in ("best", "median")]
    return Table(
        f"A cold start that answers {request}",
        ["side", *columns],
        rows,
        f"More than the parts alone: {best:.0f} ms (best against best), {more:.0f} ms (median of pairs); the aim is at "
        f"most {TARGET_MS:.0f}; restored, {restored_best:.0f} and {restored_more:.0f} ms. {ROUNDS} fresh processes a "
        "side and way, in turn; modules compiled; DynamoDB and Secrets Manager answer at once on the loopback "
        "interface. Restored: from a copy of the process that is made after the imports, as SnapStart does it, to the "
        f"answer. aws-lambda-powertools {version('aws-lambda-powertools')}, boto3 {version('boto3')}, pydantic "
        f"{version('pydantic')}.",
        {
            "more_best_ms": best,
            "more_median_ms": more,
            "restored_more_best_ms": restored_best,
            "restored_more_median_ms": restored_more,
            "target_ms": TARGET_MS,
        },
    )


def beyond(ours: Sequence[float], alone: Sequence[float]) -> tuple[float, float]:
    """How much more one side takes than the other: best against best, and the median of pairs."""
    pairs = zip(ours, alone, strict=True)
    return min(ours) - min(alone), statistics.median(mine - other for mine, other in pairs)
