"""The cursor token: what it carries, what it refuses, how long it is."""

from __future__ import annotations

import base64
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, CursorExpired, CursorMismatch, InvalidCursor
from shardweave.query.cursor import CursorCodec, CursorKeys, CursorState, Lagging, Position, fingerprint_of

KEYS = CursorKeys("k1", {"k1": b"1" * 32, "old": b"0" * 32})
CODEC = CursorCodec(KEYS, life_ms=1000)
QUERY = fingerprint_of(["query"])
STATE = CursorState(1_726_880_933_000, (0,), Position(0, ("user!1", 1_726_880_933_000, "userId#wf5yU_5f63gqauSOLpP5O")))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

values = st.one_of(
    st.text(max_size=20),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9),
    st.binary(max_size=20),
)
positions = st.one_of(
    st.builds(Position, st.integers(0, 9), st.lists(values, min_size=1, max_size=4).map(tuple)),
    st.builds(Position, st.none(), st.tuples(values), st.booleans()),
)
states = st.builds(
    CursorState,
    st.integers(0, 10**13),
    st.lists(st.integers(0, 1000), min_size=1, max_size=4).map(tuple),
    st.none() | positions,
    st.lists(st.builds(Lagging, st.none() | positions, st.frozensets(st.integers(0, 300), max_size=5)), max_size=3).map(
        tuple
    ),
    st.booleans(),
    st.booleans(),
)


@given(
    states.filter(
        lambda state: all(
            not isinstance(v, int) or abs(v) < 10**38
            for p in [state.position, *(e.position for e in state.lagging)]
            if p
            for v in p.values
        )
    )
)
def test_a_token_gives_back_its_state(state: CursorState) -> None:
    assert CODEC.decode(CODEC.encode(state, QUERY), QUERY, state.started_ms) == state


def test_every_changed_character_is_refused() -> None:
    token = CODEC.encode(STATE, QUERY)
    for place, original in enumerate(token):
        for character in (ALPHABET[(ALPHABET.index(original) + 1) % 64], ALPHABET[ALPHABET.index(original) ^ 1], "="):
            changed = token[:place] + character + token[place + 1 :]
            with pytest.raises(InvalidCursor):
                CODEC.decode(changed, QUERY, STATE.started_ms)


@pytest.mark.parametrize("change", ["", "=", "==", "\n", " ", "AA", "+", "/", "é", "\x00"])
def test_a_text_that_base64_would_forgive_is_refused(change: str) -> None:
    token = CODEC.encode(STATE, QUERY)
    for changed in (token + change, change + token, change) if change else ("",):
        with pytest.raises(InvalidCursor):
            CODEC.decode(changed, QUERY, STATE.started_ms)


@given(
    st.text(max_size=300) | st.binary(max_size=200).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="))
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor):
        CODEC.decode(text, QUERY, 0)


def test_a_token_of_another_query_and_an_old_one_are_told_apart() -> None:
    token = CODEC.encode(STATE, QUERY)
    with pytest.raises(CursorMismatch):
        CODEC.decode(token, fingerprint_of(["another"]), STATE.started_ms)
    assert CODEC.decode(token, QUERY, STATE.started_ms + 1000) == STATE
    with pytest.raises(CursorExpired):
        CODEC.decode(token, QUERY, STATE.started_ms + 1001)


def test_keys_rotate_by_id() -> None:
    token = CursorCodec(CursorKeys("old", KEYS.secrets)).encode(STATE, QUERY)
    assert CODEC.decode(token, QUERY, STATE.started_ms) == STATE
    without = CursorCodec(CursorKeys("k1", {"k1": b"1" * 32}))
    with pytest.raises(InvalidCursor):
        without.decode(token, QUERY, STATE.started_ms)


def test_keys_are_checked_and_never_shown() -> None:
    assert "1111" not in repr(KEYS)
    for current, secrets in (("k2", {"k1": b"1" * 32}), ("k1", {"k1": b"short"}), ("k" * 17, {"k" * 17: b"1" * 32})):
        with pytest.raises(ConfigurationError):
            CursorKeys(current, secrets)


def test_a_token_does_not_show_the_key_it_holds() -> None:
    token = CODEC.encode(STATE, QUERY)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    assert b"user" not in raw
    assert b"wf5yU" not in raw
    assert CODEC.encode(STATE, QUERY) != token


def test_the_token_is_at_most_200_bytes_longer_than_its_key_s_text() -> None:
    for values_ in (
        ("user!1", 1_726_880_933_000, "userId#x"),
        ("u" * 500, "f" * 1000, "r" * 1000),
        ("李" * 100, "김", "é"),
    ):
        key_bytes = sum(len(str(value).encode()) for value in values_)
        token = CODEC.encode(CursorState(STATE.started_ms, (0,), Position(0, values_)), QUERY)
        assert len(token) <= 200 + key_bytes * 4 / 3


def test_fingerprints_tell_types_apart() -> None:
    seen = [
        fingerprint_of([value]) for value in (1, "1", True, Decimal("1.5"), "1.5", b"1", None, [1], {"a": 1}, {"1"})
    ]
    assert len(set(seen)) == len(seen)
    assert fingerprint_of([2**60]) == fingerprint_of([Decimal(2**60)])


def test_keys_that_a_function_gives_are_asked_for_with_the_first_cursor_and_once() -> None:
    asked: list[CursorKeys] = []

    def give() -> CursorKeys:
        asked.append(KEYS)
        return KEYS

    codec = CursorCodec(give, life_ms=1000)
    assert asked == []
    token = codec.encode(STATE, QUERY)
    assert codec.decode(token, QUERY, STATE.started_ms) == STATE == CODEC.decode(token, QUERY, STATE.started_ms)
    assert asked == [KEYS]


def test_keys_that_can_t_be_had_are_asked_for_again() -> None:
    given: list[CursorKeys] = []

    def give() -> CursorKeys:
        if not given:
            given.append(KEYS)
            raise ConfigurationError("the secret can't be read", where="cursors")
        return KEYS

    codec = CursorCodec(give)
    with pytest.raises(ConfigurationError):
        codec.encode(STATE, QUERY)
    assert codec.decode(codec.encode(STATE, QUERY), QUERY, STATE.started_ms) == STATE
