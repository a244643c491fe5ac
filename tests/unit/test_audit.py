"""The audit trail: each write and each request of an operator, with who it was, and no key or value of a record."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from shardweave.api.app import Api, Observation
from shardweave.api.lambda_event import event_of
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Operation, TransactWrite
from tests.unit.access_world import RULES, Person, person
from tests.unit.api_world import Client, CountedTable, Stopwatch, api_of, problem_of, user_service
from tests.unit.lambda_context import Context
from tests.unit.test_store_on_delete import SCHEMA

READS = {"query", "count", "explain", "batch-get"}
"""What is asked by POST and writes nothing."""


@pytest.fixture
def seen() -> list[Observation]:
    return []


@pytest.fixture
def client(seen: list[Observation]) -> Client:
    return Client(Api(user_service().api.operations[:-1], title="Watched", observe=seen.append))


def key_of(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:16]


def test_each_write_of_a_record_has_the_same_key_whatever_the_way(client: Client, seen: list[Observation]) -> None:
    name, record = "a b/c", {"firstName": "Ann", "lastName": "B", "beneficiaryId": "b"}
    place = client.post("/v1/users", {**record, "userId": name}).headers["location"]
    client.patch(place, {"firstName": "Anna"})
    client.put(place, record)
    client.post("/v1/users/batch-write", {"puts": [{**record, "userId": name}]})
    client.post("/v1/users/batch-write", {"deletes": [name]})
    client.delete(place)
    trail = [each.audit for each in seen]
    assert [(each["operation"], each["status"], each["keys"]) for each in trail if each is not None] == [
        (operation, status, [key_of(f"users/{name}")])
        for operation, status in (
            ("createUser", 201),
            ("patchUser", 200),
            ("putUser", 200),
            ("batchWriteUser", 200),
            ("batchWriteUser", 200),
            ("deleteUser", 404),
        )
    ]
    assert len(trail) == len([each for each in trail if each is not None])


def test_it_says_nothing_of_what_is_written(client: Client, seen: list[Observation]) -> None:
    client.post("/v1/users", {"userId": "secret-id", "firstName": "Secretia", "lastName": "B", "beneficiaryId": "b"})
    client.patch("/v1/users/secret-id", {"firstName": "Secretus"})
    client.post("/v1/users", {"firstName": "Secretia"})
    text = json.dumps([each.audit for each in seen])
    assert "ecret" not in text
    assert [each.audit["status"] for each in seen if each.audit] == [201, 200, 400]
    assert seen[-1].audit is not None
    assert seen[-1].audit["problem"] == "validation_failed"


def test_a_write_of_several_records_names_all(client: Client, seen: list[Observation]) -> None:
    person = {"email": "ann@example.org", "firstName": "A", "lastName": "B", "beneficiaryId": "b"}
    user = json.loads(client.post("/v1/sign-up", person).body)["user"]
    (said,) = (each.audit for each in seen)
    assert said is not None
    assert said["keys"] == [key_of(f"users/{user['userId']}"), key_of("emails/ann@example.org")]


def test_a_write_that_is_repeated_is_said_again_with_its_keys(client: Client, seen: list[Observation]) -> None:
    record = {"userId": "u1", "firstName": "Ann", "lastName": "B", "beneficiaryId": "b"}
    for _ in range(2):
        client.post("/v1/users", record, idempotency_key="one")
        client.post("/v1/users/batch-write", {"puts": [record]}, idempotency_key="two")
    assert [each.audit["keys"] for each in seen if each.audit] == [[key_of("users/u1")]] * 4


def test_every_operation_that_may_write_is_audited_and_no_read_is() -> None:
    for operation in user_service().api.operations:
        reads = operation.method == "GET" or operation.path.rpartition("/")[2] in READS
        if "_reshard" not in operation.path:
            assert operation.is_audited == (not reads), operation.name


def test_who_asked_is_the_verified_principal_also_of_what_is_refused() -> None:
    seen: list[Observation] = []
    api = api_of(RULES, observe=seen.append)
    person(api, "root", "admin").post("/v1/reports", {"reportId": "r", "userId": "ann", "subject": "s"})
    person(api, "bob").ask("DELETE", "/v1/reports/r")
    Person(api).ask("DELETE", "/v1/reports/r")
    said = [(each.audit["who"], each.audit["status"]) for each in seen if each.audit]
    assert said == [("https://i root", 201), ("https://i bob", 404), ("anonymous", 401)]


def test_children_that_go_with_their_parent_are_said_of_the_same_request() -> None:
    seen: list[Observation] = []
    api = api_of(SCHEMA, observe=seen.append)
    admin = person(api, "root", "admin")
    admin.made("boards", boardId="b")
    admin.made("notes", boardId="b", noteId="n")
    admin.made("columns", boardId="b", columnId="c")
    admin.made("cards", columnId="c", cardId="d")
    admin.ask("DELETE", "/v1/boards/b")
    expected = {("notes", "n", "detached"), ("columns", "c", "deleted"), ("cards", "d", "deleted")}
    assert_children(seen, expected)
    admin.made("boards", boardId="e")
    admin.made("notes", boardId="e", noteId="o")
    admin.post("/v1/boards/batch-write", {"deletes": ["e"]})
    assert_children(seen, {("notes", "o", "detached")})


def assert_children(seen: list[Observation], children: set[tuple[str, str, str]]) -> None:
    last = seen[-1]
    assert last.audit is not None
    assert {(each["entity"], each["keys"][0], each["effect"]) for each in last.beside} == {
        (collection, key_of(f"{collection}/{name}"), effect) for collection, name, effect in children
    }
    assert len(last.beside) == len(children)
    same = ("who", "operation", "route", "status", "requestId")
    assert all({name: each[name] for name in same} == {name: last.audit[name] for name in same} for each in last.beside)


def test_children_that_went_before_a_deletion_was_cut_are_said_with_its_status() -> None:
    seen: list[Observation] = []
    watch = Stopwatch()
    table = Slowed(EmbeddedTable(SCHEMA.layout), watch)
    api = api_of(SCHEMA, observe=seen.append, table=table, stopwatch=watch)
    admin = person(api, "root", "admin")
    admin.made("boards", boardId="b")
    admin.post("/v1/notes/batch-write", {"puts": [{"boardId": "b", "noteId": f"n{at}"} for at in range(60)]})
    table.slow = True
    for key in (None, "k"):
        headers = {} if key is None else {"idempotency_key": key}
        answer = admin.ask("DELETE", "/v1/boards/b", context=Context(3500), **headers)
        problem_of(answer, 503, "delete_incomplete")
        assert answer.headers["retry-after"] == "1"
        assert not seen[-1].failing
        assert 0 < len(seen[-1].beside) <= 40, "a second for each transaction"
        assert {each["status"] for each in seen[-1].beside} == {503}
    told = {each["keys"][0] for one in seen for each in one.beside}
    table.slow = False
    assert admin.ask("DELETE", "/v1/boards/b", idempotency_key="k").status == 204
    told |= {each["keys"][0] for each in seen[-1].beside}
    assert told == {key_of(f"notes/n{at}") for at in range(60)}


class Slowed(CountedTable):
    """A table whose transactions take a second where it is told to."""

    def __init__(self, inner: Any, watch: Stopwatch) -> None:
        super().__init__(inner)
        self.watch = watch
        self.slow = False

    def run(self, operation: Operation[Any], **options: Any) -> Any:
        if self.slow and isinstance(operation, TransactWrite):
            self.watch.now += 1
        return super().run(operation, **options)


def test_requests_of_operators_are_audited_reads_too() -> None:
    operations = [each for each in user_service(operators=True).api.operations if "_reshard" in each.path]
    assert operations
    assert all(each.is_audited for each in operations)


def test_every_answer_names_its_request_as_the_log_does(client: Client, seen: list[Observation]) -> None:
    for method, target in (("GET", "/v1/users"), ("GET", "/nowhere"), ("DELETE", "/v1/users/x"), ("PUT", "/v1/users")):
        named = client.api.resolve(event_of(method, target, "", {}, b""))["headers"]["x-request-id"]
        assert named == seen[-1].request_id
        assert (seen[-1].audit or {"requestId": named})["requestId"] == named
    assert len({each.request_id for each in seen}) == len(seen)


def test_the_gateways_name_of_a_request_is_kept(client: Client, seen: list[Observation]) -> None:
    event: dict[str, Any] = event_of("GET", "/v1/users", "", {}, b"")
    event["requestContext"]["requestId"] = "JKJaXmPLvHcESHA="
    assert client.api.resolve(event)["headers"]["x-request-id"] == seen[-1].request_id == "JKJaXmPLvHcESHA="
