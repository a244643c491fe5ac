"""Idempotency keys over HTTP: carried out once, answered as the first time."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from services.user_service import User
from shardweave.api.authorizer_claims import Caller, caller_of
from shardweave.api.http import Response
from shardweave.api.idempotency import ONCE, carried_out
from shardweave.api.operation import Call
from shardweave.service.build import Service
from shardweave.store import Create
from shardweave.table.operations import Scan
from tests.unit.api_world import Client, json_of, problem_of, user_service

USER = {"userId": "u1", "firstName": "Jason", "lastName": "Bourne", "beneficiaryId": "b1"}
NEW = {"firstName": "Ann", "lastName": "Bourne", "beneficiaryId": "b1"}
KEY = {"idempotency_key": "4f0c1b7e-one"}

WRITES: dict[str, Callable[..., Response]] = {
    "post": lambda client, **headers: client.post("/v1/users", NEW, **headers),
    "put": lambda client, **headers: client.put("/v1/users/u1", {**USER, "phone": "1"}, **headers),
    "patch": lambda client, **headers: client.patch("/v1/users/u1", {"phone": "1"}, **headers),
    "delete": lambda client, **headers: client.delete("/v1/users/u1", **headers),
    "sign-up": lambda client, **headers: client.post("/v1/sign-up", {**NEW, "email": "ann@x.org"}, **headers),
}
EVERY_WRITE = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@pytest.fixture
def service() -> Service:
    return user_service()


@pytest.fixture
def client(service: Service) -> Client:
    client = Client(service.api)
    client.post("/v1/users", USER)
    return client


def items(service: Service) -> list[Any]:
    return sorted(service.parts.table.run(Scan()).items, key=repr)


@EVERY_WRITE
def test_a_write_that_is_repeated_changes_nothing_and_is_answered_as_the_first_time(
    service: Service, client: Client, write: Callable[..., Response]
) -> None:
    first = write(client, **KEY)
    assert first.status in (200, 201, 204)
    before = items(service)
    assert write(client, **KEY) == first
    assert items(service) == before


def test_an_answer_to_a_request_without_a_key_is_given_as_it_is(service: Service) -> None:
    """Only what is kept is written down."""
    said = Response(201, b"\xff", {"x": "y"})
    asked = [Create({**NEW, "userId": "u2"}, User)]
    assert carried_out(service.parts.store, Call(), asked, lambda made: said) is said


def test_every_write_takes_a_key(service: Service) -> None:
    # A mutation of GraphQL takes its key as an argument.
    reading = {"query", "count", "explain", "batch-get", "graphql"}
    for operation in service.api.operations:
        writes = operation.method != "GET" and operation.path.rsplit("/", 1)[1] not in reading
        assert writes == (ONCE in operation.header_parameters), operation.name


@EVERY_WRITE
def test_without_a_key_a_write_is_answered_as_with_one(client: Client, write: Callable[..., Response]) -> None:
    assert write(client).status in (200, 201, 204)


def test_what_makes_a_request_another_one(client: Client) -> None:
    client.put("/v1/users/u1", USER, **KEY)
    others = [
        client.put("/v1/users/u1", {**USER, "phone": "1"}, **KEY),
        client.put("/v1/users/u2", {**USER, "userId": "u2"}, **KEY),
        client.put("/v1/users/u1", USER, if_match="*", **KEY),
        client.patch("/v1/users/u1", USER, **KEY),
        client.post("/v1/users", USER, **KEY),
        client.delete("/v1/users/u1", **KEY),
    ]
    for other in others:
        assert problem_of(other, 409, "idempotency_mismatch")["where"]
    assert client.get("/v1/users/u2").status == 404


def test_the_same_content_written_otherwise_is_the_same_request(client: Client) -> None:
    first = client.put("/v1/users/u1", USER, **KEY)
    text = json.dumps(dict(reversed(USER.items())), indent=3).encode()
    headers = {"content-type": "application/json; charset=utf-8", "Idempotency-Key": KEY["idempotency_key"]}
    assert client.request("PUT", "/v1/users/u1", text, headers) == first


def test_a_condition_is_not_asked_again_of_what_was_carried_out(client: Client) -> None:
    tag = client.get("/v1/users/u1").headers["etag"]
    first = client.patch("/v1/users/u1", {"phone": "1"}, if_match=tag, **KEY)
    assert client.patch("/v1/users/u1", {"phone": "1"}, if_match=tag, **KEY) == first
    assert client.patch("/v1/users/u1", {"phone": "1"}, if_match=tag, idempotency_key="another").status == 412


def test_what_was_refused_is_judged_anew(client: Client) -> None:
    problem_of(client.patch("/v1/users/u2", {"phone": "1"}, **KEY), 404, "not_found")
    client.put("/v1/users/u2", {**USER, "userId": "u2"})
    assert client.patch("/v1/users/u2", {"phone": "1"}, **KEY).status == 200


def test_two_at_once_are_carried_out_once_and_get_one_answer(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: WRITES["post"](client, **KEY), range(8)))
    assert len({json_of(answer)["userId"] for answer in answers}) == 1
    assert len(json_of(client.get("/v1/users"))["items"]) == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "a,b", "ä", "x" * 256])
def test_a_key_that_is_none_is_refused(client: Client, key: str) -> None:
    problem = problem_of(WRITES["post"](client, idempotency_key=key), 400, "malformed_request")
    assert problem["where"] == "idempotency-key"
    assert len(json_of(client.get("/v1/users"))["items"]) == 1


def test_a_key_has_up_to_255_visible_characters(client: Client) -> None:
    assert WRITES["post"](client, idempotency_key="!~" * 127 + '"').status == 201


def test_a_key_belongs_to_its_caller(client: Client) -> None:
    def ask(authorizer: dict[str, Any], name: str) -> Response:
        event = {
            "rawPath": "/v1/users",
            "headers": {"content-type": "application/json", "idempotency-key": "one"},
            "body": json.dumps({**NEW, "firstName": name}),
            "isBase64Encoded": False,
            "requestContext": {"http": {"method": "POST", "path": "/v1/users"}, "authorizer": authorizer},
        }
        return client.answer(event)

    ann, bob = ({"jwt": {"claims": {"iss": "https://i", "sub": name}}} for name in ("ann", "bob"))
    first = ask(ann, "Ann")
    assert [ask(ann, "Ann"), ask(bob, "Bob").status, ask({}, "None").status] == [first, 201, 201]
    problem_of(ask(ann, "Bob"), 409, "idempotency_mismatch")


def test_who_calls() -> None:
    def caller(authorizer: Any) -> Caller:
        return caller_of({"requestContext": {"authorizer": authorizer}})

    assert caller({"jwt": {"claims": {"iss": "https://i", "sub": "ann"}}}).principal == "https://i ann"
    assert caller({"iam": {"userArn": "arn:aws:iam::1:user/ann"}}).principal == "arn:aws:iam::1:user/ann"
    assert caller(None) == caller({}) == caller_of({}) == Caller("anonymous")
    assert len({Caller("a", "b").scope, Caller("b", "a").scope, Caller("ab").scope, Caller("", "ab").scope}) == 4
