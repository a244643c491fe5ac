"""The external text of a key: it gives back the key, and no other text does."""

from __future__ import annotations

import base64
import hashlib
import re
import string
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, InvalidShardKey
from shardweave.keys.shard_key import EMPTY, AnyKey, ExternalKeys, ShardChild, ShardGrandchild, ShardKey
from shardweave.keys.shard_key.external import CHECKSUM_BYTES, MAX_TEXT_CHARACTERS
from shardweave.keys.shard_key.identifiers import MAX_ID_BYTES

from .shard_key_cases import IDS, KEYS, KINDS, any_key, keys_of, same

URL_SAFE = string.ascii_letters + string.digits + "-_"
SAMPLES: list[AnyKey] = [
    ShardKey("u", "1", "wf5yU_5f63gqauSOLpP5O"),
    ShardKey("u", "", 1),
    ShardKey("u", "1", True),
    ShardChild("o", "0a", "order-123", 7),
    ShardGrandchild("i", "3", uuid.UUID(int=7), uuid.UUID(int=8), uuid.UUID(int=9)),
    EMPTY,
]
by_name = pytest.mark.parametrize("key", SAMPLES, ids=str)


def refuse(text: Any, kind: type[AnyKey] = ShardKey, *, keys: ExternalKeys = KEYS, origin: str | None = None) -> str:
    with pytest.raises(InvalidShardKey) as refused:
        keys.decode(text, kind, origin=origin)
    assert refused.value.where == "key"
    assert refused.value.fix
    return refused.value.message


# -- round trip -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("python", IDS, ids=lambda python: python.__name__)
@given(data=st.data())
def test_a_text_gives_back_its_key_with_ids_of_each_type(kind: type[AnyKey], python: type, data: st.DataObject) -> None:
    key = data.draw(keys_of(kind, IDS[python]))
    found = KEYS.decode(KEYS.encode(key), kind, origin=key.origin)
    assert type(found) is kind
    assert found == key
    assert (found.origin, found.shard) == (key.origin, key.shard)
    assert all(same(one, other) for one, other in zip(found.ids, key.ids, strict=True))


@given(any_key)
def test_a_text_gives_back_its_key_with_ids_of_mixed_types(key: AnyKey) -> None:
    text = KEYS.encode(key)
    found = KEYS.decode(text, type(key))
    assert found == key
    assert all(same(one, other) for one, other in zip(found.ids, key.ids, strict=True))
    assert KEYS.encode(found) == text
    assert re.fullmatch("[A-Za-z0-9_-]+", text)


@given(any_key, any_key)
def test_two_keys_have_two_texts(one: AnyKey, other: AnyKey) -> None:
    assert (KEYS.encode(one) == KEYS.encode(other)) == (one == other)


def test_empty_has_a_text_too_and_is_of_no_entity() -> None:
    assert KEYS.decode(KEYS.encode(EMPTY), ShardKey) == EMPTY
    assert "another entity" in refuse(KEYS.encode(EMPTY), origin="u")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_longest_key_has_the_longest_text(kind: type[AnyKey]) -> None:
    key = kind("u", "v" * 16, *(["x" * MAX_ID_BYTES] * len(kind.id_names)))  # type: ignore[call-arg]
    text = KEYS.encode(key)
    assert KEYS.decode(text, kind) == key
    assert len(text) <= MAX_TEXT_CHARACTERS
    assert kind is not ShardGrandchild or len(text) > MAX_TEXT_CHARACTERS - 4


def test_the_text_of_a_key_never_changes() -> None:
    """Texts are in links and in other people's databases."""
    assert [KEYS.encode(key) for key in SAMPLES] == TEXTS_OF_SAMPLES


# -- refusals ---------------------------------------------------------------------------------------------------------


@by_name
def test_every_change_of_one_character_is_refused(key: AnyKey) -> None:
    text = KEYS.encode(key)
    for place, original in enumerate(text):
        for character in f"{URL_SAFE}=+/.~%! é\n\0":
            if character != original:
                refuse(text[:place] + character + text[place + 1 :], type(key))


@by_name
def test_every_cut_extended_doubled_and_swapped_text_is_refused(key: AnyKey) -> None:
    text = KEYS.encode(key)
    for place in range(len(text)):
        refuse(text[:place], type(key))
        refuse(text[place + 1 :], type(key))
        refuse(text[:place] + text[place + 1 :], type(key))
        refuse(text[: place + 1] + text[place:], type(key))
        if (swapped := text[:place] + text[place : place + 2][::-1] + text[place + 2 :]) != text:
            refuse(swapped, type(key))
        for character in f"{URL_SAFE}= \n":
            refuse(text[:place] + character + text[place:], type(key))
    for addition in (*URL_SAFE, "=", "==", "AAAA", " ", "\n", "\0", "é", text):
        refuse(text + addition, type(key))
        refuse(addition + text, type(key))


def test_the_bits_that_base64_ignores_are_not_ignored() -> None:
    for size in range(3):
        text = KEYS.encode(ShardKey("u", "", "x" * size))
        twins = [
            twin
            for character in URL_SAFE
            if (twin := text[:-1] + character) != text and _decoded(twin) == _decoded(text)
        ]
        assert len(twins) == {0: 0, 2: 15, 3: 3}[len(text) % 4]
        for twin in twins:
            refuse(twin)


def test_the_texts_of_two_keys_can_t_be_mixed() -> None:
    one, other = (KEYS.encode(ShardKey("u", "1", name)) for name in ("anna-aaaa", "otto-oooo"))
    for place in range(1, len(one)):
        if (mixed := one[:place] + other[place:]) not in (one, other):
            refuse(mixed)


@given(any_key, st.sampled_from("ueXZ19b"))
def test_a_key_of_another_origin_is_refused(key: AnyKey, origin: str) -> None:
    text = KEYS.encode(key)
    if origin == key.origin:
        assert KEYS.decode(text, type(key), origin=origin) == key
    else:
        assert "another entity" in refuse(text, type(key), origin=origin)


@given(any_key)
def test_a_key_of_another_kind_is_refused(key: AnyKey) -> None:
    for kind in KINDS:
        if kind is not type(key):
            message = refuse(KEYS.encode(key), kind)
            assert kind.__name__ in message
            assert type(key).__name__ in message


@given(st.text(max_size=300) | st.text(URL_SAFE, max_size=300) | st.binary(max_size=200).map(lambda raw: _encoded(raw)))
def test_any_other_text_is_refused(text: str) -> None:
    for kind in KINDS:
        refuse(text, kind)


@pytest.mark.parametrize("text", [None, 5, b"AAAA", "", "A" * 11, "A" * (MAX_TEXT_CHARACTERS + 1), "A" * 10_000_000])
def test_what_is_no_text_or_too_long_is_refused(text: Any) -> None:
    refuse(text)


class Unread(str):
    """A text that notices when it is read."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        raise AssertionError("it was read")


def test_a_text_that_is_too_long_is_refused_unread() -> None:
    refuse(Unread("A" * (MAX_TEXT_CHARACTERS + 1)))
    with pytest.raises(AssertionError, match="it was read"):
        KEYS.decode(Unread("A" * MAX_TEXT_CHARACTERS), ShardKey)


NEVER_WRITTEN = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"\x00", id="no origin"),
    pytest.param(b"\x00u", id="no id"),
    pytest.param(b"\x01u", id="no shard"),
    pytest.param(b"\x00u\x63x", id="an unknown type"),
    pytest.param(b"\x00u\x00x", id="type 0"),
    pytest.param(b"\x00u\x02\x00\x05", id="an int with idle zeros"),
    pytest.param(b"\x00u\x02", id="an int without bytes"),
    pytest.param(b"\x00u\x02" + b"\x7f" * 12, id="an int out of range"),
    pytest.param(b"\x00u\x03" + bytes(15), id="a UUID of 15 bytes"),
    pytest.param(b"\x00u\x041e5", id="a Decimal in another spelling"),
    pytest.param(b"\x00u\x04x", id="a Decimal that is none"),
    pytest.param(b"\x00u\x04NaN", id="a Decimal that is no number"),
    pytest.param(b"\x00u\x05\x02", id="a bool of 2"),
    pytest.param(b"\x00u\x05\x01\x01", id="a bool of two bytes"),
    pytest.param(b"\x00u\x06" + b"\x7f" * 12, id="a datetime out of range"),
    pytest.param(b"\x00u\x07\x00", id="day 0"),
    pytest.param(b"\x00u\x08" + b"\x7f" * 20, id="a time span out of range"),
    pytest.param(b"\x00u\x09" + bytes(7), id="a float of 7 bytes"),
    pytest.param(b"\x00u\x09\x7f\xf8" + bytes(6), id="NaN"),
    pytest.param(b"\x00u\x01\xff", id="text that is not UTF-8"),
    pytest.param(b"\x00-\x01x", id="an origin that none has"),
    pytest.param(b"\x000\x01x", id="the origin of EMPTY"),
    pytest.param(b"\x01uw\x01x", id="a shard that none has"),
    pytest.param(b"\x11u" + b"0" * 17 + b"\x01x", id="a shard of 17 characters"),
    pytest.param(b"\x20u\x00\x09\x01a\x01b", id="a length beyond the end"),
    pytest.param(b"\x20u\x00\x00\x01b", id="a length of nothing"),
    pytest.param(b"\x20u\x00\x02\x01a", id="no second id"),
    pytest.param(b"\x60u\x01x", id="a format to come"),
    pytest.param(b"\xffu\x01x", id="another format to come"),
]


@pytest.mark.parametrize("payload", NEVER_WRITTEN)
def test_what_is_signed_but_never_written_is_refused(payload: bytes) -> None:
    for kind in KINDS:
        refuse(_signed(payload), kind)


def test_the_bytes_of_a_text_are_as_documented() -> None:
    assert KEYS.encode(ShardKey("u", "1", 5)) == _signed(b"\x01u1\x02\x05")
    assert KEYS.encode(ShardChild("o", "", "x", True)) == _signed(b"\x20o\x00\x02\x01x\x05\x01")
    grandchild = ShardGrandchild("o", "0a", -1, b"\xff\xfe", "é")
    assert KEYS.encode(grandchild) == _signed(b"\x42o0a\x00\x02\x02\xff\x00\x03\x0a\xff\xfe\x01\xc3\xa9")


# -- secrets ----------------------------------------------------------------------------------------------------------


@given(any_key)
def test_the_current_secret_signs_and_every_one_verifies(key: AnyKey) -> None:
    old = ExternalKeys("a", {"a": b"a" * 16})
    both = ExternalKeys("b", {"a": b"a" * 16, "b": b"b" * 200})
    new = ExternalKeys("b", {"b": b"b" * 200})
    assert both.decode(old.encode(key), type(key)) == key
    assert both.encode(key) == new.encode(key) != old.encode(key)
    assert both.decode(both.encode(key), type(key)) == key
    refuse(old.encode(key), type(key), keys=new)
    refuse(new.encode(key), type(key), keys=old)


def test_secrets_that_begin_alike_are_two() -> None:
    one, other = (ExternalKeys("a", {"a": b"x" * 64 + end}) for end in (b"1", b"2"))
    refuse(one.encode(EMPTY), keys=other)


def test_secrets_are_checked_never_shown_and_can_t_be_changed_afterwards() -> None:
    secrets = {"k1": b"1" * 32}
    keys = ExternalKeys("k1", secrets)
    assert repr(keys) == str(keys) == "ExternalKeys(current='k1', ids=['k1'])"
    secrets.clear()
    assert repr(keys) == "ExternalKeys(current='k1', ids=['k1'])"
    assert keys.encode(EMPTY) == KEYS.encode(EMPTY)
    for current, given_ in (
        ("k2", {"k1": b"1" * 32}),
        ("k1", {"k1": b"1" * 15}),
        ("", {"": b"1" * 32}),
        ("k" * 17, {"k" * 17: b"1" * 32}),
        ("k1", {"k1": b"1" * 32, "k2": b""}),
    ):
        with pytest.raises(ConfigurationError) as refused:
            ExternalKeys(current, given_)
        assert "111" not in str(refused.value)


def test_the_checksum_shows_nothing_of_the_secret() -> None:
    signed = _decoded(KEYS.encode(SAMPLES[0]))
    assert len(signed) == 1 + 1 + 1 + 1 + 21 + CHECKSUM_BYTES
    assert b"1111" not in signed


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _signed(payload: bytes) -> str:
    key = hashlib.blake2b(KEYS.secrets["k1"], digest_size=32, person=b"shardweave.key").digest()
    return _encoded(payload + hashlib.blake2b(payload, digest_size=8, key=key).digest())


TEXTS_OF_SAMPLES = [
    "AXUxAXdmNXlVXzVmNjNncWF1U09McFA1T3X1tHIEGkpH",
    "AHUCAQeS1wOekLHs",
    "AXUxBQFU6i6G3fwBlA",
    "Im8wYQAKAW9yZGVyLTEyMwIHZIcrcubECWE",
    "QWkzABEDAAAAAAAAAAAAAAAAAAAABwARAwAAAAAAAAAAAAAAAAAAAAgDAAAAAAAAAAAAAAAAAAAACSkqZUHExrnu",
    "ADABbdY3QSZK9ko",
]
