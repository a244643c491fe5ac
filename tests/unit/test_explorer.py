"""The Explorer's routes: for operators alone, with what the page has to know, and nothing that HTTP does not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.api.explorer.files import page_files
from shardweave.api.explorer.shards import MAX_SHOWN, shown_loads
from shardweave.api.lambda_event import event_of
from shardweave.api.operators import Operators
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.load.counters import Load, LoadCounter
from shardweave.service.build import Service, Settings, build
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Scan
from shardweave.table.stream_operations import StreamRecord
from tests.unit.api_world import CURSOR_KEYS

OPERATOR = {"iam": {"userArn": "arn:aws:iam::1:user/op"}}
ANOTHER = {"iam": {"userArn": "arn:aws:iam::1:user/other"}}
PATHS = (
    "/explorer",
    "/explorer/main.js",
    "/explorer/lit-html/directives/repeat.js",
    "/v1/_explorer",
    "/v1/_shards/user",
)


def service(name: str = "user_service") -> Service:
    operators = Operators.of_text("arn:aws:iam::1:user/op")
    return build(Settings(CURSOR_KEYS, service=name, operators=operators), open_table=EmbeddedTable)


def ask(of: Service, path: str, authorizer: Any = OPERATOR) -> tuple[int, dict[str, str], str]:
    event = event_of("GET", path, "", {}, b"")
    if authorizer is not None:
        event["requestContext"]["authorizer"] = authorizer
    answer = of.api.resolve(event, None)
    return answer["statusCode"], answer["headers"], answer["body"]


def document(name: str) -> Any:
    return json.loads(ask(service(name), "/v1/_explorer")[2])


@pytest.mark.parametrize("path", PATHS)
def test_operators_get_it_and_for_others_it_does_not_exist(path: str) -> None:
    of = service()
    assert ask(of, path)[0] == 200
    assert ask(of, path, ANOTHER)[0] == 404
    assert ask(of, path, None)[0] == 401
    without = build(Settings(CURSOR_KEYS), open_table=EmbeddedTable)
    assert ask(without, path)[0] == 404


def test_a_file_is_what_the_package_has_and_no_other_file_is_served() -> None:
    of = service()
    for name, file in page_files().items():
        status, headers, body = ask(of, "/explorer" if name == "index.html" else f"/explorer/{name}")
        assert (status, headers["content-type"], body) == (200, file.headers["content-type"], file.body.decode())
    for path in ("/explorer/../route.py", "/explorer/..%2Froute.py", "/explorer/files.py", "/explorer/lit-html"):
        assert ask(of, path)[0] == 404, path


def test_the_document_says_how_each_index_is_asked() -> None:
    (user, email) = document("user_service")["entities"]
    assert (user["token"], user["path"], user["identity"]) == ("user", "/v1/users/{key}", ["userId"])
    assert user["operations"] == ["create", "update", "delete"]
    phone = next(each for each in user["indexes"] if each["name"] == "userBeneficiaryPhone")
    element = {"name": "phone", "descending": False, "begins": True}
    assert (phone["fixed"], phone["ordered"]) == (["beneficiaryId"], [element])
    times = {each["name"]: each["time"] for each in user["properties"]}
    assert (times["created"], times["userId"]) == ("ms", "")
    assert user["write"]["required"] == ["beneficiaryId", "firstName", "lastName"]
    assert email["indexes"][0]["name"] is None


def test_the_document_has_the_lists_that_the_service_declares_and_no_claims_to_fill_in() -> None:
    found = document("issue_tracker")
    (grid,) = found["views"]
    assert (grid["path"], grid["collection"], grid["explain"]) == ("/v1/issue-grid", "issues", "/v1/issue-grid/explain")
    assert [each["name"] for each in grid["parameters"] if each["required"]] == ["projectId"]
    issue = next(each for each in found["entities"] if each["token"] == "issue")
    by_title = next(each for each in issue["indexes"] if each["name"] == "gridTitle")
    assert (by_title["fixed"], [each["name"] for each in by_title["ordered"]]) == (["projectId"], ["title", "num"])
    assert issue["claims"] == ["tenantId"]
    assert next(each for each in issue["indexes"] if each["name"] == "gridStateNewest")["ordered"][1]["descending"]
    merge = next(each for each in found["entities"] if each["token"] == "merge")
    assert merge["operations"] == [], "only the service writes it"
    assert {each["name"] for each in merge["relations"]} == {"source", "target", "into"}


@pytest.mark.parametrize("name", ["user_service", "order_tracking", "issue_tracker"])
def test_what_its_schemas_refer_to_is_there(name: str) -> None:
    for entity in document(name)["entities"]:
        named = {each["$ref"].rpartition("/")[2] for each in references(entity)}
        assert named <= entity["definitions"].keys()
        shown = {each["name"] for each in entity["properties"]}
        assert set(entity["identity"]) <= shown
        for index in entity["indexes"]:
            assert {*index["fixed"], *(each["name"] for each in index["ordered"]), *(index["shown"] or ())} <= shown


def references(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        own = [node] if isinstance(node.get("$ref"), str) else []
        return own + [each for value in node.values() for each in references(value)]
    return [each for value in node for each in references(value)] if isinstance(node, list) else []


def test_the_shards_have_the_numbers_that_were_counted() -> None:
    of = service()
    parts = of.parts
    user = parts.schema["user"]
    for name in ("ann", "bob", "cai"):
        parts.store.create({"userId": name, "firstName": name, "lastName": "Lee", "beneficiaryId": "b"}, user.model)
    counter = LoadCounter()
    for item in parts.table.run(Scan()).items:
        if item["hashKey"].startswith("user!"):
            key = {"hashKey": item["hashKey"], "rangeKey": item["rangeKey"]}
            counter.count(user, StreamRecord("INSERT", key, None, item, "1", "1", 0.0))
    for update in counter.drain():
        parts.table.run(update)
    found = json.loads(ask(of, "/v1/_shards/user")[2])
    assert [each["shard"] for each in found["shards"]] == ["0", "1", "2", "3"]
    assert sum(each["items"] for each in found["shards"]) == sum(each["writes"] for each in found["shards"]) == 3
    assert all((each["bytes"] > 100) == (each["items"] > 0) for each in found["shards"])


def test_every_generation_has_its_shards_and_what_is_too_much_is_counted() -> None:
    bumps = ShardMap.of_bumps((ShardBump(0, 1, 1), ShardBump(5, 1, 2)))
    found = shown_loads("user", bumps, {"1": Load("1", -2, 7, 3, 1, 9), "zz": Load("zz", 1, 1, 1, 1)}, 5)
    assert [(each.generation, each.shard) for each in found.shards] == [
        (0, "0"),
        (0, "1"),
        (5, "00"),
        (5, "01"),
        (5, "10"),
        (5, "11"),
    ]
    assert (found.shards[1].items, found.shards[1].bytes, found.shards[1].throttled) == (0, 7, 9)
    many = shown_loads("user", ShardMap.of_bumps((ShardBump(0, 4, 4),)), {}, 5)
    assert (len(many.shards), many.more) == (MAX_SHOWN, 16**4 - MAX_SHOWN)
