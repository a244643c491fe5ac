"""A data folder's table copied and put back while it is in use."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from shardweave.database.folder_copies import made_whole
from shardweave.keys.key_format import ORDERED
from shardweave.schema.schema import Schema
from shardweave.service.loader import service_schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.cli_world import Outcome, shardweave
from tests.unit.test_export_lock import another_process


def user(number: int) -> dict[str, str]:
    return {"userId": f"u{number}", "firstName": "Ann", "lastName": f"Lee {number}", "beneficiaryId": "b"}


def load(folder: Path, *numbers: int) -> None:
    lines = "".join(json.dumps(user(number)) + "\n" for number in numbers)
    assert shardweave("load", "--entity", "user", "--data", str(folder), "-", given=lines).code == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two users."""
    load(tmp_path / "data", 1, 2)
    return tmp_path / "data"


def schema() -> Schema:
    return service_schema("user_service", ORDERED)


def opened(folder: Path) -> tuple[EmbeddedTable, Store]:
    table = EmbeddedTable(schema().layout, folder / "user_service-ordered.sqlite")
    return table, Store(schema(), table)


def ids(store: Store) -> set[str]:
    model = schema()["user"].model
    return {f"u{number}" for number in range(200) if store.get(model, f"u{number}") is not None}


def restore(source: Path, folder: Path, *options: str) -> Outcome:
    return shardweave("restore", str(source), "--data", str(folder), *options)


def test_what_was_copied_is_put_back_while_the_table_is_open(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    table, store = opened(folder)
    model = store.schema["user"].model
    try:
        outcome = shardweave("backup", str(copy), "--data", str(folder))
        assert (outcome.code, outcome.output) == (0, "")
        store.create(user(3), model)
        store.delete(model, "u1")
        assert ids(store) == {"u2", "u3"}
        refused = restore(copy, folder)
        assert refused.code == 2
        assert ids(store) == {"u2", "u3"}, "nothing was done without --yes"
        assert restore(copy, folder, "--yes").code == 0
        assert ids(store) == {"u1", "u2"}
        store.create(user(4), model)
        assert ids(store) == {"u1", "u2", "u4"}
        assert ids(opened(folder)[1]) == {"u1", "u2", "u4"}
    finally:
        table.close()
    assert shardweave("doctor", "--data", str(folder)).code == 0


def test_a_copy_is_of_one_moment_and_writers_lose_nothing(folder: Path, tmp_path: Path) -> None:
    table, store = opened(folder)
    model, written = store.schema["user"].model, list[int]()
    ended = threading.Event()

    def write() -> None:
        for number in range(10, 200):
            store.create(user(number), model)
            written.append(number)
            if ended.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copies = [tmp_path / f"copy {number}" for number in range(3)]
        for copy in copies:
            assert shardweave("backup", str(copy), "--data", str(folder)).code == 0
    finally:
        ended.set()
        writer.join()
    assert ids(store) == {"u1", "u2", *(f"u{number}" for number in written)}
    table.close()
    for copy in copies:
        copied, of_copy = opened(copy)
        found = ids(of_copy) - {"u1", "u2"}
        assert found == {f"u{number}" for number in range(10, 10 + len(found))}, "those up to some moment"
        copied.close()


def test_a_copy_makes_a_folder_of_its_own(folder: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    shardweave("query", "--entity", "user", "--data", str(folder), "index=created")
    assert shardweave("backup", str(copy), "--data", str(folder)).code == 0
    assert restore(copy, other).code == 0
    table, store = opened(other)
    assert ids(store) == {"u1", "u2"}
    table.close()
    assert (other / "cursor-keys.json").read_bytes() == (folder / "cursor-keys.json").read_bytes()
    assert (copy / "user_service-ordered.sqlite").stat().st_mode & 0o077 == 0, "it is its owner's alone"


def test_what_is_no_backup_or_would_be_overwritten_is_refused(folder: Path, tmp_path: Path) -> None:
    assert shardweave("backup", str(folder), "--data", str(folder)).code == 2
    assert shardweave("backup", str(tmp_path / "copy"), "--data", str(tmp_path / "nowhere")).code == 2
    assert restore(tmp_path / "nowhere", folder, "--yes").code == 2
    copy = tmp_path / "copy"
    assert shardweave("backup", str(copy), "--data", str(folder)).code == 0
    (copy / "user_service-ordered.schema.json").write_text("{}")
    refused = restore(copy, folder, "--yes")
    assert refused.code == 2
    assert "another schema" in refused.errors
    (copy / "user_service-ordered.sqlite").write_bytes(b"no table" * 1000)
    assert restore(copy, tmp_path / "new").code == 1


MAKES = """
import sys
from pathlib import Path
from shardweave.database.folder_copies import made_whole
with made_whole(Path(sys.argv[1])) as made:
    (made / "user_service-ordered.sqlite").write_text("a part")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_there", [False, True])
def test_one_process_at_a_time_makes_a_backup_in_a_folder_and_one_that_was_killed_holds_nothing(
    is_there: bool, folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    if is_there:
        copy.mkdir()
    with another_process(MAKES, str(copy)) as process:
        refused = shardweave("backup", str(copy), "--data", str(folder))
        assert refused.code == 1
        assert refused.errors.startswith(f"error: DIR: another process makes a backup in {copy}. Fix: let it end or ")
        process.kill()
        process.wait()
    left = restore(copy, tmp_path / "new")
    assert left.code == 2, "what was stopped is no backup"
    assert "holds no backup" in left.errors
    assert shardweave("backup", str(copy), "--data", str(folder)).code == 0
    assert {path.name for path in copy.iterdir()} == {
        path.name for path in folder.iterdir() if path.suffix in (".json", ".sqlite")
    }
    assert restore(copy, tmp_path / "new").code == 0
    again = shardweave("backup", str(copy), "--data", str(folder))
    assert (again.code, again.errors) == (2, f"error: DIR: {copy} is not empty. Fix: give a new folder\n")


def test_a_backup_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(made: Path) -> None:
        (made / "file").write_text("a part")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), made_whole(tmp_path / "copy") as made:
        interrupted(made)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("damage", ["pages of zeros", "cut off", "empty"])
def test_a_backup_that_is_damaged_replaces_nothing(damage: str, folder: Path, tmp_path: Path) -> None:
    load(folder, *range(10, 100))
    copy = tmp_path / "copy"
    assert shardweave("backup", str(copy), "--data", str(folder)).code == 0
    whole = (copy / "user_service-ordered.sqlite").read_bytes()
    page = 4096
    assert len(whole) > 12 * page
    damaged = {
        "pages of zeros": whole[: 6 * page] + bytes(3 * page) + whole[9 * page :],
        "cut off": whole[: 6 * page],
        "empty": b"",
    }[damage]
    (copy / "user_service-ordered.sqlite").write_bytes(damaged)
    outcome = restore(copy, folder, "--yes")
    assert outcome.code == 1
    assert outcome.errors.startswith("error: ")
    table, store = opened(folder)
    assert ids(store) == {"u1", "u2", *(f"u{number}" for number in range(10, 100))}
    table.close()


def test_a_table_that_is_damaged_is_not_copied_and_takes_a_whole_copy(folder: Path, tmp_path: Path) -> None:
    load(folder, *range(10, 100))
    assert shardweave("backup", str(tmp_path / "copy"), "--data", str(folder)).code == 0
    file = folder / "user_service-ordered.sqlite"
    page = 4096
    content = file.read_bytes()
    file.write_bytes(content[: 6 * page] + bytes(3 * page) + content[9 * page :])
    assert shardweave("backup", str(tmp_path / "other"), "--data", str(folder)).code == 1
    assert restore(tmp_path / "copy", folder, "--yes").code == 0
    table, store = opened(folder)
    assert ids(store) >= {"u1", "u2", "u50"}
    table.close()
