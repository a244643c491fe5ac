"""Generated properties: what is built, in which order it sorts, what it parses back to, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import KeyTooLong, ValueRefused
from shardweave.keys.entity_keys import EntityKeys
from shardweave.keys.key_design import Element, Generated, KeyDesign
from shardweave.keys.key_format import ARTICLE, ENTITY_MANAGER, KEY_FORMATS, ORDERED, KeyFormat
from shardweave.keys.sharding import Shard, ShardBump, ShardMap, ShardSpace
from shardweave.table.values import MAX_HASH_KEY_BYTES, MAX_RANGE_KEY_BYTES
from shardweave.values.codecs import Codec, DescendingCodec, IntegerCodec, StringCodec, TimestampCodec

from .codec_cases import CASES, HOSTILE_TEXT, TEXT

TEXTS = st.one_of(TEXT, HOSTILE_TEXT)
FOUR_SHARDS = ShardMap.of_bumps((ShardBump(0, 2, 1),))


def shard(suffix: str) -> Shard:
    """The shard of a suffix."""
    found = ShardSpace(1 if len(suffix) > 2 else 5, len(suffix)).shard_of(suffix)
    assert found is not None
    return found


def text(name: str) -> Element:
    return Element(name, StringCodec())


CREATED = Element("created", TimestampCodec("ms"))
DESIGN = KeyDesign(
    token="user",
    key_format=ORDERED,
    hash_name="hashKey",
    range_name="rangeKey",
    partition=(),
    sort=(text("userId"),),
    shard_by=(text("userId"),),
    timestamp="created",
    generated=(
        Generated("teamHashKey", (text("team"),), sharded=True),
        Generated("placeHashKey", (text("team"), text("first")), sharded=True),
        Generated("nameRangeKey", (text("first"), text("last"), CREATED), sharded=False),
        Generated("teamRangeKey", (text("team"),), sharded=False),
    ),
    hints=frozenset({"userId", "created"}),
)
KEYS = EntityKeys(DESIGN)
ITEM = {"userId": "u1", "created": 1726880933000, "team": "red", "first": "Jo Ann", "last": "Smith!"}
PARTITIONED = replace(
    DESIGN, token="order", partition=(text("team"),), sort=(text("first"), Element("n", IntegerCodec()))
)
ITEMS = st.fixed_dictionaries(
    {"userId": TEXTS, "created": st.integers(10**11, 10**13 - 1)},
    optional={"team": TEXTS, "first": TEXTS, "last": TEXTS},
)


def in_format(key_format: KeyFormat, design: KeyDesign = DESIGN) -> EntityKeys:
    return EntityKeys(replace(design, key_format=key_format))


def test_the_generated_properties_of_a_record() -> None:
    assert KEYS.build(ITEM, FOUR_SHARDS) == {
        "hashKey": "user!2",
        "rangeKey": "userId#u1",
        "teamHashKey": "user!2 |team#red",
        "placeHashKey": "user!2 |team#red |first#Jo!20Ann",
        "nameRangeKey": "first#Jo!20Ann |last#Smith!21 |created#1726880933000",
        "teamRangeKey": "team#red",
    }


def test_a_partition_stands_in_the_hash_key_and_only_there() -> None:
    keys = EntityKeys(PARTITIONED)
    built = keys.build_in(ITEM | {"n": 7}, shard("3"))
    assert built["hashKey"] == "order!3 |team#red"
    assert built["rangeKey"] == "first#Jo!20Ann |n#p00000000000000000007"
    assert built["teamHashKey"] == "order!3 |team#red"
    assert built["placeHashKey"] == "order!3 |team#red |first#Jo!20Ann"


def test_a_singleton_has_a_fixed_key() -> None:
    keys = EntityKeys(replace(DESIGN, token="settings", sort=(), shard_by=(), timestamp=None, generated=()))
    assert keys.build({}, ShardMap.of_bumps(())) == {"hashKey": "settings!", "rangeKey": "settings"}
    assert keys.primary_key({}, "") == {"hashKey": "settings!", "rangeKey": "settings"}
    assert keys.parse_range_key("settings") == {}


# -- order ------------------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_composites_sort_as_tuples_of_values_do_with_missing_before_all(data: st.DataObject) -> None:
    cases = data.draw(st.lists(st.sampled_from(list(CASES.values())), min_size=1, max_size=3))
    elements = tuple(Element(f"e{place}", case.codec) for place, case in enumerate(cases))
    keys = EntityKeys(replace(DESIGN, generated=(Generated("composite", elements, sharded=False),)))
    items: list[dict[str, Any]] = [{"userId": "u1"}, {"userId": "u2"}]
    for element, case in zip(elements, cases, strict=True):
        one = data.draw(st.none() | case.values)
        items[0][element.name] = one
        items[1][element.name] = data.draw(st.just(one) | st.none() | case.values)
    orders = [
        [(item[e.name] is not None, item[e.name] is not None and case.order(item[e.name])) for e, case in pairs]
        for item in items
        for pairs in [list(zip(elements, cases, strict=True))]
    ]
    one, two = (keys.build_in(item, shard("0"))["composite"].encode() for item in items)
    assert (one < two) == (orders[0] < orders[1])
    assert (one == two) == (orders[0] == orders[1])


def composite(first: str | None, last: str | None) -> str:
    item = {"userId": "u", "created": ITEM["created"], "first": first, "last": last}
    return str(KEYS.build_in(item, shard("0"))["nameRangeKey"])


def test_ann_comes_before_anna_before_annabel_whatever_follows() -> None:
    firsts = ["ann", "anna", "annabel"]
    for lasts in (["z", "m", "a"], ["\U0010ffff", "", "\x00"], [None, None, None]):
        keys = [composite(first, last) for first, last in zip(firsts, lasts, strict=True)]
        assert keys == sorted(keys)


def test_missing_comes_before_empty_before_anything() -> None:
    values = [None, "", "\x00", "\x01", " ", "!", '"', "#", "a", "|", "\U0010ffff"]
    firsts = [composite(value, "z") for value in values]
    lasts = [composite("a", value) for value in values]
    assert firsts == sorted(firsts)
    assert lasts == sorted(lasts)
    assert len({*firsts, *lasts}) == 2 * len(values)


def test_bare_bars_lack_that_order_which_is_why_they_are_not_the_default() -> None:
    keys = in_format(ARTICLE)
    ann, anna = (
        keys.build_in({"userId": "u", "first": first}, shard("0"))["nameRangeKey"] for first in ("ann", "anna")
    )
    assert anna < ann


# -- reading back, and forgery ----------------------------------------------------------------------------------------


@given(ITEMS)
def test_every_property_parses_back_to_what_it_was_built_from(item: dict[str, Any]) -> None:
    built = KEYS.build(item, FOUR_SHARDS)
    assert KEYS.parse_range_key(built["rangeKey"]) == {"userId": item["userId"]}
    for generated in DESIGN.generated:
        expected = {element.name: item[element.name] for element in generated.elements if element.name in item}
        if generated.name in built:
            assert KEYS.parse(generated, built[generated.name]) == expected
        else:
            assert generated.sharded
            assert len(expected) < len(generated.elements)


@given(ITEMS, st.sampled_from([ARTICLE, ENTITY_MANAGER]))
def test_a_bare_format_refuses_a_record_or_parses_it_back(item: dict[str, Any], bare: KeyFormat) -> None:
    keys = in_format(bare)
    hostile = {name for name, value in item.items() if any(delimiter in str(value) for delimiter in "!#|")}
    if hostile:
        with pytest.raises(ValueRefused, match="can't escape") as refused:
            keys.build(item, FOUR_SHARDS)
        assert refused.value.where in hostile
        return
    built = keys.build(item, FOUR_SHARDS)
    as_missing = (None, "") if bare.missing_as_empty else (None,)
    for generated in DESIGN.generated:
        if generated.name in built:
            kept = [element.name for element in generated.elements if item.get(element.name) not in as_missing]
            assert keys.parse(generated, built[generated.name]) == {name: item[name] for name in kept}


@given(st.data())
def test_different_values_never_give_the_same_key(data: st.DataObject) -> None:
    one = data.draw(st.tuples(TEXTS, TEXTS))
    two = data.draw(st.one_of(st.tuples(TEXTS, TEXTS), st.just(one), st.just((one[0] + " |first#" + one[1], ""))))
    built = [KEYS.build_in({"userId": "u", "team": team, "first": first}, shard("0")) for team, first in (one, two)]
    assert (built[0]["placeHashKey"] == built[1]["placeHashKey"]) == (one == two)


@given(TEXTS, TEXTS)
def test_no_value_forges_another_element_entity_or_shard(team: str, first: str) -> None:
    built = KEYS.build_in({"userId": first, "created": 0, "team": team, "first": first}, shard("0"))
    whole, prefix = built["placeHashKey"], built["teamHashKey"]
    assert whole.count(" |") == 2
    assert prefix.count(" |") == 1
    assert {text.partition("!")[0] for text in (whole, prefix, built["hashKey"])} == {"user"}
    assert KEYS.suffix_of_key(whole) == KEYS.suffix_of_key(prefix) == KEYS.suffix_of_key(built["hashKey"]) == "0"


FOREIGN = [
    ("teamHashKey", "email!0 |team#red", "another entity"),
    ("teamHashKey", "user! w |team#red", "another entity"),
    ("teamHashKey", "user!0", "another number of elements"),
    ("teamHashKey", "user!0 |team#red |first#a", "another number of elements"),
    ("teamHashKey", "user!0 |first#red", "other elements"),
    ("teamHashKey", "user!0 |team", "has every element"),
    ("teamHashKey", "user!0 |team#a b", "not a valid escaped value"),
    ("nameRangeKey", "first#a |last#b |created#1", "not a valid Timestamp"),
    ("nameRangeKey", "first#a |last#b", "another number of elements"),
    ("teamRangeKey", "", "other elements"),
]


@pytest.mark.parametrize(("name", "key", "reason"), FOREIGN)
def test_a_text_that_was_not_built_for_the_property_is_refused(name: str, key: str, reason: str) -> None:
    (generated,) = [each for each in DESIGN.generated if each.name == name]
    with pytest.raises(ValueRefused, match=reason) as refused:
        KEYS.parse(generated, key)
    assert refused.value.where


# -- sparse records ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["team", "first"])
@pytest.mark.parametrize("form", [{}, {"team": None, "first": None}], ids=["left out", "None"])
def test_a_sharded_property_is_whole_or_absent(missing: str, form: dict[str, Any]) -> None:
    item = ITEM | {missing: None} if missing in form else {name: v for name, v in ITEM.items() if name != missing}
    built = KEYS.build_in(item, shard("0"))
    assert "placeHashKey" not in built
    assert ("teamHashKey" in built) == (missing != "team")


def test_an_unsharded_property_is_always_there_with_bare_names_for_what_is_missing() -> None:
    built = KEYS.build_in({"userId": "u", "created": ITEM["created"]}, shard("0"))
    assert built["nameRangeKey"] == "first |last |created#1726880933000"
    assert built["teamRangeKey"] == "team"


def test_the_entity_manager_format_writes_missing_as_empty_and_leaves_out_what_has_only_hints() -> None:
    keys = in_format(ENTITY_MANAGER)
    assert keys.build_in({"userId": "u", "created": 5, "last": "b"}, shard("0")) == {
        "hashKey": "user!0",
        "rangeKey": "userId#u",
        "nameRangeKey": "first#|last#b|created#5",
    }
    assert "nameRangeKey" not in keys.build_in({"userId": "u", "created": 5}, shard("0"))
    only_hints = replace(DESIGN, generated=(Generated("createdRangeKey", (CREATED,), sharded=False),))
    built = in_format(ENTITY_MANAGER, only_hints).build_in({"userId": "u", "created": 5}, shard("0"))
    assert built["createdRangeKey"] == "created#5"


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        (KEYS, "userId"),
        (EntityKeys(PARTITIONED), "team"),
        (EntityKeys(PARTITIONED), "first"),
        (EntityKeys(PARTITIONED), "n"),
    ],
)
def test_what_identifies_a_record_can_t_be_missing(keys: EntityKeys, missing: str) -> None:
    item = {name: value for name, value in (ITEM | {"n": 1}).items() if name != missing}
    for attempt in (lambda: keys.build_in(item, shard("0")), lambda: keys.primary_key(item, "0")):
        with pytest.raises(ValueRefused) as refused:
            attempt()
        assert refused.value.where == missing


# -- shards -----------------------------------------------------------------------------------------------------------


def test_a_record_without_what_decides_its_place_is_refused_by_name() -> None:
    two = ShardMap.of_bumps((ShardBump(0, 1, 1), ShardBump(10**12, 1, 2)))
    with pytest.raises(ValueRefused) as refused:
        KEYS.shard({"userId": "u"}, two)
    assert refused.value.where == "created"
    with pytest.raises(ValueRefused) as refused:
        KEYS.shard({"created": 5}, FOUR_SHARDS)
    assert refused.value.where == "userId"
    assert KEYS.shard({"userId": "u"}, FOUR_SHARDS).suffix in "0123"
    assert KEYS.shard({}, ShardMap.of_bumps(())).suffix == ""


def test_the_creation_time_picks_the_generation() -> None:
    begins = 1_726_967_333_000
    shard_map = ShardMap.of_bumps((ShardBump(begins, 2, 1), ShardBump(begins + 5, 2, 2)))
    suffixes = [KEYS.shard(ITEM | {"created": begins + offset}, shard_map).suffix for offset in (-1, 0, 4, 5)]
    assert [len(suffix) for suffix in suffixes] == [0, 1, 1, 2]


def test_the_shard_text_of_several_properties_can_t_be_forged() -> None:
    several = EntityKeys(replace(DESIGN, shard_by=(text("team"), text("first"))))
    texts = [
        several.shard_text({"team": a, "first": b}) for a, b in [("ab", "c"), ("a", "bc"), ("a |b", "c"), ("a", "b |c")]
    ]
    assert len(set(texts)) == 4
    with pytest.raises(ValueRefused) as refused:
        several.shard_text({"team": "a"})
    assert refused.value.where == "first"


@given(TEXTS)
def test_the_shard_text_of_one_property_is_its_own_text(value: str) -> None:
    for key_format in KEY_FORMATS.values():
        assert in_format(key_format).shard_text({"userId": value}) == value


# -- limits and cost --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", ["a", "é", "€", "\U0001f600"])
def test_a_range_key_of_1024_bytes_is_possible_and_of_1025_is_not(character: str) -> None:
    room = MAX_RANGE_KEY_BYTES - len("userId#")
    size = len(character.encode())
    longest = character * (room // size) + "a" * (room % size)
    assert len(KEYS.build_in({"userId": longest}, shard("0"))["rangeKey"].encode()) == MAX_RANGE_KEY_BYTES
    assert KEYS.primary_key({"userId": longest}, "0")["rangeKey"] == f"userId#{longest}"
    item = {"userId": longest + "a"}
    for attempt in (lambda: KEYS.build_in(item, shard("0")), lambda: KEYS.primary_key(item, "0")):
        with pytest.raises(KeyTooLong, match="the key rangeKey would have 1025 bytes, 1024 are possible") as refused:
            attempt()
        assert refused.value.where == "userId"


def test_an_escaped_character_counts_as_what_is_stored() -> None:
    with pytest.raises(KeyTooLong) as refused:
        KEYS.build_in({"userId": "u", "last": " " * 340}, shard("0"))
    assert refused.value.where == "last"


@pytest.mark.parametrize("suffix", ["", "0" * 16])
def test_a_hash_key_keeps_sixteen_bytes_for_a_wider_shard_space(suffix: str) -> None:
    room = MAX_HASH_KEY_BYTES - 16 - len(f"user!{suffix} |team#")
    item = {"userId": "u", "team": "é" * (room // 2) + "a" * (room % 2)}
    keys = EntityKeys(replace(DESIGN, generated=DESIGN.generated[:1]))
    assert len(keys.build_in(item, shard(suffix))["teamHashKey"].encode()) == MAX_HASH_KEY_BYTES - 16
    with pytest.raises(KeyTooLong, match="2033 bytes, 2032 are possible") as refused:
        keys.build_in(item | {"team": item["team"] + "a"}, shard(suffix))
    assert refused.value.where == "team"


class Counting(StringCodec):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def encode(self, value: Any) -> str:
        self.calls += 1
        return super().encode(value)


def test_an_element_is_encoded_once_whatever_number_of_properties_use_it() -> None:
    codec: Codec = Counting()
    shared = Element("team", codec)
    generated = [Generated(f"k{n}", (shared, text("first")), sharded=n % 2 == 0) for n in range(6)]
    keys = EntityKeys(replace(DESIGN, generated=tuple(generated)))
    keys.build_in(ITEM, shard("0"))
    assert isinstance(codec, Counting)
    assert codec.calls == 1


def test_one_property_can_be_ascending_here_and_descending_there() -> None:
    n, down = Element("n", IntegerCodec()), Element("n", DescendingCodec(IntegerCodec()), descending=True)
    generated = (Generated("up", (n,), sharded=False), Generated("down", (down,), sharded=False))
    built = EntityKeys(replace(DESIGN, generated=generated)).build_in(ITEM | {"n": 7}, shard("0"))
    assert built["up"] == "n#p00000000000000000007"
    assert built["down"] == "n#n99999999999999999992"


def test_a_refused_value_is_named() -> None:
    with pytest.raises(ValueRefused, match="it is in seconds") as refused:
        KEYS.build(ITEM | {"created": 1726880933}, FOUR_SHARDS)
    assert refused.value.where == "created"
    assert in_format(ARTICLE).build(ITEM | {"created": 1726880933, "last": "Smith"}, FOUR_SHARDS)["nameRangeKey"] == (
        "first#Jo Ann|last#Smith|created#1726880933"
    )
