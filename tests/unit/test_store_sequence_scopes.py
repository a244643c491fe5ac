"""Records that lack what their number is counted within: refused, and in a batch alone."""

from __future__ import annotations

import pytest

from shardweave.errors import ValueRefused
from shardweave.schema.declarations import Sequence
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Put, Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import Client, api_of, json_of, problem_of


class Beast(Entity, token="beast"):
    """Is numbered within a color, which it may lack."""

    beast_id: str = unique_property(default_factory=nanoid)
    color: str | None = None
    num: int | None = None

    by_color = Sequence("num", within="color")


@pytest.fixture
def store() -> Store:
    schema = Schema([Beast])
    return Store(schema, EmbeddedTable(schema.layout))


def test_a_record_without_the_scope_of_its_number_is_refused(store: Store) -> None:
    with pytest.raises(ValueRefused) as refused:
        store.create({"beast_id": "a"}, Beast)
    assert refused.value.where == "color"


def test_over_http_another_scope_takes_a_number_that_is_free_or_a_put() -> None:
    client = Client(api_of(Schema([Beast])))
    for key, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        client.post("/v1/beasts", {"beastId": key, "color": color})
    problem = problem_of(client.patch("/v1/beasts/a", {"color": "blue"}), 400, "immutable_property")
    assert (problem["where"], "put the whole record without one" in problem["fix"]) == ("num", True)
    assert json_of(client.put("/v1/beasts/a", {"color": "blue"}))["num"] == 2
    assert json_of(client.patch("/v1/beasts/c", {"color": "blue", "num": 7}))["num"] == 7


def test_in_a_batch_it_fails_alone(store: Store) -> None:
    puts = [Put({"beast_id": "a", "color": "red"}, Beast), Put({"beast_id": "b"}, Beast)]
    written, failed = store.batch_write(puts).puts
    assert written.status == "written"
    assert failed.status == "failed"
    assert isinstance(failed.error, ValueRefused)
    assert store.get(Beast, "a") is not None
    assert store.get(Beast, "b") is None
