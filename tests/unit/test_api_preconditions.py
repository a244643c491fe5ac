"""Conditional requests: entity tags, If-Match, If-None-Match."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.api.http import KEPT_PRIVATE, Response
from shardweave.api.preconditions import IF_MATCH, Tags, entity_tag, tags_of
from shardweave.errors import MalformedRequest
from tests.unit.api_world import PARTS, Client, api_of, json_of, problem_of, user_service
from tests.unit.shop_world import SCHEMA as SHOP

USER = {"userId": "u1", "firstName": "Jason", "lastName": "Bourne", "beneficiaryId": "b1"}
OTHER = '"another"'

CHANGES: dict[str, Callable[..., Response]] = {
    "patch": lambda client, **headers: client.patch("/v1/users/u1", {"lastName": "Webb"}, **headers),
    "put": lambda client, **headers: client.put("/v1/users/u1", {**USER, "lastName": "Webb"}, **headers),
    "delete": lambda client, **headers: client.delete("/v1/users/u1", **headers),
}
EVERY_CHANGE = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


@pytest.fixture
def client() -> Client:
    return Client(user_service().api)


def tag_of(response: Response) -> str:
    return response.headers["etag"]


def test_every_answer_that_is_one_record_has_its_tag_and_every_write_another_one(client: Client) -> None:
    tags = [
        tag_of(client.post("/v1/users", USER)),
        tag_of(client.patch("/v1/users/u1", {"phone": "1"})),
        tag_of(client.put("/v1/users/u1", USER)),
    ]
    assert len(set(tags)) == 3
    assert tag_of(client.get("/v1/users/u1")) == tags[-1]
    assert tag_of(client.request("HEAD", "/v1/users/u1")) == tags[-1]


def test_answers_that_are_several_records_or_none_have_no_tag(client: Client) -> None:
    sign_up = {"email": "j@x.org", "firstName": "J", "lastName": "B", "beneficiaryId": "b"}
    for response in (client.post("/v1/sign-up", sign_up), client.get("/v1/users"), client.get("/v1/users/nobody")):
        assert "etag" not in response.headers


@EVERY_CHANGE
def test_a_change_of_the_revision_that_was_read_is_made(client: Client, change: Callable[..., Response]) -> None:
    tag = tag_of(client.post("/v1/users", USER))
    assert change(client, if_match=tag).status in (200, 204)


@EVERY_CHANGE
@pytest.mark.parametrize("listed", ["{0}, {1}", "{1},{0}", " {1} ,  {0} ", 'W/"x", {0}', "*"])
def test_one_of_several_tags_is_enough(client: Client, change: Callable[..., Response], listed: str) -> None:
    tag = tag_of(client.post("/v1/users", USER))
    assert change(client, if_match=listed.format(tag, OTHER)).status in (200, 204)


@EVERY_CHANGE
def test_a_change_of_another_revision_is_412_and_changes_nothing(
    client: Client, change: Callable[..., Response]
) -> None:
    old = tag_of(client.post("/v1/users", USER))
    new = tag_of(client.patch("/v1/users/u1", {"phone": "1"}))
    for wrong in (old, OTHER, f"{old}, {OTHER}", f"W/{new}"):
        assert problem_of(change(client, if_match=wrong), 412, "precondition_failed")["where"] == "if-match"
    assert tag_of(client.get("/v1/users/u1")) == new


def test_what_is_not_there_can_be_neither_patched_nor_deleted_and_a_put_of_a_revision_needs_it(client: Client) -> None:
    for condition in (OTHER, "*", f"{OTHER}, {OTHER}"):
        problem_of(CHANGES["patch"](client, if_match=condition), 404, "not_found")
        problem_of(CHANGES["put"](client, if_match=condition), 412, "precondition_failed")
    problem_of(client.delete("/v1/users/u1", if_match="*"), 404, "not_found")
    assert client.get("/v1/users/u1").status == 404


def test_a_put_that_may_only_make_a_record(client: Client) -> None:
    made = client.put("/v1/users/u1", USER, if_none_match="*")
    assert (made.status, json_of(made)["userId"]) == (201, "u1")
    refused = problem_of(client.put("/v1/users/u1", USER, if_none_match="*"), 412, "precondition_failed")
    assert refused["where"] == "if-none-match"
    assert tag_of(client.get("/v1/users/u1")) == tag_of(made)


def test_a_value_that_is_taken_is_a_conflict_whatever_the_condition() -> None:
    client = Client(api_of(SHOP))
    client.post("/v1/customers", {"customerId": "ann", "phone": "1"})
    for headers in ({}, {"if_none_match": "*"}):
        problem = problem_of(client.put("/v1/customers/bob", {"phone": "1"}, **headers), 409, "value_taken")
        assert problem["where"] == "phone"
    tag = tag_of(client.put("/v1/customers/bob", {"phone": "2"}))
    problem_of(client.patch("/v1/customers/bob", {"phone": "1"}, if_match=tag), 409, "value_taken")


def test_a_record_that_is_at_hand_is_not_sent_again(client: Client) -> None:
    tag = tag_of(client.post("/v1/users", USER))
    for known in (tag, f"W/{tag}", f"{OTHER}, {tag}", "*"):
        answer = client.get("/v1/users/u1", if_none_match=known)
        assert (answer.status, answer.body, answer.headers) == (304, b"", {"etag": tag, **KEPT_PRIVATE})
    assert client.get("/v1/users/u1", if_none_match=OTHER).status == 200
    client.patch("/v1/users/u1", {"phone": "1"})
    assert client.get("/v1/users/u1", if_none_match=tag).status == 200
    assert client.get("/v1/users/nobody", if_none_match="*").status == 404


@pytest.mark.parametrize("condition", ["", ",", "abc", '"a', 'a"', "w/" + OTHER, "*, *", f"*, {OTHER}", '"a"b', '"é"'])
def test_what_is_no_condition_is_refused_and_not_taken_for_none(client: Client, condition: str) -> None:
    client.post("/v1/users", USER)
    for change in CHANGES.values():
        assert problem_of(change(client, if_match=condition), 400, "malformed_request")["where"] == "if-match"
    answer = client.get("/v1/users/u1", if_none_match=condition)
    assert problem_of(answer, 400, "malformed_request")["where"] == "if-none-match"
    assert client.get("/v1/users/u1").status == 200


def test_conditions_that_a_method_does_not_have_are_refused(client: Client) -> None:
    tag = tag_of(client.post("/v1/users", USER))
    for name in ("patch", "delete"):
        problem_of(CHANGES[name](client, if_none_match="*"), 400, "malformed_request")
    problem_of(client.get("/v1/users/u1", if_match=tag), 400, "malformed_request")
    problem_of(client.get("/v1/users", if_none_match=tag), 400, "malformed_request")
    problem_of(client.post("/v1/users", USER, if_none_match="*"), 400, "malformed_request")
    problem_of(CHANGES["put"](client, if_none_match=tag), 400, "malformed_request")
    problem_of(CHANGES["put"](client, if_none_match="*", if_match=tag), 400, "malformed_request")


def test_a_patch_of_an_object_keeps_to_the_revision_too() -> None:
    client = Client(api_of(PARTS))
    old = tag_of(client.post("/v1/parts", {"sku": "a", "labels": {"x": 1}}))
    assert client.patch("/v1/parts/a", {"labels": {"y": 2}}, if_match=old).status == 200
    problem_of(client.patch("/v1/parts/a", {"labels": {"z": 3}}, if_match=old), 412, "precondition_failed")
    assert json_of(client.get("/v1/parts/a"))["labels"] == {"x": 1, "y": 2}


@given(st.lists(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"')), min_size=1))
def test_every_list_of_tags_is_read_as_it_was_written(revs: list[str]) -> None:
    text = ", ".join(f'"{rev}"' for rev in revs[:20])
    assert tags_of({IF_MATCH: text}, IF_MATCH) == Tags(strong=frozenset(revs[:20]))


def test_more_than_20_tags_are_refused() -> None:
    with pytest.raises(MalformedRequest):
        tags_of({IF_MATCH: ",".join([OTHER] * 21)}, IF_MATCH)


def test_a_revision_that_is_no_tag_has_none() -> None:
    assert entity_tag(None) == entity_tag('a"b') == entity_tag("é") == {}
