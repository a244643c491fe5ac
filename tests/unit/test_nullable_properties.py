"""A property that has to be given and may be None: None is a value to give, and what is left out is not."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field

from shardweave.errors import ValidationFailed
from shardweave.query.filters import compile_filter
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import Exists, Missing
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.store_world import World

NOTHING: dict[str, Any] = {"note": None, "score": None, "kind": None, "rest": None}


class Reply(Entity, token="reply", collection="replies"):
    """What somebody answered, or None where they said that they do not know."""

    reply_id: str = unique_property()
    note: str | None
    score: int | None = Field(..., ge=0)
    kind: Literal["short", None]
    rest: Any
    hidden: int | None = Field(..., exclude=True)
    words: int = 0

    note_range_key = RangeKey("note", "reply_id")


SCHEMA = Schema([Reply], [Index("notes", "hash_key", "note_range_key"), Index("scores", "hash_key", "score")])


@pytest.mark.parametrize("how", ["create", "mapping", "put", "update", "batch"])
def test_a_none_that_is_given_is_read_back(how: str) -> None:
    world = World(schema=SCHEMA)
    store, record = world.store, Reply(reply_id="a", hidden=None, **NOTHING)
    if how == "create":
        store.create(record)
    elif how == "mapping":
        store.create({"replyId": "a", "hidden": None, **NOTHING}, Reply)
    elif how == "put":
        store.put(record)
    elif how == "update":
        store.create(Reply(reply_id="a", note="n", score=1, kind="short", rest=[1], hidden=2))
        store.update(Reply, "a", {**NOTHING, "hidden": None})
    else:
        store.batch_write([record])
    found = store.get(Reply, "a")
    assert found is not None
    assert found.model_dump() == record.model_dump()
    changed = store.update(Reply, "a", {"words": 3})
    assert (changed.note, changed.score, changed.kind, changed.rest) == (None, None, None, None)


def test_it_is_stored_as_nothing_so_that_older_records_and_keys_of_indexes_are_as_before() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Reply(reply_id="a", hidden=None, **NOTHING))
    assert not {"note", "score", "kind", "rest", "hidden"} & set(world.stored(Reply))
    assert world.stored(Reply)["noteRangeKey"] == "note |replyId#a"


def test_what_is_left_out_is_refused() -> None:
    world = World(schema=SCHEMA)
    with pytest.raises(ValidationFailed, match="note: Field required; score: Field required"):
        world.store.create({"replyId": "a", "kind": None, "rest": None, "hidden": None}, Reply)
    assert world.store.get(Reply, "a") is None


def test_a_filter_takes_it_for_no_value() -> None:
    entity = SCHEMA[Reply]
    view = entity.view("notes")
    item = entity.dump(Reply(reply_id="a", hidden=None, **NOTHING))
    for condition, wanted in ((Missing("note"), True), (Exists("note"), False)):
        assert compile_filter(entity, view, [(condition, "filter")]).evaluate(item) is wanted


def test_over_http_null_is_taken_and_a_record_goes_back_as_it_was_read() -> None:
    client = Client(api_of(SCHEMA))
    made = client.send("POST", "/v1/replies", {"replyId": "a", "hidden": None, **NOTHING})
    assert made.status == 201
    shown = json_of(client.get("/v1/replies/a"))
    assert shown == {"replyId": "a", **NOTHING, "words": 0}
    assert json_of(client.send("PUT", "/v1/replies/a", shown)) == shown
    assert json_of(client.send("PATCH", "/v1/replies/a", {"score": 4}))["score"] == 4
    assert json_of(client.send("PATCH", "/v1/replies/a", {"score": None}))["score"] is None


def test_over_http_what_is_left_out_is_refused() -> None:
    client = Client(api_of(SCHEMA))
    problem = problem_of(client.send("POST", "/v1/replies", {"replyId": "a", "hidden": 1}), 400, "validation_failed")
    assert {each["where"] for each in problem["errors"]} == {"note", "score", "kind", "rest"}
