"""What movers write, and the exact conditions under which each may happen: the table of transactions of a re-shard."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.copy_actions import STRAY, CopyUnit, Stray, batches, cleaned, copied, emptied, swept
from shardweave.reshard.independent_keys import is_equal, recomputed
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.reshard.work_items import (
    Side,
    WorkItem,
    decode_work,
    encode_work,
    items_of,
    sources,
    sources_of,
    token_check,
)
from shardweave.schema.entity_type import MARK
from shardweave.store.writing.dual_write import rekeyed
from shardweave.table.conditions import Condition
from shardweave.table.operations import ConditionCheck, DeleteItem, PutItem, UpdateItem
from shardweave.table.values import MAX_ITEM_BYTES
from tests.unit.store_world import ADDRESSES, DAY, PEOPLE, SCHEMA, SECOND_BUMP, START, Note, Settings, Version

NOW = SECOND_BUMP + DAY
VERSION = 7
NOTES = SCHEMA[Note]


def control(entity: Any = NOTES, phase: Phase = Phase.DUAL_OLD, step: ReshardStep = ReshardStep.COPY) -> ReshardState:
    new = ShardMap.of_bumps((ShardBump(0, 2, 3),), VERSION, VERSION)
    return ReshardState(VERSION, entity.shard_map, new, phase, step)


def note(**more: Any) -> dict[str, Any]:
    return NOTES.complete({"noteId": "n", "created": START, "updated": START, "text": "t", "rev": "seen"}) | more


def person(created: int = NOW, **more: Any) -> dict[str, Any]:
    item = {"personId": "a", "name": "A", "nameCanonical": "a", "created": created, "updated": NOW, "group": "g"}
    return PEOPLE.complete({**item, "rev": "seen"}) | more


def states(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        "absent": {},
        "as seen": record,
        "as seen, marked by an older move": record | {MARK: VERSION - 1},
        "as seen, marked": record | {MARK: VERSION},
        "another revision": record | {"rev": "other"},
        "another revision, marked": record | {"rev": "other", MARK: VERSION},
        "no revision": {name: value for name, value in record.items() if name != "rev"},
    }


def allowed(condition: Condition | None, record: dict[str, Any]) -> set[str]:
    if condition is None:
        return set(states(record))
    return {name for name, item in states(record).items() if condition.evaluate(item)}


AS_SEEN = {"as seen", "as seen, marked by an older move", "as seen, marked"}


def piece_of(planned: CopyUnit | Stray | None) -> CopyUnit:
    assert isinstance(planned, CopyUnit)
    return planned


class TestTheTableOfTransactions:
    def test_copy_marks_o_as_it_was_read_and_puts_n_with_the_same_revision(self) -> None:
        record = note()
        mark, put = piece_of(copied(NOTES, control(), record, NOW)).actions
        assert isinstance(mark, UpdateItem)
        assert (mark.set, mark.remove, mark.add) == ({MARK: VERSION}, (), {})
        assert allowed(mark.condition, record) == AS_SEEN
        assert isinstance(put, PutItem)
        assert put.condition is None
        assert put.item == {**record, "hashKey": put.item["hashKey"]}
        assert len(put.item["hashKey"]) == len("note!000")
        assert MARK not in put.item

    def test_sweep_removes_from_n_what_it_saw_while_o_has_none(self) -> None:
        record = rekeyed(NOTES, note(), control().new)  # type: ignore[arg-type]
        check, delete = piece_of(swept(NOTES, control(), record)).actions
        assert isinstance(check, ConditionCheck)
        assert check.key["hashKey"] == note()["hashKey"]
        assert allowed(check.condition, note()) == {"absent"}
        assert isinstance(delete, DeleteItem)
        assert delete.key["hashKey"] == record["hashKey"]
        assert allowed(delete.condition, record) == AS_SEEN

    def test_sweep_looks_at_every_generation_that_moves(self) -> None:
        record = rekeyed(PEOPLE, person(), control(PEOPLE).new)  # type: ignore[arg-type]
        *checks, _ = piece_of(swept(PEOPLE, control(PEOPLE), record)).actions
        assert [type(check) for check in checks] == [ConditionCheck] * 3
        assert len({str(check.key) for check in checks if isinstance(check, ConditionCheck)}) == 3

    def test_empty_removes_from_o_what_bears_the_mark(self) -> None:
        marked = note(**{MARK: VERSION})
        (delete,) = piece_of(emptied(NOTES, control(), marked, NOW)).actions
        assert isinstance(delete, DeleteItem)
        assert allowed(delete.condition, note()) == {"as seen, marked"}

    @pytest.mark.parametrize("mark", [{}, {MARK: VERSION - 1}])
    def test_empty_leaves_what_does_not(self, mark: dict[str, int]) -> None:
        assert emptied(NOTES, control(), note(**mark), NOW) is STRAY

    def test_empty_removes_what_is_expired_as_long_as_it_is(self) -> None:
        expired = person(expires=NOW // 1000)
        (delete,) = piece_of(emptied(PEOPLE, control(PEOPLE), expired, NOW)).actions
        assert isinstance(delete, DeleteItem)
        assert delete.condition is not None
        assert delete.condition.evaluate(expired)
        assert not delete.condition.evaluate(expired | {"expires": NOW // 1000 + 1})
        assert not delete.condition.evaluate(expired | {"rev": "other"})

    def test_clean_removes_from_n_what_it_saw(self) -> None:
        (delete,) = piece_of(cleaned(NOTES, note())).actions
        assert isinstance(delete, DeleteItem)
        assert allowed(delete.condition, note()) == AS_SEEN

    def test_each_requires_the_token(self) -> None:
        (item, *_) = items_of(NOTES, control(), iter(lambda: "token", None))
        check = token_check(NOTES, item)
        record = encode_work(NOTES, item)
        assert check.condition.evaluate(record)
        assert not check.condition.evaluate(record | {"token": "another"})
        assert not check.condition.evaluate({})


class TestWhatIsNotCopied:
    def test_an_expired_record(self) -> None:
        assert copied(PEOPLE, control(PEOPLE), person(expires=NOW // 1000), NOW) is None
        assert copied(PEOPLE, control(PEOPLE), person(expires=NOW // 1000 + 1), NOW) is not None

    def test_a_record_without_a_revision_is_conditioned_on_all_that_it_holds(self) -> None:
        record = {name: value for name, value in note().items() if name != "rev"}
        mark, _ = piece_of(copied(NOTES, control(), record, NOW)).actions
        assert isinstance(mark, UpdateItem)
        assert allowed(mark.condition, note()) == {"no revision"}
        assert mark.condition is not None
        assert not mark.condition.evaluate(record | {"text": "other"})

    def test_one_with_too_much_in_it_for_that_is_a_stray(self) -> None:
        record = {name: value for name, value in note().items() if name != "rev"}
        many = {f"attribute{number}": number for number in range(300)}
        assert copied(NOTES, control(), record | many, NOW) is STRAY
        assert isinstance(copied(NOTES, control(), note(**many), NOW), CopyUnit)

    def test_one_that_no_key_leads_to_is_a_stray(self) -> None:
        others = [f"note!{shard}" for shard in range(4) if f"note!{shard}" != note()["hashKey"]]
        for hash_key in others:
            assert copied(NOTES, control(), note(hashKey=hash_key), NOW) is STRAY

    def test_one_that_is_no_record_at_all_is_a_stray(self) -> None:
        assert copied(NOTES, control(), {"hashKey": "note!1", "rangeKey": "x"}, NOW) is STRAY

    def test_one_without_room_for_a_mark_is_a_stray_and_one_of_the_greatest_size_is_not(self) -> None:
        room = MAX_ITEM_BYTES - 400
        assert isinstance(copied(NOTES, control(), note(text="x" * (room - 200)), NOW), CopyUnit)
        assert copied(NOTES, control(), note(text="x" * MAX_ITEM_BYTES), NOW) is STRAY

    def test_one_in_an_older_generation_than_its_time_says_goes_if_its_own_place_is_free(self) -> None:
        belongs, found = person(), person()["hashKey"]
        older = PEOPLE.complete(person(), ShardMap((PEOPLE.shard_map.generations[1],)))
        assert older["hashKey"] != found
        _, put, check = piece_of(copied(PEOPLE, control(PEOPLE), older, NOW)).actions
        assert isinstance(put, PutItem)
        assert isinstance(check, ConditionCheck)
        assert check.key["hashKey"] == found
        assert check.condition.evaluate({})
        assert not check.condition.evaluate(belongs | {"rev": "other"})


class TestTransactions:
    def test_many_records_share_one_and_no_item_is_named_twice(self) -> None:
        records = [NOTES.complete({**note(), "noteId": f"n{number}"}) for number in range(60)]
        pieces = [piece_of(copied(NOTES, control(), record, NOW)) for record in records]
        split = list(batches([*pieces, pieces[-1]], NOTES))
        assert [len(batch) for batch in split] == [25, 25, 10, 1]

    def test_records_of_the_greatest_size_fit(self) -> None:
        records = [note(noteId=f"n{number}", text="x" * 390_000) for number in range(10)]
        pieces = [CopyUnit(record, (PutItem({**record, "rangeKey": str(record["noteId"])}),)) for record in records]
        assert max(len(batch) for batch in batches(pieces, NOTES)) == 5


class TestItems:
    def test_each_covers_sources_of_its_side_and_all_cover_all(self) -> None:
        for entity in (NOTES, PEOPLE, ADDRESSES, SCHEMA[Version], SCHEMA[Settings]):
            for step, sides in (
                (ReshardStep.COPY, [Side.OLD]),
                (ReshardStep.VERIFY, [Side.OLD, Side.NEW]),
                (ReshardStep.CLEAN, [Side.NEW]),
            ):
                value = control(entity, step=step)
                items = items_of(entity, value, iter(lambda: "token", None))
                assert [item.side for item in items] == sorted((item.side for item in items), key=sides.index)
                for side in sides:
                    covered = [each for item in items if item.side is side for each in sources_of(entity, value, item)]
                    assert sorted(covered, key=str) == sorted(sources(entity, value, side), key=str)

    def test_a_space_of_any_size_has_few_items(self) -> None:
        huge = ShardMap.of_bumps((ShardBump(0, 5, 4),), VERSION, VERSION)
        value = ReshardState(VERSION, NOTES.shard_map, huge, Phase.STABLE, ReshardStep.CLEAN)
        assert len(items_of(NOTES, value, iter(lambda: "token", None))) == 48

    def test_they_come_back_from_their_records(self) -> None:
        for item in items_of(NOTES, control(step=ReshardStep.VERIFY), iter(lambda: "token", None)):
            again: WorkItem = decode_work(NOTES, encode_work(NOTES, item))
            assert again == item

    def test_a_bump_that_is_part_of_both_maps_is_no_source(self) -> None:
        kept = ShardBump(NOW + DAY, 2, 5)
        old = ShardMap.of_bumps((ShardBump(0, 2, 1), kept))
        new = ShardMap.of_bumps((ShardBump(0, 2, 2), kept), VERSION, VERSION)
        value = ReshardState(VERSION, old, new, Phase.DUAL_OLD, ReshardStep.COPY)
        assert len(sources(NOTES, value, Side.OLD)) == 4
        assert len(sources(NOTES, value, Side.NEW)) == 16


@pytest.mark.parametrize("width", [0, 1, 3])
def test_the_second_computation_agrees_with_the_first(width: int) -> None:
    target = ShardMap.of_bumps((ShardBump(0, 2, width),), VERSION, VERSION)
    version = SCHEMA[Version]
    address = ADDRESSES.complete({"address": "x y", "ownerId": "Zoë !|#", "created": NOW, "rev": "r"})
    ordered = version.complete({"orderId": "o # 1", "number": -3, "created": NOW, "state": "s", "rev": "r"})
    single = SCHEMA[Settings].complete({"colour": "red", "rev": "r"})
    for entity, record in (
        (NOTES, note()),
        (PEOPLE, person(START)),
        (PEOPLE, person()),
        (ADDRESSES, address),
        (version, ordered),
        (SCHEMA[Settings], single),
    ):
        first = rekeyed(entity, record | {MARK: 3}, target)
        assert recomputed(entity, record | {MARK: 3}, target) == first
        assert is_equal(entity, first, first | {MARK: 9}, target)
        assert not is_equal(entity, first, first | {"rev": "other"}, target)
        assert not is_equal(entity, first, {name: first[name] for name in first if name != "rev"}, target)
