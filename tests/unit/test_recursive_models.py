"""Models inside themselves: the rules of JSON hold at every depth, and the document has one schema for each class."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from shardweave import Entity, Schema, unique_property
from shardweave.api.equal_schemas import merge_equal
from shardweave.testing import Client


class Comment(BaseModel):
    """A comment with its answers."""

    text: str
    stars: int = 0
    price: Decimal | None = None
    day: dt.date | None = None
    answers: list[Comment] = []
    by_name: dict[str, Comment] = {}


@dataclass
class Node:
    """A tree."""

    name: str
    children: list[Node] = field(default_factory=list)


class Left(BaseModel):
    """One of two that hold each other."""

    a: int = 0
    right: Right | None = None


class Right(BaseModel):
    """The other one."""

    b: int = 0
    left: Left | None = None


class Post(Entity, token="post"):
    """Something with all of them."""

    post_id: str = unique_property()
    comments: list[Comment] = Field(default_factory=list)
    first: Comment | None = None
    tree: Node | None = None
    trees: list[Node] = Field(default_factory=list)
    left: Left | None = None
    right: Right | None = None


SCHEMA = Schema([Post])
Nest = Callable[[int, dict[str, Any]], dict[str, Any]]


def comment(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    nested = {"text": "end", **inner}
    for _ in range(depth):
        nested = {"text": "t", "answers": [nested]}
    return {"first": nested}


def named(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    nested = {"text": "end", **inner}
    for _ in range(depth):
        nested = {"text": "t", "by_name": {"k": nested}}
    return {"comments": [nested]}


def tree(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    nested = {"name": "end", **inner}
    for _ in range(depth):
        nested = {"name": "n", "children": [nested]}
    return {"tree": nested}


def pair(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {**inner}
    for number in range(depth):
        nested = {("left", "right")[(depth - number) % 2 == 1]: nested}
    return {"left": nested}


NESTS = [comment, named, tree, pair]


@pytest.fixture
def client() -> Any:
    with Client(SCHEMA) as opened:
        yield opened


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("nest", NESTS, ids=lambda each: each.__name__)
def test_a_member_that_is_not_declared_is_refused_with_its_place_at_every_depth(
    client: Client, nest: Nest, depth: int
) -> None:
    created = client.post("/v1/posts", {"postId": "a", **nest(depth, {"nope": 1})}).expect(400).problem
    assert created is not None
    (fault,) = created.values
    assert fault.where.endswith(".nope")
    assert fault.where.count(".") == depth * (2 if nest is named else 1) + 1
    assert fault.type == "extra_forbidden"
    client.post("/v1/posts", {"postId": "b", **nest(depth, {})}).expect(201)
    client.patch("/v1/posts/b", nest(depth, {"nope": 1})).expect(400)
    client.put("/v1/posts/b", nest(depth, {"nope": 1})).expect(400)
    assert client.get("/v1/posts/a").status == 404


WRONG = [{"stars": "7"}, {"stars": 7.5}, {"price": "1e"}, {"price": True}, {"day": "2024-13-01"}, {"day": 5}]
RIGHT = [{"stars": 7.0}, {"price": 1.5}, {"price": "1.10"}, {"day": "2024-02-29"}]


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("nest", [comment, named], ids=lambda each: each.__name__)
def test_values_are_read_by_the_same_rules_at_every_depth(client: Client, nest: Nest, depth: int) -> None:
    for number, values in enumerate(RIGHT):
        client.post("/v1/posts", {"postId": f"r{number}", **nest(depth, values)}).expect(201)
    for values in WRONG:
        problem = client.post("/v1/posts", {"postId": "w", **nest(depth, values)}).expect(400).problem
        assert problem is not None
        assert all(fault.where.endswith(f".{name}") for fault in problem.values for name in values)


def test_what_is_read_is_of_the_declared_classes_at_every_depth(client: Client) -> None:
    for number, nest in enumerate(NESTS):
        client.post("/v1/posts", {"postId": f"p{number}", **nest(3, {})}).expect(201)
    posts = [client.database.get(Post, f"p{number}") for number in range(4)]
    commented, listed, treed, paired = (post for post in posts if post is not None)
    assert commented.first is not None
    assert treed.tree is not None
    assert paired.left is not None
    assert type(commented.first.answers[0].answers[0].answers[0]) is Comment
    assert type(listed.comments[0].by_name["k"].by_name["k"]) is Comment
    assert treed.tree == Node("n", [Node("n", [Node("n", [Node("end")])])])
    assert type(paired.left.right) is Right
    assert type(paired.left.right.left) is Left


def test_the_document_has_one_schema_for_each_class_by_its_name_and_one_for_patches(client: Client) -> None:
    schemas = client.openapi["components"]["schemas"]
    assert not [name for name in schemas if "__" in name]
    for name in ("Node", "Left", "Right"):
        assert sorted(each for each in schemas if name in each) == [name, f"{name}-Merge"]
    # A decimal is taken as text or number, and shown as text.
    assert sorted(each for each in schemas if "Comment" in each) == [
        "Comment-Input",
        "Comment-Merge",
        "Comment-Output",
    ]
    reference = {"$ref": "#/components/schemas/Node"}
    assert schemas["Node"]["properties"]["children"]["items"] == reference
    assert schemas["Post"]["properties"]["tree"] == reference
    assert schemas["Right"]["properties"]["left"]["anyOf"][0] == {"$ref": "#/components/schemas/Left"}


def test_classes_of_one_name_that_differ_keep_schemas_of_their_own() -> None:
    def refer(name: str) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{name}"}

    schemas = {
        "one__Node": {"title": "Node", "properties": {"next": refer("one__Node__1")}},
        "one__Node__1": {"title": "Node", "properties": {"next": refer("one__Node")}},
        "two__Node": {"title": "Node", "properties": {"next": refer("two__Node"), "more": {"type": "string"}}},
    }
    paths = {"/a": {"get": refer("one__Node__1")}, "/b": {"get": refer("two__Node")}}
    merge_equal(paths, schemas)
    assert schemas.keys() == {"one__Node", "two__Node"}
    assert paths == {"/a": {"get": refer("one__Node")}, "/b": {"get": refer("two__Node")}}
    assert schemas["one__Node"]["properties"]["next"] == refer("one__Node")


@given(st.integers(2, 7), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_whoever_follows_references_finds_the_same_before_and_after(count: int, drawn: Any) -> None:
    """Unfolded to any depth, a schema says what it said, whatever the schemas refer to."""
    names = [f"m__Kind__{number}" for number in range(count)]
    schemas: dict[str, Any] = {}
    for name in names:
        members = {
            f"m{number}": {"$ref": f"#/components/schemas/{drawn.choice(names)}"}
            for number in range(drawn.randrange(3))
        }
        schemas[name] = {"title": "Kind", "const": drawn.randrange(2), "properties": members}
    paths = {name: {"$ref": f"#/components/schemas/{name}"} for name in names}

    def unfolded(node: Any, depth: int) -> Any:
        if isinstance(node, dict) and "$ref" in node:
            found = schemas[node["$ref"].rpartition("/")[2]]
            return unfolded(found, depth - 1) if depth else None
        return {name: unfolded(each, depth) for name, each in node.items()} if isinstance(node, dict) else node

    before = {name: json.dumps(unfolded(each, count + 1), sort_keys=True) for name, each in paths.items()}
    merge_equal(paths, schemas)
    after = {name: json.dumps(unfolded(each, count + 1), sort_keys=True) for name, each in paths.items()}
    assert after == before
    assert len(schemas) == len(set(before.values())), "those that say the same at every depth are one"
