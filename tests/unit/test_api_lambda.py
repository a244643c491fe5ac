"""The API as a Lambda function: events, environment, log."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from moto import mock_aws

from functions.api import handler as function
from services import user_service
from shardweave.api.lambda_events import answer_of, request_of
from shardweave.api.messages import Response
from shardweave.errors import ConfigurationError, MalformedRequest
from shardweave.query.cursor import CursorKeys
from shardweave.service import encode_cursor_keys
from shardweave.table.dynamodb import DynamoDBTable, create_table

KEYS = encode_cursor_keys(CursorKeys("k", {"k": b"0123456789abcdef"}))


class Context(LambdaContext):
    """What Lambda tells a function about the invocation."""

    _function_name = "api"
    _memory_limit_in_mb = 512
    _invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:api"
    _aws_request_id = "request-1"


def event(method: str, path: str, query: str = "", body: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"Content-Type": "application/json", "host": "x"},
        "body": body,
        "isBase64Encoded": False,
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
        **more,
    }


class TestEvents:
    def test_a_request_is_read_from_an_event(self) -> None:
        request = request_of(event("patch", "/v1/users/ü/1 2", "a=1%2C2&a=3", "{}"))
        assert (request.method, request.path, request.query) == ("PATCH", "/v1/users/ü/1 2", (("a", "1,2"), ("a", "3")))
        assert (request.headers["content-type"], request.body) == ("application/json", b"{}")

    def test_a_body_in_base64_is_decoded(self) -> None:
        encoded = base64.b64encode(b'{"a":1}').decode()
        assert request_of(event("POST", "/x", body=encoded, isBase64Encoded=True)).body == b'{"a":1}'
        with pytest.raises(MalformedRequest):
            request_of(event("POST", "/x", body="?", isBase64Encoded=True))

    @pytest.mark.parametrize(
        ("path", "stage", "expected"),
        [
            ("/v1/users", "$default", "/v1/users"),
            ("/prod/v1/users", "prod", "/v1/users"),
            ("/prod", "prod", "/"),
            ("/production/v1", "prod", "/production/v1"),
            ("/v1/users", "v2", "/v1/users"),
        ],
    )
    def test_the_stage_is_no_part_of_the_path(self, path: str, stage: str, expected: str) -> None:
        context = {"http": {"method": "GET"}, "stage": stage}
        assert request_of(event("GET", path, requestContext=context)).path == expected

    def test_an_answer_is_what_lambda_returns(self) -> None:
        assert answer_of(Response(201, "ü".encode(), {"location": "/x"})) == {
            "statusCode": 201,
            "headers": {"location": "/x"},
            "body": "ü",
            "isBase64Encoded": False,
        }


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A deployed function's surroundings: its variables, its table."""
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "TABLE_NAME": "users",
        "CURSOR_KEYS": KEYS,
    }.items():
        monkeypatch.setenv(name, value)
    function.service.cache_clear()
    with mock_aws():
        table = DynamoDBTable(user_service.schema().layout, "users")
        create_table(table)
        table.close()
        yield
    function.service.cache_clear()


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

    def test_a_request_that_can_not_be_read_is_a_problem(self) -> None:
        answer = self.call("GET", "/v1/users", "a=%ff")
        assert (answer["statusCode"], answer["headers"]["content-type"]) == (400, "application/problem+json")


@pytest.mark.usefixtures("environment")
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
def test_cursor_keys_come_from_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    boto3.client("secretsmanager").create_secret(Name="cursors", SecretString=KEYS)
    monkeypatch.delenv("CURSOR_KEYS")
    assert function.cursor_keys({"CURSOR_KEYS_SECRET": "cursors"}).current == "k"


def test_importing_the_function_reaches_for_nothing_that_it_may_not_need() -> None:
    program = "import sys, functions.api.handler; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_paths())
    imported = set(done.stdout.split())
    for module in ("boto3", "sqlite3", "uvicorn", "rich", "shardweave.api.openapi", "services.user_service"):
        assert module not in imported


def _paths() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""}
