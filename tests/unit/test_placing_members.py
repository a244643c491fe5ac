"""Members of models that identify or place records: `partition=("address.country",)`, `sort`, `shard_by`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shardweave import AsyncDatabase
from shardweave.database.database import Database
from shardweave.errors import (
    DeleteIncomplete,
    ImmutableProperty,
    NotFound,
    ParentMissing,
    SchemaError,
    UnknownName,
    UnsupportedQuery,
    ValidationFailed,
    ValueRefused,
)
from shardweave.maintenance.doctor import Doctor
from shardweave.schema.declarations import Index, Lookup, OrderedLookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import private_property, unique_property
from shardweave.schema.read_models import ReadModel
from shardweave.schema.schema import Schema
from shardweave.store.operations import Add, Create, Delete, Put, Update
from tests.unit.placing_world import FOUR, KEY, SCHEMA, Address, Box, Label, Shop, Site, Thing, shop
from tests.unit.store_world import World


def filled() -> Database:
    database = Database(SCHEMA)
    for number, country in enumerate(("no", "no", "se"), 1):
        database.create(shop(number, country, title=f"t{number}", phone=f"{number}"))
    return database


# -- keys -------------------------------------------------------------------------------------------------------------


def test_the_key_has_the_path_and_the_value() -> None:
    world = World(schema=SCHEMA)
    world.store.create(shop())
    stored = world.stored(Shop)
    assert stored["hashKey"].endswith(" |address.country#no")
    assert stored["rangeKey"] == "number#p00000000000000000001 |address.cityName#moss".replace("cityName", "city_name")
    assert "address.country" not in stored


texts = st.text(max_size=8).filter(lambda text: "\x00" not in text and text.isprintable() and text)


@given(texts, texts, st.integers(0, 10**6), st.none() | texts)
def test_keys_name_what_they_were_made_of(country: str, city: str, number: int, street: str | None) -> None:
    entity = SCHEMA[Shop]
    item = entity.dump(Shop(number=number, address=Address(country=country, city_name=city, street=street)))
    identity = {"address.country": country, "number": number, "address.city_name": city}
    keys = entity.keys
    assert keys.build(item, entity.shard_map) == keys.build_step_by_step(item, keys.shard(item, entity.shard_map))
    assert keys.identity_in(entity.complete(item)) == entity.identity_from(item) == identity
    assert entity.make_key(identity) == entity.make_key(item)
    assert entity.identify(identity) == identity


# -- reading ----------------------------------------------------------------------------------------------------------


def test_a_record_is_named_by_paths() -> None:
    database = filled()
    found = database.get(Shop, KEY)
    assert found is not None
    assert found.title == "t1"
    assert database.batch_get(Shop, [KEY, {**KEY, "number": 9}])[1] is None
    with pytest.raises(UnknownName, match=r"address\.city_name is missing"):
        database.get(Shop, {"address.country": "no", "number": 1})
    with pytest.raises(UnknownName):
        database.get(Shop, {**KEY, "address.street": "Kai"})
    with pytest.raises(ValidationFailed):
        database.get(Shop, {**KEY, "number": "one"})


def test_a_partition_is_one_query_in_one_shard() -> None:
    database = filled()
    asked = {"address.country": "no"}
    assert [each.number for each in database.query(Shop, asked).items] == [1, 2]
    assert [each.number for each in database.query(Shop, {**asked, "number": 2}).items] == [2]
    assert len(database.explain(Shop, asked).lanes) == 1
    with pytest.raises(UnsupportedQuery):
        database.query(Shop, {"address.city_name": "moss"})


def test_a_condition_on_what_places_records_narrows_to_their_shard() -> None:
    class Kept(Entity, token="kept", shard_by="site.home.country", shard_bumps=FOUR):
        """Placed by a country that an index finds too."""

        kept_id: str = unique_property()
        site: Site
        country_hash_key = HashKey("site.home.country")

    database = Database(Schema([Kept], [Index("country", hash_key="country_hash_key", range_key="range_key")]))
    for number in range(20):
        database.create(Kept(kept_id=f"k{number}", site=Site(number, Address(country=f"c{number % 5}"))))
    asked = {"site.home.country": "c3"}
    assert len(database.explain(Kept, asked).lanes) == 1
    assert {each.site.zone for each in database.query(Kept, asked).items} == {3, 8, 13, 18}


def test_records_by_a_descending_member_and_a_typed_dict() -> None:
    database = Database(SCHEMA)
    for zone in (1, 3, 2):
        database.create(Box(label={"kind": "tin"}, size=Site(zone, Address(country="no"))))
    assert [each.size.zone for each in database.query(Box, {"label.kind": "tin"}).items] == [3, 2, 1]
    key = {"label.kind": "tin", "size.zone": 2}
    changed = database.update(Box, key, {"label": {"kind": "tin", "colour": "red"}})
    assert changed.label == {"kind": "tin", "colour": "red"}
    for label in ({"kind": "box"}, {"colour": "red"}, None):
        with pytest.raises(ImmutableProperty, match=r"^label\.kind: "):
            database.update(Box, key, {"label": label})
    assert database.delete(Box, key)
    assert database.get(Box, key) is None


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"address": None},
        {"address": {"city_name": "moss"}},
        {"address": {"country": None, "city_name": "moss"}},
        {"address": {"country": "se", "city_name": "moss"}},
        {"address": Address(country="se", city_name="moss")},
        lambda record: {"address": record.address.model_copy(update={"country": "se"})},
    ],
    ids=["no model", "no member", "null", "another", "another model", "function"],
)
def test_what_identifies_a_record_never_changes(changes: Any) -> None:
    database = filled()
    before = database.get(Shop, KEY)
    with pytest.raises(ImmutableProperty) as refused:
        database.update(Shop, KEY, changes)
    assert refused.value.where == "address.country"
    with pytest.raises(ImmutableProperty):
        database.transact([Update(Shop, KEY, changes)])
    if before is not None and not callable(changes):
        outcome = database.batch_write(updates=[Update(Shop, KEY, changes)]).updates[0]
        assert isinstance(outcome.error, ImmutableProperty)
    assert database.get(Shop, KEY) == before


def test_a_default_is_a_value_as_any_other() -> None:
    database = filled()
    with pytest.raises(ImmutableProperty, match=r"address\.city_name"):
        database.update(Shop, KEY, {"address": {"country": "no"}})
    database.create(Shop(number=7, address=Address(country="no")))
    key = {"address.country": "no", "number": 7, "address.city_name": "oslo"}
    assert database.update(Shop, key, {"address": {"country": "no", "street": "New"}}).address.street == "New"


def test_the_rest_of_the_model_changes() -> None:
    database = filled()
    same = {"country": "no", "city_name": "moss"}
    assert database.update(Shop, KEY, {"address": {**same, "street": "New"}}).address.street == "New"
    changed = database.update(Shop, KEY, {"address": Address(**same, lines=["a"]), "title": "u"})
    assert changed.address == Address(country="no", city_name="moss", lines=["a"])
    assert [each.number for each in database.query(Shop, title="u").items] == [1]
    assert database.add(Shop, KEY, {"visits": 2}).visits == 2
    again = database.put(Shop(number=1, address=Address(country="no", city_name="moss", street="Put"), title="p"))
    assert again.address.street == "Put"
    assert database.find_by(Shop, "title", "p").items == (again,)


def test_what_places_a_record_outside_of_its_identity_never_changes() -> None:
    database = Database(SCHEMA)
    thing = database.create(Thing(thing_id="t", site=Site(1, Address(country="no"))))
    for site in (Site(1, Address(country="se")), {"zone": 1, "home": {"city_name": "x"}}, {"zone": 1}, None):
        with pytest.raises(ImmutableProperty, match=r"^site\.home\.country: "):
            database.update(Thing, "t", {"site": site})
    with pytest.raises(ImmutableProperty, match=r"site\.home\.country"):
        database.put(thing.model_copy(update={"site": Site(1, Address(country="se"))}))
    changed = database.update(Thing, "t", {"site": Site(5, Address(country="no", street="a"))})
    assert database.get(Thing, "t") == changed
    put = database.put(changed.model_copy(update={"title": "p"}))
    assert database.get(Thing, "t") == put
    database.delete(Thing, "t")
    assert database.get(Thing, "t") is None
    moved = database.create(Thing(thing_id="t", site=Site(1, Address(country="se"))))
    assert database.get(Thing, "t") == moved


def test_an_upsert_fills_in_what_the_key_says() -> None:
    database = Database(SCHEMA)
    made = database.update(Shop, KEY, {"title": "made"}, upsert=True)
    assert made.address == Address(country="no", city_name="moss")
    second = {**KEY, "number": 2}
    start = {"address": Address(country="no", city_name="moss", street="Start")}
    assert database.add(Shop, second, {"visits": 3}, upsert=start).address.street == "Start"
    third = {**KEY, "number": 3}
    made = database.update(Shop, third, {"address": {"country": "no", "city_name": "moss", "street": "s"}}, upsert=True)
    assert made.address.street == "s"
    fourth = {**KEY, "number": 4}
    for start in ({"address": {"country": "se"}}, {"address": Address(country="se", city_name="moss")}):
        with pytest.raises(ImmutableProperty, match=r"address\.country"):
            database.update(Shop, fourth, {"title": "x"}, upsert=start)
    assert database.get(Shop, fourth) is None


def test_transactions_and_batches_name_records_by_paths() -> None:
    database = filled()
    second, third = {**KEY, "number": 2}, {"address.country": "se", "number": 3, "address.city_name": "moss"}
    database.transact([Update(Shop, KEY, {"title": "a"}), Add(Shop, second, {"visits": 1}), Delete(Shop, third)])
    assert database.get(Shop, third) is None
    done = database.batch_write([Put(shop(5))], deletes=[Delete(Shop, second)])
    assert done.complete
    assert database.get(Shop, {**KEY, "number": 5}) == shop(5)
    assert database.get(Shop, second) is None
    with pytest.raises(NotFound):
        database.transact([Create(shop(6)), Delete(Shop, second, "rev")])
    assert database.get(Shop, {**KEY, "number": 6}) is None


def test_unique_values_and_lookups_lead_to_records() -> None:
    database = filled()
    assert database.get_by(Shop, "phone", "2") == database.get(Shop, {**KEY, "number": 2})
    assert [each.number for each in database.find_by(Shop, "title", "t3").items] == [3]


def test_an_empty_text_identifies_nothing() -> None:
    with pytest.raises(ValueRefused, match=r"address\.country"):
        Database(SCHEMA).create(shop(country=""))


def test_an_asynchronous_database_does_the_same() -> None:
    async def run() -> Shop | None:
        async with AsyncDatabase(SCHEMA) as database:
            await database.create(shop())
            await database.update(Shop, KEY, {"address": {"country": "no", "city_name": "moss", "street": "New"}})
            with pytest.raises(ImmutableProperty):
                await database.update(Shop, KEY, {"address": {"country": "se", "city_name": "moss"}})
            return await database.get(Shop, KEY)

    found = asyncio.run(run())
    assert found is not None
    assert found.address.street == "New"


def test_a_shard_key_has_the_values_of_members() -> None:
    class Keyed(Entity, token="keyed", origin="K", partition="address.country", sort="number", shard_bumps=FOUR):
        """Named by shard keys."""

        number: int
        address: Address

    database = Database(Schema([Keyed]))
    made = database.create(Keyed(number=1, address=Address(country="no")))
    assert made.key.ids == ("no", 1)
    assert database.get(Keyed, made.key) == made


def test_relations_lead_to_records_by_members() -> None:
    class Sale(Entity, token="sale"):
        """What a shop sold."""

        sale_id: str = unique_property()
        country: str
        number: int
        city: str

        shop = belongs_to("store", by=("country", "number", "city"), enforced=True)
        sold = Lookup("city", within=("country", "number"), name="sold")

    class Store(Entity, token="store", partition="address.country", sort=("number", "address.city_name")):
        """A shop with its sales."""

        number: int
        address: Address
        sales = has_many("sale", via="shop")

    database = Database(Schema([Store, Sale]))
    store = database.create(Store(number=1, address=Address(country="no", city_name="moss")))
    sale = database.create(Sale(sale_id="s", country="no", number=1, city="moss"))
    assert database.expand([sale], "shop") == [{"shop": store}]
    assert database.related(store, "sales").items == (sale,)
    with pytest.raises(ParentMissing):
        database.create(Sale(sale_id="x", country="se", number=1, city="moss"))


def test_the_deletion_of_a_parent_that_a_member_identifies_tells_its_key() -> None:
    class Branch(Entity, token="branch", partition="address.country", sort="number"):
        """A shop with its goods."""

        number: int
        address: Address

    class Good(Entity, token="good"):
        """What a shop has; it goes with its shop."""

        good_id: str = unique_property()
        country: str
        number: int

        branch = belongs_to(Branch, by=("country", "number"), enforced=True, on_delete="cascade")
        kept = Lookup("number", within="country", name="kept")

    database = Database(Schema([Branch, Good]))
    database.create(Branch(number=1, address=Address(country="no")))
    goods = [Create(Good(good_id=f"g{number}", country="no", number=1)) for number in range(60)]
    for begin in (0, 20, 40):
        database.transact(goods[begin : begin + 20])
    key = {"address.country": "no", "number": 1}
    with pytest.raises(DeleteIncomplete):
        database.store.delete(Branch, key, seconds=0)
    (deletion,) = database.deletions()
    assert (deletion.key, deletion.left) == (key, 60)
    assert database.delete(Branch, key)
    assert database.deletions() == []


@pytest.mark.parametrize(
    "beside",
    [
        Lookup("address.country", name="place"),
        Lookup("number", within="address.country"),
        Unique("title", within="address.country"),
        OrderedLookup("number", within="address.country"),
        OrderedLookup("number", then="address.country"),
        Sequence("number", within="address.country"),
        Sequence("address.number"),
    ],
)
def test_lookups_and_sequences_name_properties_of_the_entity(beside: Lookup | Sequence) -> None:
    class Odd(Entity, token="odd", partition="address.country", sort="odd_id"):
        """What lies beside it can't be of a member."""

        odd_id: str = unique_property()
        number: int = 0
        title: str
        address: Address

        found = beside

    with pytest.raises(SchemaError, match="there is no property 'address"):
        Schema([Odd])


# -- declarations -----------------------------------------------------------------------------------------------------


class Loose(BaseModel):
    """A model of which nothing has to be there."""

    country: str | None = None
    lines: list[str] = []
    part: Address | None = None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition": "loose.country", "sort": "odd_id"}, "a record may be without it"),
        ({"partition": "loose.part.country", "sort": "odd_id"}, "a record may be without it"),
        ({"shard_by": "maybe.country"}, "a record may be without it"),
        ({"shard_by": "label.colour"}, "a record may be without it"),
        ({"shard_by": "loose.lines"}, "has no order-preserving text"),
        ({"shard_by": "address.planet"}, "has no member 'planet'"),
        ({"shard_by": "many.country"}, "is no model with members of its own"),
        ({"shard_by": "secret.country"}, "is of a private property"),
        ({"partition": "address.country", "sort": ("odd_id", "address.country")}, "stands in partition and in sort"),
    ],
)
def test_what_a_record_may_be_without_places_none(options: Mapping[str, Any], said: str) -> None:
    class Odd(Entity, token="odd", **options):
        """Placed by a member of a model."""

        odd_id: str = unique_property()
        address: Address
        loose: Loose
        label: Label
        many: list[Address]
        maybe: Address | None = None
        secret: Address = private_property()

    with pytest.raises(SchemaError) as refused:
        Schema([Odd])
    assert said in str(refused.value)


def test_an_index_has_the_model_whose_member_identifies_records() -> None:
    keys = [Index("title", hash_key="title_hash_key", range_key="range_key", projection="KEYS_ONLY")]
    with pytest.raises(SchemaError, match="does not project 'address'"):
        Schema([Shop], keys)
    some = Index("title", hash_key="title_hash_key", range_key="range_key", projection=["address"])
    database = Database(Schema([Shop], [some]))
    database.create(shop(title="t"))
    (part,) = database.query(Shop, title="t", index="title").items
    assert part.address == shop().address


def test_what_a_read_model_writes_is_identified_by_properties() -> None:
    class Visits(Entity, token="visits", partition="address.country", sort="shop"):
        """How many visits there were."""

        shop: str
        address: Address
        count: int = 0

    read_model = ReadModel("visits", records=(Shop,), writes=(Visits,), project=lambda record: ())
    with pytest.raises(SchemaError, match=r"Visits is identified by 'address\.country', a member of a model"):
        Schema([Shop, Visits], read_models=[read_model])


# -- repairs ----------------------------------------------------------------------------------------------------------


def test_the_doctor_sees_a_member_that_is_not_the_key_s() -> None:
    world = World(schema=SCHEMA)
    world.store.create(shop())
    assert Doctor(world.new_store(world.inner).parts, world.clock).run().code == 0
    world.written_behind(Shop, address={"country": "se", "city_name": "moss"})
    assert Doctor(world.new_store(world.inner).parts, world.clock).run().code
