"""Members of models that identify or place records, on all tables: written, read, listed, and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from shardweave.errors import AlreadyExists, ImmutableProperty, ValueTaken
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec, Range
from shardweave.store import Add, Delete, Put, RetryClock, Store, Update
from tests.integration.conftest import OpenTable
from tests.unit.api_world import CURSOR_KEYS, Client, api_of, json_of, problem_of
from tests.unit.placing_world import KEY, SCHEMA, Address, Box, Shop, Site, Thing, shop


@dataclass
class Shops:
    """A store, questions and an API on one new table."""

    store: Store
    queries: QueryRunner
    client: Client

    def listed(self, **conditions: Any) -> list[int]:
        """The numbers of shops in a partition."""
        found = {name.replace("_", ".", 1): each for name, each in conditions.items()}
        return [each.number for each in self.queries.run(QuerySpec("shop", found)).items]


@pytest.fixture
def shops(open_table: OpenTable) -> Shops:
    table = open_table(SCHEMA.layout)
    store = Store(SCHEMA, table, waiting=RetryClock(sleep=lambda _: None))
    return Shops(store, QueryRunner(SCHEMA, table, CURSOR_KEYS), Client(api_of(SCHEMA, table=table)))


def test_a_record_is_written_read_and_removed_by_its_members(shops: Shops) -> None:
    store = shops.store
    made = store.create(shop(title="t", phone="1"))
    with pytest.raises(AlreadyExists):
        store.create(shop())
    assert store.get(Shop, KEY) == made
    changed = store.update(Shop, KEY, {"address": Address(country="no", city_name="moss", street="New")})
    assert store.get_by(Shop, "phone", "1") == changed
    assert store.find_by(Shop, "title", "t").items == (changed,)
    for address in (Address(country="se", city_name="moss"), {"city_name": "moss"}, None):
        with pytest.raises(ImmutableProperty, match=r"address\.country"):
            store.update(Shop, KEY, {"address": address})
    with pytest.raises(ValueTaken):
        store.create(shop(2, phone="1"))
    assert store.add(Shop, KEY, {"visits": 2}).visits == 2
    assert store.put(shop(title="p")).title == "p"
    assert store.delete(Shop, KEY)
    assert store.get(Shop, KEY) is None


def test_a_partition_is_listed_in_order(shops: Shops) -> None:
    for number in (3, 1, 2):
        shops.store.create(shop(number))
    shops.store.create(shop(4, "se"))
    assert shops.listed(address_country=Equal("no")) == [1, 2, 3]
    assert shops.listed(address_country=Equal("no"), number=Range(2)) == [2, 3]
    assert shops.listed(address_country=Equal("fi")) == []


def test_transactions_and_batches(shops: Shops) -> None:
    store, second = shops.store, {**KEY, "number": 2}
    store.transact([Put(shop(1)), Put(shop(2))])
    store.transact([Update(Shop, KEY, {"title": "a"}), Add(Shop, second, {"visits": 3})])
    assert [each and each.visits for each in store.batch_get(Shop, [KEY, second])] == [0, 3]
    with pytest.raises(ImmutableProperty):
        store.transact([Delete(Shop, KEY), Update(Shop, second, {"address": Address(country="se")})])
    assert store.get(Shop, KEY) is not None
    done = store.batch_write([Put(shop(3))], [Delete(Shop, second)])
    assert done.complete
    assert shops.listed(address_country=Equal("no")) == [1, 3]


def test_records_that_a_member_places(shops: Shops) -> None:
    store = shops.store
    for number in range(6):
        store.create(Thing(thing_id=f"t{number}", site=Site(number, Address(country=f"c{number % 2}"))))
    changed = store.update(Thing, "t1", {"site": Site(9, Address(country="c1", street="s"))})
    assert store.get(Thing, "t1") == changed
    with pytest.raises(ImmutableProperty, match=r"site\.home\.country"):
        store.update(Thing, "t1", {"site": Site(9, Address(country="c0"))})
    assert store.delete(Thing, "t1")
    moved = store.create(Thing(thing_id="t1", site=Site(1, Address(country="c0"))))
    assert store.get(Thing, "t1") == moved
    assert len({each.site.home.country for each in store.batch_get(Thing, ["t0", "t1", "t3"]) if each}) == 2


def test_the_largest_first(shops: Shops) -> None:
    for zone in (1, 3, 2):
        shops.store.create(Box(label={"kind": "tin"}, size=Site(zone, Address(country="no"))))
    asked = QuerySpec("box", {"label.kind": Equal("tin")})
    assert [each.size.zone for each in shops.queries.run(asked).items] == [3, 2, 1]


def test_over_http(shops: Shops) -> None:
    client = shops.client
    body = {"number": 1, "address": {"country": "no", "city_name": "moss"}}
    assert client.post("/v1/shops", body).headers["location"] == "/v1/shops/no/1/moss"
    assert json_of(client.patch("/v1/shops/no/1/moss", {"address": {"street": "s"}}))["address"]["street"] == "s"
    problem_of(client.patch("/v1/shops/no/1/moss", {"address": {"country": "se"}}), 400, "immutable_property")
    assert [each["number"] for each in json_of(client.get("/v1/shops?address.country=no"))["items"]] == [1]
    assert client.delete("/v1/shops/no/1/moss").status == 204
