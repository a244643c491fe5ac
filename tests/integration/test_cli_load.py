"""`shardweave load`: lines into a table, what is refused, and that a load can be repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from services.user_service import Email, User, schema
from shardweave.database.data_folder import DataFolder
from shardweave.database.project import data_folder
from shardweave.local import serve
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.cli_world import shardweave

NAMES = {"beneficiaryId": "b", "firstName": "José", "lastName": "Núñez"}


def user(user_id: str, **more: Any) -> dict[str, Any]:
    return {"userId": user_id} | NAMES | more


def email(address: str, **more: Any) -> dict[str, Any]:
    return {"email": address, "userId": "u"} | more


class Folder:
    """A data folder with what was loaded into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"

    def load(self, records: list[Any], *options: str) -> Any:
        file = self.path / "records.jsonl"
        file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records))
        return shardweave("load", str(file), "--data", str(self.data), *options)

    def store(self) -> Store:
        declared = schema()
        return Store(
            declared, EmbeddedTable(declared.layout, DataFolder(self.data).table_path("user_service", "ordered"))
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_lines_of_all_entities_are_written_each_as_what_its_properties_say(folder: Folder) -> None:
    outcome = folder.load([user("u1"), email("A@b.c"), {"userId": "u2", "created": 1726880933000} | NAMES, ""])
    assert outcome.code == 0
    assert outcome.output == ""
    assert outcome.errors.splitlines()[-1] == "3 records written, 0 lines refused"
    store = folder.store()
    stored = store.get(User, "u1")
    assert stored is not None
    assert stored.first_name_canonical == "jose"
    assert stored.rev
    assert store.get(User, "u2").created == 1726880933000  # type: ignore[union-attr]
    assert store.get(Email, "a@b.c") is not None


def test_a_load_can_be_repeated_and_the_creation_time_stays(folder: Folder) -> None:
    folder.load([user("u1", created=1726880933000)])
    assert folder.load([user("u1", phone="1")]).code == 0
    stored = folder.store().get(User, "u1")
    assert stored is not None
    assert (stored.created, stored.phone) == (1726880933000, "1")


def test_the_last_line_about_a_record_counts_also_within_a_batch(folder: Folder) -> None:
    lines = [user("u1", phone=str(number)) for number in range(5)]
    outcome = folder.load([*lines, user("u2")])
    assert outcome.errors.splitlines()[-1] == "6 records written, 0 lines refused"
    assert folder.store().get(User, "u1").phone == "4"  # type: ignore[union-attr]


def test_a_bad_line_is_named_and_the_others_are_written(folder: Folder) -> None:
    later = 10**13 - 1
    records = [
        user("u1"),
        "{",
        user("u2", created=later),
        {"userId": "u3", "firstName": "x", "lastName": "y"},
        email("nonsense"),
        {"neither": 1},
        {"userId": 5},
        user("u4"),
    ]
    outcome = folder.load(records)
    assert outcome.code == 1
    errors = outcome.errors.splitlines()
    assert errors[-1] == "2 records written, 6 lines refused"
    for number, reason in {
        2: "it is not JSON",
        3: "created: the timestamp lies more than 5 minutes ahead",
        4: "beneficiaryId: Field required",
        5: "name@domain",
        6: "no entity has all of its properties. Fix: give --entity",
        7: "userId: Input should be a valid string",
    }.items():
        assert any(line.startswith(f"line {number}: ") and reason in line for line in errors), reason
    assert folder.store().get(User, "u4") is not None


def test_the_entity_can_be_given_and_ids_made_up(folder: Folder) -> None:
    outcome = folder.load([NAMES, NAMES], "--entity", "user")
    assert outcome.errors.splitlines()[-1] == "2 records written, 0 lines refused"
    refused = folder.load([email("a@b.c")], "--entity", "user")
    assert refused.code == 1
    assert "email: Extra inputs are not permitted" in refused.errors


def test_more_lines_than_a_batch_from_standard_input(folder: Folder) -> None:
    lines = "\n".join(json.dumps(user(f"u{number}")) for number in range(600))
    outcome = shardweave("load", "-", "--data", str(folder.data), given=lines)
    assert outcome.errors.splitlines()[-1] == "600 records written, 0 lines refused"
    assert all(folder.store().batch_get(User, [f"u{number}" for number in range(0, 600, 50)]))


def test_the_key_format_chooses_another_table(folder: Folder) -> None:
    assert folder.load([user("u1", created=1726880933)], "--key-format", "article").code == 0
    assert not DataFolder(folder.data).table_path("user_service", "ordered").exists()
    assert DataFolder(folder.data).table_path("user_service", "article").exists()


def test_what_can_t_be_opened_ends_with_2(folder: Folder, tmp_path: Path) -> None:
    assert shardweave("load", str(tmp_path / "nothing"), "--data", str(folder.data)).code == 2
    (tmp_path / "file").write_text("")
    outcome = shardweave("load", "-", "--data", str(tmp_path / "file"))
    assert outcome.code == 2
    assert "--data: " in outcome.errors
    assert folder.load([], "--entity", "usr").code == 2


def test_the_data_folder_is_the_local_server_s() -> None:
    assert serve.parser().parse_args([]).data == data_folder()


def test_what_was_loaded_can_be_asked(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.load([user("u1", created=1726880933000), user("u2", created=1726880933001)])
    asked = ["--entity", "user", "--data", str(folder.data), "beneficiaryId=b", "firstNameCanonical.prefix=jo"]
    assert shardweave("query", *asked).code == 0
    assert [json.loads(line)["userId"] for line in capsys.readouterr().out.splitlines()] == ["u1", "u2"]
    assert shardweave("explain", *asked).code == 0
    assert "userBeneficiaryFirstName" in capsys.readouterr().out
    assert shardweave("query", *asked, "--json").code == 0
    (page,) = json.loads(capsys.readouterr().out)
    assert (page["nextToken"], page["stats"]["failedLanes"], page["stats"]["returned"]) == (None, 0, 2)
    assert shardweave("query", "--entity", "usr", "--data", str(folder.data)).code == 2
    assert shardweave("query", "--entity", "user", "--data", str(folder.data), "nothing=1").code == 2


@pytest.mark.parametrize("given", ["", "\n \n"])
def test_an_input_without_lines_is_no_error_and_is_told(given: str, folder: Folder) -> None:
    outcome = shardweave("load", "-", "--data", str(folder.data), given=given)
    assert (outcome.code, outcome.output) == (0, "")
    assert outcome.errors.splitlines()[-1] == "0 records written, 0 lines refused: there were no lines"
