"""Stored records that can't be read, since they are damaged, their entity has changed, or another program wrote them:
whose fault that is, which record it is, and what still works."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import computed_field

from shardweave.api.response_size import MAX_PAGE_BYTES
from shardweave.schema.declarations import Lookup
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from tests.unit.api_world import PARTS, Client, Observation, api_of, json_of, problem_of

SECRET = "secret"
TOLD = {"entity": "part", "key": "b", "code": "invalid"}


@pytest.fixture
def seen() -> list[Observation]:
    return []


@pytest.fixture
def client(seen: list[Observation]) -> Client:
    """Three parts; what is stored of the second is of a type that it can't have."""
    table = EmbeddedTable(PARTS.layout)
    found = Client(api_of(PARTS, observe=seen.append, table=table))
    for sku in ("a", "b", "c"):
        assert found.post("/v1/parts", {"sku": sku, "number": 1}).status == 201
    part = PARTS.entity("part")
    item = part.complete({"sku": "b", "created": 1_730_000_000_000, "number": 1})
    table.run(PutItem({**item, "weight": SECRET, "state": SECRET}))
    return found


def test_a_record_that_can_not_be_read_is_a_fault_of_the_service_and_is_named(
    client: Client, seen: list[Observation]
) -> None:
    for answer in (
        client.get("/v1/parts/b"),
        client.patch("/v1/parts/b", {"urgent": True}),
        client.patch("/v1/parts/b", {"labels": {"a": 1}}),
    ):
        problem = problem_of(answer, 500, "record_unreadable")
        assert problem["where"] == "part b"
        assert "weight" in problem["detail"]
        assert "put it whole" in problem["fix"]
        assert SECRET not in json.dumps(problem)
        assert isinstance(seen[-1].failure, Exception), "it is logged"
        assert SECRET not in str(seen[-1].failure)
        assert [(each["entity"], each["code"]) for each in seen[-1].unreadable] == [("part", "invalid")]


def test_a_page_tells_it_in_its_place_and_goes_on(client: Client, seen: list[Observation]) -> None:
    for answer in (
        client.get("/v1/parts?index=byDay"),
        client.get("/v1/parts?sku=b"),
        client.post("/v1/parts/query", {"conditions": {"sku": "b"}, "properties": ["sku", "weight"]}),
        client.post("/v1/parts/batch-get", {"keys": ["a", "b"]}),
    ):
        found = json_of(answer)
        assert answer.status == 200
        (told,) = found["unreadable"]
        assert {name: told[name] for name in TOLD} == TOLD
        assert told["position"] <= len(found["items"])
        assert "weight (float_parsing)" in told["properties"]
        assert SECRET not in answer.body.decode()
        ((line,),) = [seen[-1].unreadable]
        assert (line["entity"], line["code"]) == ("part", "invalid")
        assert len(line["key"]) == 16, "a log has the hash of its key"
        assert seen[-1].page is None or seen[-1].page.fell_short
    assert [each["sku"] for each in json_of(client.get("/v1/parts?index=byDay"))["items"] if each["sku"] != "b"]
    assert "unreadable" not in json_of(client.get("/v1/parts?sku=a")), "it is there where there is any"


def test_what_a_client_gave_is_told_to_the_client(client: Client) -> None:
    problem = problem_of(client.patch("/v1/parts/b", {"number": "x"}), 400, "validation_failed")
    assert [fault["where"] for fault in problem["errors"]] == ["number"]


def test_queries_that_do_not_show_what_is_wrong_are_answered(client: Client) -> None:
    asked = {"conditions": {"sku": "b"}, "properties": ["sku", "number"]}
    assert json_of(client.post("/v1/parts/query", asked))["items"] == [{"sku": "b", "number": 1}]
    assert json_of(client.post("/v1/parts/count", {"conditions": {"sku": "b"}}))["count"] == 1
    assert client.get("/v1/parts/a").status == 200


@pytest.mark.parametrize("mend", ["put", "patch", "delete"])
def test_the_record_can_be_mended(client: Client, mend: str) -> None:
    if mend == "put":
        assert client.put("/v1/parts/b", {"number": 2}).status == 200
    elif mend == "patch":
        assert client.patch("/v1/parts/b", {"weight": None, "state": "new"}).status == 200
    else:
        assert client.delete("/v1/parts/b").status == 204
    found = json_of(client.get("/v1/parts?sku=b"))
    assert ("unreadable" in found, len(found["items"])) == (False, int(mend != "delete"))


class Poster(Entity, token="poster"):
    """What is shown of one is as long as its `size` says."""

    poster_id: str = unique_property()
    wall: str
    size: int = 1

    walls = Lookup("wall")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def picture(self) -> str:
        return '"' * self.size


def test_one_that_alone_fills_more_than_an_answer_is_told_in_its_place() -> None:
    posters = Client(api_of(Schema([Poster])))
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        size = MAX_PAGE_BYTES if name in "bc" else 1
        assert posters.post("/v1/posters", {"posterId": name, "wall": "w", "size": size}).status == 201
    for target in ("/v1/posters?posterId.from=a", "/v1/posters?lookup=wall&wall=w"):
        for limit in (1, 2, 100):
            found: list[str] = []
            page: dict[str, Any] = {"nextToken": ""}
            while page["nextToken"] is not None:
                token = f"&nextToken={page['nextToken']}" if page["nextToken"] else ""
                page = json_of(posters.get(f"{target}&limit={limit}{token}"))
                told = {each["key"]: each["code"] for each in page.get("unreadable", ())}
                assert set(told.values()) <= {"too_large"}
                found += [*told, *(each["posterId"] for each in page["items"])]
            assert sorted(found) == names
        page = json_of(posters.get(f"{target}&limit=100"))
        assert [each["posterId"] for each in page["items"]] == ["a", "d", "e"]
        assert [(each["key"], each["position"]) for each in page["unreadable"]] == [("b", 1), ("c", 1)]
    batch = json_of(posters.post("/v1/posters/batch-get", {"keys": names}))
    assert [each and each["posterId"] for each in batch["items"]] == ["a", None, None, "d", "e"]
    assert (batch["unprocessed"], [each["position"] for each in batch["unreadable"]]) == ([], [1, 2])
    problem = problem_of(posters.get("/v1/posters/b"), 500, "record_unreadable")
    assert "does not fit into an answer" in problem["detail"]
