"""A TTL is given in epoch seconds: what can't be one is refused, and nothing is written that would never expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave.cli.records import whole_record
from shardweave.errors import InputError, ShardweaveError
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put, Store
from shardweave.values.codecs import TimestampSeconds
from tests.unit.api_world import Client, api_of, json_of
from tests.unit.store_world import START, World


class Pass(Entity, token="pass"):
    """Lets somebody in, until it ends."""

    pass_id: str = unique_property(default_factory=nanoid)
    ends: int | None = ttl_property()
    gate: str = "north"


class Visit(Entity, token="visit"):
    """The same with the unit in the type."""

    visit_id: str = unique_property(default_factory=nanoid)
    ends: TimestampSeconds | None = ttl_property()


SCHEMA = Schema([Pass, Visit])
WAYS: dict[str, Callable[[Store, type[Entity], int], Any]] = {
    "create": lambda store, model, ends: store.create({"ends": ends}, model),
    "create a record": lambda store, model, ends: store.create(model(ends=ends)),
    "put": lambda store, model, ends: store.put(model(ends=ends)),
    "copy": lambda store, model, ends: store.put(model().model_copy(update={"ends": ends})),
    "update": lambda store, model, ends: store.update(model, _stored(store, model), {"ends": ends}),
    "transact": lambda store, model, ends: store.transact([Create(model(ends=ends))]),
    "batch": lambda store, model, ends: _batched(store, model(ends=ends)),
    "line": lambda store, model, ends: _batched(store, _line(store.schema, model, ends)),
}


def _stored(store: Store, model: type[Entity]) -> str:
    (name,) = store.schema[model].identity
    return str(getattr(store.create(model()), store.schema[model].properties[name].name))


def _batched(store: Store, record: Entity | Put) -> None:
    (outcome,) = store.batch_write([record]).puts
    if outcome.error is not None:
        raise outcome.error


def _line(schema: Schema, model: type[Entity], ends: int) -> Put:
    return Put(whole_record(schema[model], {"ends": ends}), model)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", [Pass, Visit])
@pytest.mark.parametrize("ends", [START + 60_000, 10**11, -1, -60_000])
def test_milliseconds_and_what_is_negative_are_refused(way: str, model: type[Entity], ends: int) -> None:
    world = World(schema=SCHEMA)
    with pytest.raises(ShardweaveError, match="seconds") as refused:
        WAYS[way](world.store, model, ends)
    assert isinstance(refused.value, InputError)
    assert "ends" in refused.value.where
    assert refused.value.fix


@pytest.mark.parametrize("way", WAYS)
def test_seconds_are_taken(way: str) -> None:
    WAYS[way](World(schema=SCHEMA).store, Pass, START // 1000 + 60)


def test_one_that_is_stored_already_does_not_stand_in_the_way_of_a_change() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Pass(pass_id="p", ends=START // 1000 + 60))
    world.written_behind(Pass, ends=START + 60_000)
    assert world.store.update(Pass, "p", {"gate": "south"}).gate == "south"
    assert world.store.update(Pass, "p", {"ends": None}).ends is None


def test_over_http_it_is_refused_and_its_unit_is_said() -> None:
    client = Client(api_of(SCHEMA))
    assert client.post("/v1/passs", {"ends": START + 60_000}).status == 400
    schemas = json_of(client.get("/openapi.json"))["components"]["schemas"]
    for model in ("Pass", "PassWrite", "PassPatch", "Visit"):
        assert schemas[model]["properties"]["ends"]["description"] == "Epoch seconds."
