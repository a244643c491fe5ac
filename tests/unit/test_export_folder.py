"""A folder of an export is only imported whole: nothing that is missing there is missed unseen."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli_world import shardweave

PEOPLE = 30
USERS = "\n".join(
    json.dumps(
        {"userId": f"u{number}", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b", "created": 5 * 10**11}
    )
    for number in range(PEOPLE)
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with users."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    assert shardweave("load", "--entity", "user", "--data", str(folder), "-", given=USERS).code == 0
    return folder


@pytest.fixture
def exported(data: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    assert shardweave("export", str(folder), "--data", str(data)).code == 0
    return folder


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Under which everybody may read a new file."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def state_of(folder: Path) -> dict[str, object]:
    state: dict[str, object] = json.loads((folder / "export.json").read_text())
    return state


def test_an_export_that_is_not_finished_is_neither_imported_nor_compared(
    exported: Path, data: Path, tmp_path: Path
) -> None:
    state = state_of(exported)
    del state["entities"]["user"]["done"]  # type: ignore[index]
    (exported / "export.json").write_text(json.dumps(state))
    other = tmp_path / "other"
    for command in (
        ("import", str(exported), "--data", str(other)),
        ("compare", "--data", str(data), "--with-export", str(exported)),
    ):
        outcome = shardweave(*command)
        assert outcome.code == 2
        assert "not finished" in outcome.errors
    assert not other.exists(), "nothing was made"
    assert shardweave("import", str(exported / "user.jsonl"), "--data", str(other)).code == 0, "a file is what it is"


@pytest.mark.parametrize("damage", ["a file is gone", "a file is cut off", "the folder is in another one"])
def test_an_export_that_lacks_lines_is_not_imported(damage: str, exported: Path, tmp_path: Path) -> None:
    lines = (exported / "user.jsonl").read_bytes().splitlines(keepends=True)
    given = exported
    if damage == "a file is gone":
        (exported / "email.jsonl").unlink()
        (exported / "user.jsonl").unlink()
        (exported / "user.jsonl.bak").write_bytes(b"".join(lines))
    else:
        (exported / "user.jsonl").write_bytes(b"".join(lines[:-1]))
    if damage == "the folder is in another one":
        given = tmp_path / "outer"
        given.mkdir()
        shutil.move(exported, given / "inner")
    outcome = shardweave("import", str(given), "--data", str(tmp_path / "other"))
    assert outcome.code == 2
    assert "lacks lines" in outcome.errors
    assert not (tmp_path / "other").exists()


def test_lines_that_were_edited_are_all_there(exported: Path, tmp_path: Path) -> None:
    file = exported / "user.jsonl"
    file.write_text(file.read_text().replace("Ann", "A"))
    outcome = shardweave("import", str(exported), "--data", str(tmp_path / "other"))
    assert outcome.code == 0
    assert outcome.errors.startswith(f"{PEOPLE} records written")


@pytest.mark.parametrize("finished", [True, False])
def test_an_export_that_goes_on_writes_anew_what_was_removed(finished: bool, exported: Path, data: Path) -> None:
    before = sorted((exported / "user.jsonl").read_bytes().splitlines())
    if not finished:
        state = state_of(exported)
        state["entities"]["email"] = {"bytes": 0, "lines": 0}  # type: ignore[index]
        (exported / "export.json").write_text(json.dumps(state))
    (exported / "user.jsonl").unlink()
    assert shardweave("export", str(exported), "--data", str(data)).code == 0
    assert sorted((exported / "user.jsonl").read_bytes().splitlines()) == before


@pytest.mark.parametrize(
    "state",
    [
        "[1]",
        "{",
        "\xff",
        '{"format": 2, "entities": {}}',
        '{"format": 1, "entities": []}',
        '{"format": 1, "entities": {"user": 5}}',
        '{"format": 1, "entities": {"user": {"bytes": "x", "lines": 1}}}',
        '{"format": 1, "entities": {"user": {"bytes": -1, "lines": 1}}}',
        '{"format": 1, "entities": {"user": {"bytes": 1}}}',
    ],
)
def test_a_damaged_state_is_refused(state: str, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "export.json").write_text(state, encoding="latin-1")
    (folder / "user.jsonl").write_text("")
    for command in (("export", str(folder)), ("import", str(folder)), ("compare", "--with-export", str(folder))):
        outcome = shardweave(*command, "--data", str(data))
        assert outcome.code == 2, command
        assert outcome.errors.startswith("error: "), command
    assert (folder / "user.jsonl").read_text() == ""


@pytest.mark.parametrize("cut", [0, 1, 10, 40, -1])
def test_a_compressed_file_that_is_damaged_is_named(cut: int, exported: Path, tmp_path: Path) -> None:
    whole = gzip.compress((exported / "user.jsonl").read_bytes())
    damaged = tmp_path / "part.json.gz"
    damaged.write_bytes(whole[:cut] if cut else b"no gzip at all")
    outcome = shardweave("import", str(damaged), "--data", str(tmp_path / "other"))
    assert outcome.code == 2
    assert "part.json.gz can't be read" in outcome.errors
    damaged.write_bytes(whole)
    again = shardweave("import", str(damaged), "--data", str(tmp_path / "other"))
    assert again.code == 0, "repeated with the whole file, all comes in"
    assert len(shardweave("scan", "--entity", "user", "--data", str(tmp_path / "other")).lines) == PEOPLE


def test_what_an_export_makes_is_its_owner_s_alone(data: Path, tmp_path: Path, usual_umask: None) -> None:
    folder = tmp_path / "some" / "out"
    assert shardweave("export", str(folder), "--data", str(data)).code == 0
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {
        "out": 0o700,
        "user.jsonl": 0o600,
        "email.jsonl": 0o600,
        "export.json": 0o600,
    }


def test_who_may_use_a_folder_that_is_there_stays_as_its_owner_has_set_it(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(0o750)
    assert shardweave("export", str(folder), "--data", str(data)).code == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "user.jsonl").stat().st_mode) == 0o600


def test_a_backup_is_its_owner_s_alone(data: Path, tmp_path: Path, usual_umask: None) -> None:
    folder = tmp_path / "copy"
    assert shardweave("backup", str(folder), "--data", str(data)).code == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes[".sqlite"] == 0o600
