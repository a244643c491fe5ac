"""Requests that can't be carried out, and what is said about them: routes, methods, bodies, problem documents."""

from __future__ import annotations

import inspect
import json
import sys
import threading
from typing import NoReturn

import pytest

from shardweave import errors
from shardweave.api.app import Api, Observation
from shardweave.api.http import Response, decode_path, decode_query
from shardweave.api.operation import Answer, Body, Call, Operation
from shardweave.api.problems import STATUSES, Problem, problem, status_of
from shardweave.api.safe_traceback import trace
from shardweave.wire.parameter import Parameter
from tests.unit.api_world import Client, code_of, problem_of, user_service
from tests.unit.openapi_answers import undescribed

USER = {"firstName": "A", "lastName": "B", "beneficiaryId": "b"}


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(user_service().api)


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/", "/v2/users", "/v1/people", "/v1/users/", "//v1/users", "/V1/users", "/v1/users\n"]
)
def test_a_path_that_is_not_there(client: Client, path: str) -> None:
    problem = problem_of(client.get(path), 404, "route_not_found")
    assert "/v1/users" in problem["fix"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/users", "GET, HEAD, POST"),
        ("POST", "/v1/users/u1", "DELETE, GET, HEAD, PATCH, PUT"),
        ("OPTIONS", "/v1/users", "GET, HEAD, POST"),
        ("GET", "/v1/sign-up", "POST"),
        ("BREW", "/openapi.json", "GET, HEAD"),
    ],
)
def test_a_method_that_a_path_does_not_take(client: Client, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    problem_of(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("action", ["query", "count", "explain"])
def test_a_query_that_is_asked_by_get_is_told_that_post_asks_it(client: Client, action: str) -> None:
    refused = problem_of(client.get(f"/v1/users/{action}?firstNameCanonical=ann"), 400, "unknown_name")
    assert "GET takes the path's end for a record's key, POST asks what it names" in refused["fix"]
    other = problem_of(client.get("/v1/users/u1?firstNameCanonical=ann"), 400, "unknown_name")
    assert "POST" not in other["fix"]
    for method in ("GET", "DELETE"):
        missing = problem_of(client.request(method, f"/v1/users/{action}"), 404, "not_found")
        assert f"{method} takes the path's end for a record's key, POST asks what it names" in missing["fix"]
    assert "POST" not in problem_of(client.get("/v1/users/u1"), 404, "not_found")["fix"]


def test_head_is_get_without_the_body(client: Client) -> None:
    answer = client.request("HEAD", "/v1/users")
    assert (answer.status, answer.body, answer.headers) == (200, b"", client.get("/v1/users").headers)
    assert client.request("HEAD", "/v1/users/nobody").status == 404


@pytest.mark.parametrize("media_type", ["", "text/plain", "application/xml", "application/jsonx", "json"])
def test_a_body_of_another_type(client: Client, media_type: str) -> None:
    answer = client.request("POST", "/v1/users", json.dumps(USER).encode(), {"content-type": media_type})
    assert "application/json" in problem_of(answer, 415, "unsupported_media_type")["fix"]


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": 'application/json; charset="ISO-8859-1"'},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-type": "application/json", "content-encoding": "identity, br"},
    ],
)
def test_a_body_that_is_said_to_be_encoded_otherwise(client: Client, headers: dict[str, str]) -> None:
    answer = client.request("POST", "/v1/users", json.dumps(USER).encode(), headers)
    assert problem_of(answer, 415, "unsupported_media_type")["where"] == list(headers)[-1]


def test_a_body_that_is_said_to_be_as_it_is(client: Client) -> None:
    headers = {"content-type": 'application/json; charset="UTF-8"', "content-encoding": "identity"}
    assert client.request("POST", "/v1/users", json.dumps(USER).encode(), headers).status == 201


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=UTF-8", " application/json ;x"])
def test_a_body_whose_type_is_written_in_another_way(client: Client, media_type: str) -> None:
    assert client.request("POST", "/v1/users", json.dumps(USER).encode(), {"content-type": media_type}).status == 201


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"firstName": NaN}',
        b'{"firstName": -Infinity}',
        b'{"firstName": "A", "firstName": "B"}',
        b'{"labels": {"a": 1, "a": 2}}',
        b"{} {}",
        b"\xff\xfe{}",
        '{"firstName": "A"}'.encode("utf-16"),
        b'{"firstName": "\\ud800"}',
        b'{"a":' * 100_000,
        b'{"firstName": ' + b"9" * 5000 + b"}",
    ],
    ids=range(15),
)
def test_a_body_that_can_not_be_read(client: Client, body: bytes) -> None:
    for method, path in (("POST", "/v1/users"), ("PATCH", "/v1/users/u1"), ("POST", "/v1/sign-up")):
        problem_of(client.request(method, path, body, {"content-type": "application/json"}), 400, "malformed_request")


@pytest.mark.parametrize("levels", [65, 250, 600, 100_000])
@pytest.mark.parametrize(("opened", "closed"), [('{"a":', "}"), ("[", "]")])
def test_a_body_that_is_nested_too_deeply_is_told_so(client: Client, levels: int, opened: str, closed: str) -> None:
    body = '{"firstName": ' + opened * (levels - 1) + "1" + closed * (levels - 1) + "}"
    answer = client.request("POST", "/v1/users", body.encode(), {"content-type": "application/json"})
    problem = problem_of(answer, 400, "malformed_request")
    assert problem["detail"] == "it is nested more than 64 levels deep"


def test_a_body_may_be_nested_as_deep_as_a_record(client: Client) -> None:
    body = '{"firstName": ' + "[" * 63 + "1" + "]" * 63 + "}"
    answer = client.request("POST", "/v1/users", body.encode(), {"content-type": "application/json"})
    problem_of(answer, 400, "validation_failed")


def test_a_body_over_the_limit() -> None:
    client = Client(user_service(max_body_bytes=100).api)
    body = json.dumps(USER).encode()
    headers = {"content-type": "application/json"}
    assert client.request("POST", "/v1/users", body.ljust(100), headers).status == 201
    assert (
        "100"
        in problem_of(client.request("POST", "/v1/users", body.ljust(101), headers), 413, "body_too_large")["detail"]
    )


def test_what_a_client_sends_does_not_decide_how_long_the_answer_is(client: Client) -> None:
    answer = client.post("/v1/users", {f"{'x' * 200}{number}": 1 for number in range(4000)})
    document = problem_of(answer, 400, "validation_failed")
    assert len(document["errors"]) == 100
    assert document["detail"].endswith("and 3903 more")
    assert len(answer.body) < 50_000


@pytest.mark.parametrize("raw", ["/v1/users/%ff", "/v1/users/%c3", "/%80", "/v1/users/%", "/v1/users/%zz"])
def test_a_path_that_is_no_percent_encoded_utf_8(raw: str) -> None:
    with pytest.raises(errors.MalformedRequest):
        decode_path(raw)


def test_a_query_that_is_not_utf_8_or_never_ends() -> None:
    for raw in ("a=%ff", "&".join("a=b" for _ in range(300))):
        with pytest.raises(errors.MalformedRequest):
            decode_query(raw)
    assert decode_query("a=1&a=2&b=&c&d=%26+%2B") == (("a", "1"), ("a", "2"), ("b", ""), ("c", ""), ("d", "& +"))


# -- problems ---------------------------------------------------------------------------------------------------------

SAMPLES: dict[type[errors.ShardweaveError], errors.ShardweaveError] = {
    errors.SchemaError: errors.SchemaError([errors.Fault("user", "is wrong", "mend it")]),
    errors.ValidationFailed: errors.ValidationFailed([errors.FieldFault(("a", 0, "b"), "is wrong", "wrong")]),
    errors.MethodNotAllowed: errors.MethodNotAllowed(["GET"]),
    errors.BatchIncomplete: errors.BatchIncomplete([1], total=2),
    errors.ConditionFailed: errors.ConditionFailed({"phone": "secret"}),
    errors.TransactionCanceled: errors.TransactionCanceled([errors.CancellationReason("X", {"phone": "secret"})]),
    errors.Throttled: errors.Throttled(),
    errors.LaneFailed: errors.LaneFailed("created user!0", errors.Throttled()),
    errors.RecordUnreadable: errors.RecordUnreadable(errors.Unreadable("part", {"sku": "b"}, "invalid")),
    errors.RateExceeded: errors.RateExceeded("It went wrong.", retry_after_seconds=7),
}
HELPED_BY_TRYING_AGAIN = {
    errors.BatchIncomplete,
    errors.DeleteIncomplete,
    errors.DeadlineTooShort,
    errors.LaneFailed,
    errors.RateExceeded,
    errors.ShardMapChanged,
    errors.TableUnavailable,
    errors.Throttled,
    errors.TransactionConflict,
    errors.TransactionInProgress,
}
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.ShardweaveError)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_problem_document(kind: type[errors.ShardweaveError]) -> None:
    error = SAMPLES.get(kind) or kind("It went wrong.", where="here", fix="mend it")
    answer = problem(error)
    told = answer.status != 500 or kind is errors.RecordUnreadable
    code = kind.code if told else "internal_error"
    document = problem_of(answer, status_of(kind), code)
    assert "secret" not in json.dumps(document)
    assert ("retry-after" in answer.headers) == (kind in HELPED_BY_TRYING_AGAIN)


def test_when_to_try_again_is_said_where_that_helps_and_by_the_rate_itself() -> None:
    assert all(status_of(kind) in (429, 503) for kind in HELPED_BY_TRYING_AGAIN)
    unhelped = {kind for kind in KINDS if status_of(kind) == 503} - HELPED_BY_TRYING_AGAIN
    assert unhelped == {
        errors.LookupNotReady,
        errors.ReshardUnreadable,
        errors.TableUnusable,
        errors.TooManyLaggingLanes,
    }
    assert problem(SAMPLES[errors.RateExceeded]).headers["retry-after"] == "7"
    lane = errors.LaneFailed("created user!0", errors.TableUnusable("It is damaged.", fix="mend it"))
    assert "retry-after" not in problem(lane).headers, "a lane fails as its cause does"


def test_codes_are_unique_and_titles_too_where_the_status_is_one() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)
    assert set(STATUSES) <= set(KINDS)


def test_every_wrong_input_is_a_client_error_and_every_state_a_conflict_or_not_found() -> None:
    for kind in KINDS:
        if issubclass(kind, errors.InputError):
            assert 400 <= status_of(kind) < 500
        if issubclass(kind, errors.Conflict):
            assert status_of(kind) == 409


def test_a_lane_that_fails_for_a_reason_inside_is_a_fault_of_the_service() -> None:
    problem_of(problem(errors.LaneFailed("created user!0", errors.AccessDenied("no"))), 500, "internal_error")


def failing_api(failure: Exception) -> tuple[Client, list[Observation]]:
    def run(call: Call) -> NoReturn:
        raise failure

    seen: list[Observation] = []
    told = (type(failure),) if isinstance(failure, errors.ShardweaveError) else ()
    operation = Operation("GET", "/fail/{key}", "fail", "Fails", run, Answer(200, "Never."), errors=told)
    return Client(Api([operation], title="Fails", observe=seen.append)), seen


@pytest.mark.parametrize(
    "failure", [KeyError("secret"), errors.TableNotFound("secret"), errors.InvalidRequest("secret"), RecursionError()]
)
def test_a_fault_of_the_service_is_told_to_the_log_and_not_to_the_client(failure: Exception) -> None:
    client, seen = failing_api(failure)
    document = problem_of(client.get("/fail/x"), 500, "internal_error")
    assert "secret" not in json.dumps(document)
    assert [each.failure for each in seen] == [failure]


@pytest.mark.parametrize(
    ("failure", "is_failing"),
    [
        (errors.NotFound("none", fix="look"), False),
        (errors.Throttled(), False),
        (errors.DeadlineTooShort("late"), False),
        (errors.OutcomeUnknown("who knows"), False),
        (errors.LaneFailed("created user!0", errors.Throttled()), False),
        (errors.LaneFailed("created user!0", errors.AccessDenied("no")), True),
        (errors.TableUnusable("damaged"), True),
        (errors.LookupNotReady("not yet"), True),
        (errors.RecordUnreadable(errors.Unreadable("part", {"sku": "b"}, "invalid")), True),
        (KeyError("secret"), True),
    ],
)
def test_what_callers_can_bring_about_does_not_speak_against_the_version(failure: Exception, is_failing: bool) -> None:
    client, seen = failing_api(failure)
    client.get("/fail/x")
    assert [each.failing for each in seen] == [is_failing]


def test_an_observation_has_the_template_and_no_value() -> None:
    service = user_service()
    seen: list[Observation] = []
    api = Api(service.api.operations[:-1], title="Observed", observe=seen.append)
    client = Client(api)
    client.get("/v1/users/secret")
    client.get("/v1/users?phone=secret&phone.prefix=secret")
    client.post("/v1/users", {**USER, "firstName": "secret"})
    client.get("/secret")
    assert [(each.method, each.route, each.status, each.problem) for each in seen] == [
        ("GET", "/v1/users/{key}", 404, "not_found"),
        ("GET", "/v1/users", 400, "unsupported_query"),
        ("POST", "/v1/users", 201, ""),
        ("GET", "", 404, "route_not_found"),
    ]
    assert "secret" not in repr(seen)
    assert all(each.milliseconds >= 0 for each in seen)


def test_requests_at_once_do_not_see_one_another() -> None:
    def echo(call: Call) -> Response:
        return Response.json(200, json.dumps([call.path["key"], call.query["of"], call.document["of"]]).encode())

    echoing = Operation(
        "POST",
        "/echo/{key}",
        "echo",
        "Echoes",
        echo,
        Answer(200, "What was sent."),
        path_parameters=(Parameter("key", "A key."),),
        query_parameters=(Parameter("of", "Who asks."),),
        body=Body(Problem),
    )
    client = Client(undescribed(Api([echoing], title="Echoes")))
    wrong: list[object] = []

    def ask(name: str) -> None:
        for number in range(100):
            found = json.loads(client.post(f"/echo/{name}-{number}?of={name}", {"of": name}).body)
            if found != [f"{name}-{number}", name, name]:
                wrong.append(found)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(f"n{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_a_trace_has_places_and_classes_and_only_our_own_messages() -> None:
    def inner() -> NoReturn:
        raise KeyError("secret")

    try:
        try:
            inner()
        except KeyError as error:
            raise errors.TableUnavailable("the table is away") from error
    except errors.TableUnavailable as error:
        lines = trace(error)
    text = "\n".join(lines)
    assert lines[0] == "shardweave.errors.TableUnavailable: the table is away"
    assert "builtins.KeyError" in lines
    assert "inner" in text
    assert "secret" not in text


def test_the_client_of_these_tests_notices_what_is_no_problem_document() -> None:
    with pytest.raises(ValueError, match="Problem"):
        code_of(Response(400, b"{}", {"content-type": "application/problem+json"}))


def test_an_event_needs_neither_headers_nor_a_query_nor_a_body(client: Client) -> None:
    event = {"rawPath": "/v1/users", "requestContext": {"http": {"method": "get", "path": "/v1/users"}}}
    assert client.answer(event).status == 200
