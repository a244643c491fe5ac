"""Two versions of a deployment by their logs: the verdict, and when there is none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardweave.api.emf_metrics import QueryMetrics
from shardweave.maintenance.version_metrics import LEAST, OK, UNDECIDED, WORSE, compared, figures_of
from tests.unit.cli_world import shardweave


def log(
    seed: int, count: int = 600, *, slower: float = 1.0, failures: float = 0.0, empty: float = 0.3, units: float = 2.0
) -> list[str]:
    """The log of a version."""
    drawn = random.Random(seed)
    lines = ["START RequestId: 1", "[]", "7"]
    for _ in range(count):
        failed = drawn.random() < failures
        request = {"message": "request", "method": "GET", "route": "/v1/users", "status": 500 if failed else 200}
        lines.append(json.dumps(request | {"milliseconds": drawn.lognormvariate(3, 0.5) * slower}))
        metrics: dict[str, Any] = {
            "Answers": [1.0],
            "Failures": [float(failed)],
            "ReadUnits": [drawn.uniform(0.5, 1.5) * units],
        }
        metrics |= {"EmptyAnswers": float(drawn.random() < empty), "stage": "prod"}
        lines.append(json.dumps({"_aws": {"Timestamp": 1}, **metrics}))
    return lines


def verdict(old: list[str], new: list[str], tolerance: float = 0.2) -> str:
    return compared(figures_of(old), figures_of(new), tolerance).verdict


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_the_same_version_is_as_good(seed: int) -> None:
    assert verdict(log(seed), log(seed + 1)) == OK


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"slower": 2.0}, "milliseconds of GET /v1/users"),
        ({"failures": 0.1}, "Failures"),
        ({"empty": 0.6}, "EmptyAnswers"),
        ({"units": 4.0}, "ReadUnits"),
    ],
)
def test_what_is_worse_is_named(change: dict[str, float], name: str) -> None:
    report = compared(figures_of(log(1)), figures_of(log(2, **change)))
    assert report.verdict == WORSE
    assert [each.name for each in report.figures if each.verdict == WORSE] == [name]
    assert verdict(log(2, **change), log(1)) == OK, "the other way it is better"


def test_a_single_failure_is_chance_and_a_tolerance_is_kept() -> None:
    assert verdict(log(1), [*log(2), json.dumps({"_aws": {}, "Failures": 1})]) == OK
    assert verdict(log(1), log(2, empty=0.6), tolerance=2) == OK


def test_too_few_requests_decide_nothing() -> None:
    assert verdict(log(1), log(2, LEAST - 1, failures=1.0)) == UNDECIDED
    assert compared(figures_of([]), figures_of([])).verdict == UNDECIDED


def test_lines_that_the_library_writes_are_understood() -> None:
    written: list[str] = []
    metrics = QueryMetrics(written.append, service="s", dimensions={"stage": "x"})
    metrics.count_unreadable(["user", "user"])
    metrics.flush()
    assert figures_of(written).values["UnreadableRecords"] == [2.0]


def test_versions_of_which_nothing_can_be_compared_are_undecided() -> None:
    def requests(route: str) -> list[str]:
        return [json.dumps({"method": "GET", "route": route, "status": 200, "milliseconds": 5})] * LEAST

    assert verdict(requests("/v1/users"), requests("/v1/emails")) == UNDECIDED
    assert verdict(requests("/v1/users"), requests("/v1/users")) == OK


def as_tail(lines: list[str]) -> list[str]:
    return [f"2026-01-01T00:00:00.000000+00:00 {line}" for line in lines]


def as_tail_of_json(lines: list[str]) -> list[str]:
    def pretty(line: str) -> str:
        try:
            return json.dumps(json.loads(line), indent=4)
        except ValueError:
            return line

    head = "2026-01-01T00:00:00.000000+00:00 2026/01/01/[7]3f"
    return "".join(f"{head} {pretty(line)}\n" for line in lines).splitlines(keepends=True)


def as_events(lines: list[str]) -> list[str]:
    document = {"events": [{"timestamp": 1, "message": line} for line in lines], "searchedLogStreams": []}
    return json.dumps(document, indent=4).splitlines(keepends=True)


@pytest.mark.parametrize("form", [as_tail, as_tail_of_json, as_events])
def test_a_log_is_read_in_each_form_that_cloudwatch_gives_it(form: Callable[[list[str]], list[str]]) -> None:
    lines = log(1)
    found, plain = figures_of(form(lines)), figures_of(lines)
    assert (found.requests, found.values) == (plain.requests, plain.values)
    assert found.requests == 600


@pytest.mark.parametrize("text", [b"no log\n", b"\x00\xff{\n", b'{"events": 5', b"{\n" * 50, b"[1]\n", b"{" * 9999])
def test_a_file_that_is_no_log_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("\n".join(log(1)))
    (tmp_path / "new").write_bytes(text)
    for names in (("old", "new"), ("new", "old")):
        outcome = shardweave("compare-metrics", *(str(tmp_path / name) for name in names))
        assert outcome.code == 2
        assert "has no line of a log" in outcome.errors
    (tmp_path / "new").write_bytes(b"")
    assert shardweave("compare-metrics", str(tmp_path / "old"), str(tmp_path / "new")).code == 3, "none is there yet"


def test_the_command(tmp_path: Path) -> None:
    for name, lines in (("old", log(1)), ("same", log(2)), ("worse", log(3, failures=0.2)), ("few", log(4, 9))):
        (tmp_path / name).write_text("\n".join(lines))
    old = str(tmp_path / "old")
    codes = {
        name: shardweave("compare-metrics", old, str(tmp_path / name)) for name in ("same", "worse", "few", "none")
    }
    assert {name: outcome.code for name, outcome in codes.items()} == {"same": 0, "worse": 1, "few": 3, "none": 2}
    assert "600 requests, now 600: worse" in codes["worse"].output
    (document,) = shardweave("compare-metrics", old, str(tmp_path / "worse"), "--json").lines
    assert document["verdict"] == "worse"
    assert shardweave("compare-metrics", old, old, "--tolerance", "-1").code == 2
