"""Every fault that a schema can have, each with its place and its fix, and all of them at once."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Field

from shardweave.errors import SchemaError
from shardweave.keys.key_format import ARTICLE, KeyFormat
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, belongs_to
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp, TimestampSeconds

from .test_schema import NOW, Note, Thing


def faults_of(build: Callable[[], Any]) -> list[str]:
    with pytest.raises(SchemaError) as wrong:
        build()
    assert str(len(wrong.value.faults)) in str(wrong.value)
    assert all(fault.where and fault.message and fault.fix for fault in wrong.value.faults)
    assert all(fault.message in str(wrong.value) and fault.fix in str(wrong.value) for fault in wrong.value.faults)
    return [f"{fault.where}: {fault.message}" for fault in wrong.value.faults]


def entity(body: dict[str, Any] | None = None, *, name: str = "Broken", **keywords: Any) -> type[Entity]:
    """An entity with an id, a creation time and a team, and what else a test wants: (type, default) or a key."""
    given = body or {}
    standard: dict[str, Any] = {
        "broken_id": (str, unique_property()),
        "created": (Timestamp, timestamp_property()),
        "team": (str, ...),
    }
    fields = {each: value for each, value in (standard | given).items() if isinstance(value, tuple)}
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {n: kind for n, (kind, _) in fields.items()},
    }
    namespace |= {n: default for n, (_, default) in fields.items() if default is not ...}
    namespace |= {n: value for n, value in given.items() if not isinstance(value, tuple) and value is not None}
    for each in [each for each, value in given.items() if value is None]:
        namespace.pop(each, None)
        namespace["__annotations__"].pop(each, None)
    return type(Entity)(name, (Entity,), namespace, **keywords)


class Size(enum.Enum):
    """Has a rank, and so no order as a raw range key."""

    SMALL = "small"


ENTITY_FAULTS: list[tuple[str, type[Entity]]] = [
    ("entity Broken: 'my-token' is not a valid name", entity(token="my-token")),
    ("entity Broken: '' is not a valid name", entity(token="", collection="x")),
    ("entity Broken: 'brüken' is not a valid name", entity(token="brüken", collection="x")),
    ("entity Broken: 'a\\n' is not a valid name", entity(token="a\n", collection="x")),
    ("entity Broken: the collection 'a b' can't stand in a URL", entity(collection="a b")),
    ("entity Broken: '0' is not a valid origin", entity(origin="0")),
    ("entity Broken: 'ab' is not a valid origin", entity(origin="ab")),
    ("entity Broken: '' is not a valid origin", entity(origin="")),
    ("entity Broken: 'é' is not a valid origin", entity(origin="é")),
    ("entity Broken: '٣' is not a valid origin", entity(origin="٣")),
    ("entity Broken: 'a\\n' is not a valid origin", entity(origin="a\n")),
    ("entity Broken: 7 is not a valid origin", entity(origin=7)),
    ("entity Broken.key: it would be the name of the shard key too", entity({"key": (str, ...)}, origin="b")),
    (
        "entity Broken, origin: 4 properties identify a record, a shard key has 1 to 3 ids",
        entity({"n": (int, 0), "m": (int, 0)}, origin="b", partition=("team", "n", "m"), sort="broken_id"),
    ),
    (
        "entity Broken.expanded: it would be the name of the expanded relations too",
        entity({"expanded": (str, ""), "other": belongs_to("other", by="broken_id")}),
    ),
    ("entity Broken.ünit: 'Ünit' is not a valid name", entity({"ünit": (str, "")})),
    ("entity Broken.x: 'x-y' is not a valid name", entity({"x": (str, Field(alias="x-y"))})),
    ("entity Broken.hash_key: 'hashKey' is already the table's hash key", entity({"hash_key": (str, "")})),
    (
        "entity Broken.range_key: 'range_key' is what indexes call a key of the table",
        entity({"range_key": RangeKey("team")}),
    ),
    ("entity Broken.revision: 'rev' is already the stored revision", entity({"revision": (str, Field(alias="rev"))})),
    ("entity Broken.mark: '_mark' is already an internal attribute", entity({"mark": (str, Field(alias="_mark"))})),
    (
        "entity Broken.user_name: 'userName' is already the property userName",
        entity({"userName": (str, ""), "user_name": (str, "")}),
    ),
    ("entity Broken.by_team: 'team' is already the property team", entity({"by_team": HashKey("team", stored="team")})),
    (
        "entity Broken.b: 'b' is already the generated key a",
        entity({"a": HashKey("team", stored="b"), "b": HashKey("team")}),
    ),
    ("entity Broken.key: there is no property 'tem'", entity({"key": HashKey("tem")})),
    ("entity Broken.key: there is no property 'tem'", entity({"key": RangeKey("team", desc("tem"))})),
    ("entity Broken.key: there is no property '5'", entity({"key": RangeKey(5)})),  # type: ignore[arg-type]
    ("entity Broken: team stands in partition and in sort", entity(partition="team", sort=("team",))),
    ("entity Broken.key: 'team' stands 2 times", entity({"key": HashKey("team", "team")})),
    ("entity Broken.key: it has no elements", entity({"key": HashKey()})),
    (
        "entity Broken.key: the type of 'tags' has no order-preserving text",
        entity({"tags": (list[str], []), "key": HashKey("tags")}),
    ),
    (
        "entity Broken.key: the type of 'price' has no order-preserving text",
        entity({"price": (Decimal, 0), "key": RangeKey("price")}),
    ),
    (
        "entity Broken.key: the type of 'ratio' has no order-preserving text",
        entity({"ratio": (float, 0), "key": RangeKey("ratio")}),
    ),
    (
        "entity Broken.key: the type of 'photo' has no order-preserving text",
        entity({"photo": (bytes, b""), "key": RangeKey("photo")}),
    ),
    (
        "entity Broken.key: the type of 'both' has no order-preserving text",
        entity({"both": (str | int, 0), "key": RangeKey("both")}),
    ),
    ("entity Broken.key: desc('team') needs a type of fixed width", entity({"key": RangeKey(desc("team"))})),
    ("entity Broken.key: desc() belongs in a RangeKey", entity({"n": (int, 0), "key": HashKey(desc("n"))})),  # type: ignore[arg-type]
    ("entity Broken, partition: desc() belongs in a RangeKey", entity({"n": (int, 0)}, partition=[desc("n")])),
    ("entity Broken, sort: desc('team') needs a type", entity({"n": (int, 0)}, partition="n", sort=[desc("team")])),
    ("entity Broken, partition: there is no property 'tem'", entity(partition="tem")),
    ("entity Broken, sort: there is no property 'tem'", entity(partition="team", sort=("tem",))),
    ("entity Broken, shard_by: there is no property 'tem'", entity(shard_by="tem")),
    (
        "entity Broken.area: a property of the key can't be optional",
        entity({"area": (str | None, None)}, partition="area"),
    ),
    (
        "entity Broken.area: a property of the key can't be optional",
        entity({"area": (str | None, ...)}, sort=("broken_id", "area")),
    ),
    (
        "entity Broken.area: a property of the key can't be optional",
        entity({"area": (str | None, None)}, shard_by="area"),
    ),
    (
        "entity Broken.broken_id: a property of the key can't be optional",
        entity({"broken_id": (str | None, unique_property(default=None))}),
    ),
    (
        "entity Broken.updated: a property of the key never changes",
        entity({"updated": (Timestamp, updated_property())}, sort=("broken_id", "updated")),
    ),
    ("entity Broken: nothing identifies a record", entity({"broken_id": None})),
    ("entity Broken: sort without partition does not identify a record", entity(sort="team")),
    ("entity Broken: broken_id, other_id are all the unique property", entity({"other_id": (str, unique_property())})),
    (
        "entity Broken: created, other are all the timestamp property",
        entity({"other": (Timestamp, timestamp_property())}),
    ),
    ("entity Broken.created: a time property must be a Timestamp", entity({"created": (int, timestamp_property())})),
    (
        "entity Broken.updated: a time property must be a Timestamp",
        entity({"updated": (dt.date, updated_property())}),
    ),
    ("entity Broken.ends: a TTL is epoch seconds", entity({"ends": (Timestamp, ttl_property())})),
    ("entity Broken.ends: a TTL is epoch seconds", entity({"ends": (str, ttl_property())})),
    ("entity Broken: a singleton has a fixed key", entity(singleton=True)),
    (
        "entity Broken: a singleton has one shard",
        entity({"broken_id": None}, singleton=True, shard_bumps=[ShardBump(0, 1, 1)]),
    ),
    ("entity Broken: the bump at 5 is out of order", entity(shard_bumps=[ShardBump(NOW, 1, 1), ShardBump(5, 1, 2)])),
    (
        "entity Broken: the bump at 1726880933000 is not wider",
        entity(shard_bumps=[ShardBump(0, 1, 1), ShardBump(NOW, 5, 1)]),
    ),
    ("entity Broken: the bump at 0 is out of range", entity(shard_bumps=[ShardBump(0, 6, 1)])),
    (
        "entity Broken: the bump at 1726880933 is not in the unit of created",
        entity(shard_bumps=[ShardBump(NOW // 1000, 1, 1)]),
    ),
    (
        "entity Broken: the bump at 1726880933000 is not in the unit of created",
        entity({"created": (TimestampSeconds, timestamp_property())}, shard_bumps=[ShardBump(NOW, 1, 1)]),
    ),
    (
        "entity Broken: shard bumps need a timestamp property",
        entity({"created": None}, shard_bumps=[ShardBump(NOW, 1, 1)]),
    ),
    (
        "entity Broken: shard bumps need a timestamp property",
        entity({"created": None}, shard_bumps=[ShardBump(dt.datetime(2025, 1, 1, tzinfo=dt.UTC), 1, 1)]),
    ),
    (
        "entity Broken: the bump at 1735689600000 is out of order",
        entity(
            shard_bumps=[ShardBump(dt.datetime(year, 1, 1, tzinfo=dt.UTC), 1, year - 2023) for year in (2026, 2025)]
        ),
    ),
    (
        "entity Broken: shard_bumps[1]: its datetime has no time zone",
        entity(shard_bumps=[ShardBump(0, 1, 1), ShardBump(dt.datetime(2025, 1, 1), 1, 2)]),  # noqa: DTZ001
    ),
    ("entity Broken: shard_bumps[0]: its numbers are not all whole", entity(shard_bumps=[ShardBump(True, 1, 1)])),
]


@pytest.mark.parametrize(("fault", "model"), ENTITY_FAULTS, ids=[fault for fault, _ in ENTITY_FAULTS])
def test_a_fault_of_an_entity(fault: str, model: type[Entity]) -> None:
    assert any(found.startswith(fault) for found in faults_of(lambda: Schema([model])))


INDEX_FAULTS: list[tuple[str, list[Index]]] = [
    ("index by-team: 'by-team' is not a valid name", [Index("by-team", "team_hash_key", "created")]),
    ("index ab: DynamoDB wants at least 3 characters", [Index("ab", "team_hash_key", "created")]),
    (
        "index one: the index 'one' is used 2 times",
        [Index("one", "team_hash_key", "created"), Index("one", "hash_key", "created")],
    ),
    (
        "index two: it has the same pair of keys as index one",
        [Index("one", "team_hash_key", "created"), Index("two", "team_hash_key", "created")],
    ),
    ("index one: it has the same pair of keys as the table", [Index("one", "hash_key", "range_key")]),
    (
        "index idx0 to index idx2, 3 of them: they have the same pair of keys as the table",
        [Index(f"idx{number}", "hash_key", "range_key") for number in range(3)],
    ),
    ("index one: there is no hash key 'team'", [Index("one", "team", "created")]),
    ("index one: there is no hash key 'rank_range_key'", [Index("one", "rank_range_key", "created")]),
    ("index one: there is no range key 'creatd'", [Index("one", "hash_key", "creatd")]),
    ("index one: there is no range key 'team_hash_key'", [Index("one", "hash_key", "team_hash_key")]),
    ("index one: Other is not in the schema", [Index("one", "hash_key", "created", entities=(entity(name="Other"),))]),
    ("index one: Note has not both of its keys", [Index("one", "hash_key", "rank", entities=(Thing, Note))]),
    ("index one: Thing.tags can't be a raw range key", [Index("one", "hash_key", "tags")]),
    ("index one: there is no projection 'INCLUDE'", [Index("one", "hash_key", "created", projection="INCLUDE")]),
    ("index one: the projection names 'created', a key", [Index("one", "hash_key", "created", projection=["created"])]),
    (
        "index one: the projection names 'team_hash_key', a key",
        [Index("one", "team_hash_key", "created", projection=["team_hash_key"])],
    ),
    (
        "index one: the projection names 'hash_key', a key",
        [Index("one", "team_hash_key", "created", projection=["hash_key"])],
    ),
    (
        "index one: the projection names 'range_key', a key",
        [Index("one", "team_hash_key", "created", projection=["range_key"])],
    ),
    (
        "index one: the projection names 'rnk', which no entity",
        [Index("one", "hash_key", "created", projection=["rnk"])],
    ),
    (
        "index one: the projection names a property twice",
        [Index("one", "hash_key", "created", projection=["rank", "rank"])],
    ),
]


@pytest.mark.parametrize(("fault", "indexes"), INDEX_FAULTS, ids=[fault for fault, _ in INDEX_FAULTS])
def test_a_fault_of_an_index(fault: str, indexes: list[Index]) -> None:
    assert any(found.startswith(fault) for found in faults_of(lambda: Schema([Thing, Note], indexes)))


@pytest.mark.parametrize(
    ("type_", "key"), [(bool, "flag"), (Size, "size"), (list[int], "many"), (dict[str, str], "map")]
)
def test_a_raw_range_key_must_be_string_number_or_binary(type_: Any, key: str) -> None:
    model = entity({key: (type_, ...)})
    found = faults_of(lambda: Schema([model], [Index("raw", "hash_key", key)]))
    assert f"index raw: Broken.{key} can't be a raw range key" in found


def test_a_raw_range_key_has_one_type_in_every_entity_also_in_those_outside_the_index() -> None:
    one, two = entity(name="One", token="one"), entity({"team": (int, ...)}, name="Two", token="two")
    for index in (Index("byTeam", "hash_key", "team"), Index("byTeam", "hash_key", "team", entities=(one,))):
        assert "index byTeam: 'team' has different types in One, Two" in faults_of(lambda: Schema([one, two], [index]))  # noqa: B023
    boolean = entity({"team": (bool, ...)}, name="Three", token="three")
    found = faults_of(lambda: Schema([one, boolean], [Index("byTeam", "hash_key", "team", entities=(one,))]))
    assert "index byTeam: Three.team can't be a raw range key" in found


def test_one_python_name_has_one_stored_name_in_an_index() -> None:
    one = entity({"key": HashKey("team")}, name="One", token="one")
    two = entity({"key": HashKey("team", stored="other")}, name="Two", token="two")
    found = faults_of(lambda: Schema([one, two], [Index("byKey", "key", "created")]))
    assert "index byKey: 'key' is stored under different names: key, other" in found


def test_names_that_are_two_things_in_two_entities_whatever_their_order() -> None:
    has_property = entity({"group": (str, "")}, name="One", token="one")
    has_key = entity({"group": RangeKey("team")}, name="Two", token="two")
    has_hash = entity({"group": HashKey("team")}, name="Three", token="three")
    for models in ([has_property, has_key], [has_key, has_property]):
        found = faults_of(lambda: Schema(models))  # noqa: B023
        assert "entity One.group: 'group' is a generated key in entity Two.group" in found
    found = faults_of(lambda: Schema([has_key, has_hash]))
    assert "entity Three.group: 'group' is a HashKey here and a RangeKey in entity Two.group" in found


def test_no_record_is_removed_by_a_property_that_another_entity_calls_its_ttl() -> None:
    one = entity({"ends": (TimestampSeconds, ttl_property())}, name="One", token="one")
    two = entity({"ends": (int, 0)}, name="Two", token="two")
    assert faults_of(lambda: Schema([one, two])) == [
        "entity Two.ends: the table's TTL attribute is 'ends', so records would be removed by it"
    ]


def test_entities_that_share_a_token_a_collection_or_disagree_on_the_ttl() -> None:
    one = entity({"ends": (TimestampSeconds, ttl_property())}, name="One", token="same")
    two = entity({"expires": (int, ttl_property())}, name="Two", token="same")
    assert faults_of(lambda: Schema([one, two])) == [
        "token same: the token 'same' is used 2 times",
        "collection sames: the collection 'sames' is used 2 times",
        "schema: the TTL has several names: ends, expires",
    ]


def test_entities_that_share_an_origin_and_those_without_one() -> None:
    one, two, three, four = (
        entity(name=name, token=name.lower(), origin=origin)
        for name, origin in (("One", "x"), ("Two", "x"), ("Three", None), ("Four", None))
    )
    assert faults_of(lambda: Schema([one, two, three, four])) == ["origin x: the origin 'x' is used 2 times"]
    assert Schema([one, three, four])


def test_a_schema_without_entities_and_with_one_key_for_two() -> None:
    assert faults_of(lambda: Schema([], hash_key="key", range_key="key")) == [
        "schema: it has no entities",
        "table key key: the table key 'key' is used 2 times",
    ]
    assert "table key a.b: 'a.b' is not a valid name" in faults_of(lambda: Schema([Note], hash_key="a.b"))


def test_at_most_20_indexes() -> None:
    keys = {f"key{number}": HashKey("team") for number in range(21)}
    model = entity(keys)
    indexes = [Index(f"index{number}", f"key{number}", "created") for number in range(21)]
    assert faults_of(lambda: Schema([model], indexes)) == ["indexes: there are 21, a table has at most 20"]
    assert len(Schema([model], indexes[:20]).layout.indexes) == 20


def test_at_most_100_projected_attributes_the_ttl_of_each_index_among_them() -> None:
    names = [f"p{number}" for number in range(50)]
    body: dict[str, Any] = dict.fromkeys(names, (str, "")) | {"key": HashKey("team")}
    plain, expiring = entity(body), entity(body | {"ends": (int, ttl_property())})

    def indexes(total: int) -> list[Index]:
        return [
            Index("one", "key", "created", projection=names),
            Index("two", "hash_key", "created", projection=names[: total - 50]),
        ]

    assert Schema([plain], indexes(100)).layout.projected("one")
    assert Schema([expiring], indexes(98)).layout.projected("one")
    fewer = Schema([plain], [Index("one", "key", "created", projection=["p1"])])
    assert fewer.layout.index("one").projection == ("p1",)  # type: ignore[union-attr]
    for model in (plain, expiring):
        found = faults_of(lambda: Schema([model], [*indexes(100), Index("three", "key", "p0", projection=["p1"])]))  # noqa: B023
        assert any("a table has at most 100" in fault for fault in found)
    assert faults_of(lambda: Schema([expiring], indexes(99))) == [
        "indexes: 101 attributes are projected, a table has at most 100"
    ]


def test_delimiters_that_contain_one_another_are_a_fault_of_the_schema() -> None:
    found = faults_of(lambda: Schema([Note], key_format=KeyFormat("x", shard_delimiter="##")))
    assert found == ["key format: delimiters contain one another, or run into one another"]


def test_every_fault_is_reported_at_once() -> None:
    one = entity(
        {"key": HashKey("tem"), "revision": (str, Field(alias="rev"))},
        name="One",
        token="o-ne",
        shard_bumps=[ShardBump(0, 9, 1)],
    )
    two = entity({"key": RangeKey(desc("team"))}, name="Two", token="two")
    indexes = [
        Index("ok1", "hash_key", "created", projection=["created", "nothing"]),
        Index("ok2", "hash_key", "created"),
        Index("bad name", "nope", "neither"),
    ]
    found = faults_of(lambda: Schema([one, two], indexes, key_format=KeyFormat("x", value_delimiter="|")))
    assert [fault.partition(":")[0] for fault in found] == [
        "key format",
        "entity One",
        "index bad name",
        "entity One",
        "entity One.key",
        "entity Two.key",
        "entity Two.key",
        "entity One.revision",
        "index ok2",
        "index ok1",
        "index ok1",
        "index bad name",
        "index bad name",
    ]


def test_bumps_are_in_whatever_unit_a_format_that_takes_timestamps_as_given_has() -> None:
    assert Schema([entity(shard_bumps=[ShardBump(NOW // 1000, 1, 1)])], key_format=ARTICLE)
