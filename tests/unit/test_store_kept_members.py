"""Members of stored models that the class does not declare, of a newer version of the program say: kept by updates and
rewrites, replaced by puts."""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic import BaseModel, Field

from shardweave.maintenance.rewriting import RewriteStep
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.operations import PutItem
from tests.unit.store_world import World


class Inner(BaseModel):
    """A model in another."""

    one: int
    two: str = "two"


@dataclasses.dataclass
class Line:
    """An element of a list."""

    sku: str
    count: int = 1


class Order(Entity, token="order"):
    """Has models in every place."""

    order_id: str = unique_property()
    text: str = ""
    inner: Inner | None = None
    by_name: dict[str, Inner] = Field(default_factory=dict)
    lines: list[Line] = Field(default_factory=list)
    plain: dict[str, int] = Field(default_factory=dict)


SCHEMA = Schema([Order])
STORED: dict[str, Any] = {
    "inner": {"one": 1, "new": {"deep": [1]}},
    "byName": {"a": {"one": 1, "two": "x", "new": 2}, "b": {"one": 2, "new": 3}},
    "lines": [{"sku": "s", "count": 1, "new": 4}, {"sku": "t", "new": 5}],
    "plain": {"p": 1},
}


def world() -> World:
    found = World(schema=SCHEMA)
    found.store.create(Order(order_id="o", inner=Inner(one=0)))
    found.inner.run(PutItem({**found.stored(Order), **STORED}))
    return found


def stored(found: World) -> dict[str, Any]:
    item = found.stored(Order)
    return {name: item[name] for name in STORED if name in item}


def test_an_update_of_something_else_keeps_all_of_them_and_fills_in_defaults() -> None:
    found = world()
    made = found.store.update(Order, "o", {"text": "changed"})
    assert made.inner == Inner(one=1)
    assert stored(found) == {
        "inner": {"one": 1, "two": "two", "new": {"deep": [1]}},
        "byName": {"a": {"one": 1, "two": "x", "new": 2}, "b": {"one": 2, "two": "two", "new": 3}},
        "lines": [{"sku": "s", "count": 1, "new": 4}, {"sku": "t", "count": 1, "new": 5}],
        "plain": {"p": 1},
    }


def test_a_change_of_a_model_keeps_what_it_does_not_know_where_the_map_is_still_there() -> None:
    found = world()
    lines = [Line(sku="s"), Line(sku="other")]
    found.store.update(Order, "o", {"inner": Inner(one=9), "by_name": {"a": Inner(one=5), "c": Inner(one=6)}})
    found.store.update(Order, "o", {"lines": lines, "plain": {"q": 2}})
    assert stored(found) == {
        "inner": {"one": 9, "two": "two", "new": {"deep": [1]}},
        "byName": {"a": {"one": 5, "two": "two", "new": 2}, "c": {"one": 6, "two": "two"}},
        "lines": [{"sku": "s", "count": 1, "new": 4}, {"sku": "other", "count": 1}],
        "plain": {"q": 2},
    }
    found.store.update(Order, "o", {"inner": None, "lines": lines[:1]})
    assert "inner" not in stored(found)
    assert stored(found)["lines"] == [{"sku": "s", "count": 1}], "another length: the places say nothing"


def test_a_rewrite_keeps_them_and_a_put_writes_the_record_that_was_given() -> None:
    found = world()
    found.store.parts.writer.run(RewriteStep(SCHEMA[Order], {"orderId": "o"}))
    assert stored(found)["inner"] == {"one": 1, "two": "two", "new": {"deep": [1]}}
    found.store.put(Order(order_id="o", inner=Inner(one=1)))
    assert stored(found) == {"inner": {"one": 1, "two": "two"}, "byName": {}, "lines": [], "plain": {}}
