"""When a stack is created, the lookups of its new table are decided, and CloudFormation always gets an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from functions.resharder import deployment
from functions.resharder.handler import handler
from shardweave.errors import AccessDenied
from tests.infra.templates import resources
from tests.unit.lambda_context import Context
from tests.unit.store_world import NoWaiting

EVENT = {"RequestType": "Create", "StackId": "s", "RequestId": "r", "LogicalResourceId": "l"}


def no_rights(*_: Any) -> Any:
    raise AccessDenied("it is not allowed", where="Scan", fix="allow it")


def broken(*_: Any) -> Any:
    raise ZeroDivisionError


class Decisions:
    """Decides as it is told, one outcome after the other; the last stays."""

    def __init__(self, *outcomes: Callable[[], tuple[str, ...]]) -> None:
        self._outcomes = list(outcomes)
        self.taken = 0

    def __call__(self) -> tuple[str, ...]:
        self.taken += 1
        return (self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0])()


def decide(decisions: Decisions, *, request: str = "Create", status: str = "CREATE_IN_PROGRESS") -> str:
    event = {**EVENT, "RequestType": request}
    return deployment.decide(event, lambda stack: status, decisions, NoWaiting().waiting())


def test_the_creation_of_a_stack_decides() -> None:
    decisions = Decisions(tuple)
    assert decide(decisions) == ""
    assert decisions.taken == 1


@pytest.mark.parametrize(
    ("request_type", "status"),
    [
        ("Create", "UPDATE_IN_PROGRESS"),
        ("Create", "IMPORT_IN_PROGRESS"),
        ("Update", "UPDATE_IN_PROGRESS"),
        ("Delete", "UPDATE_ROLLBACK_IN_PROGRESS"),
        ("Delete", "ROLLBACK_IN_PROGRESS"),
        ("Delete", "DELETE_IN_PROGRESS"),
    ],
)
def test_nothing_else_does_since_an_api_may_be_writing(request_type: str, status: str) -> None:
    decisions = Decisions(broken)
    assert decide(decisions, request=request_type, status=status) == ""
    assert decisions.taken == 0


def test_rights_that_do_not_count_yet_are_waited_for() -> None:
    decisions = Decisions(no_rights, lambda: ("issue.code",), broken, tuple)
    assert decide(decisions) == ""
    assert decisions.taken == 4


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (no_rights, "the lookups of the new table could not be decided: access_denied"),
        (broken, "the lookups of the new table could not be decided: ZeroDivisionError"),
        (lambda: ("issue.code", "issue.num"), "the table is not new: issue.code, issue.num must be filled"),
    ],
)
def test_what_lasts_is_the_reason_that_the_creation_fails(outcome: Callable[[], tuple[str, ...]], why: str) -> None:
    assert decide(Decisions(outcome)) == why


# -- the answer


@pytest.fixture
def answers() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Where to, and what was answered."""
    found: list[dict[str, Any]] = []

    class Answered(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answered)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", found
    server.shutdown()
    thread.join()
    server.server_close()


def test_success_and_failure_are_answered_in_the_words_of_cloudformation(
    answers: tuple[str, list[dict[str, Any]]],
) -> None:
    url, found = answers
    event = {**EVENT, "ResponseURL": url}
    deployment.answer(event, "")
    deployment.answer({**event, "PhysicalResourceId": "kept"}, "the reason")
    same = {"StackId": "s", "RequestId": "r", "LogicalResourceId": "l"}
    assert found == [
        {"Status": "SUCCESS", "PhysicalResourceId": "lookups", **same},
        {"Status": "FAILED", "PhysicalResourceId": "kept", "Reason": "the reason", **same},
    ]


@pytest.mark.parametrize("request_type", ["Update", "Delete"])
def test_the_function_answers_what_asks_for_nothing(
    request_type: str, answers: tuple[str, list[dict[str, Any]]]
) -> None:
    """Without a table, a stack or rights: it looks at none of them."""
    url, found = answers
    handler({**EVENT, "RequestType": request_type, "ResponseURL": url}, Context())  # type: ignore[arg-type]
    assert [each["Status"] for each in found] == ["SUCCESS"]


# -- the template


def test_the_api_is_made_after_the_lookups_are_decided(template: dict[str, Any]) -> None:
    (name, lookups) = next(iter(resources(template, "Custom::Lookups").items()))
    (token,) = resources(template, "AWS::Lambda::Alias").keys() & {lookups["Properties"]["ServiceToken"]["Ref"]}
    assert "Resharder" in token
    assert lookups["DeletionPolicy"] == "Retain"
    functions = resources(template, "AWS::Lambda::Function")
    (api,) = (each for each in functions.values() if each["Properties"]["Handler"].startswith("functions.api."))
    assert name in api["DependsOn"]
