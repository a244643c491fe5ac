"""Lists of records by key: merged, their foreign shards, their keys by shard."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shardweave.keys.shard_key import EMPTY, AnyKey, Shard, ShardChild, ShardKey, by_shard, foreign_shards, merge

from .shard_key_cases import few_keys


@dataclass(frozen=True)
class Row:
    """A record."""

    key: AnyKey
    content: str = ""


rows = st.lists(st.builds(Row, few_keys, st.sampled_from("abc")), max_size=12)


def row(number: int, content: str = "") -> Row:
    return Row(ShardKey("u", "1", number), content)


def test_records_are_replaced_in_the_order_of_the_master() -> None:
    master = [row(3, "old"), row(1, "old"), row(2, "old")]
    replacements = [row(1, "new"), row(3, "new"), row(9, "new")]
    assert merge(master, replacements) == [row(3, "new"), row(1, "new"), row(2, "old")]
    assert merge(master, replacements, append_unmatched=True) == [
        row(3, "new"),
        row(1, "new"),
        row(2, "old"),
        row(9, "new"),
    ]
    assert master == [row(3, "old"), row(1, "old"), row(2, "old")]
    assert replacements == [row(1, "new"), row(3, "new"), row(9, "new")]


def test_a_key_that_stands_twice() -> None:
    master = [row(1, "a"), row(2, "b"), row(1, "c"), row(4, "d"), row(4, "e")]
    replacements = [row(9, "f"), row(1, "g"), row(8, "h"), row(1, "i"), row(9, "j")]
    assert merge(master, replacements, append_unmatched=True) == [
        row(1, "i"),
        row(2, "b"),
        row(1, "i"),
        row(4, "d"),
        row(4, "e"),
        row(9, "j"),
        row(8, "h"),
    ]


@given(rows, rows)
def test_merging_by_the_rule(master: list[Row], replacements: list[Row]) -> None:
    expected = [([each for each in replacements if each.key == one.key] or [one])[-1] for one in master]
    assert merge(master, replacements) == expected
    unmatched = [each for each in replacements if all(each.key != one.key for one in master)]
    for place, each in enumerate(unmatched):
        if all(each.key != earlier.key for earlier in unmatched[:place]):
            expected.append([later for later in unmatched if later.key == each.key][-1])
    assert merge(master, replacements, append_unmatched=True) == expected
    assert merge(iter(master), iter(replacements), append_unmatched=True) == expected


@given(rows, rows)
def test_merge_takes_for_the_same_what_sorts_to_the_same_place(one: list[Row], other: list[Row]) -> None:
    merged = merge(merge([], one, append_unmatched=True), other, append_unmatched=True)
    in_order = sorted(each.key for each in merged)
    assert all(earlier < later for earlier, later in pairwise(in_order))
    assert in_order == sorted({each.key for each in one} | {each.key for each in other})
    for first in one:
        for second in other:
            replaced = merge([first], [second]) == [second]
            neither_is_less = not first.key < second.key and not second.key < first.key
            assert replaced == (neither_is_less or first == second)


@given(rows)
def test_merging_with_nothing_changes_nothing(records: list[Row]) -> None:
    assert merge(records, []) == records
    assert merge([], records) == []
    assert merge(merge([], records, append_unmatched=True), records) == merge([], records, append_unmatched=True)


def test_the_foreign_shards_are_sorted_and_each_there_once() -> None:
    keys = [
        ShardKey("u", "3", 1),
        ShardKey("u", "1", 2),
        ShardChild("o", "0a", 1, 2),
        ShardKey("u", "3", 3),
        EMPTY,
        ShardKey("e", "2", 1),
    ]
    records = [Row(key) for key in keys]
    assert foreign_shards("1", records) == ["0a", "2", "3"]
    assert foreign_shards(ShardKey("x", "3", "any"), iter(records)) == ["0a", "1", "2"]
    assert foreign_shards(EMPTY, records) == foreign_shards("", records) == ["0a", "1", "2", "3"]
    assert foreign_shards("1", [Row(ShardKey("u", "1", 1))]) == foreign_shards("1", []) == []
    assert foreign_shards("1", [Row(ShardKey("e", "", 1))]) == [""]


def test_keys_are_grouped_by_entity_and_shard() -> None:
    b, a, c, e = ShardKey("u", "1", "b"), ShardKey("u", "1", "a"), ShardKey("u", "0", "c"), ShardKey("e", "1", "a")
    child = ShardChild("u", "1", "a", 1)
    groups = by_shard([b, c, EMPTY, a, e, b, child])
    assert list(groups.items()) == [
        (Shard("e", "1"), [e]),
        (Shard("u", "0"), [c]),
        (Shard("u", "1"), [b, a, child]),
    ]


@given(st.lists(few_keys | st.just(EMPTY), max_size=20))
def test_every_key_but_empty_is_in_its_group_once(keys: list[AnyKey]) -> None:
    groups = by_shard(keys)
    grouped = [key for group in groups.values() for key in group]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == set(keys) - {EMPTY}
    assert all((key.origin, key.shard) == shard for shard, group in groups.items() for key in group)
    assert list(groups) == sorted(groups)
