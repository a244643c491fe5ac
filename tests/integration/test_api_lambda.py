"""The API as a Lambda function: events, environment, log."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from functions.api import handler as function
from services import user_service as declared
from shardweave.api.http import KEPT_PRIVATE
from shardweave.errors import ConfigurationError
from shardweave.query.cursor import CursorCodec, CursorKeys, CursorState
from shardweave.service.build import encode_cursor_keys
from shardweave.table.dynamodb import DynamoDBTable, create_table
from tests.integration.emulated_account import own_account
from tests.unit.api_world import Client, json_of, problem_of, user_service
from tests.unit.lambda_events import Context, event

KEYS = encode_cursor_keys(CursorKeys("k", {"k": b"0123456789abcdef"}))


@pytest.fixture(scope="module")
def client() -> Client:
    """A service with one user."""
    found = Client(user_service().api)
    found.post("/v1/users", {"userId": "ü/1 2", "firstName": "A", "lastName": "B", "beneficiaryId": "b"})
    return found


class TestEvents:
    def test_a_gateway_has_decoded_the_path_and_not_the_query(self, client: Client) -> None:
        assert json_of(client.answer(event("get", "/v1/users/ü/1 2")))["userId"] == "ü/1 2"
        assert client.answer(event("GET", "/v1/users/%C3%BC%2F1%202")).status == 404
        found = client.answer(event("GET", "/v1/users", "userId=%C3%BC%2F1+2"))
        assert [user["userId"] for user in json_of(found)["items"]] == ["ü/1 2"]

    def test_a_body_may_be_text_or_base64(self, client: Client) -> None:
        patch = '{"phone": "é"}'
        encoded = base64.b64encode(patch.encode()).decode()
        for given in (event("PATCH", "/v1/users/ü/1 2", body=patch), encoded_event(encoded)):
            assert json_of(client.answer(given))["phone"] == "é"
        for wrong in ("?", "Zm9", "/w=="):
            problem_of(client.answer(encoded_event(wrong)), 400, "malformed_request")

    @pytest.mark.parametrize(
        ("path", "stage", "status"),
        [
            ("/v1/users", "$default", 200),
            ("/prod/v1/users", "prod", 200),
            ("/prod", "prod", 404),
            ("/production/v1/users", "prod", 404),
            ("/v1/users", "v2", 200),
        ],
    )
    def test_the_stage_is_no_part_of_the_path(self, client: Client, path: str, stage: str, status: int) -> None:
        context = {"http": {"method": "GET", "path": path}, "stage": stage}
        assert client.answer(event("GET", path, requestContext=context)).status == status

    def test_an_answer_is_what_lambda_returns(self, client: Client) -> None:
        answer = client.api.resolve(event("GET", "/v1/users/ü/1 2"))
        assert answer.keys() == {"statusCode", "headers", "cookies", "body", "isBase64Encoded"}
        assert (answer["statusCode"], answer["headers"], answer["isBase64Encoded"]) == (
            200,
            {
                "content-type": "application/json",
                "etag": answer["headers"]["etag"],
                "x-request-id": answer["headers"]["x-request-id"],
                **KEPT_PRIVATE,
            },
            False,
        )
        assert "ü" in answer["body"]


def encoded_event(body: str) -> dict[str, Any]:
    return event("PATCH", "/v1/users/ü/1 2", body=body, isBase64Encoded=True)


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A deployed function's variables, and no function made of others."""
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "TABLE_NAME": "users",
        "CURSOR_KEYS": KEYS,
    }.items():
        monkeypatch.setenv(name, value)
    function.service.cache_clear()
    yield
    function.service.cache_clear()


@pytest.fixture
def environment(variables: None) -> Iterator[None]:
    """A deployed function's surroundings: its variables, its table."""
    del variables
    with own_account():
        table = DynamoDBTable(declared.schema().layout, "users")
        create_table(table)
        table.close()
        yield


@pytest.mark.usefixtures("environment")
class TestFunction:
    def call(self, *arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = function.handler(event(*arguments), Context())
        return answer

    def test_it_serves_the_same_routes_on_dynamodb(self) -> None:
        user = {"userId": "u/1", "firstName": "Jason", "lastName": "W", "beneficiaryId": "b"}
        made = self.call("POST", "/v1/users", "", json.dumps(user))
        assert (made["statusCode"], made["headers"]["location"]) == (201, "/v1/users/u%2F1")
        assert self.call("GET", "/v1/users/u/1")["body"] == made["body"]
        listed = json.loads(self.call("GET", "/v1/users", "firstNameCanonical.prefix=ja")["body"])
        assert listed["items"] == [json.loads(made["body"])]
        assert self.call("DELETE", "/v1/users/u/1")["statusCode"] == 204
        assert json.loads(self.call("GET", "/openapi.json")["body"])["openapi"] == "3.1.0"

    def test_it_logs_routes_and_no_values(self, caplog: pytest.LogCaptureFixture) -> None:
        self.call("GET", "/v1/users/secret")
        self.call("GET", "/v1/users", "phone=secret")
        logged = [vars(record) for record in caplog.records]
        assert [(each["route"], each["status"]) for each in logged] == [("/v1/users/{key}", 404), ("/v1/users", 200)]
        assert "secret" not in repr(logged)

    def test_it_writes_the_metrics_of_the_queries_that_a_request_asked(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.call("GET", "/v1/users/u1")
        assert "ReadUnits" not in capsys.readouterr().out
        self.call("POST", "/v1/users/count", "", json.dumps({"index": "phone"}))
        (line,) = (line for line in capsys.readouterr().out.splitlines() if "ReadUnits" in line)
        metrics = json.loads(line)
        assert (metrics["service"], metrics["stage"], metrics["entity"]) == ("user_service", "dev", "user")
        assert metrics["Lanes"] == [4]

    def test_a_request_that_can_not_be_read_is_a_problem(self) -> None:
        answer = self.call("GET", "/v1/users", "a=%ff")
        assert (answer["statusCode"], answer["headers"]["content-type"]) == (400, "application/problem+json")


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize(
    ("name", "value"),
    [("TABLE_NAME", ""), ("SERVICE", "nosuch"), ("KEY_FORMAT", "nosuch"), ("THROTTLE", "many"), ("CURSOR_KEYS", "{")],
)
def test_a_function_with_a_wrong_setting_answers_500_and_logs_which(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    answer = function.handler(event("GET", "/v1/users"), Context())
    assert (answer["statusCode"], answer["headers"]["content-type"]) == (500, "application/problem+json")
    (logged,) = [vars(record) for record in caplog.records]
    assert (logged["levelname"], logged["problem"]) == ("ERROR", "invalid_configuration")
    assert logged["trace"][0].startswith("shardweave.errors.ConfigurationError: ")
    assert KEYS not in repr(logged)


def test_a_function_without_cursor_keys_says_how_to_give_them() -> None:
    with pytest.raises(ConfigurationError, match="CURSOR_KEYS_SECRET"):
        function.cursor_keys({})


@pytest.mark.usefixtures("environment")
def test_cursor_keys_and_external_keys_come_from_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    boto3.client("secretsmanager").create_secret(Name="cursors", SecretString=KEYS)
    monkeypatch.delenv("CURSOR_KEYS")
    assert function.cursor_keys({"CURSOR_KEYS_SECRET": "cursors"})().current == "k"
    assert function.external_keys({"EXTERNAL_KEYS_SECRET": "cursors"}).current == "k"


@pytest.mark.usefixtures("environment")
def test_a_secret_that_can_not_be_read_is_named_when_a_cursor_needs_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("CURSOR_KEYS")
    monkeypatch.setenv("CURSOR_KEYS_SECRET", "lost")
    assert function.handler(event("GET", "/v1/users"), Context())["statusCode"] == 200
    token = CursorCodec(CursorKeys("k", {"k": b"0" * 32})).encode(CursorState(0, (0,), None), bytes(16))
    assert function.handler(event("GET", "/v1/users", f"nextToken={token}"), Context())["statusCode"] == 500
    *_, logged = [vars(record) for record in caplog.records]
    assert "lost: the secret can't be read (ResourceNotFoundException)" in logged["trace"][0]


def test_importing_the_function_reaches_for_nothing_that_it_may_not_need() -> None:
    program = "import sys, functions.api.handler; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_paths())
    imported = set(done.stdout.split())
    openapi = "aws_lambda_powertools.event_handler.openapi.models"
    for module in ("boto3", "sqlite3", "uvicorn", "rich", "services.user_service", openapi):
        assert module not in imported


def _paths() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""}
