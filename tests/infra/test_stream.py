"""The stream mapping that the template asks for, and how the real resharder fares under it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from moto import mock_aws

from functions.resharder.handler import change_handler, handler
from shardweave.errors import ShardweaveError
from shardweave.service.build import deployed_schema
from shardweave.table.dynamodb import DynamoDBTable, create_table
from shardweave.table.lambda_stream import encode_change
from shardweave.table.stream_operations import StreamRecord
from tests.infra.stream_mapping import Record, StreamMapping, sequence_of
from tests.unit.lambda_context import Context


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The function's table in an emulated account: it looks there whether an entity is moving."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "TABLE_NAME": "users",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        table = DynamoDBTable(deployed_schema({}).layout, "users")
        create_table(table)
        table.close()
        yield
    change_handler.cache_clear()


def resource(template: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The properties of the template's one resource of a kind."""
    (found,) = (each["Properties"] for each in template["Resources"].values() if each["Type"] == kind)
    return dict(found)


@pytest.fixture
def settings(template: dict[str, Any]) -> dict[str, Any]:
    return resource(template, "AWS::Lambda::EventSourceMapping")


def change(number: int, *, created: float = 0.0) -> dict[str, Any]:
    """One change of a user's record, which is the `number`th of its shard."""
    key = {"hashKey": f"user!{number % 4}", "rangeKey": f"userId#{number}"}
    record = StreamRecord("INSERT", key, None, {**key, "firstName": "a secret"}, f"{number:05d}", f"e{number}", created)
    return encode_change(record)


def changes(count: int) -> list[dict[str, Any]]:
    return [change(number) for number in range(count)]


def broken(record: Record) -> dict[str, Any]:
    """The record in a form that nobody can read."""
    return {**record, "eventName": "SMUDGED"}


def call(event: dict[str, Any]) -> dict[str, Any]:
    return handler(event, Context())  # type: ignore[arg-type]


def done_in(mapping: StreamMapping, output: str) -> int:
    """How many changes the function said to have handled, in its metrics."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"_aws"')]
    return sum(int(value) for line in lines for value in line.get("Changes", ()))


def test_the_mapping_begins_at_the_oldest_change_and_gives_none_up_lightly(settings: dict[str, Any]) -> None:
    wanted = {
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": 10,
        "MaximumRecordAgeInSeconds": 6 * 60 * 60,
    }
    assert {name: settings[name] for name in wanted} == wanted
    assert settings["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0].startswith("FailuresQueue")
    assert settings["FunctionName"]["Fn::Join"][1][-1] == ":live"


def test_changes_come_in_order_in_full_batches(settings: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    mapping = StreamMapping(settings, call)
    mapping.run(changes(250))
    assert [len(batch) for batch in mapping.calls] == [100, 100, 50]
    assert [sequence for batch in mapping.calls for sequence in batch] == [f"{number:05d}" for number in range(250)]
    assert done_in(mapping, capsys.readouterr().out) == 250
    assert mapping.destination == []


@pytest.mark.parametrize("position", [0, 1, 37, 98, 99])
def test_one_broken_change_ends_alone_and_all_others_are_handled_once(
    settings: dict[str, Any], capsys: pytest.CaptureFixture[str], position: int
) -> None:
    mapping = StreamMapping(
        settings, call, deliver=lambda record: broken(record) if sequence_of(record) == f"{position:05d}" else record
    )
    mapping.run(changes(100))
    (given_up,) = mapping.destination
    assert given_up["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert given_up["DDBStreamBatchInfo"] == {
        "startSequenceNumber": f"{position:05d}",
        "endSequenceNumber": f"{position:05d}",
        "batchSize": 1,
    }
    assert mapping.calls.count([f"{position:05d}"]) == 11
    assert done_in(mapping, capsys.readouterr().out) == 99


class Noticing(dict[str, Any]):
    """A change that tells when the function takes its keys, which it does once for each time that it handles it."""

    def __init__(self, content: Record, handled: list[str]) -> None:
        super().__init__(content)
        self._handled = handled

    def __getitem__(self, name: str) -> Any:
        if name == "Keys":
            self._handled.append(str(super().__getitem__("SequenceNumber")))
        return super().__getitem__(name)


@pytest.mark.parametrize("bad", [set(), {"00000"}, {"00040", "00041", "00099"}])
def test_within_a_batch_changes_are_handled_in_their_order_each_once(settings: dict[str, Any], bad: set[str]) -> None:
    handled: list[str] = []

    def deliver(record: Record) -> Record:
        noticed = {**record, "dynamodb": Noticing(record["dynamodb"], handled)}
        return broken(noticed) if sequence_of(record) in bad else noticed

    StreamMapping(settings, call, deliver=deliver).run(changes(120))
    assert handled == [sequence for sequence in (f"{number:05d}" for number in range(120)) if sequence not in bad]


def test_several_broken_changes_each_end_alone(settings: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    bad = {"00003", "00004", "00150"}
    mapping = StreamMapping(
        settings, call, deliver=lambda record: broken(record) if sequence_of(record) in bad else record
    )
    mapping.run(changes(200))
    assert {each["DDBStreamBatchInfo"]["startSequenceNumber"] for each in mapping.destination} == bad
    assert all(each["DDBStreamBatchInfo"]["batchSize"] == 1 for each in mapping.destination)
    assert done_in(mapping, capsys.readouterr().out) == 197


def test_no_change_is_handled_while_an_earlier_one_still_may_be(settings: dict[str, Any]) -> None:
    bad, mapping = "00040", StreamMapping(settings, call)
    mapping.deliver = lambda record: broken(record) if sequence_of(record) == bad else record
    mapping.run(changes(100))
    last_try = max(number for number, batch in enumerate(mapping.calls) if bad in batch)
    for batch in mapping.calls[:last_try]:
        later = [sequence for sequence in batch if sequence > bad]
        assert not later or bad in batch


def test_a_change_that_can_be_read_after_a_while_is_not_given_up(
    settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    smudged = iter([True] * 8)

    def deliver(record: Record) -> Record:
        return broken(record) if sequence_of(record) == "00002" and next(smudged, False) else record

    mapping = StreamMapping(settings, call, deliver=deliver)
    mapping.run(changes(5))
    assert mapping.destination == []
    assert done_in(mapping, capsys.readouterr().out) == 5


def test_what_is_older_than_six_hours_is_given_up_and_the_shard_goes_on(
    settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    now = 6 * 60 * 60 + 100.0
    mapping = StreamMapping(settings, call, now=now)
    mapping.run([change(0, created=0.0), change(1, created=50.0), change(2, created=now)])
    assert [each["requestContext"]["condition"] for each in mapping.destination] == ["RecordAgeExceeded"]
    assert mapping.destination[0]["DDBStreamBatchInfo"]["batchSize"] == 2
    assert done_in(mapping, capsys.readouterr().out) == 1


def test_why_a_first_failure_is_raised_and_not_reported(settings: dict[str, Any]) -> None:
    """A function that always reports would lose everything behind the change at fault: nothing is split."""

    def reporting(event: dict[str, Any]) -> dict[str, Any]:
        return {"batchItemFailures": [{"itemIdentifier": sequence_of(event["Records"][0])}]}

    mapping = StreamMapping(settings, reporting)
    mapping.run(changes(100))
    assert mapping.destination[0]["DDBStreamBatchInfo"]["batchSize"] == 100


def test_the_log_has_shards_and_places_of_failures_and_no_values(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ShardweaveError, match="first change") as caught:
        call({"Records": [broken(change(1))]})
    call({"Records": [change(2), broken(change(3))]})
    logged = [vars(record) for record in caplog.records]
    told = f"{capsys.readouterr()} {caught.value} {logged}"
    assert "secret" not in told
    assert "userId#" not in told
    assert [line["shards"] for line in logged if "shards" in line] == [{}, {"user!2": 1}]
    assert all("lambda_stream.py" in str(line["trace"]) for line in logged if line["levelname"] == "ERROR")


def test_the_watchdog_wakes_it(caplog: pytest.LogCaptureFixture) -> None:
    assert call({"wake": True}) == {"woken": 0}
    assert [record.message for record in caplog.records] == ["woken"]
