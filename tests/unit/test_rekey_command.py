"""`shardweave rekey` and `shardweave doctor --as`: what they print, their exit codes, and what they leave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.key_format import ORDERED
from shardweave.service.loader import service_schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, PutItem, Scan
from tests.unit.cli_world import NOW, Outcome, shardweave

MAPPING = {
    "entities": {
        "user": {
            "attributes": {"hashKey": "USER#${id}", "rangeKey": "USER", "kind": "user"},
            "rename": {"id": "userId"},
        }
    }
}


def old_user(number: int, **more: Any) -> dict[str, Any]:
    name = {"firstName": "Ann", "firstNameCanonical": "ann", "lastName": "Lee", "lastNameCanonical": "lee"}
    made = {"hashKey": f"USER#u{number}", "rangeKey": "USER", "kind": "user"}
    times = {"created": NOW - 1000, "updated": NOW - 1000}
    return {"id": f"u{number}", "beneficiaryId": "b", **name, **times, **made, **more}


@contextmanager
def opened(folder: Path) -> Iterator[EmbeddedTable]:
    """The folder's table, for another program."""
    table = EmbeddedTable(service_schema("user_service", ORDERED).layout, folder / "user_service-ordered.sqlite")
    try:
        yield table
    finally:
        table.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with five users that another program wrote, and a mapping."""
    assert shardweave("load", "--entity", "email", "--data", str(tmp_path), "-", given="").code == 0
    with opened(tmp_path) as table:
        for number in range(5):
            table.run(PutItem(old_user(number)))
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING))
    return tmp_path


def rekey(folder: Path, action: str, *more: str) -> Outcome:
    mapping = str(folder / "mapping.json")
    return shardweave("rekey", action, "--entity", "user", "--as", mapping, "--data", str(folder), *more)


def keys(folder: Path) -> list[str]:
    with opened(folder) as table:
        return sorted(str(item["hashKey"]).partition("!")[0] for item in table.run(Scan(consistent=True)).items)


def test_the_doctor_says_what_would_change_and_finds_no_fault_in_old_items(folder: Path) -> None:
    outcome = shardweave("doctor", "--as", str(folder / "mapping.json"), "--data", str(folder))
    assert outcome.code == 0
    assert "user: 5 old items: 5 would be brought in, 0 are, 0 can't be" in outcome.errors
    assert outcome.output.endswith(": clean\n")
    assert shardweave("doctor", "--data", str(folder)).code == 2, "without the mapping they are unknown items"


def test_the_old_table_is_another_one(folder: Path) -> None:
    named = ["--entity", "user", "--as", str(folder / "mapping.json"), "--table", "one", "--region", "eu-west-1"]
    outcome = shardweave("rekey", "start", *named, "--from", "one")
    assert (outcome.code, outcome.errors) == (2, "error: --from: it is the same table. Fix: leave it out\n")


def test_an_item_that_can_not_be_brought_in_takes_a_person(folder: Path) -> None:
    with opened(folder) as table:
        table.run(PutItem(old_user(9, firstName={"secret": "name"})))
    outcome = shardweave("doctor", "--as", str(folder / "mapping.json"), "--data", str(folder))
    assert outcome.code == 2
    assert "USER#u9 USER: " in outcome.errors
    assert "secret" not in outcome.errors
    assert rekey(folder, "start").code == 0
    run = rekey(folder, "run")
    assert run.code == 1
    assert "1 refused" in run.errors
    assert rekey(folder, "switch").code == 1


def test_the_whole_way(folder: Path) -> None:
    early = rekey(folder, "run")
    assert (early.code, early.errors.splitlines()[-1]) == (
        1,
        "user: nothing is being brought in; next: `shardweave rekey start`",
    )
    assert json.loads(rekey(folder, "start").output)["state"] == "follow"
    run = rekey(folder, "run")
    assert (run.code, run.output) == (0, "")
    assert "user: bring: 5 read, 5 written" in run.errors
    assert json.loads(rekey(folder, "status").output)["passes"]["bring"]["written"] == 5
    assert json.loads(rekey(folder, "switch").output)["state"] == "dual"
    assert shardweave("doctor", "--as", str(folder / "mapping.json"), "--data", str(folder)).code == 0
    assert rekey(folder, "finish").code == 1, "no run has seen this state"
    assert rekey(folder, "run").code == 0
    assert json.loads(rekey(folder, "finish").output)["state"] == "finish"
    assert "user: purge: 5 read, 5 removed" in rekey(folder, "run").errors
    assert keys(folder).count("user") == 5
    assert not any(key.startswith("USER#") for key in keys(folder))
    assert shardweave("doctor", "--data", str(folder)).code == 0


def test_without_the_mapping_nothing_is_read_or_written_until_the_end(folder: Path) -> None:
    rekey(folder, "start")
    load = ("load", "--entity", "user", "--data", str(folder), "-")
    one = json.dumps({"userId": "x", "firstName": "A", "lastName": "B", "beneficiaryId": "b"})
    refused = shardweave(*load, given=one)
    assert refused.code == 1
    assert "being brought in" in refused.errors
    assert (
        shardweave(
            "reshard", "start", "--entity", "user", "--char-bits", "2", "--chars", "3", "--yes", "--data", str(folder)
        ).code
        == 1
    )
    assert rekey(folder, "run").code == 0
    assert rekey(folder, "abort").code == 0
    assert rekey(folder, "run").code == 0
    assert keys(folder).count("user") == 0
    with opened(folder) as table:
        for number in range(5):
            table.run(DeleteItem({"hashKey": f"USER#u{number}", "rangeKey": "USER"}))
    assert shardweave(*load, given=one).code == 0


@pytest.mark.parametrize("command", ["export", "rewrite"])
def test_what_can_not_be_read_yet_is_named_before_anything_is_done_with_the_others(folder: Path, command: str) -> None:
    out = folder / "out"
    rekey(folder, "start")
    named = [command, *([str(out)] if command == "export" else [])]
    refused = shardweave(*named, "--data", str(folder))
    assert (refused.code, refused.output) == (1, "")
    assert refused.errors == (
        "error: user: its records are being brought in, and are still read and written in their old form. Fix: use "
        "the old program until `shardweave rekey switch`; or choose the other entities alone: --entity email\n"
    )
    assert not out.exists()
    assert shardweave(*named, "--entity", "email", "--data", str(folder)).code == 0
    assert shardweave(*named, "--entity", "user", "--data", str(folder)).errors.endswith("rekey switch`\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "mapping.json: "), ('{"entities": {"nobody": {}}}', "mapping: entities.nobody"), ("[]", "mapping.json: ")],
)
def test_a_wrong_mapping_changes_nothing(folder: Path, text: str, told: str) -> None:
    (folder / "mapping.json").write_text(text)
    for outcome in (
        rekey(folder, "start"),
        shardweave("doctor", "--as", str(folder / "mapping.json"), "--data", str(folder)),
    ):
        assert outcome.code == 2
        assert told in outcome.errors


def test_a_mapping_is_needed(folder: Path) -> None:
    outcome = shardweave("rekey", "start", "--entity", "user", "--data", str(folder))
    assert outcome.code == 2
    assert "--as" in outcome.errors
    missing = shardweave("rekey", "start", "--entity", "user", "--as", str(folder / "none.json"), "--data", str(folder))
    assert missing.code == 2
