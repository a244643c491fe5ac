"""`shardweave import`: what is wrong is named with its file, and nothing is no export."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.unit.cli_world import Outcome, shardweave

CLUB = """
from shardweave import Entity, Schema, Unique, unique_property

class Member(Entity, token="member"):
    member_id: str = unique_property()
    phone: str

    phone_lookup = Unique("phone")

def schema(key_format):
    return Schema([Member], key_format=key_format)
"""


def member(name: str, *, phone: str) -> str:
    return json.dumps({"entity": "member", "Item": {"memberId": {"S": name}, "phone": {"S": phone}}}) + "\n"


def line_of(number: int) -> str:
    names = {"userId": f"u{number}", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}
    item = {**{name: {"S": value} for name, value in names.items()}, "created": {"N": "500000000000"}}
    return json.dumps({"entity": "user", "Item": item}) + "\n"


def imported(*sources: Path, into: Path) -> Outcome:
    return shardweave("import", *map(str, sources), "--data", str(into))


def test_a_refused_line_is_named_by_its_file_and_its_number_in_there(tmp_path: Path) -> None:
    """Also in a compressed file, as DynamoDB's own export has them, after empty lines and files, and in folders."""
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "a.jsonl").write_text(line_of(1) + "no line\n" + line_of(2))
    (folder / "b.jsonl").write_text("")
    (folder / "c.json.gz").write_bytes(gzip.compress(("\n\n" + line_of(3) + "neither").encode()))
    (folder / "d.jsonl").write_text("first\n" + line_of(4))
    alone = tmp_path / "alone.jsonl"
    alone.write_text(line_of(5) + '{"entity": "nobody", "Item": {}}\n')
    outcome = imported(folder, alone, into=tmp_path / "data")
    assert outcome.code == 1
    *told, sums = outcome.errors.splitlines()
    assert [each.split(": ")[0] for each in told] == [
        f"{folder / 'a.jsonl'}, line 2",
        f"{folder / 'c.json.gz'}, line 4",
        f"{folder / 'd.jsonl'}, line 1",
        f"{alone}, line 2",
    ]
    assert sums.startswith("5 records written, 0 there already, 0 kept as stored, 4 lines refused")


def test_a_line_that_is_refused_when_it_is_written_is_named_as_well(tmp_path: Path) -> None:
    """Which is after the lines of the files behind it were read."""
    service, one, two = tmp_path / "club_with_phones.py", tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    service.write_text(CLUB)
    one.write_text("\n" + member("m1", phone="5"))
    two.write_text(member("m2", phone="6") + member("m3", phone="5"))
    command = ("import", "--service", str(service), "--data", str(tmp_path / "data"), str(one), str(two))
    assert shardweave(*command[:-1]).code == 0
    outcome = shardweave(*command[:-2], str(two), str(one))
    assert outcome.code == 1
    assert outcome.errors.startswith(f"{two}, line 2: phone")


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_without_lines_is_refused_and_named_and_nothing_is_made(
    content: str, compressed: bool, tmp_path: Path
) -> None:
    file = tmp_path / ("user.json.gz" if compressed else "user.jsonl")
    file.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    for source in (file, tmp_path):
        outcome = imported(source, into=tmp_path / "data")
        assert (outcome.code, outcome.output) == (2, "")
        assert outcome.errors.startswith(f"error: PATH: there are no lines in {source}. Fix: ")
    assert not (tmp_path / "data").exists()


def test_a_folder_without_files_of_an_export_has_no_lines(tmp_path: Path) -> None:
    outcome = imported(tmp_path, into=tmp_path / "data")
    assert outcome.code == 2
    assert f"there are no lines in {tmp_path}. " in outcome.errors


def test_a_file_without_lines_beside_others_and_an_export_of_no_records_are_whole(tmp_path: Path) -> None:
    user, email = tmp_path / "user.jsonl", tmp_path / "email.jsonl"
    user.write_text(line_of(1))
    email.write_text("")
    assert imported(email, user, into=tmp_path / "data").errors.startswith("1 record written")
    exported = tmp_path / "out"
    assert shardweave("export", str(exported), "--entity", "email", "--data", str(tmp_path / "data")).code == 0
    outcome = imported(exported, into=tmp_path / "other")
    assert outcome.code == 0
    assert outcome.errors.startswith("0 records written")


def test_an_export_of_another_service_is_refused_in_one_line_and_nothing_is_made(tmp_path: Path) -> None:
    service, lines = tmp_path / "club_to_export.py", tmp_path / "members.jsonl"
    service.write_text(CLUB)
    lines.write_text(member("m1", phone="5"))
    of_club = ("--service", str(service), "--data", str(tmp_path / "club"))
    assert shardweave("import", str(lines), *of_club).code == 0
    out, other = tmp_path / "out", tmp_path / "other"
    assert shardweave("export", str(out), *of_club).code == 0
    told = f"{out} holds an export with records of member, which the schema does not have. Fix: give the service that "
    refused = imported(out, into=other)
    assert (refused.code, refused.errors.count("\n")) == (2, 1)
    assert refused.errors.startswith(f"error: PATH: {told}")
    assert not other.exists()
    (tmp_path / "user.jsonl").write_text(line_of(1))
    assert imported(tmp_path / "user.jsonl", into=other).code == 0
    compared = shardweave("compare", "--with-export", str(out), "--data", str(other))
    assert (compared.code, compared.output, compared.errors.count("\n")) == (2, "", 1)
    assert compared.errors.startswith(f"error: --with-export: {told}")


def test_what_is_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    outcome = imported(tmp_path / "pipe", into=tmp_path / "data")
    assert outcome.code == 2
    assert "is neither a file nor a folder" in outcome.errors
