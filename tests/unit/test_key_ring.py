"""Key rings: their text, and that a turn never makes anything with a key that others do not know yet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError
from shardweave.keys.shard_key.external import ExternalKeys
from shardweave.keys.shard_key.key_ring import KeyRing, decode_key_ring, encode_key_ring
from shardweave.query.cursor import CursorKeys

SECRET = b"0123456789abcdef0123456789abcdef"
MADE_BY_INFRASTRUCTURE = "a1B2" * 16


def ring_after(turns: int, keep: int | None) -> KeyRing:
    ring = decode_key_ring(MADE_BY_INFRASTRUCTURE)
    for number in range(turns):
        ring = ring.turned(f"turn {number}", bytes([number % 256]) * 32, keep=keep)
    return ring


def test_a_ring_begins_with_a_text_at_random() -> None:
    ring = decode_key_ring(MADE_BY_INFRASTRUCTURE)
    assert (ring.current, list(ring.secrets)) == ("k1", ["k1"])
    assert decode_key_ring(encode_key_ring(ring)) == ring


@given(st.integers(0, 30), st.sampled_from([None, 0, 1, 3]))
def test_every_ring_comes_back_from_its_text(turns: int, keep: int | None) -> None:
    ring = ring_after(turns, keep)
    assert decode_key_ring(encode_key_ring(ring)) == ring


@given(st.integers(0, 30), st.sampled_from([None, 0, 1, 3]))
def test_what_is_made_with_a_ring_was_known_a_turn_before_and_is_known_a_turn_later(
    turns: int, keep: int | None
) -> None:
    before, now = ring_after(turns, keep), ring_after(turns + 1, keep)
    assert now.secrets[now.current] == before.secrets[now.current]
    if keep != 0:
        assert now.secrets[before.current] == before.secrets[before.current]


def test_the_first_turn_only_adds_a_key_and_the_next_takes_it_into_use() -> None:
    first, second = ring_after(1, keep=1), ring_after(2, keep=1)
    assert (first.current, list(first.secrets)) == ("k1", ["k1", "k2"])
    assert (second.current, list(second.secrets)) == ("k2", ["k1", "k2", "k3"])


def test_retired_keys_go_when_only_some_are_kept_and_no_name_is_given_twice() -> None:
    ring = ring_after(6, keep=1)
    assert (ring.current, list(ring.secrets)) == ("k6", ["k5", "k6", "k7"])


def test_all_retired_keys_stay_when_they_are_kept_for_ever() -> None:
    assert list(ring_after(6, keep=None).secrets) == [f"k{number}" for number in range(1, 8)]


def test_the_same_turn_again_changes_nothing() -> None:
    ring = ring_after(3, keep=1)
    assert ring.turned(ring.turn, SECRET, keep=1) == ring


def test_a_ring_with_names_of_its_own_can_be_turned() -> None:
    ring = KeyRing("local", {"local": SECRET}).turned("t", SECRET, keep=1).turned("u", SECRET, keep=1)
    assert (ring.current, list(ring.secrets)) == ("k2", ["local", "k2", "k3"])


def test_cursors_and_external_keys_take_what_is_in_a_ring() -> None:
    ring = ring_after(3, keep=None)
    assert CursorKeys(ring.current, ring.secrets).current == "k3"
    assert ExternalKeys(ring.current, ring.secrets).current == "k3"


@pytest.mark.parametrize(
    "text",
    ["", "short", "-" * 40, "[]", "{}", '{"current": "a", "secrets": {}}', '{"current": "a", "secrets": {"a": 5}}'],
)
def test_a_text_that_is_no_ring_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        decode_key_ring(text, where="cursor keys")
    assert caught.value.where == "cursor keys"
    assert not text or text not in caught.value.message


def test_a_ring_does_not_show_its_secrets() -> None:
    assert "0123" not in repr(KeyRing("a", {"a": SECRET}))
