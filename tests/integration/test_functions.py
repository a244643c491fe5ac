"""The functions that schedules call, on an emulated account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from functions.doctor import handler as doctor
from functions.rotator import handler as rotator
from shardweave.errors import ConfigurationError
from shardweave.keys.shard_key.key_ring import decode_key_ring
from shardweave.maintenance.doctor import MAX_TRIES
from shardweave.maintenance.progress import Progress
from shardweave.schema.schema import Schema
from shardweave.service.loader import service_module
from shardweave.table.conditions import BeginsWith
from shardweave.table.dynamodb import DynamoDBTable, create_table
from shardweave.table.layout import TableLayout
from shardweave.table.operations import PutItem, Scan
from tests.integration.emulated_account import own_account
from tests.unit.lambda_context import Context

FIRST = "a1B2" * 16
TABLE = "users"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty account, and the environment of a function in it."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "TABLE_NAME": TABLE,
        "SERVICE": "user_service",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with own_account():
        yield
    doctor.store.cache_clear()


def make_table(layout: TableLayout) -> None:
    table = DynamoDBTable(layout, TABLE)
    create_table(table)
    table.close()


def user_schema() -> Schema:
    schema: Schema = service_module("user_service").schema()
    return schema


def examine(event: dict[str, Any], context: Context) -> dict[str, Any]:
    return doctor.handler(event, context)  # type: ignore[arg-type]


def turn(event: dict[str, Any]) -> dict[str, Any]:
    return rotator.handler(event, Context())  # type: ignore[arg-type]


# -- the doctor -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("account")
def test_the_doctor_finds_nothing_wrong_with_the_table_that_the_schema_makes() -> None:
    make_table(user_schema().layout)
    store = doctor.store()
    for number in range(20):
        store.create(
            {"firstName": "Ann", "lastName": f"Lee {number}", "beneficiaryId": "b"}, store.schema["user"].model
        )
    report = examine({}, Context())
    assert (report["done"], report["verdict"], report["found"], report["layout"]) == (True, "clean", {}, [])
    assert report["read"] >= 20


@pytest.mark.usefixtures("account")
def test_the_doctor_names_what_is_missing_with_its_fix_and_counts_it(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    layout = user_schema().layout
    make_table(TableLayout(indexes=layout.indexes[2:]))
    report = examine({}, Context())
    assert [fault["where"] for fault in report["layout"]] == ["index created", "index firstName"]
    assert all(fault["fix"] for fault in report["layout"])
    (line,) = (json.loads(line) for line in capsys.readouterr().out.splitlines() if '"Faults"' in line)
    assert (line["Faults"], line["FaultsForAPerson"]) == ([2.0], [2.0])
    assert [record.levelname for record in caplog.records].count("WARNING") == 2


@pytest.mark.usefixtures("account")
def test_a_doctor_without_time_goes_on_the_next_time() -> None:
    make_table(user_schema().layout)
    report = examine({}, Context(remaining_ms=1000))
    assert not report["done"]
    while not report["done"]:
        report = examine({}, Context(remaining_ms=1000))
    assert report["verdict"] == "clean"


@pytest.mark.usefixtures("account")
def test_what_no_run_had_the_time_for_is_in_the_log_and_counted_and_comes_first_the_next_time(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    make_table(user_schema().layout)
    work = Progress(doctor.store().parts, "doctor")
    while (state := work.read() or {}).get("part") != "indexes":
        assert not examine({}, Context(remaining_ms=1000))["done"]
    work.save({**state, "place": {"left": ["created"], "bucket": 0}, "tries": MAX_TRIES})
    capsys.readouterr()
    report = examine({}, Context())
    assert (report["done"], report["verdict"], report["unfinished"]) == (True, "needs a person", ["index created"])
    (line,) = (json.loads(line) for line in capsys.readouterr().out.splitlines() if '"Faults"' in line)
    assert (line["Faults"], line["FaultsForAPerson"]) == ([1.0], [1.0])
    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert (record.message, vars(record)["what"]) == ("not examined", "index created")
    assert examine({}, Context())["verdict"] == "clean", "the next examination has the time"


@pytest.mark.usefixtures("account")
def test_a_fault_of_a_record_is_in_the_log_with_its_key_and_no_other_value(caplog: pytest.LogCaptureFixture) -> None:
    make_table(user_schema().layout)
    store = doctor.store()
    user = store.create({"firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}, store.schema["user"].model)
    (item,) = store.table.run(Scan(filter=BeginsWith("hashKey", "user!"))).items
    store.table.run(PutItem({**item, "firstNameRangeKey": "firstNameCanonical#zoe"}))
    report = examine({}, Context())
    assert report["found"] == {"stale_key": 1}
    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert vars(record)["about"] == "user.firstNameRangeKey"
    assert user.user_id in vars(record)["key"][1]  # type: ignore[attr-defined]
    assert "zoe" not in str(vars(record))


# -- the rotator ------------------------------------------------------------------------------------------------------


@pytest.fixture
def secret(account: None) -> str:
    created = boto3.client("secretsmanager").create_secret(Name="cursor-keys", SecretString=FIRST)
    return str(created["ARN"])


def stored(secret: str) -> str:
    return str(boto3.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"])


def test_the_rotator_turns_what_infrastructure_made(secret: str) -> None:
    assert turn({"secret": secret, "keep": 1, "turn": "1"}) == {"turn": "1", "current": "k1", "keys": ["k1", "k2"]}
    assert turn({"secret": secret, "keep": 1, "turn": "2"})["current"] == "k2"
    assert turn({"secret": secret, "keep": 1, "turn": "3"})["keys"] == ["k2", "k3", "k4"]
    ring = decode_key_ring(stored(secret))
    assert (ring.current, list(ring.secrets)) == ("k3", ["k2", "k3", "k4"])
    assert len(set(ring.secrets.values())) == 3


def test_all_keys_stay_when_the_event_does_not_say_how_many(secret: str) -> None:
    for number in range(4):
        answer = turn({"secret": secret, "turn": str(number)})
    assert (answer["current"], answer["keys"]) == ("k4", ["k1", "k2", "k3", "k4", "k5"])


def test_a_turn_that_is_asked_for_again_changes_nothing(secret: str) -> None:
    turn({"secret": secret, "turn": "1"})
    before = stored(secret)
    assert turn({"secret": secret, "turn": "1"})["current"] == "k1"
    assert stored(secret) == before


def test_neither_the_log_nor_the_answer_has_a_secret(
    secret: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    answer = turn({"secret": secret, "turn": "1"})
    logged = [vars(record) for record in caplog.records if record.name != "botocore"]
    told = f"{answer} {capsys.readouterr()} {logged}"
    for kept in json.loads(stored(secret))["secrets"].values():
        assert kept not in told
    assert FIRST not in told


def test_a_leaked_cursor_key_is_gone_after_two_turns_that_keep_none(secret: str) -> None:
    for number in range(3):
        turn({"secret": secret, "keep": 1, "turn": str(number)})
    known = set(decode_key_ring(stored(secret)).secrets.values())
    for number in (1, 2):
        turn({"secret": secret, "keep": 0, "turn": f"leak-{number}"})
    ring = decode_key_ring(stored(secret))
    assert not known & set(ring.secrets.values())
    assert ring.current in ring.secrets


def test_a_ring_whose_keys_stay_for_ever_gives_up_none(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT_WHOLE", secret)
    before = stored(secret)
    with pytest.raises(ConfigurationError, match="stay for ever"):
        turn({"secret": secret, "keep": 0, "turn": "1"})
    assert stored(secret) == before
    for number in range(4):
        answer = turn({"secret": secret, "turn": str(number)})
    assert len(answer["keys"]) == 5
