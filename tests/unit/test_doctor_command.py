"""`shardweave doctor`: what it prints, its exit codes, and what it leaves in the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.key_format import ORDERED
from shardweave.service.loader import service_schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from tests.unit.cli_world import shardweave

USER = {"userId": "u1", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a user."""
    assert shardweave("load", "--entity", "user", "--data", str(tmp_path), "-", given=json.dumps(USER)).code == 0
    return tmp_path


def change(folder: Path, **attributes: Any) -> None:
    """Another program changes the one user."""
    table = EmbeddedTable(service_schema("user_service", ORDERED).layout, folder / "user_service-ordered.sqlite")
    (item,) = [each for each in table.run(Scan()).items if each["hashKey"].startswith("user!")]
    table.run(PutItem({**item, **attributes}))
    table.close()


def test_a_clean_table_ends_with_0(folder: Path) -> None:
    outcome = shardweave("doctor", "--data", str(folder))
    assert (outcome.code, outcome.errors) == (0, "")
    assert outcome.output.endswith(": clean\n")


def test_what_can_be_repaired_ends_with_1_and_after_the_repair_with_0(folder: Path) -> None:
    change(folder, firstNameRangeKey="firstNameCanonical#zoe")
    outcome = shardweave("doctor", "--data", str(folder))
    assert outcome.code == 1
    assert "stale_key: 1 (repairable): " in outcome.output
    assert "    stale_key: user.firstNameRangeKey: user!" in outcome.output
    assert outcome.output.endswith(": 1 repairable\n")
    assert "zoe" not in outcome.output
    repaired = shardweave("doctor", "--repair", "--data", str(folder))
    assert repaired.code == 0
    assert repaired.errors.startswith("repaired stale_key: user.firstNameRangeKey: ")
    assert "stale_key: 1, 1 repaired (repairable): " in repaired.output
    assert shardweave("doctor", "--data", str(folder)).code == 0


def test_what_takes_a_person_ends_with_2_also_after_a_repair(folder: Path) -> None:
    change(folder, firstName={"not": "a name"})
    for options in ((), ("--repair",)):
        assert shardweave("doctor", "--data", str(folder), *options).code == 2
    assert shardweave("doctor", "--data", str(folder), "--skip", "unreadable_record").code == 0


def test_the_report_as_json(folder: Path) -> None:
    change(folder, firstNameRangeKey="firstNameCanonical#zoe")
    (document,) = shardweave("doctor", "--json", "--data", str(folder)).lines
    assert document["verdict"] == "repairable"
    assert document["found"] == {"stale_key": 1}
    (named,) = document["named"]
    assert named["about"] == "user.firstNameRangeKey"
    assert named["key"][1] == "userId#u1"


@pytest.mark.parametrize("options", [("--skip", "nothing"), ("--rate", "-1")])
def test_wrong_arguments_are_refused(folder: Path, options: tuple[str, str]) -> None:
    outcome = shardweave("doctor", "--data", str(folder), *options)
    assert outcome.code == 2
    assert outcome.errors.startswith("error: ")
    assert not outcome.output


@pytest.mark.parametrize("option", ["--rep", "--js", "--rat=5", "--ski=unknown_item"])
def test_an_option_is_written_out_so_that_none_is_taken_for_another(folder: Path, option: str) -> None:
    for arguments in (("doctor", option), ("deletions", "--cont")):
        with pytest.raises(SystemExit) as ended:
            shardweave(*arguments, "--data", str(folder))
        assert ended.value.code == 2
