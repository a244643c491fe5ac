"""Tables of other libraries, and of earlier declarations, are read by presets, and written as those would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, ValueRefused
from shardweave.keys.key_format import ORDERED
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.key_templates import Template
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from shardweave.values.codecs import Timestamp
from tests.unit.rekey_world import NOW, Member, RekeyWorld, golden_config, member_schema

GOLDEN = golden_config()


class Person(Entity, token="person", shard_bumps=[ShardBump(0, char_bits=3, chars=1)]):
    """A user of the golden vectors, with ordered keys."""

    user_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp | None = None
    beneficiary_id: str | None = None
    first_name: str | None = None
    first_name_canonical: str | None = None
    last_name: str | None = None
    last_name_canonical: str | None = None
    phone: str | None = None

    user_beneficiary_hash_key = HashKey("beneficiary_id")
    first_name_range_key = RangeKey("first_name_canonical", "last_name_canonical", "created")


class Mail(Entity, token="mail", shard_bumps=[ShardBump(0, char_bits=3, chars=1)]):
    """An e-mail address of the golden vectors."""

    email: str = unique_property()
    user_id: str
    created: Timestamp = timestamp_property()

    user_hash_key = HashKey("user_id")


def golden_schema() -> Schema:
    """The ordered declaration of the golden vectors' records."""
    return Schema(
        [Person, Mail],
        [
            Index("firstName", hash_key="hash_key", range_key="first_name_range_key"),
            Index("userCreated", hash_key="user_hash_key", range_key="created"),
        ],
        key_format=ORDERED,
    )


ENTITY_MANAGER = {
    "preset": "entity_manager",
    "config": GOLDEN["config"],
    "entities": {"person": "user", "mail": "email"},
}


def golden_world(token: str, records: list[Any]) -> RekeyWorld:
    """A table with records that Entity Manager wrote."""
    made = RekeyWorld(golden_schema(), ENTITY_MANAGER, token=token)
    for each in records:
        made.put(each["record"])
    return made


def brought(made: RekeyWorld) -> None:
    made.rekey().start()
    report = made.run()
    assert (report.refused, report.differing) == (0, 0), report
    assert made.is_equal()
    made.rekey().switch()


@pytest.mark.parametrize(("token", "records"), [("person", GOLDEN["users"]), ("mail", GOLDEN["emails"])])
def test_records_of_entity_manager_get_ordered_keys(token: str, records: list[Any]) -> None:
    made = golden_world(token, records)
    olds = made.old_items()
    assert len(olds) == len({str(each["primaryKey"]) for each in records})
    brought(made)
    assert made.old_items() == olds
    made.run()
    made.rekey().finish()
    made.run()
    assert made.old_items() == []
    assert len(made.records()) == len(olds)
    assert made.faults() == {}


def test_what_database_writes_is_byte_for_byte_what_entity_manager_would_write() -> None:
    records = GOLDEN["users"]
    empty = RekeyWorld(golden_schema(), ENTITY_MANAGER, token="person")
    brought(empty)
    empty.now = max(each["item"]["created"] for each in records)
    written = {}
    for each in records:
        item = each["item"]
        if set(item) <= set(empty.entity.properties) and item["userId"] not in written:
            empty.store.create(dict(item), Person)
            written[item["userId"]] = each["record"]
    assert len(written) > 50
    for old in empty.old_items():
        assert {name: value for name, value in old.items() if name != "rev"} == written[old["userId"]]


ELECTRO = {
    "preset": "electrodb",
    "service": "Clubs",
    "hashKey": "pk",
    "rangeKey": "sk",
    "entities": {
        "member": {
            "entity": "Member",
            "version": "1",
            "indexes": [
                {"pk": {"field": "pk", "composite": ["memberId"]}, "sk": {"field": "sk", "composite": []}},
                {
                    "collection": "teams",
                    "pk": {"field": "gsi1pk", "composite": ["team"]},
                    "sk": {"field": "gsi1sk", "composite": ["created", "memberId"]},
                },
            ],
        }
    },
}


def electro_item(name: str, team: str | None = "Red") -> dict[str, Any]:
    """An item as ElectroDB writes it: labels and values in lower case in keys."""
    item: dict[str, Any] = {"memberId": name, "created": NOW, "points": 1, "__edb_e__": "Member", "__edb_v__": "1"}
    item |= {"pk": f"$clubs#memberid_{name.lower()}", "sk": "$member_1"}
    item |= {"gsi1sk": f"$teams#member_1#created_{NOW}#memberid_{name.lower()}"}
    return item if team is None else item | {"team": team, "gsi1pk": f"$clubs#team_{team.lower()}"}


def test_items_of_electrodb() -> None:
    made = RekeyWorld(member_schema("pk", "sk"), ELECTRO)
    for name, team in (("Ann", "Red"), ("bob", None)):
        made.put(electro_item(name, team))
    made.put({"pk": "$clubs#teamid_x", "sk": "$team_1", "__edb_e__": "Team", "__edb_v__": "1"})
    brought(made)
    assert {record["memberId"] for record in made.records()} == {"Ann", "bob"}
    made.store.create({"memberId": "Cid", "team": "Blue", "points": 1, "created": NOW}, Member)
    made.store.update(Member, "Ann", {"team": None})
    found = {item["memberId"]: item for item in made.old_items()}
    assert found["Cid"] == electro_item("Cid", "Blue")
    assert found["Ann"] == electro_item("Ann", None)


ONE_TABLE = {
    "preset": "onetable",
    "hashKey": "pk",
    "rangeKey": "sk",
    "entities": {
        "member": {
            "type": "Member",
            "attributes": {"pk": "${_type}#${memberId}", "sk": "${_type}#", "gs1pk": "team#${team}"},
        }
    },
}


def test_items_of_onetable() -> None:
    made = RekeyWorld(member_schema("pk", "sk"), ONE_TABLE)
    item = {"pk": "Member#a", "sk": "Member#", "_type": "Member", "memberId": "a", "created": NOW, "points": 2}
    made.put(item)
    made.put({**item, "pk": "Other#a", "_type": "Other"})
    brought(made)
    made.store.update(Member, "a", {"team": "x"})
    assert made.old_items() == [{**item, "team": "x", "gs1pk": "team#x"}]


def test_an_id_that_only_the_key_has_is_read_from_it() -> None:
    mapping = {
        "entities": {"member": {"attributes": {"PK": "M#${memberId}", "SK": "x"}}},
        "hashKey": "PK",
        "rangeKey": "SK",
    }
    made = RekeyWorld(member_schema(), mapping)
    item = {"PK": "M#a#b", "SK": "x", "created": NOW, "points": 1}
    made.put(item)
    brought(made)
    assert made.store.get(Member, "a#b") is not None
    made.store.update(Member, "a#b", {"points": 2})
    assert made.old_items()[0]["points"] == 2
    made.store.delete(Member, "a#b")
    assert made.old_items() == []


def test_two_ids_with_one_old_key_are_refused() -> None:
    made = RekeyWorld(member_schema("pk", "sk"), ELECTRO)
    made.put(electro_item("Ann"))
    brought(made)
    with pytest.raises(Exception, match="another record has the key of its old item"):
        made.store.create({"memberId": "ANN"}, Member)
    assert made.is_equal()


# -- earlier declarations ---------------------------------------------------------------------------------------------


def old_members(**options: Any) -> Schema:
    """An earlier declaration of members, of which the options are the entity's."""

    class Former(Entity, **{"token": "former", "shard_bumps": [ShardBump(0, char_bits=1, chars=1)], **options}):
        member_id: str = unique_property()
        created: Timestamp = timestamp_property()
        team: str | None = None
        email: str | None = None
        points: int = 0

        team_hash_key = HashKey("team")

    return Schema([Former], [Index("byTeam", hash_key="team_hash_key", range_key="created")])


OLD_DECLARATIONS = {
    "token": {},
    "shard_by": {"shard_by": ("member_id", "created"), "sort": ("created", "member_id")},
    "partition and sort": {"partition": "member_id", "sort": "created"},
}


@pytest.mark.parametrize("options", OLD_DECLARATIONS.values(), ids=OLD_DECLARATIONS)
def test_records_of_an_earlier_declaration_move_to_the_new_one_and_back(options: dict[str, Any]) -> None:
    old = old_members(**options)
    made = RekeyWorld(member_schema("hashKey", "rangeKey"), {"member": old["former"]})
    former = old["former"].model
    table = EmbeddedTable(old.layout)
    store = Store(old, table, clock=made.clock)
    for number in range(8):
        store.create({"memberId": f"m{number}", "created": NOW - number, "team": f"t{number % 2}"}, former)
    for item in table.run(Scan(consistent=True)).items:
        if str(item["hashKey"]).startswith("former!"):
            made.inner.run(PutItem(item))
    brought(made)
    made.store.update(Member, "m1", {"points": 5})
    made.store.create({"memberId": "new", "created": NOW}, Member)
    made.store.delete(Member, "m2")
    assert made.is_equal()
    made.rekey().back()
    for item in made.old_items():
        assert old["former"].load(item), "the former declaration reads what was written meanwhile"
        assert {name: item[name] for name in old["former"].keys.names if name in item} == old["former"].keys.build(
            item, old["former"].shard_map
        )
    made.run()
    made.rekey().switch()
    made.run()
    made.rekey().finish()
    made.run()
    assert made.old_items() == []
    assert len(made.records()) == 8


def test_an_earlier_declaration_needs_another_token() -> None:
    same = Schema([Member], [])
    with pytest.raises(ConfigurationError, match="one token"):
        RekeyWorld(member_schema("hashKey", "rangeKey"), {"member": same["member"]})


# -- templates --------------------------------------------------------------------------------------------------------


@given(values=st.fixed_dictionaries({"a": st.text(min_size=1), "b": st.integers(0, 10**6)}))
def test_a_template_gives_again_what_is_parsed_from_it(values: dict[str, Any]) -> None:
    template = Template("X#${a}#Y#${b}")
    text = template.render(values)
    parsed = template.parse(text)
    assert parsed is not None
    assert template.render(parsed) == text


@pytest.mark.parametrize(
    ("source", "values", "text"),
    [
        ("A", {}, "A"),
        ("${a}", {"a": "x"}, "x"),
        ("${a:lower}-${a:upper}", {"a": "Xy"}, "xy-XY"),
        ("${n:5}", {"n": 42}, "00042"),
        ("${n}", {"n": True}, "true"),
        ("a${a}", {"a": None}, None),
    ],
)
def test_the_text_of_a_template(source: str, values: dict[str, Any], text: str | None) -> None:
    assert Template(source).render(values) == text


def test_a_template_of_a_list_is_refused() -> None:
    with pytest.raises(ValueRefused):
        Template("${a}").render({"a": ["x"]})
