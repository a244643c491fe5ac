"""Records over HTTP: made, read, changed, replaced, removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.api_world import NOW, PARTS, Client, Clock, api_of, json_of, problem_of, user_service

JASON = {"userId": "u1", "firstName": "Jason", "lastName": "Gómez-Juárez-Álvarez", "beneficiaryId": "b1"}

PART = {
    "sku": "a/b é",
    "state": "worn",
    "urgent": True,
    "number": -3,
    "price": "1.25",
    "weight": 1.5,
    "made": "2024-01-31",
    "seen": "2024-01-31T01:02:03Z",
    "checked": 1_730_000_000,
    "serial": "12345678-1234-5678-1234-567812345678",
    "image": "AP8=",
    "tags": ["x"],
    "labels": {"a": {"b": 1, "c": None}, "d": [1.5, "1.5", True], "e": 12345678901234567890},
    "limit": "big",
}


@pytest.fixture
def client() -> Client:
    return Client(user_service().api)


@pytest.fixture
def parts() -> Client:
    return Client(api_of(PARTS))


def test_a_new_record_is_answered_with_its_place_and_what_was_made_for_it(client: Client) -> None:
    made = client.post("/v1/users", JASON)
    assert made.status == 201
    assert made.headers["location"] == "/v1/users/u1"
    assert json_of(made) == {
        **JASON,
        "firstNameCanonical": "jason",
        "lastNameCanonical": "gomezjuarezalvarez",
        "created": NOW,
        "updated": NOW,
    }
    assert json_of(client.get(made.headers["location"])) == json_of(made)


def test_an_identity_that_is_not_given_is_made(client: Client) -> None:
    made = client.post("/v1/users", {name: value for name, value in JASON.items() if name != "userId"})
    assert len(json_of(made)["userId"]) == 21
    assert client.get(made.headers["location"]).status == 200


def test_a_second_record_of_an_identity_is_a_conflict(client: Client) -> None:
    client.post("/v1/users", JASON)
    assert problem_of(client.post("/v1/users", JASON), 409, "already_exists")["where"] == "userId"


def test_every_fault_of_a_body_is_listed_at_once_and_no_value_of_it_is_shown(client: Client) -> None:
    body = {"firstName": 17, "phone": "", "created": "secret", "unheardOf": "secret"}
    problem = problem_of(client.post("/v1/users", body), 400, "validation_failed")
    assert {(fault["where"], fault["type"]) for fault in problem["errors"]} == {
        ("beneficiaryId", "missing"),
        ("lastName", "missing"),
        ("firstName", "string_type"),
        ("phone", "string_too_short"),
        ("created", "int_type"),
        ("unheardOf", "extra_forbidden"),
    }
    assert "secret" not in json.dumps(problem)
    assert "17" not in json.dumps(problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", "3"),
        ("number", 1.5),
        ("number", True),
        ("urgent", "true"),
        ("urgent", 1),
        ("state", "broken"),
        ("price", "dear"),
        ("made", "31.1.2024"),
        ("seen", "2024-01-31"),
        ("serial", "1234"),
        ("image", "not base64"),
        ("tags", "x"),
        ("labels", []),
        ("sku", None),
        ("weight", "1"),
    ],
)
def test_a_wrong_type_is_refused_even_where_it_could_be_converted(parts: Client, name: str, value: Any) -> None:
    problem = problem_of(parts.post("/v1/parts", {"sku": "a", name: value}), 400, "validation_failed")
    assert [fault["where"] for fault in problem["errors"]] == [name]


def test_python_names_are_not_json_names(client: Client) -> None:
    body = {"first_name": "A", "last_name": "B", "beneficiary_id": "b"}
    problem = problem_of(client.post("/v1/users", body), 400, "validation_failed")
    assert {"first_name", "firstName"} <= {fault["where"] for fault in problem["errors"]}


def test_every_type_of_property_comes_back_as_it_was_given(parts: Client) -> None:
    made = parts.post("/v1/parts", PART)
    assert made.headers["location"] == "/v1/parts/a%2Fb%20%C3%A9"
    read = json_of(parts.get(made.headers["location"]))
    assert read == {**PART, "created": NOW, "updated": NOW}


def test_a_patch_changes_what_it_names_and_null_removes(client: Client) -> None:
    client.post("/v1/users", {**JASON, "phone": "123"})
    patched = json_of(client.patch("/v1/users/u1", {"lastName": "Ångström"}))
    assert (patched["lastNameCanonical"], patched["phone"]) == ("angstrom", "123")
    assert "phone" not in json_of(client.patch("/v1/users/u1", {"phone": None}))
    assert "phone" not in json_of(client.get("/v1/users/u1"))


def test_a_patch_merges_objects(parts: Client) -> None:
    parts.post("/v1/parts", PART)
    patched = parts.patch("/v1/parts/a%2Fb%20%C3%A9", {"labels": {"a": {"b": None, "f": {"g": 2}}, "d": None}})
    assert json_of(patched)["labels"] == {"a": {"c": None, "f": {"g": 2}}, "e": 12345678901234567890}
    assert json_of(parts.get("/v1/parts/a%2Fb%20%C3%A9"))["labels"] == json_of(patched)["labels"]


def test_a_patch_can_come_as_plain_json(client: Client) -> None:
    client.post("/v1/users", JASON)
    assert client.send("PATCH", "/v1/users/u1", {"phone": "1"}, "application/json; charset=utf-8").status == 200


def test_what_a_record_needs_can_be_neither_removed_nor_left_out(client: Client) -> None:
    client.post("/v1/users", JASON)
    problem = problem_of(client.patch("/v1/users/u1", {"firstName": None}), 400, "validation_failed")
    assert [fault["where"] for fault in problem["errors"]] == ["firstName"]
    problem_of(client.put("/v1/users/u1", {"firstName": "A"}), 400, "validation_failed")


@pytest.mark.parametrize("change", [{"userId": "u2"}, {"created": NOW - 5}])
def test_a_patch_of_what_never_changes_is_refused(client: Client, change: dict[str, Any]) -> None:
    client.post("/v1/users", JASON)
    problem = problem_of(client.patch("/v1/users/u1", change), 400, "immutable_property")
    assert [problem["where"]] == list(change)


def test_what_is_not_there_is_answered_alike_whatever_was_asked_of_it(client: Client) -> None:
    answers = [
        client.get("/v1/users/u1"),
        client.patch("/v1/users/u1", {"phone": "1"}),
        client.patch("/v1/users/u1", {"phone": None}),
        client.patch("/v1/users/u1", {}),
        client.delete("/v1/users/u1"),
    ]
    first, *others = [problem_of(answer, 404, "not_found") for answer in answers]
    assert first["where"] == "key"
    assert others == [first] * 4


def test_put_makes_a_record_or_replaces_it_and_keeps_its_time_of_creation() -> None:
    clock = Clock()
    client = Client(user_service(clock).api)
    whole = {"firstName": "A", "lastName": "B", "beneficiaryId": "b", "phone": "1"}
    made = client.put("/v1/users/u1", whole)
    assert (made.status, made.headers["location"], json_of(made)["created"]) == (201, "/v1/users/u1", NOW)
    clock.now += 1000
    answer = client.put("/v1/users/u1", {**whole, "phone": "2", "userId": "u1"})
    assert (answer.status, "location" in answer.headers) == (200, False)
    replaced = json_of(answer)
    assert (replaced["created"], replaced["updated"], replaced["phone"]) == (NOW, NOW + 1000, "2")
    del whole["phone"]
    assert "phone" not in json_of(client.put("/v1/users/u1", whole))


def test_a_record_can_be_put_back_as_it_was_read(client: Client) -> None:
    client.post("/v1/users", JASON)
    read = json_of(client.get("/v1/users/u1"))
    assert json_of(client.put("/v1/users/u1", read)) == read


def test_put_refuses_a_body_that_names_another_record(client: Client) -> None:
    body = {**JASON, "userId": "u2"}
    assert problem_of(client.put("/v1/users/u1", body), 400, "value_refused")["where"] == "userId"
    problem_of(client.get("/v1/users/u2"), 404, "not_found")


def test_a_removed_record_is_gone(client: Client) -> None:
    client.post("/v1/users", JASON)
    removed = client.delete("/v1/users/u1")
    assert (removed.status, removed.body) == (204, b"")
    for answer in (client.get("/v1/users/u1"), client.delete("/v1/users/u1")):
        problem_of(answer, 404, "not_found")


@pytest.mark.parametrize(
    "key", ["a/b", "a b", "ü", "名前", "😀", "%2F", "a?b#c", "..", "a\\b", "\"'`", "e\u0301", "\x01"]
)
def test_a_key_of_any_characters_is_found_by_its_location(client: Client, key: str) -> None:
    made = client.post("/v1/users", {**JASON, "userId": key})
    assert made.status == 201
    assert json_of(client.get(made.headers["location"]))["userId"] == key
    assert client.delete(made.headers["location"]).status == 204


def test_an_address_is_found_in_any_letter_case(client: Client) -> None:
    made = client.post("/v1/emails", {"email": " Jason@Example.ORG ", "userId": "u1"})
    assert made.headers["location"] == "/v1/emails/jason%40example.org"
    assert client.get("/v1/emails/JASON%40example.org").status == 200


def test_a_record_that_several_properties_identify_has_a_part_of_the_path_for_each(parts: Client) -> None:
    made = parts.post("/v1/shelves", {"room": "east", "number": 3})
    assert made.headers["location"] == "/v1/shelves/east/3"
    assert json_of(parts.put("/v1/shelves/west/4", {"note": "n"})) == {"room": "west", "number": 4, "note": "n"}
    assert json_of(parts.get("/v1/shelves/west/4"))["note"] == "n"
    problem_of(parts.get("/v1/shelves/west/four"), 400, "validation_failed")


def test_a_record_that_is_there_once_has_a_fixed_path(parts: Client) -> None:
    assert parts.post("/v1/counters", {"total": 1}).headers["location"] == "/v1/counters/counter"
    assert json_of(parts.patch("/v1/counters/counter", {"total": 2})) == {"total": 2}
    problem_of(parts.post("/v1/counters", {"total": 1}), 409, "already_exists")


def test_a_time_in_seconds_where_milliseconds_are_due_is_refused(client: Client) -> None:
    body = {**JASON, "created": NOW // 1000}
    assert problem_of(client.post("/v1/users", body), 400, "value_refused")["where"] == "created"


def test_a_time_of_creation_that_lies_ahead_is_refused(client: Client) -> None:
    body = {**JASON, "created": NOW + 10 * 60_000}
    assert problem_of(client.post("/v1/users", body), 400, "value_refused")["where"] == "created"


def test_a_record_over_400_kb_and_a_key_over_1024_bytes_are_refused_by_name(parts: Client) -> None:
    large = parts.post("/v1/parts", {"sku": "a", "labels": {"text": "x" * 401 * 1024}})
    assert problem_of(large, 413, "record_too_large")["where"] == "labels"
    long = parts.post("/v1/parts", {"sku": "a" * 1025})
    assert problem_of(long, 400, "key_too_long")["where"]


SIGN_UP = {"email": "Jason@Example.org", "firstName": "Jason", "lastName": "W", "beneficiaryId": "b1", "phone": "1"}


class TestSignUp:
    def test_makes_a_user_and_an_address_that_belongs_to_it(self, client: Client) -> None:
        made = client.post("/v1/sign-up", SIGN_UP)
        user, email = json_of(made)["user"], json_of(made)["email"]
        assert made.status == 201
        assert made.headers["location"] == f"/v1/users/{user['userId']}"
        assert (email["email"], email["userId"]) == ("jason@example.org", user["userId"])
        assert json_of(client.get(made.headers["location"])) == user
        assert json_of(client.get("/v1/emails/jason@example.org")) == email

    def test_with_an_address_in_use_makes_nothing(self, client: Client) -> None:
        client.post("/v1/emails", {"email": "jason@example.org", "userId": "u0"})
        assert problem_of(client.post("/v1/sign-up", SIGN_UP), 409, "already_exists")["where"] == "email"
        assert json_of(client.get("/v1/users"))["items"] == []

    def test_lists_every_fault(self, client: Client) -> None:
        problem = problem_of(client.post("/v1/sign-up", {"email": "nobody", "extra": 1}), 400, "validation_failed")
        assert {fault["where"] for fault in problem["errors"]} == {
            "email",
            "firstName",
            "lastName",
            "beneficiaryId",
            "extra",
        }


def test_a_patch_of_nothing_changes_nothing() -> None:
    clock = Clock()
    client = Client(user_service(clock).api)
    made = json_of(client.post("/v1/users", JASON))
    clock.now += 1000
    for patch in ({}, {"updated": 5}, {"lastNameCanonical": "x", "firstNameCanonical": None}):
        assert json_of(client.patch("/v1/users/u1", patch)) == made
    assert json_of(client.get("/v1/users/u1")) == made


@pytest.mark.parametrize("value", [None, 17, "other", NOW - 5, NOW + 10**9, {}])
@pytest.mark.parametrize("name", ["updated", "firstNameCanonical"])
def test_what_is_read_only_is_passed_over_in_every_body(name: str, value: Any) -> None:
    clock = Clock()
    client = Client(user_service(clock).api)
    made = json_of(client.post("/v1/users", {**JASON, name: value}))
    assert (made["updated"], made["firstNameCanonical"]) == (NOW, "jason")
    clock.now += 1000
    for answer in (
        client.put("/v1/users/u1", {**JASON, name: value}),
        client.patch("/v1/users/u1", {"phone": "1", name: value}),
    ):
        assert answer.status == 200
        assert (json_of(answer)["updated"], json_of(answer)["firstNameCanonical"]) == (NOW + 1000, "jason")


def test_no_record_was_written_last_before_it_was_created() -> None:
    client = Client(user_service().api)
    ahead = NOW + 4 * 60_000
    made = json_of(client.post("/v1/users", {**JASON, "created": ahead}))
    assert (made["created"], made["updated"]) == (ahead, ahead)
    assert json_of(client.patch("/v1/users/u1", {"phone": "1"}))["updated"] == ahead
    assert json_of(client.put("/v1/users/u1", JASON))["updated"] == ahead
