"""How key text is put together: escaping, delimiters, raw formats, the two hashes."""

from __future__ import annotations

import zlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, ValueRefused
from shardweave.keys.key_format import (
    ARTICLE,
    ENTITY_MANAGER,
    KEY_FORMATS,
    LOW_BITS,
    ORDERED,
    KeyFormat,
    crc32,
    escape,
    key_format,
    string_hash,
    string_hash_low,
    unescape,
)
from shardweave.values.codecs import (
    BooleanCodec,
    Codec,
    DecimalCodec,
    DescendingCodec,
    EnumCodec,
    IntegerCodec,
    StringCodec,
    TimestampCodec,
    UuidCodec,
)
from shardweave.values.js_numbers import number_of_text, text_of_number

from .codec_cases import CASES, HOSTILE_TEXT, TEXT, Color

TEXTS = st.one_of(TEXT, HOSTILE_TEXT)


@given(TEXTS)
def test_escaping_is_reversible_and_leaves_nothing_below_the_escape_character(text: str) -> None:
    assert unescape(escape(text)) == text
    assert all(character >= "!" for character in escape(text))


@given(TEXTS, TEXTS)
def test_escaping_keeps_order(one: str, two: str) -> None:
    assert (escape(one).encode() < escape(two).encode()) == (one < two)


def test_what_escaping_looks_like() -> None:
    assert escape("Jo Ann!\x00\n") == "Jo!20Ann!21!00!0a"
    assert escape("a#b|c~\U0001f600") == "a#b|c~\U0001f600"


@pytest.mark.parametrize("text", ["!", "!2", "a b", "!22", "!2A", "!0g", "!7f", "\x00", "a!"])
def test_what_escaping_never_writes_is_refused(text: str) -> None:
    with pytest.raises(ValueRefused, match="not a valid escaped value"):
        unescape(text)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS, min_size=1, max_size=4))
def test_tuples_joined_in_the_ordered_format_are_ordered_as_tuples_are(one: list[str], two: list[str]) -> None:
    def join(texts: list[str]) -> bytes:
        return ORDERED.element_delimiter.join(ORDERED.encode(StringCodec(), text) for text in texts).encode()

    assert [unescape(part) for part in join(one).decode().split(" |")] == one
    assert (join(one) < join(two)) == (one < two)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("desc")])
@pytest.mark.parametrize("shipped", KEY_FORMATS)
@given(data=st.data())
def test_every_format_gives_back_the_values_that_it_accepts(shipped: str, name: str, data: st.DataObject) -> None:
    formed, codec = KEY_FORMATS[shipped], CASES[name].codec
    value = data.draw(CASES[name].values)
    try:
        text = formed.encode(codec, value)
    except ValueRefused:
        assert not formed.ordered
        return
    assert formed.decode(codec, text) == value


SHIPPED_BARE = [ARTICLE, ENTITY_MANAGER]
BARE = pytest.mark.parametrize("bare", SHIPPED_BARE, ids=[each.name for each in SHIPPED_BARE])


@BARE
@given(value=TEXTS)
def test_a_bare_format_refuses_exactly_the_values_that_hold_a_delimiter(bare: KeyFormat, value: str) -> None:
    if any(delimiter in value for delimiter in "!#|"):
        with pytest.raises(ValueRefused, match="can't escape"):
            bare.encode(StringCodec(), value)
    else:
        assert bare.encode(StringCodec(), value) == value


@BARE
def test_a_bare_format_refuses_half_of_a_surrogate_pair(bare: KeyFormat) -> None:
    with pytest.raises(ValueRefused, match="surrogate"):
        bare.encode(StringCodec(), "\udc00")


def test_a_bare_format_looks_for_its_delimiters_in_every_codec_s_text() -> None:
    dashed = KeyFormat("dashed", value_delimiter="-", element_delimiter="|", ordered=False)
    with pytest.raises(ValueRefused, match="can't escape"):
        dashed.encode(UuidCodec(), "00000000-0000-0000-0000-000000000001")


DELIMITERS = st.text("!#|:~", min_size=1, max_size=3)


@given(DELIMITERS, DELIMITERS, DELIMITERS, st.lists(st.text("!#|:~ab", max_size=5), min_size=1, max_size=3))
def test_whatever_the_delimiters_a_key_splits_into_what_it_was_made_of(
    shard: str, value: str, element: str, texts: list[str]
) -> None:
    custom = KeyFormat("custom", shard, value, element, ordered=False)
    assume(not custom.faults())
    try:
        parts = [f"name{value}{custom.encode(StringCodec(), text)}" for text in texts]
    except ValueRefused:
        return
    head, *rest = element.join([f"token{shard}0", *parts]).split(element)
    assert head == f"token{shard}0"
    assert [part.partition(value)[2] for part in rest] == texts


RAW_TEXTS: list[tuple[KeyFormat, Codec, Any, str]] = [
    (ARTICLE, TimestampCodec("ms"), 1726880933, "1726880933"),
    (ARTICLE, TimestampCodec("ms"), 1726880933000, "1726880933000"),
    (ARTICLE, IntegerCodec(), 7, "p00000000000000000007"),
    (ARTICLE, StringCodec(), "a b", "a b"),
    (ENTITY_MANAGER, TimestampCodec("ms"), 5, "5"),
    (ENTITY_MANAGER, IntegerCodec(), -7, "-7"),
    (ENTITY_MANAGER, IntegerCodec(), 10**19, "10000000000000000000"),
    (ENTITY_MANAGER, BooleanCodec(), True, "true"),
    (ENTITY_MANAGER, BooleanCodec(), False, "false"),
    (ENTITY_MANAGER, DecimalCodec(6), Decimal("1.50"), "1.5"),
    (ENTITY_MANAGER, DecimalCodec(6), Decimal("-0.0"), "0"),
    (ENTITY_MANAGER, DecimalCodec(6), Decimal("10"), "10"),
    (ENTITY_MANAGER, StringCodec(), "", ""),
    (ENTITY_MANAGER, EnumCodec(Color), "green", "001"),
    (ENTITY_MANAGER, DescendingCodec(TimestampCodec("ms")), 1726880933000, "8273119066999"),
]


@pytest.mark.parametrize(("raw", "codec", "value", "text"), RAW_TEXTS, ids=[f"{e[0].name}-{e[3]}" for e in RAW_TEXTS])
def test_values_in_the_raw_formats(raw: KeyFormat, codec: Codec, value: Any, text: str) -> None:
    assert raw.encode(codec, value) == text
    assert raw.decode(codec, text) == value


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        (TimestampCodec("ms"), "007"),
        (TimestampCodec("ms"), "1.5"),
        (TimestampCodec("ms"), "٣"),
        (IntegerCodec(), "-0"),
        (IntegerCodec(), "9" * 5000),
        (BooleanCodec(), "True"),
        (DecimalCodec(2), "1.50"),
        (DecimalCodec(2), "NaN"),
        (DecimalCodec(2), "1e+3"),
    ],
)
def test_a_raw_text_that_is_not_as_written_is_refused(codec: Codec, text: str) -> None:
    with pytest.raises(ValueRefused):
        ENTITY_MANAGER.decode(codec, text)


# What JavaScript's String(number) gives.
JAVASCRIPT = {
    "0": "0",
    "-0": "0",
    "1": "1",
    "1.50": "1.5",
    "-123.456": "-123.456",
    "100": "100",
    "123456789012345680000": "123456789012345680000",
    "1E+20": "100000000000000000000",
    "1E+21": "1e+21",
    "1.25E+25": "1.25e+25",
    "0.000001": "0.000001",
    "0.0000001": "1e-7",
    "0.00000012": "1.2e-7",
    "0.1": "0.1",
    "9007199254740993": None,
    "0.1234567890123456789": None,
    "1E+400": None,
    "NaN": None,
    "Infinity": None,
}


@pytest.mark.parametrize(("number", "text"), JAVASCRIPT.items(), ids=list(JAVASCRIPT))
def test_numbers_as_javascript_prints_them(number: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(ValueRefused):
            text_of_number(Decimal(number))
    else:
        assert text_of_number(Decimal(number)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_comes_back_from_its_javascript_text(number: float) -> None:
    assert number_of_text(text_of_number(Decimal(repr(number)))) == Decimal(repr(number))


FAULTY: list[tuple[KeyFormat, str]] = [
    (KeyFormat("x", value_delimiter=""), "printable ASCII and not empty"),
    (KeyFormat("x", value_delimiter="\x00"), "printable ASCII and not empty"),
    (KeyFormat("x", value_delimiter="é"), "printable ASCII and not empty"),
    (KeyFormat("x", value_delimiter="a"), "what names hold"),
    (KeyFormat("x", value_delimiter="_"), "what names hold"),
    (KeyFormat("x", shard_delimiter="#"), "contain one another"),
    (KeyFormat("x", shard_delimiter="##"), "contain one another"),
    (KeyFormat("x", shard_delimiter="!", element_delimiter="|!", ordered=False), "contain one another"),
    (KeyFormat("x", shard_delimiter="!|", element_delimiter="||", ordered=False), "run into one another"),
    (KeyFormat("x", element_delimiter="|"), "breaks tuple order"),
    (KeyFormat("x", value_delimiter="# "), "only the element delimiter can hold a space"),
    (KeyFormat("x", shard_delimiter="! "), "only the element delimiter can hold a space"),
]


@pytest.mark.parametrize(("faulty", "message"), FAULTY)
def test_delimiters_that_would_break_keys_are_faults(faulty: KeyFormat, message: str) -> None:
    faults = faulty.faults()
    assert any(message in found for found, _ in faults)
    assert all(fix for _, fix in faults)


def test_several_faults_are_found_at_once() -> None:
    found = [message for message, _ in KeyFormat("x", "a", "a", "|").faults()]
    assert len(found) == 3


def test_the_shipped_formats_and_other_delimiters_have_no_fault() -> None:
    assert [each.faults() for each in KEY_FORMATS.values()] == [[], [], []]
    assert KeyFormat("x", shard_delimiter=":", value_delimiter="=", element_delimiter=" &").faults() == []


def test_a_format_is_found_by_its_name() -> None:
    assert key_format("article") is ARTICLE
    with pytest.raises(ConfigurationError, match="ordered, article, entity_manager"):
        key_format("ordred")


@given(TEXTS)
def test_the_default_hash_is_crc_32_of_the_utf_8_text(text: str) -> None:
    assert crc32(text) == zlib.crc32(text.encode("utf-8"))


@given(TEXTS)
def test_string_hash_goes_from_the_last_utf_16_unit_to_the_first(text: str) -> None:
    expected = 5381
    units = [unit for character in text for unit in _utf_16(ord(character))]
    for unit in reversed(units):
        expected = (expected * 33 ^ unit) % 2**32
    assert string_hash(text) == expected


@given(TEXTS | st.text("abc", min_size=60, max_size=200) | st.text(min_size=60, max_size=200))
def test_the_low_bits_of_string_hash_are_found_without_going_over_its_characters(text: str) -> None:
    assert string_hash_low(text) == string_hash(text) % 2**LOW_BITS


def _utf_16(code: int) -> list[int]:
    if code < 0x10000:
        return [code]
    return [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]


def test_hashes_that_are_known() -> None:
    assert crc32("wf5yU_5f63gqauSOLpP5O") % 4 == 1
    assert crc32("SUv7FfJDUsWOmfQg2wp7o") % 4 == 2
    assert string_hash("") == 5381
    assert string_hash("a") == 177604
