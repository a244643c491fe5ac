"""Exports, backups, restores and comparisons whose disk is full: one line says which file, and they go on afterwards.

The limit on the size of a file that a process may write stands for a disk that is full."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.cli_world import Outcome, shardweave

USERS = 400
BYTES = 48 * 1024
"""Less than each of the files, and enough for what SQLite needs beside the table to read it."""


@contextmanager
def full_disk() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full") / "data"
    users = (
        {"userId": f"u{number}", "firstName": "Ann", "lastName": f"Lee {number}", "beneficiaryId": "b"}
        for number in range(USERS)
    )
    lines = "".join(json.dumps(user) + "\n" for user in users)
    assert shardweave("load", "--entity", "user", "--data", str(folder), "-", given=lines).code == 0
    return folder


def on_full_disk(*arguments: str) -> Outcome:
    with full_disk():
        outcome = shardweave(*arguments)
    assert (outcome.code, outcome.output) == (1, "")
    assert outcome.errors.startswith("error: ")
    assert outcome.errors.count("\n") == 1
    return outcome


def test_an_export_names_its_folder_and_goes_on_when_there_is_room(data: Path, tmp_path: Path) -> None:
    command = ("export", str(tmp_path / "out"), "--data", str(data))
    outcome = on_full_disk(*command)
    assert f"DIR: {tmp_path / 'out'} can't be written: " in outcome.errors
    assert "start the export again: it continues" in outcome.errors
    assert shardweave("import", str(tmp_path / "out"), "--data", str(tmp_path / "other")).code == 2
    assert shardweave(*command).code == 0
    assert len((tmp_path / "out" / "user.jsonl").read_text().splitlines()) == USERS


def test_a_backup_leaves_nothing(data: Path, tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    for target in (new, empty):
        assert "could not be copied" in on_full_disk("backup", str(target), "--data", str(data)).errors
    assert not new.exists()
    assert list(empty.iterdir()) == []
    assert shardweave("backup", str(empty), "--data", str(data)).code == 0


def test_a_restore_into_a_new_folder_leaves_no_table(data: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    assert shardweave("backup", str(copy), "--data", str(data)).code == 0
    command = ("restore", str(copy), "--data", str(other))
    assert "could not be copied" in on_full_disk(*command).errors
    assert shardweave(*command).code == 0, "there is no table that would have to be replaced"
    assert shardweave("compare", "--data", str(data), "--with-data", str(other)).code == 0


def test_a_comparison_names_its_state_and_goes_on_when_there_is_room(data: Path, tmp_path: Path) -> None:
    assert shardweave("export", str(tmp_path / "out"), "--data", str(data)).code == 0
    state = tmp_path / "state"
    command = ("compare", "--data", str(data), "--with-export", str(tmp_path / "out"), "--state", str(state))
    assert f"--state: {state} can't be read or written: " in on_full_disk(*command).errors
    assert shardweave(*command).code == 0
