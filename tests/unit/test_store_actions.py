"""The actions of every write, and the exact conditions under which each may happen."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.keys.sharding import ShardMap
from shardweave.schema.entity_type import MARK
from shardweave.store.attempts import AttemptContext
from shardweave.store.locations import StoredItem, location_of, locations
from shardweave.store.writing import record_actions
from shardweave.store.writing.condition_checks import absence_actions, presence_actions
from shardweave.store.writing.write_actions import ActionRole, WriteAction, has_revision
from shardweave.table.conditions import Condition
from shardweave.table.operations import ConditionCheck, DeleteItem, PutItem
from shardweave.table.values import item_bytes
from tests.unit.store_world import ADDRESSES, DAY, FIRST_BUMP, PEOPLE, SCHEMA, SECOND_BUMP, START, Version

NOW = SECOND_BUMP + DAY
MAP = ShardMap(PEOPLE.shard_map.generations, id=1, version=4)
MOMENT = AttemptContext(NOW, MAP)
PERSON = {"personId": "a", "name": "Ann", "nameCanonical": "ann", "created": NOW, "updated": NOW, "rev": "new"}
ADDRESS = {"address": "a", "ownerId": "o", "created": NOW, "rev": "new"}

STORED = {"hashKey": "h", "rangeKey": "r", "rev": "seen"}
EXPIRED = {"expires": NOW // 1000}
LATER = {"expires": NOW // 1000 + 1}

STATES: dict[str, dict[str, Any]] = {
    "absent": {},
    "live": STORED,
    "live, expires later": STORED | LATER,
    "expired": STORED | EXPIRED,
    "another revision": STORED | {"rev": "other"},
    "no revision": {"hashKey": "h", "rangeKey": "r"},
    "live, old mark": STORED | {MARK: 4},
    "live, newer mark": STORED | {MARK: 5},
    "expired, old mark": STORED | EXPIRED | {MARK: 4},
    "expired, newer mark": STORED | EXPIRED | {MARK: 5},
}


def allowed(condition: Condition | None) -> set[str]:
    """The states in which a condition holds."""
    assert condition is not None
    return {name for name, item in STATES.items() if condition.evaluate(item)}


def summary(planned: tuple[WriteAction, ...]) -> list[tuple[ActionRole, type]]:
    return [(each.part, type(each.action)) for each in planned]


def condition(planned: WriteAction) -> Condition | None:
    return planned.action.condition


def test_a_create_puts_the_record_where_none_is_live_and_no_newer_map_has_been() -> None:
    (only,) = record_actions.create_actions(PEOPLE, PERSON, MOMENT, generated=True)
    assert isinstance(only.action, PutItem)
    assert only.action.item["hashKey"].startswith("person!")
    assert allowed(condition(only)) == {"absent", "expired", "expired, old mark"}


def test_a_create_of_a_given_id_empties_its_places_in_all_other_generations() -> None:
    first, *others = record_actions.create_actions(PEOPLE, PERSON, MOMENT, generated=False)
    assert first.part is ActionRole.RECORD
    assert [(each.part, type(each.action)) for each in others] == [(ActionRole.ELSEWHERE, DeleteItem)] * 2
    keys = [place.key for place in locations(PEOPLE, PERSON, MAP, NOW)]
    assert [each.key_or_item for each in others] == keys[:2]
    for each in others:
        assert allowed(condition(each)) == {"absent", "expired", "expired, old mark", "expired, newer mark"}


@pytest.mark.parametrize(
    ("now", "others"),
    [(START, 0), (FIRST_BUMP - DAY // 24, 1), (FIRST_BUMP - DAY // 24 - 1, 0), (SECOND_BUMP, 2)],
)
def test_a_generation_counts_from_an_hour_before_it_begins(now: int, others: int) -> None:
    planned = record_actions.create_actions(
        PEOPLE, PERSON | {"created": START}, AttemptContext(now, MAP), generated=False
    )
    assert len(planned) == 1 + others


def test_an_entity_without_ttl_has_the_plainest_conditions() -> None:
    entity = SCHEMA[Version]
    item = {"orderId": "o", "number": 1, "state": "", "created": NOW, "rev": "new"}
    (only,) = record_actions.create_actions(entity, item, AttemptContext(NOW, entity.shard_map), generated=False)
    assert "expires" not in set(only.action.condition.attributes())  # type: ignore[union-attr]
    assert "expired" not in allowed(condition(only))


def test_a_replacement_and_a_removal_need_the_live_record_as_it_was_seen() -> None:
    found = StoredItem(MAP.generations[2], STORED | PERSON | {"rev": "seen"})
    (replaced,) = record_actions.replace_actions(PEOPLE, found, PERSON, MOMENT, {})
    (removed,) = record_actions.remove_actions(
        PEOPLE, {"hashKey": "h", "rangeKey": "r"}, PERSON, has_revision("seen"), MOMENT
    )
    for planned in (replaced, removed):
        assert allowed(condition(planned)) == {"live", "live, expires later", "live, old mark"}
    (stray,) = record_actions.remove_actions(
        PEOPLE, {"hashKey": "h", "rangeKey": "r"}, PERSON, has_revision(None), MOMENT
    )
    assert allowed(condition(stray)) == {"no revision"}


def test_a_replacement_is_written_where_the_record_was_found_and_leaves_no_mark() -> None:
    found = StoredItem(MAP.generations[0], STORED | PERSON | {MARK: 3})
    (planned,) = record_actions.replace_actions(PEOPLE, found, PERSON, MOMENT, {"extra": 1})
    assert isinstance(planned.action, PutItem)
    assert planned.action.item["hashKey"] == "person!"
    assert planned.action.item["extra"] == 1
    assert MARK not in planned.action.item


def test_every_condition_on_a_record_asks_for_the_item_that_made_it_false() -> None:
    found = StoredItem(MAP.generations[2], STORED | PERSON)
    planned = [
        *record_actions.create_actions(PEOPLE, PERSON, MOMENT, generated=False),
        *record_actions.create_actions(ADDRESSES, ADDRESS, MOMENT, generated=False),
        *record_actions.replace_actions(PEOPLE, found, PERSON, MOMENT, {}),
        *record_actions.remove_actions(PEOPLE, {"hashKey": "h", "rangeKey": "r"}, PERSON, has_revision("seen"), MOMENT),
        *presence_actions(PEOPLE, found, MOMENT, revision_matters=True),
    ]
    assert all(each.action.return_on_failure for each in planned)


# -- lookups ----------------------------------------------------------------------------------------------------------


def test_a_create_with_a_lookup_needs_that_none_is_there() -> None:
    planned = record_actions.create_actions(ADDRESSES, ADDRESS, MOMENT, generated=True)
    assert summary(planned) == [(ActionRole.RECORD, PutItem), (ActionRole.LOOKUP, PutItem)]
    assert allowed(condition(planned[1])) == {"absent"}


def test_a_lookup_that_is_there_must_stay_and_its_record_must_be_gone() -> None:
    lookup = {"rev": "seen", "_place": {"ownerId": "somebody else", "created": START}}
    planned = record_actions.create_actions(ADDRESSES, ADDRESS, MOMENT, generated=True, lookup=lookup)
    assert summary(planned) == [
        (ActionRole.RECORD, PutItem),
        (ActionRole.LOOKUP, PutItem),
        (ActionRole.OWNER, DeleteItem),
    ]
    assert "absent" not in allowed(condition(planned[1]))
    assert "another revision" not in allowed(condition(planned[1]))
    assert planned[2].key_or_item == location_of(ADDRESSES, ADDRESS | lookup["_place"], MAP).key  # type: ignore[operator]
    assert allowed(condition(planned[2])) == {"absent", "expired", "expired, old mark", "expired, newer mark"}


def test_no_item_is_named_twice_when_the_lookup_names_the_place_itself() -> None:
    lookup = {"rev": "seen", "_place": {"ownerId": "o", "created": NOW}}
    planned = record_actions.create_actions(ADDRESSES, ADDRESS, MOMENT, generated=False, lookup=lookup)
    assert summary(planned) == [
        (ActionRole.RECORD, PutItem),
        *[(ActionRole.ELSEWHERE, DeleteItem)] * 2,
        (ActionRole.LOOKUP, PutItem),
    ]


def test_a_lookup_is_written_again_only_when_the_ttl_changes() -> None:
    found = StoredItem(MAP.generations[2], STORED | ADDRESS)
    same = record_actions.replace_actions(ADDRESSES, found, ADDRESS | {"label": "home"}, MOMENT, {})
    other = record_actions.replace_actions(ADDRESSES, found, ADDRESS | LATER, MOMENT, {})
    assert summary(same) == [(ActionRole.RECORD, PutItem)]
    assert summary(other) == [(ActionRole.RECORD, PutItem), (ActionRole.LOOKUP, PutItem)]


def test_a_removal_takes_its_lookup_with_it() -> None:
    planned = record_actions.remove_actions(
        ADDRESSES, {"hashKey": "h", "rangeKey": "r"}, ADDRESS, has_revision("seen"), MOMENT
    )
    assert summary(planned) == [(ActionRole.RECORD, DeleteItem), (ActionRole.LOOKUP, DeleteItem)]


# -- checks -----------------------------------------------------------------------------------------------------------


def test_presence_is_that_of_a_live_record_in_any_or_in_one_revision() -> None:
    found = StoredItem(MAP.generations[2], STORED | PERSON | {"rev": "seen"})
    (any_revision,) = presence_actions(PEOPLE, found, MOMENT, revision_matters=False)
    (one_revision,) = presence_actions(PEOPLE, found, MOMENT, revision_matters=True)
    assert "another revision" in allowed(condition(any_revision))
    assert "another revision" not in allowed(condition(one_revision))
    assert "expired" not in allowed(condition(any_revision))


def test_absence_is_required_in_every_generation_or_of_the_lookup() -> None:
    in_generations = absence_actions(PEOPLE, {"personId": "a"}, MOMENT, None)
    assert summary(in_generations) == [(ActionRole.RECORD, ConditionCheck)] * 3
    assert summary(absence_actions(ADDRESSES, {"address": "a"}, MOMENT, None)) == [(ActionRole.LOOKUP, ConditionCheck)]
    lookup = {"rev": "seen", "_place": {"ownerId": "o", "created": START}}
    assert summary(absence_actions(ADDRESSES, {"address": "a"}, MOMENT, lookup)) == [
        (ActionRole.LOOKUP, ConditionCheck),
        (ActionRole.OWNER, ConditionCheck),
    ]


# -- how large an action is --------------------------------------------------------------------------------------------


def test_an_action_counts_for_the_bytes_of_its_item() -> None:
    planned = record_actions.create_actions(ADDRESSES, ADDRESS, MOMENT, generated=False)
    assert planned[0].bytes == item_bytes(planned[0].key_or_item) > planned[1].bytes
