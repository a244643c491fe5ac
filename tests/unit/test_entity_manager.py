"""A schema from an Entity Manager configuration: keys byte for byte that library's, faults that name the place."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shardweave.errors import Fault, SchemaError, ValidationFailed, ValueRefused
from shardweave.keys.sharding import placements
from shardweave.schema.schema import Schema
from shardweave.table.layout import KeyAttribute

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "entity_manager_8_0_vectors.json").read_text(encoding="utf-8")
)
CONFIG: dict[str, Any] = VECTORS["config"]
SCHEMA = Schema.from_entity_manager(CONFIG)
RECORDS = [("user", vector) for vector in VECTORS["users"]] + [("email", vector) for vector in VECTORS["emails"]]


def test_the_vectors_are_all_there() -> None:
    assert [len(VECTORS[part]) for part in ("users", "emails", "hashKeySpaces")] == [150, 150, 18]


def test_every_record_is_that_library_s() -> None:
    for token, vector in RECORDS:
        entity = SCHEMA.entity(token)
        completed = entity.complete(entity.dump(entity.validate(vector["item"])))
        assert completed == vector["record"]
        assert json.dumps(completed, sort_keys=True) == json.dumps(vector["record"], sort_keys=True)


def test_every_primary_key_is_that_library_s() -> None:
    for token, vector in RECORDS:
        assert [SCHEMA.entity(token).make_key(vector["item"])] == vector["primaryKey"]


@pytest.mark.parametrize(
    "vector", VECTORS["hashKeySpaces"], ids=lambda vector: f"{vector['hashKey']} {len(vector['space'])}"
)
def test_every_hash_key_space_is_that_library_s(vector: dict[str, Any]) -> None:
    entity = SCHEMA.entity(vector["entity"])
    keys, item = entity.keys, vector["item"]
    elements = next((each.elements for each in keys.design.generated if each.name == vector["hashKey"]), ())
    text = keys.shard_text(item) if entity.unique in item else None
    generations = entity.shard_map.between(vector["timestampFrom"], vector["timestampTo"])
    space = [keys.hash_key(place.suffix, elements, item) for place in placements(generations, keys.format.hash, text)]
    assert space == vector["space"]


def test_every_generated_property_parses_back() -> None:
    for token, vector in RECORDS:
        keys = SCHEMA.entity(token).keys
        for generated in keys.design.generated:
            if generated.name in vector["record"]:
                expected = {each.name: vector["item"][each.name] for each in generated.elements}
                assert keys.parse(generated, vector["record"][generated.name]) == expected


def test_a_missing_element_is_written_as_empty_unless_only_hints_are_there() -> None:
    user = SCHEMA.entity("user")
    item = {"userId": "u", "created": 1726961516987}
    assert set(user.complete(item)) == {"userId", "created", "hashKey", "rangeKey", "userHashKey"}
    assert user.complete(item | {"lastNameCanonical": "x"})["firstNameRangeKey"] == (
        "firstNameCanonical#|lastNameCanonical#x|created#1726961516987"
    )


def changed(*path: str | int, to: Any = None) -> dict[str, Any]:
    """The configuration with one place changed, or removed."""
    config: Any = copy.deepcopy(CONFIG)
    place = config
    for part in path[:-1]:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    if to is None:
        del place[path[-1]]
    elif isinstance(place, list):
        place[int(path[-1])] = to
    else:
        place[path[-1]] = to
    result: dict[str, Any] = config
    return result


def test_the_delimiters_of_the_configuration() -> None:
    config = CONFIG | {"shardKeyDelimiter": "~", "generatedValueDelimiter": "=", "generatedKeyDelimiter": "&"}
    email = Schema.from_entity_manager(config).entity("email")
    assert email.complete({"email": "a!b|c#", "userId": "u", "created": 5})["userHashKey"] == "email~&userId=u"
    with pytest.raises(ValueRefused, match="holds a delimiter"):
        email.complete({"email": "a=b", "userId": "u", "created": 5})


def test_names_stay_exactly_as_they_are() -> None:
    odd = ["userID", "first_name", "URL", "copy", "json", "class", "hash_key", "rev_", "model_x", "validate", "token"]
    config: dict[str, Any] = {
        "entities": {"item_2": {"uniqueProperty": "userID", "timestampProperty": "first_name"}},
        "hashKey": "PK",
        "rangeKey": "SK",
        "propertyTranscodes": dict.fromkeys(odd, "string") | {"first_name": "timestamp"},
        "generatedProperties": {"sharded": {"GSI1_PK": odd[2:]}, "unsharded": {"GSI1_SK": ["class", "copy"]}},
        "indexes": {"GSI1": {"hashKey": "GSI1_PK", "rangeKey": "GSI1_SK", "projections": ["json", "first_name"]}},
    }
    schema = Schema.from_entity_manager(config)
    entity = schema.entity("item_2")
    assert list(entity.properties) == list(config["propertyTranscodes"])
    item = dict.fromkeys(odd, "v") | {"first_name": 5}
    assert entity.complete(entity.dump(entity.validate(item))) == item | {
        "PK": "item_2!",
        "SK": "userID#v",
        "GSI1_PK": "item_2!|" + "|".join(f"{name}#v" for name in odd[2:]),
        "GSI1_SK": "class#v|copy#v",
    }
    assert schema.layout.projected("GSI1") == {"PK", "SK", "GSI1_PK", "GSI1_SK", "json", "first_name"}


def test_every_transcode_has_the_text_that_javascript_prints() -> None:
    transcodes = ["string", "timestamp", "int", "number", "fix6", "bigint", "bigint20", "boolean"]
    config: dict[str, Any] = {
        "entities": {"item": {"uniqueProperty": "id", "timestampProperty": "at"}},
        "hashKey": "hashKey",
        "rangeKey": "rangeKey",
        "propertyTranscodes": {"id": "string", "at": "int"} | {name: name for name in transcodes},
        "generatedProperties": {"unsharded": {"all": transcodes}},
        "indexes": {"byNumber": {"hashKey": "hashKey", "rangeKey": "number"}},
    }
    schema = Schema.from_entity_manager(config)
    entity = schema.entity("item")
    item = {
        "id": "i",
        "at": 5,
        "string": "Ann",
        "timestamp": 7,
        "int": -3,
        "number": Decimal("1E+21"),
        "fix6": Decimal("2.50"),
        "bigint": 10**30,
        "bigint20": -(10**19),
        "boolean": True,
    }
    completed = entity.complete(entity.dump(entity.validate(item)))
    assert completed["all"] == (
        "string#Ann|timestamp#7|int#-3|number#1e+21|fix6#2.5|bigint#1000000000000000000000000000000"
        "|bigint20#-10000000000000000000|boolean#true"
    )
    (generated,) = entity.keys.design.generated
    assert entity.keys.parse(generated, completed["all"]) == {name: item[name] for name in transcodes}
    assert schema.layout.keys_of("byNumber")[1] == KeyAttribute("number", "N")
    for name, wrong in {
        "int": 2**53,
        "bigint20": 10**20,
        "fix6": Decimal(10**10),
        "boolean": "maybe",
        "string": 5,
    }.items():
        with pytest.raises(ValidationFailed, match=name):
            entity.validate(item | {name: wrong})
    for name in ("timestamp", "int", "number", "fix6", "bigint", "bigint20"):
        with pytest.raises(ValidationFailed, match=f"{name}: Input should be a number, not true or false"):
            entity.validate(item | {name: True})
    with pytest.raises(ValueRefused, match=r"number: .*more digits than JavaScript"):
        entity.complete(item | {"number": Decimal("0.12345678901234567890")})


def test_bumps_are_sorted_and_a_first_one_is_added() -> None:
    bumps = CONFIG["entities"]["user"]["shardBumps"]
    config = changed("entities", "user", "shardBumps", to=bumps[::-1])
    assert Schema.from_entity_manager(config).entity("user").shard_map == SCHEMA.entity("user").shard_map
    assert [generation.space.shards for generation in SCHEMA.entity("user").shard_map.generations] == [1, 4, 16, 32768]
    assert [generation.space.shards for generation in SCHEMA.entity("email").shard_map.generations] == [1]


def test_what_only_tunes_that_library_is_accepted() -> None:
    Schema.from_entity_manager(changed("throttle", to=5))
    Schema.from_entity_manager(changed("entities", "user", "defaultLimit", to=5))


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (changed("hashKey"), "hashKey", "Field required"),
    (changed("rangeKey", to=5), "rangeKey", "valid string"),
    (changed("entities"), "entities", "Field required"),
    (changed("entities", to={}), "schema", "it has no entities"),
    (changed("entity", to={}), "entity", "no such setting"),
    (changed("transcodes", to={}), "transcodes", "no such setting"),
    (changed("entities", "user", "uniqueProperty"), "entities.user.uniqueProperty", "Field required"),
    (changed("entities", "user", "uniqueProperty", to="id"), "entities.user.uniqueProperty", "'id' is not a property"),
    (
        changed("entities", "user", "uniqueProperty", to="created"),
        "entities.user.uniqueProperty",
        "'created' is a timestamp",
    ),
    (
        changed("entities", "user", "timestampProperty", to="phone"),
        "entities.user.timestampProperty",
        "'phone' is a string",
    ),
    (
        changed("entities", "user", "timestampProperty", to="userId"),
        "entities.user.timestampProperty",
        "unique property too",
    ),
    (changed("entities", "user", "shardBumps", 1, "chars"), "entities.user.shardBumps[1].chars", "Field required"),
    (
        changed("entities", "user", "shardBumps", 1, "chars", to="2"),
        "entities.user.shardBumps[1].chars",
        "valid integer",
    ),
    (changed("entities", "user", "shardBumps", 1, "chars", to=1), "entity user", "not wider than the one before"),
    (changed("entities", "user", "shardBumps", 1, "charBits", to=6), "entity user", "out of range"),
    (changed("entities", "user", "shardBumps", 2, "chars", to=5), "entity user", "shards"),
    (changed("entities", "us-er", to=CONFIG["entities"]["email"]), "entity us-er", "not a valid name"),
    (changed("propertyTranscodes", "phone", to="strnig"), "propertyTranscodes.phone", "there is no transcode 'strnig'"),
    (changed("propertyTranscodes", "hashKey", to="string"), "propertyTranscodes.hashKey", "is already hashKey"),
    (
        changed("propertyTranscodes", "userHashKey", to="string"),
        "generatedProperties.sharded.userHashKey",
        "is already",
    ),
    (changed("propertyTranscodes", "a-b", to="string"), "entity user.a-b", "not a valid name"),
    (changed("generatedProperties", "sharded", "x", to=[]), "generatedProperties.sharded.x", "no elements"),
    (
        changed("generatedProperties", "sharded", "x", to=["y"]),
        "generatedProperties.sharded.x",
        "'y' is not a property",
    ),
    (
        changed("generatedProperties", "unsharded", "x", to=["y"]),
        "generatedProperties.unsharded.x",
        "'y' is not a property",
    ),
    (
        changed("generatedProperties", "unsharded", "x", to=["phone", "phone"]),
        "entity user.x",
        "'phone' stands 2 times",
    ),
    (changed("indexes", "phone", "hashKey", to="phone"), "indexes.phone.hashKey", "there is no hash key 'phone'"),
    (changed("indexes", "phone", "rangeKey", to="fax"), "indexes.phone.rangeKey", "there is no range key 'fax'"),
    (changed("indexes", "phone", "rangeKey", to="created"), "index phone", "same pair of keys as index created"),
    (changed("indexes", "phone", "projections", to=["phone"]), "indexes.phone.projections[0]", "'phone' is a key"),
    (changed("indexes", "phone", "projections", to=["fax"]), "indexes.phone.projections[0]", "'fax' is not a property"),
    (changed("propertyTranscodes", "phone", to="boolean"), "indexes.phone.rangeKey", "a boolean can't be"),
    (changed("generatedKeyDelimiter", to="##"), "key format", "contain one another"),
    (changed("shardKeyDelimiter", to="_"), "key format", "what names hold"),
    (changed("generatedValueDelimiter", to=""), "key format", "not empty"),
]


@pytest.mark.parametrize(("config", "where", "message"), FAULTS, ids=[f"{where}: {m}" for _, where, m in FAULTS])
def test_a_fault_names_its_place_and_the_fix(config: dict[str, Any], where: str, message: str) -> None:
    faults = faults_of(config)
    assert any(fault.where == where and message in fault.message for fault in faults)
    assert all(fault.fix for fault in faults)


def test_every_fault_is_reported_at_once() -> None:
    config = changed("propertyTranscodes", "phone", to="strnig")
    config["entities"]["user"]["uniqueProperty"] = "id"
    config["indexes"]["firstName"]["rangeKey"] = "name"
    assert [fault.where for fault in faults_of(config)] == [
        "propertyTranscodes.phone",
        "entities.user.uniqueProperty",
        "indexes.firstName.rangeKey",
    ]


@pytest.mark.parametrize("config", [[], "text", 5])
def test_what_is_no_configuration_at_all(config: Any) -> None:
    assert [fault.where for fault in faults_of(config)] == ["configuration"]


def faults_of(config: Any) -> tuple[Fault, ...]:
    with pytest.raises(SchemaError) as wrong:
        Schema.from_entity_manager(config)
    return wrong.value.faults
