"""Records read by the command line and loaded again are as they were, private properties included."""

from __future__ import annotations

import argparse
import datetime as dt
import enum
import json
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Field

from shardweave.access import private_property
from shardweave.cli.load import Loading
from shardweave.cli.query import add_paging_arguments, add_query_arguments, run_query
from shardweave.query.runner import QueryRunner
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS


class Grade(enum.Enum):
    """Stored by value."""

    LOW = "low"
    HIGH = "high"


class Worker(Entity, token="worker"):
    """Somebody of whom much is not shown."""

    worker_id: str = unique_property(default_factory=nanoid)
    name: str
    pay: Decimal | None = private_property(default=None)
    grade: Grade = private_property()
    since: dt.datetime | None = private_property(default=None)
    photo: bytes = private_property(default=b"")
    roles: set[str] = private_property(default_factory=set)
    notes: dict[str, Any] = private_property(default_factory=dict)
    secret: str = Field(default="none", exclude=True)


SCHEMA = Schema([Worker], [Index("names", "hash_key", "name")])
ANN = Worker(
    worker_id="ann",
    name="Ann",
    pay=Decimal("5.50"),
    grade=Grade.HIGH,
    since=dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC),
    photo=b"\xff\x00",
    roles={"a", "b"},
    notes={"deep": [1, 2.5, None]},
    secret="hush",
)


def opened() -> tuple[Store, EmbeddedTable]:
    table = EmbeddedTable(SCHEMA.layout)
    return Store(SCHEMA, table), table


def read(table: EmbeddedTable, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The lines that `shardweave query` prints."""
    parser = argparse.ArgumentParser()
    add_query_arguments(parser)
    add_paging_arguments(parser)
    with closing(QueryRunner(SCHEMA, table, CURSOR_KEYS)) as runner:
        run_query(parser.parse_args(["--entity", "worker", "--all", *words, "index=names"]), runner, SCHEMA[Worker])
    return capsys.readouterr().out.splitlines()


def load(store: Store, lines: list[str]) -> Loading:
    loading = Loading(store, SCHEMA, None, print)
    loading.load(line.encode() + b"\n" for line in lines)
    return loading


def test_lines_without_private_properties_keep_those_that_are_stored(capsys: pytest.CaptureFixture[str]) -> None:
    store, table = opened()
    store.create(ANN)
    (line,) = read(table, capsys)
    assert json.loads(line) == {"workerId": "ann", "name": "Ann"}
    assert (load(store, [line]).written, store.get(Worker, "ann")) == (1, ANN)


def test_lines_with_them_make_the_same_record_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    store, table = opened()
    store.create(ANN)
    lines = read(table, capsys, "--private")
    other, _ = opened()
    assert (load(other, lines).written, other.get(Worker, "ann")) == (1, ANN)
    pages = json.loads(read(table, capsys, "--private", "--json")[0])
    assert pages[0]["items"] == [json.loads(lines[0])]


def test_a_new_record_needs_its_required_private_properties(capsys: pytest.CaptureFixture[str]) -> None:
    store, _ = opened()
    loading = load(store, ['{"workerId": "bob", "name": "Bob"}'])
    assert (loading.written, loading.refused) == (0, 1)
    assert "grade" in capsys.readouterr().out


def test_the_query_says_which_private_properties_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    store, table = opened()
    store.create(ANN)
    parser = argparse.ArgumentParser()
    add_query_arguments(parser)
    add_paging_arguments(parser)
    for words, said in (([], True), (["--private"], False)):
        with closing(QueryRunner(SCHEMA, table, CURSOR_KEYS)) as runner:
            run_query(parser.parse_args(["--entity", "worker", *words, "index=names"]), runner, SCHEMA[Worker])
        told = (
            "left out: the private properties pay, grade, since, photo, roles, notes, secret (--private writes them)\n"
        )
        assert (told in capsys.readouterr().err) == said
