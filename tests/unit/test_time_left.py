"""How long a command still takes: told with its progress, from what this run has done in its time."""

from __future__ import annotations

import io
import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from shardweave.cli.console import Streams
from shardweave.cli.main import main
from shardweave.cli.time_left import TimeLeft, duration
from shardweave.errors import AccessDenied

SERVICE = """from shardweave import ORDERED, Entity, Schema, Unique, unique_property


class Person(Entity, token="person"):
    person_id: str = unique_property()
    name: str
    by_name = Unique("name")


def schema(key_format=ORDERED):
    return Schema([Person], key_format=key_format)
"""
COUNT = 250


class Told:
    """What a command said and wrote, of which every look at the clock takes 11 s."""

    def __init__(self, *arguments: str, given: bytes = b"") -> None:
        seconds = count(0, 11)
        stdout, stderr = io.BytesIO(), io.StringIO()
        streams = Streams(io.BytesIO(given), stdout, stderr, monotonic=lambda: float(next(seconds)))
        self.code = main(arguments, streams)
        self.said, self.written = stderr.getvalue(), stdout.getvalue().decode()
        self.left = re.findall(r"; (.*) to go$", self.said, re.MULTILINE)

    @property
    def report(self) -> Any:
        """The JSON document."""
        (line,) = self.written.splitlines()
        return json.loads(line)


@pytest.fixture
def where(tmp_path: Path) -> tuple[str, ...]:
    service = tmp_path / "people.py"
    service.write_text(SERVICE)
    return "--service", str(service), "--data", str(tmp_path / "data")


def people() -> bytes:
    return b"".join(json.dumps({"personId": f"p{n}", "name": f"n{n}"}).encode() + b"\n" for n in range(COUNT))


def test_it_is_told_from_the_second_time_on_by_what_was_done_between() -> None:
    now, amount = [100.0], [1000]
    left = TimeLeft(lambda: amount[0], monotonic=lambda: now[0])
    assert left.told() == "", "nothing is done"
    left.is_at(400)
    assert left.told() == "", "what earlier runs have done took no time here"
    now[0] += 10
    left.is_at(500)
    assert left.told() == "; at most about 50 s to go"
    now[0] += 50
    left.is_at(1000)
    assert left.told() == ""


def test_where_the_amount_is_not_known_nothing_is_told() -> None:
    def refused() -> int:
        raise AccessDenied("no", where="table", fix="ask")

    for amount in (refused, lambda: 0):
        now = count(0, 10)
        left = TimeLeft(amount, monotonic=lambda now=now: float(next(now)))  # type: ignore[misc]
        for done in (1, 2):
            left.is_at(done)
        assert left.told() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h")])
def test_durations(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def test_each_command_on_a_table_tells_it_and_reports_in_json(where: tuple[str, ...], tmp_path: Path) -> None:
    lines = tmp_path / "people.jsonl"
    lines.write_bytes(people())
    loaded = Told("load", str(lines), "--json", *where)
    assert (loaded.code, loaded.report) == (0, {"written": COUNT, "refused": 0})
    assert loaded.left
    assert all(re.fullmatch(r"about \d+ (s|min|h)", each) for each in loaded.left), "of a file it is known"
    rewritten = Told("rewrite", "--json", *where)
    assert rewritten.report["entities"] == [
        {"entity": "person", "read": COUNT, "written": 0, "refused": 0, "named": []}
    ]
    assert [each["ready"] for each in rewritten.report["lookups"]] == [True]
    filled = Told("backfill", "--again", "--json", *where)
    assert filled.report["lookups"] == [
        {"entity": "person", "lookup": "name", "read": COUNT, "filled": 0, "refused": 0, "ready": True, "named": []}
    ]
    exported = Told("export", str(tmp_path / "export"), "--json", *where)
    assert exported.report == {"lines": {"person": COUNT}}
    imported = Told("import", str(tmp_path / "export"), "--json", *where)
    assert {name: imported.report[name] for name in ("lines", "written", "there", "named")} == {
        "lines": COUNT,
        "written": 0,
        "there": COUNT,
        "named": [],
    }
    compared = Told("compare", "--with-export", str(tmp_path / "export"), "--json", *where)
    assert compared.report["equal"] == COUNT
    scanned = Told("scan", "--entity", "person", *where)
    assert len(scanned.written.splitlines()) == COUNT
    for told in (rewritten, filled, exported, scanned, compared):
        assert told.code == 0, told.said
        assert told.left, told.said
        assert all(re.fullmatch(r"at most about \d+ (s|min|h)", each) for each in told.left)
    assert all(each.startswith("about") for each in imported.left)
