"""A codec that is declared with a type says what its property can be, whether it is in a key or not."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import pytest

from shardweave.errors import ShardweaveError
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Put, Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import DecimalCodec, PaddedIntegerCodec, SemanticVersion, TimestampSeconds
from tests.unit.api_world import Client, api_of, problem_of


class App(Entity, token="app"):
    app_id: str = unique_property(default_factory=nanoid)
    name: str = ""
    version: SemanticVersion | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None
    number: Annotated[str, PaddedIntegerCodec(4)] | None = None
    seen: TimestampSeconds | None = None


SCHEMA = Schema([App], [])
RIGHT = {"version": "1.12.0-beta.2", "price": Decimal("1.25"), "number": "0042", "seen": 1_726_880_933}
WRONG = [
    ("version", "junk"),
    ("version", "1.0"),
    ("version", "01.0.0"),
    ("price", Decimal("1.255")),
    ("number", "42"),
    ("seen", 1_726_880_933_000),
]
WAYS: dict[str, Callable[[Store, dict[str, Any]], Any]] = {
    "create": lambda store, given: store.create(App(**given)),
    "put": lambda store, given: store.put({"app_id": "a", **given}, App),
    "update": lambda store, given: store.update(App, "a", given),
    "batch": lambda store, given: _only(store.batch_write([Put({"app_id": "a", **given}, App)]).puts),
}


def _only(outcomes: Any) -> None:
    (outcome,) = outcomes
    if outcome.error is not None:
        raise outcome.error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_it_can_not_write_is_refused_and_changes_nothing(way: str, name: str, value: Any) -> None:
    store = Store(SCHEMA, EmbeddedTable(SCHEMA.layout))
    before = store.create(App(app_id="a", **RIGHT))
    with pytest.raises(ShardweaveError) as refused:
        WAYS[way](store, {name: value})
    assert name in str(refused.value)
    assert store.get(App, "a") == before


def test_what_it_can_write_is_kept() -> None:
    store = Store(SCHEMA, EmbeddedTable(SCHEMA.layout))
    for way in WAYS.values():
        store.put(App(app_id="a"))
        way(store, dict(RIGHT))
    assert store.get(App, "a") == App(app_id="a", **RIGHT)


def test_it_is_refused_over_http_naming_the_property() -> None:
    client = Client(api_of(SCHEMA))
    assert problem_of(client.post("/v1/apps", {"version": "1.0"}), 400, "value_refused")["where"] == "version"
