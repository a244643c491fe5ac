"""The rows that matter most, from the last results of the other benchmarks. Run it after them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.lane.peer import PACKAGE
from benchmarks.tables import Table

TITLE = "headlines: what the last runs of the others came to"
RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]


def run() -> list[Table]:
    rows = []
    for benchmark, make in HEADLINES:
        path = RESULTS / f"{benchmark}.json"
        if path.exists():
            tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
            rows.append(make([table["rows"] for table in tables]))
    rows = [row for row in rows if row]
    return [Table("Measured", ["what", "ours", "the other side", "ours / other", "aim"], rows)]


def _keys(tables: list[list[Row]]) -> list[Any]:
    ours, *_, theirs = tables[0]
    name = f"records that get their keys in a second (default format), against {theirs['side']}"
    return [name, ours["best"], theirs["best"], ours["best"] / theirs["best"], "at least 1.50"]


def _lane(number: int) -> Callable[[list[list[Row]]], list[Any]]:
    def row(tables: list[list[Row]]) -> list[Any]:
        """Nothing where the other side can't be installed."""
        sides = {each["side"]: each for each in tables[number]}
        ours, peer = sides["ours"], sides[PACKAGE]
        if not peer["target"]:
            return []
        name = f"CPU ms of a query of {25 if number == 0 else 3} records, against {PACKAGE}, a client in Rust"
        return [name, ours["min ms"], peer["min ms"], peer["ours / side (min)"], f"at most {peer['target']:.2f}"]

    return row


def _fan_out(tables: list[list[Row]]) -> list[Any]:
    ours = tables[0][0]
    name = "ms of a page over 256 lanes of 10 ms over HTTP, 32 at once, against the time of the waits"
    return [name, ours["best ms"], ours["best ms"] / ours["best / bound"], ours["best / bound"], "at most 1.50"]


def _fan_out_over_http(tables: list[list[Row]]) -> list[Any]:
    ours, *_, boto3 = tables[0]
    name = "ms of the same page, against boto3 on a thread pool"
    return [name, ours["best ms"], boto3["best ms"], ours["best ms"] / boto3["best ms"], "at most 0.25"]


def _create(tables: list[list[Row]]) -> list[Any]:
    row = tables[0][0]
    name = "CPU ms of a create with six generated properties, against the bare call"
    return [name, row["ours ms"], row["bare calls ms"], row["ours / bare (best)"], ""]


def _paging(tables: list[list[Row]]) -> list[Any]:
    ours, theirs = (next(row for row in tables[0] if row["side"].startswith(side)) for side in ("ours", "entity"))
    name = f"rows that come back of {ours['records']} records in {ours['shards']} shards, against {theirs['side']}"
    return [name, ours["rows"], theirs["rows"], ours["rows"] / theirs["rows"], f"{ours['records']} rows"]


HEADLINES: tuple[tuple[str, Callable[[list[list[Row]]], list[Any]]], ...] = (
    ("key_building", _keys),
    ("lanes", _lane(0)),
    ("lanes", _lane(1)),
    ("fan_out", _fan_out),
    ("fan_out", _fan_out_over_http),
    ("writes", _create),
    ("paging", _paging),
)
