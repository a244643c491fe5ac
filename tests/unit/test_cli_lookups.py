"""The command line: what lookups there are, and filling them."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from shardweave.cli.backfill import fill
from shardweave.cli.console import Streams
from tests.unit.test_store_lookups_backfill import NEW, Upgraded, User

from .cli_world import shardweave


def filled(world: Upgraded, entity: str | None = None, lookup: str | None = None, *, again: bool = False) -> str:
    said = io.StringIO()
    options = argparse.Namespace(entity=entity, lookup=lookup, again=again, rate=0, json=False)
    code = fill(options, NEW, world.store, Streams(io.BytesIO(), io.BytesIO(), said))
    return f"{said.getvalue()}{code}"


def test_the_catalog_of_a_service() -> None:
    outcome = shardweave("catalog")
    assert outcome.code == 0
    assert outcome.lines == [
        {"entity": "user", "kind": "identity", "secondaryKey": ["userId"], "shardKey": ["userId"]},
        {"entity": "email", "kind": "identity", "secondaryKey": ["email"], "shardKey": ["email"]},
    ]


def test_one_lookup_is_filled() -> None:
    world = Upgraded(3)
    assert filled(world, "user", "phone").splitlines() == [
        "user.phone: 3 records read, 3 filled; ready",
        "0",
    ]
    assert world.store.get_by(User, "phone", "1") is not None


def test_everything_is_filled_and_what_is_ready_is_left_alone() -> None:
    world = Upgraded(2)
    assert filled(world).splitlines()[-1] == "0"
    said = filled(world).splitlines()
    assert said == [
        f"{name}: 0 records read, 0 filled; ready" for name in ("user.phone", "user.city", "user.boss", "step.code")
    ] + ["0"]
    assert "user.city: 2 records read, 0 filled; ready" in filled(world, "user", again=True)


def test_what_is_refused_is_named() -> None:
    said = filled(Upgraded(2, phone="same"), "user", "phone")
    assert "{'userId': 'u00" in said
    assert "phone: a record with this phone exists" in said
    assert "not ready: 1 record refused" in said
    assert said.endswith("1")
    assert "same" not in said


def test_a_service_without_lookups_has_nothing_to_fill(tmp_path: Path) -> None:
    shardweave("load", "-", "--data", str(tmp_path))
    outcome = shardweave("backfill", "--data", str(tmp_path))
    assert (outcome.code, outcome.errors) == (0, "there is nothing to fill\n")
    outcome = shardweave("backfill", "--data", str(tmp_path), "--entity", "user", "--lookup", "phone")
    assert outcome.code == 2
    assert "has no lookup 'phone'. Fix: leave it out, or declare it: there is no lookup here" in outcome.errors
    assert shardweave("backfill", "--data", str(tmp_path), "--lookup", "phone").code == 2
    assert shardweave("backfill", "--data", str(tmp_path), "--entity", "x", "--lookup", "phone").code == 2
