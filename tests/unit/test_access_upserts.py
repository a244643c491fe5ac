"""Upserts by callers who see some records alone: whether another's record exists does not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave import Allow, Entity, Schema, Update, claim_property, unique_property
from shardweave.access.authorization import Authorization
from shardweave.api.caller_database import CallerDatabase
from shardweave.errors import NotFound
from shardweave.schema.caller import Caller
from shardweave.store import Add
from shardweave.testing import Answer, Client

EVERYTHING = ("create", "get", "list", "update", "put", "delete", "batchWrite")


class Talk(Entity, token="talk", partition="tenant", sort="number"):
    """A talk of a tenant."""

    tenant: str = claim_property("tenant")
    number: int
    seen: int = 0


class Note(Entity, token="note", partition="user_id", sort="number", access=[Allow(*EVERYTHING, owner="user_id")]):
    """A note of somebody, whose key says whose it is."""

    user_id: str
    number: int
    seen: int = 0


class Draft(Entity, token="draft", partition="editor_id", access=[Allow(*EVERYTHING, owner="editor_id")]):
    """A draft of one editor, with an id."""

    editor_id: str
    draft_id: str = unique_property()
    seen: int = 0


def patched(client: Client, collection: str, key: dict[str, Any]) -> Answer:
    path = "/".join(str(each) for each in key.values())
    return client.patch(f"/v1/{collection}/{path}?upsert=true", {"seen": 1})


def added(client: Client, collection: str, key: dict[str, Any]) -> Answer:
    return client.post(f"/v1/{collection}/add", {"key": key, "amounts": {"seen": 1}, "upsert": True})


def updated_together(client: Client, collection: str, key: dict[str, Any]) -> Answer:
    operation = {"update": collection, "key": key, "patch": {"seen": 1}, "upsert": True}
    return client.post("/v1/_transact", {"operations": [operation]})


def added_together(client: Client, collection: str, key: dict[str, Any]) -> Answer:
    operation = {"add": collection, "key": key, "amounts": {"seen": 1}, "upsert": True}
    return client.post("/v1/_transact", {"operations": [operation]})


WAYS: tuple[Callable[[Client, str, dict[str, Any]], Answer], ...] = (patched, added, updated_together, added_together)
RECORDS: dict[str, tuple[type[Entity], str, str]] = {
    "talks": (Talk, "tenant", "number"),
    "notes": (Note, "userId", "number"),
    "drafts": (Draft, "editorId", "draftId"),
}


def world(collection: str) -> tuple[Client, dict[str, Any], dict[str, Any]]:
    """A client with one record of bob's, its key, and the key of one that he does not have."""
    kind, owner, last = RECORDS[collection]
    client = Client(Schema([kind]))
    there, missing = ({owner: "bob", last: each} for each in (("d1", "d2") if collection == "drafts" else (1, 2)))
    client.database.create(client.database.schema[kind].token, there)
    return client, there, missing


@pytest.mark.parametrize("collection", RECORDS)
@pytest.mark.parametrize("ask", WAYS, ids=lambda each: each.__name__)
def test_an_upsert_of_another_s_key_is_answered_alike_whether_it_has_a_record(
    ask: Callable[[Client, str, dict[str, Any]], Answer], collection: str
) -> None:
    client, there, missing = world(collection)
    ann = client.as_caller("ann", claims={"tenant": "ann"})
    answers = [ask(ann, collection, key).expect(404) for key in (there, missing)]
    assert answers[0].json == answers[1].json
    assert answers[0].problem is not None
    assert answers[0].problem.where.endswith("key")
    kind = RECORDS[collection][0]
    records = client.database.batch_get(kind, [there, missing])
    assert [getattr(each, "seen", None) for each in records] == [0, None]


@pytest.mark.parametrize("collection", RECORDS)
@pytest.mark.parametrize("ask", WAYS, ids=lambda each: each.__name__)
def test_an_upsert_of_one_s_own_key_makes_a_record_and_changes_it(
    ask: Callable[[Client, str, dict[str, Any]], Answer], collection: str
) -> None:
    client, there, missing = world(collection)
    bob = client.as_caller("bob", claims={"tenant": "bob"})
    for key in (there, missing):
        assert ask(bob, collection, key).status in (200, 201)
    records = client.database.batch_get(RECORDS[collection][0], [there, missing])
    assert [getattr(each, "seen", None) for each in records] == [1, 1]


@pytest.mark.parametrize("collection", RECORDS)
def test_in_a_route_of_one_s_own_it_is_the_same(collection: str) -> None:
    client, there, missing = world(collection)
    db, kind = client.database, RECORDS[collection][0]
    caller = Caller("ann", tenant="ann", subject="ann", claims={"tenant": "ann"})
    own = CallerDatabase(db.store, db.queries, Authorization(db.schema.entities), caller)
    for key in (there, missing):
        for write in (Update(kind, key, {"seen": 1}, upsert={}), Add(kind, key, {"seen": 1}, upsert=True)):
            with pytest.raises(NotFound, match=f"there is no such {kind.__name__.lower()}"):
                own.granted(write)


def test_a_check_of_another_s_key_names_its_operation() -> None:
    client, there, missing = world("talks")
    for key in (there, missing):
        operations = [{"create": "talks", "item": {"number": 9}}, {"check": "talks", "key": key}]
        ann = client.as_caller("ann", claims={"tenant": "ann"})
        refused = ann.post("/v1/_transact", {"operations": operations}).expect(404).problem
        assert refused is not None
        assert refused.where == "operations[1].key"
