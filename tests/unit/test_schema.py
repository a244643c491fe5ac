"""Schemas: what they compile to."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any, NewType

import pydantic
import pytest
from pydantic import Field

from shardweave.errors import UnknownName
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.manifest import manifest_of
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.layout import KeyAttribute
from shardweave.values.codecs import DecimalCodec, Timestamp, TimestampSeconds

NOW = 1_726_880_933_000


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 2, 1), ShardBump(NOW, 2, 2)]):
    """A plain entity."""

    thing_id: str = unique_property()
    created: Timestamp = timestamp_property()
    team: str
    rank: int = 0
    price: Decimal = Decimal(0)
    expires: TimestampSeconds | None = ttl_property()
    photo: bytes | None = None
    tags: frozenset[str] = frozenset()

    team_hash_key = HashKey("team")
    rank_range_key = RangeKey("team", desc("rank"))


class Note(Entity, token="note"):
    """Shares an index with Thing."""

    note_id: str = unique_property()
    created: Timestamp = timestamp_property()
    team: str | None = None

    team_hash_key = HashKey("team")


def test_what_a_schema_compiles_to() -> None:
    schema = Schema(
        [Thing, Note], [Index("teamCreated", "team_hash_key", "created"), Index("byRank", "hash_key", "rank_range_key")]
    )
    thing, note = schema[Thing], schema.entity("note")
    assert (thing.unique, thing.timestamp, thing.ttl, thing.updated) == ("thingId", "created", "expires", None)
    assert thing.identity == ("thingId",)
    assert thing.immutable == {"thingId", "created"}
    assert schema.collection("things") is thing
    assert schema.entity_of_key("note!") is note
    assert schema.entity_of_key("notes!") is None
    assert set(note.views) == {None, "teamCreated"}
    view = thing.view("byRank")
    assert [element.name for element in view.range_elements] == ["team", "rank"]
    assert [element.descending for element in view.range_elements] == [False, True]
    assert view.page_key == ("hashKey", "rankRangeKey", "rangeKey")
    assert thing.view("teamCreated").raw
    assert thing.view("teamCreated").page_key == ("teamHashKey", "created", "hashKey", "rangeKey")
    assert schema.layout.ttl_attribute == "expires"
    assert schema.layout.keys_of("teamCreated") == (KeyAttribute("teamHashKey"), KeyAttribute("created", "N"))


@pytest.mark.parametrize(
    ("range_key", "kind"),
    [("team", "S"), ("rank", "N"), ("price", "N"), ("created", "N"), ("photo", "B"), ("expires", "N")],
)
def test_a_raw_range_key_has_the_type_of_its_property(range_key: str, kind: str) -> None:
    schema = Schema([Thing], [Index("raw", "hash_key", range_key)])
    assert schema.layout.keys_of("raw")[1] == KeyAttribute(range_key, kind)  # type: ignore[arg-type]
    assert [each.stored for each in schema[Thing].raw_keys] == [range_key]


def test_a_projection_by_python_names_holds_the_ttl_too() -> None:
    schema = Schema([Thing, Note], [Index("some", "team_hash_key", "created", projection=["rank", "rank_range_key"])])
    assert schema.layout.projected("some") == {
        "teamHashKey",
        "created",
        "hashKey",
        "rangeKey",
        "rank",
        "rankRangeKey",
        "expires",
    }
    keys_only = Schema([Thing], [Index("some", "team_hash_key", "created", projection="KEYS_ONLY")])
    assert keys_only.layout.index("some").projection == ("expires",)  # type: ignore[union-attr]
    without_ttl = Schema([Note], [Index("some", "team_hash_key", "created", projection="KEYS_ONLY")])
    assert without_ttl.layout.index("some").projection == "KEYS_ONLY"  # type: ignore[union-attr]


def test_an_entity_may_have_an_origin_in_either_letter_case() -> None:
    class Lower(Entity, origin="x"):
        lower_id: str = unique_property()

    class Upper(Entity, origin="X"):
        upper_id: str = unique_property()

    schema = Schema([Lower, Upper, Note])
    assert [schema[model].origin for model in (Lower, Upper, Note)] == ["x", "X", None]


def test_other_names_for_the_table_s_keys() -> None:
    schema = Schema([Note], hash_key="pk", range_key="sk")
    assert schema.layout.key_names == ("pk", "sk")
    assert schema[Note].make_key({"noteId": "n"}) == {"pk": "note!", "sk": "noteId#n"}


def test_a_generated_key_can_have_a_stored_name_of_its_own() -> None:
    class Own(Entity):
        own_id: str = unique_property()
        team: str = Field(alias="TEAM")
        by_team = HashKey("team", stored="GSI1PK")

    schema = Schema([Own], [Index("GSI1", "by_team", "range_key")])
    assert schema.layout.keys_of("GSI1")[0].name == "GSI1PK"
    assert schema[Own].complete({"ownId": "o", "TEAM": "red"})["GSI1PK"] == "own! |TEAM#red"


UserName = NewType("UserName", str)


def test_constrained_new_and_optional_types_can_be_in_keys() -> None:
    class Typed(Entity):
        typed_id: Annotated[str, Field(min_length=1)] = unique_property(max_length=5)
        name: UserName
        size: Annotated[int, Field(gt=0)] | None = None
        price: Annotated[Decimal, DecimalCodec(2)] = Decimal(1)
        seen: pydantic.AwareDatetime | None = None

        sorted_range_key = RangeKey("name", "size", desc("price"), desc("seen"))

    typed = Schema([Typed])[Typed]
    item = typed.dump(typed.validate({"typedId": "t", "name": "n", "size": 3, "seen": "2024-01-31T00:00:00Z"}))
    assert str(typed.complete(item)["sortedRangeKey"]).startswith("name#n |size#p00000000000000000003 |price#n")


def test_partition_sort_and_shard_by() -> None:
    class Order(Entity, partition="order_id", sort=("kind", "version")):
        order_id: str
        kind: str
        version: int

    class Letter(Entity, shard_by="user_id", shard_bumps=[ShardBump(0, 2, 1)]):
        letter_id: str = unique_property()
        user_id: str

    schema = Schema([Order, Letter])
    order, letter = schema[Order], schema[Letter]
    assert order.identity == ("orderId", "kind", "version")
    assert order.immutable == {"orderId", "kind", "version"}
    assert not order.lookup_placed
    assert order.make_key({"orderId": "o", "kind": "k", "version": 1}) == {
        "hashKey": "order! |orderId#o",
        "rangeKey": "kind#k |version#p00000000000000000001",
    }
    assert letter.identity == ("letterId",)
    assert letter.immutable == {"letterId", "userId"}
    assert letter.lookup_placed
    assert (
        letter.make_key({"letterId": "x", "userId": "a"})["hashKey"]
        == letter.make_key({"letterId": "y", "userId": "a"})["hashKey"]
    )


def test_a_singleton() -> None:
    class Settings(Entity, singleton=True):
        theme: str = "dark"

    settings = Schema([Settings])[Settings]
    assert settings.identity == ()
    assert settings.make_key({}) == {"hashKey": "settings!", "rangeKey": "settings"}


def test_unknown_entities_collections_indexes_and_properties_list_what_there_is() -> None:
    schema = Schema([Thing, Note], [Index("teamCreated", "team_hash_key", "created")])
    for attempt, known in [
        (lambda: schema.entity("thng"), "thing, note"),
        (lambda: schema.collection("thng"), "things, notes"),
        (lambda: schema[Thing].view("team"), "teamCreated"),
        (lambda: schema[Note].property_of("tem"), "noteId, created, team"),
    ]:
        with pytest.raises(UnknownName) as unknown:
            attempt()
        assert known in str(unknown.value)
    with pytest.raises(UnknownName, match="Entity is not in the schema"):
        schema[Entity]
    assert schema[Note].property_of("note_id") is schema[Note].property_of("noteId")
    assert schema[Note].stored_name("note_id") == schema[Note].stored_name("noteId") == "noteId"
    assert schema[Note].stored_name("other") == "other"


@pytest.mark.parametrize(
    ("annotation", "unit", "begins"),
    [
        (Timestamp, "ms", 1_735_689_600_000),
        (TimestampSeconds, "s", 1_735_689_600),
        (dt.datetime, "ms", 1_735_689_600_000),
        (dt.datetime, "s", 1_735_689_600),
    ],
)
def test_a_bump_begins_at_a_datetime_or_at_the_number_that_it_is_stored_as(
    annotation: Any, unit: Any, begins: int
) -> None:
    """The two are one declaration: to records, queries and manifests."""
    new_year = dt.datetime(2024, 12, 31, 19, tzinfo=dt.timezone(dt.timedelta(hours=-5)))

    def schema(moment: dt.datetime | int) -> Schema:
        bumps = [ShardBump(0, 2, 1), ShardBump(moment, 2, 2)]
        properties: dict[str, Any] = {
            "parcel_id": (str, unique_property()),
            "created": (annotation, timestamp_property(unit=unit)),
        }
        return Schema(
            [pydantic.create_model("Parcel", __base__=Entity, __cls_kwargs__={"shard_bumps": bumps}, **properties)]
        )

    by_datetime, by_number = schema(new_year), schema(begins)
    assert by_datetime.entity("parcel").shard_map == by_number.entity("parcel").shard_map
    assert [each.begins for each in by_datetime.entity("parcel").shard_map.generations] == [0, begins]
    assert manifest_of(by_datetime) == manifest_of(by_number)
