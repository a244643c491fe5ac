"""What the command line does with input that is too much, of the wrong kind, or would steer a terminal."""

from __future__ import annotations

import argparse
import io
import json
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.user_service import schema
from shardweave.cli.console import MAX_LINE_BYTES, UNSEEN, Streams, counted, visible
from shardweave.cli.main import main
from shardweave.cli.query import spec_of
from shardweave.database.data_folder import DataFolder
from shardweave.errors import InputError
from shardweave.table.operations import PutItem, Scan

from .cli_world import shardweave

USER = {"userId": "u", "beneficiaryId": "b", "firstName": "Ann", "lastName": "B"}
SPACE = ("space", "--entity", "user", "--hash-key", "hashKey")


class Endless(io.RawIOBase):
    """A stream of zeros without an end, that counts what was read."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        assert size >= 0
        self.read_bytes += size
        return bytes(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self.read(size or 0)


@pytest.mark.parametrize("command", ["keys", "size"])
def test_input_without_an_end_is_refused(command: str) -> None:
    source, errors = Endless(), io.StringIO()
    assert main([command, "--entity", "user"], Streams(source, io.BytesIO(), errors)) == 1  # type: ignore[arg-type]
    assert f"longer than {MAX_LINE_BYTES:,} bytes. Fix: " in errors.getvalue()
    assert source.read_bytes == MAX_LINE_BYTES + 1


def test_a_load_keeps_what_came_before_a_line_without_an_end(tmp_path: Path) -> None:
    text = json.dumps(USER).encode() + b"\n" + bytes(MAX_LINE_BYTES + 5) + b"\n" + json.dumps(USER).encode()
    outcome = shardweave("load", "-", "--data", str(tmp_path), given=text)
    assert outcome.code == 1
    assert "line 2: it is longer than" in outcome.errors
    assert outcome.errors.splitlines()[-1] == "1 record written, 1 line refused"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "--entity", "user", "--query"],
        ["keys", "--entity", "user", "--entity-manager"],
    ],
)
def test_a_file_that_holds_no_document_is_refused(arguments: list[str], device: str, tmp_path: Path) -> None:
    shardweave("load", "-", "--data", str(tmp_path))
    data = ["--data", str(tmp_path)] if arguments[0] == "query" else []
    outcome = shardweave(*arguments, device, *data)
    assert outcome.code in (1, 2)
    assert "Fix: " in outcome.errors


def test_two_records_where_one_is_due_are_said_to_be_that() -> None:
    outcome = shardweave("size", "--entity", "user", given=json.dumps(USER) + "\n" + json.dumps(USER))
    assert outcome.code == 1
    assert outcome.errors == "error: it goes on after the JSON value, at line 2, character 1. Fix: give one value\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"where": {}, "where": {}}', "a name stands twice"),
        ("{", "it is not JSON"),
        ('{"colour": 1}', "not valid: colour: unknown; use some of conditions, index,"),
        ('{"limit": 1' + "0" * 5000 + "}", "too many digits"),
    ],
)
def test_a_query_s_json_is_refused_as_the_api_refuses_it(text: str, message: str, tmp_path: Path) -> None:
    shardweave("load", "-", "--data", str(tmp_path))
    file = tmp_path / "query.json"
    file.write_text(text)
    outcome = shardweave("query", "--entity", "user", "--data", str(tmp_path), "--query", str(file))
    assert outcome.code == 2
    assert "error: --query: " in outcome.errors
    assert message in outcome.errors


def test_a_token_continues_in_a_later_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in a folder that no server ever used."""
    records = "\n".join(json.dumps(USER | {"userId": f"u{number}"}) for number in range(5))
    shardweave("load", "-", "--data", str(tmp_path), given=records)
    asked = ["query", "--entity", "user", "--data", str(tmp_path), "beneficiaryId=b", "limit=2"]
    seen: list[Any] = []
    token: list[str] = []
    for _ in range(3):
        assert shardweave(*asked, *token).code == 0
        said = capsys.readouterr()
        seen += [json.loads(line)["userId"] for line in said.out.splitlines()]
        token = [line.partition(": ")[2] for line in said.err.splitlines() if line.startswith("next page: ")]
    assert sorted(seen) == [f"u{number}" for number in range(5)]
    assert not token
    assert "1 record from 1 read, " in said.err


@pytest.mark.parametrize("command", [["query"], ["explain", "--run"], ["backfill"]])
def test_a_mistyped_folder_is_refused_and_not_made(command: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "mistyped"
    entity = ["--entity", "user"]
    outcome = shardweave(*command, *entity, "--data", str(folder))
    assert outcome.code == 2
    assert f"--data: {folder} holds no table of 'user_service'" in outcome.errors
    assert not folder.exists()


def test_a_folder_without_this_table_says_which_tables_it_has(tmp_path: Path) -> None:
    assert shardweave("load", "--entity", "user", "--data", str(tmp_path), "-", given="").code == 0
    asked = ["--entity", "issue", "--service", "issue_tracker", "--data", str(tmp_path)]
    outcome = shardweave("scan", *asked)
    assert outcome.code == 2
    assert "give one that is there: --service user_service --key-format ordered" in outcome.errors


def test_a_file_in_place_of_a_folder_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for command in (["scan", "--entity", "user"], ["doctor"], ["backup", str(tmp_path / "copy")]):
        outcome = shardweave(*command, "--data", str(file))
        assert outcome.code == 2
        assert f"--data: {file} is a file, not a data folder. Fix: give its folder" in outcome.errors


WRONG_NAMES = (
    ["backfill", "--entity", "user", "--lookup", "nope"],
    ["backfill", "--entity", "nope", "--lookup", "nope"],
    ["rebuild", "nope"],
    ["reshard", "start", "--entity", "user", "--char-bits", "9", "--chars", "2", "--yes"],
    ["reshard", "status", "--entity", "nope"],
    ["rewrite", "--entity", "nope"],
    ["scan", "--entity", "nope"],
)


@pytest.mark.parametrize("command", WRONG_NAMES, ids=" ".join)
def test_wrong_names_are_wrong_arguments(command: list[str], tmp_path: Path) -> None:
    assert shardweave("load", "--entity", "user", "--data", str(tmp_path), "-", given="").code == 0
    outcome = shardweave(*command, "--data", str(tmp_path))
    assert (outcome.code, outcome.errors.startswith("error: ")) == (2, True), outcome.errors


def test_a_plan_needs_no_table_and_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mistyped"
    outcome = shardweave("explain", "--entity", "user", "--data", str(folder), "phone.prefix=1")
    assert outcome.code == 0
    assert "user by phone, ascending" in capsys.readouterr().out
    assert f"{folder} holds no table of 'user_service' as it is now" in outcome.errors
    assert not list(tmp_path.iterdir())


def test_a_plan_shows_filters_as_they_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_table, here = {"property": "phone", "begins_with": "1"}, {"property": "created", "lt": 10**12}
    asked = ["explain", "--entity", "user", "--data", str(tmp_path / "none"), "--query", str(tmp_path / "query.json")]
    (tmp_path / "query.json").write_text(json.dumps({"index": "created", "filter": {"and": [by_table, here]}}))
    assert shardweave(*asked, "--json").code == 0
    answered = json.loads(capsys.readouterr().out)
    assert (answered["filterByTable"], answered["filterHere"]) == ([by_table], [here])
    assert (answered["estimateIsLeast"], answered["lanes"][0]["firstFetch"] > 0) == (True, True)
    assert shardweave(*asked).code == 0
    said = capsys.readouterr().out
    assert 'filter by the table: {"property": "phone", "begins_with": "1"}' in said
    assert "; what is left out is read too, at worst all that the lanes hold" in said


def test_a_plan_on_a_table_makes_no_cursor_keys(tmp_path: Path) -> None:
    shardweave("load", "-", "--data", str(tmp_path))
    (tmp_path / "cursor-keys.json").unlink()
    before = {path.name for path in tmp_path.iterdir()}
    outcome = shardweave("explain", "--entity", "user", "--data", str(tmp_path), "phone.prefix=1")
    assert (outcome.code, outcome.errors) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", [["query"], ["query", "--all"], ["query", "--json"], ["explain"]])
def test_a_bad_cursor_is_reported_at_the_parameter_that_it_came_in(command: list[str], tmp_path: Path) -> None:
    data, query = str(tmp_path / "data"), tmp_path / "query.json"
    shardweave("load", "-", "--data", data)
    query.write_text('{"conditions": {"phone": {"prefix": "1"}}, "nextToken": "altered"}')
    for asked in (["phone.prefix=1", "nextToken=altered"], ["--query", str(query)]):
        outcome = shardweave(*command, "--entity", "user", "--data", data, *asked)
        assert (outcome.code, outcome.output) == (2, "")
        assert outcome.errors.startswith("error: nextToken: the cursor was altered")


def test_an_empty_folder_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        shardweave("query", "--entity", "user", "--data", "")
    assert "--data: it is empty; give a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e30", "too large; 1e18 is the most"),
        ("inf", "is not a number"),
        ("nan", "is not a number"),
        ("0", "not a whole number"),
        ("x", "not a number"),
        ("٣", "not a number"),
        ("1_000", "not a number"),
    ],
)
def test_a_number_that_can_t_be_planned_is_refused_by_what_is_wrong(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        shardweave("plan", "--records", text, "--bytes", "100")
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "times",
    [
        ("1704067200000", "1704153600000"),
        ("2024-01-01", "2024-01-02"),
        ("2024-01-01T00:00:00Z", "2024-01-02T01:00:00+01:00"),
    ],
)
def test_a_space_takes_times_in_any_form(times: tuple[str, str]) -> None:
    earliest, latest = times
    assert shardweave(*SPACE, "--from", earliest, "--to", latest).lines == [[f"user!{n}" for n in range(4)]]


@pytest.mark.parametrize("option", ["--from", "--to"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1704067200", "in seconds, milliseconds are due; multiply by 1000"),
        ("9" * 30, "does not fit"),
        ("-5", "does not fit"),
        ("yesterday", "neither a number nor an ISO 8601 time; write epoch ms, 2024-01-31"),
        ("2023-11-14T22:13:21", "the time has no zone; end it with Z"),
    ],
)
def test_a_time_of_another_unit_is_refused(
    option: str, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        shardweave(*SPACE, f"{option}={text}")
    assert message in capsys.readouterr().err


def test_what_would_steer_a_terminal_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = shardweave("keys", "--entity", "user", given=json.dumps(USER | {"\x1b[31m\u202e": 1}))
    assert "\\x1b[31m\\u202e: the entity" in outcome.errors
    with pytest.raises(SystemExit, match="2"):
        shardweave("keys", "--entity", "user", "\x1b[31m")
    assert "\x1b" not in capsys.readouterr().err


@given(st.text())
def test_what_is_shown_holds_nothing_unseen_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(character) not in UNSEEN for character in shown.replace("\n", ""))
    assert visible(shown) == shown


def test_counts_are_said_as_people_say_them() -> None:
    assert [counted(count, "record") for count in (0, 1, 1000)] == ["0 records", "1 record", "1,000 records"]


def test_a_parameter_without_a_value_is_told_how_to_give_one() -> None:
    options = argparse.Namespace(query=None, parameters=["limit"])
    with pytest.raises(InputError, match=r"limit: the parameter has no value\. Fix: write limit=VALUE"):
        spec_of(options, schema().entity("user"))


@pytest.mark.parametrize("command", [["query"], ["query", "--all"], ["query", "--json"]], ids=" ".join)
def test_a_stored_record_that_can_not_be_read_is_told_beside_the_others_and_fails_the_command(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = "\n".join(json.dumps(USER | {"userId": f"u{number}"}) for number in range(3))
    shardweave("load", "-", "--data", str(tmp_path), given=records)
    asked = [*command, "--entity", "user", "--data", str(tmp_path), "beneficiaryId=b"]
    assert shardweave(*asked).code == 0
    capsys.readouterr()
    with closing(DataFolder(tmp_path).open_table(schema(), "user_service", "ordered", create=False)) as table:
        (whole,) = [item for item in table.run(Scan()).items if item.get("userId") == "u1"]
        table.run(PutItem({**whole, "firstName": ["sesame"], "rev": None}))
    assert shardweave(*asked).code == 1
    said = capsys.readouterr()
    assert "sesame" not in said.out + said.err
    if "--json" in command:
        (page,) = json.loads(said.out)
        assert sorted(each["userId"] for each in page["items"]) == ["u0", "u2"]
        assert [(each["key"], each["code"]) for each in page["unreadable"]] == [("u1", "invalid")]
    else:
        assert sorted(json.loads(line)["userId"] for line in said.out.splitlines()) == ["u0", "u2"]
        (told,) = [line for line in said.err.splitlines() if line.startswith("unreadable: ")]
        assert told.startswith("unreadable: user u1: a stored user can't be read, since it does not fit its entity: ")
        assert "firstName" in told
