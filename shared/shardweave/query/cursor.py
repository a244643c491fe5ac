"""The cursor: the position after the last record returned, as one opaque token.

Because the order is total, one position is enough for any number of lanes, so the token's size does not grow with
shards or branches. A token is bound to its query (a fingerprint of everything but limit and deadline, the caller
included), to the shard maps it was made under, one for each entity, and to the time its walk began: its lifetime starts
there and is never extended.

Format: base64url without padding of
    version (1 byte) | length of key id (1) | key id | nonce (12) | AES-256-GCM of the body, the bytes before as
    associated data
and the body is the fingerprint (16 bytes) and a JSON list [walk's start in ms, map id, position, lagging, at end,
backwards]; several entities have a list of map ids. A position is null (the end) or [branch rank or null, values...]:
with a rank the values of the index's page key, without one the single sort value that every lane continues from, and
true where that is behind the value. Encrypted, since a position may name a record that the caller may not see. The
text must equal its own re-encoding, so that no two texts are the same cursor.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from ..errors import ConfigurationError, CursorExpired, CursorMismatch, InvalidCursor
from ..table.values import Value, number, number_text

MAX_TOKEN_CHARACTERS = 64 * 1024
DEFAULT_LIFE_MS = 24 * 60 * 60 * 1000
FINGERPRINT_BYTES = 16

_VERSION = 1
_NONCE_BYTES = 12
_START_OVER = "start again without a cursor"


@dataclass(frozen=True)
class Position:
    """A position in the order: at a record that has been read (`rank` and the `values` of its page key), or, if `rank`
    is None, between records: before all records with the sort value `values[0]`, in the query's order, or `behind`
    them."""

    rank: int | None
    values: tuple[Value, ...]
    behind: bool = False


@dataclass(frozen=True)
class Lagging:
    """Lanes that failed, and the older position that they continue from (None: their start)."""

    position: Position | None
    lanes: frozenset[int]


@dataclass(frozen=True)
class CursorState:
    """The content of a cursor. `map_ids` name the shard map of each entity. `position` None with `at_end`: only lagging
    lanes are left; without `at_end`: no lane has advanced. `backwards`: the next page is read against the query's
    order."""

    started_ms: int
    map_ids: tuple[int, ...]
    position: Position | None
    lagging: tuple[Lagging, ...] = ()
    at_end: bool = False
    backwards: bool = False


@dataclass(frozen=True)
class CursorKeys:
    """The secrets for cursors: `current` names the one that new cursors use, the others still open older ones. Each
    is at least 16 bytes."""

    current: str
    secrets: Mapping[str, bytes]

    def __post_init__(self) -> None:
        given: Any = self.secrets
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in (self.current, *given)):
            message = "cursor keys are an id, and the secrets by their ids"
            raise ConfigurationError(message, where="cursor keys", fix='give CursorKeys("2025", {"2025": secret})')
        for secret in given.values():
            if not isinstance(secret, bytes):
                message = f"a secret must be bytes, got {type(secret).__name__}"
                raise ConfigurationError(message, where="cursor keys", fix="give bytes: secrets.token_bytes(32), say")
        if self.current not in self.secrets:
            raise ConfigurationError(
                "the current cursor key is not among the keys", where="cursor keys", fix="add its secret"
            )
        for name, secret in self.secrets.items():
            if not 1 <= len(name.encode()) <= 16 or len(secret) < 16:
                raise ConfigurationError(
                    "a cursor key needs an id of 1 to 16 bytes and a secret of at least 16",
                    where="cursor keys",
                    fix="make one from 32 random bytes",
                )

    def __repr__(self) -> str:
        return f"CursorKeys(current={self.current!r}, ids={sorted(self.secrets)})"


class CursorCodec:
    """Encodes and decodes cursors. `keys` may be a function that returns them: it is called for the first cursor, and
    its exceptions are raised there. `life_ms` is the maximum duration of a walk."""

    def __init__(self, keys: CursorKeys | Callable[[], CursorKeys], life_ms: int = DEFAULT_LIFE_MS) -> None:
        self._given = keys
        self.life_ms = life_ms

    @cached_property
    def _ring(self) -> tuple[str, Mapping[str, bytes]]:
        """The id of the current key, and all keys by their ids."""
        keys = self._given if isinstance(self._given, CursorKeys) else self._given()
        return keys.current, {name: _derived(secret) for name, secret in keys.secrets.items()}

    def encode(self, state: CursorState, fingerprint: bytes) -> str:
        """The token of a state."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        current, keys = self._ring
        name = current.encode()
        header = bytes([_VERSION, len(name)]) + name + os.urandom(_NONCE_BYTES)
        body = fingerprint + _body(state)
        sealed = AESGCM(keys[current]).encrypt(header[-_NONCE_BYTES:], body, header)
        return base64.urlsafe_b64encode(header + sealed).rstrip(b"=").decode()

    def decode(self, token: str, fingerprint: bytes, now_ms: int) -> CursorState:
        """The state of a token. Raises InvalidCursor, CursorMismatch or CursorExpired."""
        body = self._open(token)
        if body[:FINGERPRINT_BYTES] != fingerprint:
            raise CursorMismatch(
                "the cursor belongs to another query, or to another caller",
                where="cursor",
                fix=f"send the same query, or {_START_OVER}",
            )
        state = _state(body[FINGERPRINT_BYTES:])
        if now_ms - state.started_ms > self.life_ms:
            raise CursorExpired("the walk began too long ago", where="cursor", fix=_START_OVER)
        return state

    def _open(self, token: str) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        refusal = InvalidCursor("the cursor was altered, or was not made here", where="cursor", fix=_START_OVER)
        if not token or len(token) > MAX_TOKEN_CHARACTERS:
            raise refusal
        try:
            sealed = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise refusal from None
        if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != token:
            raise refusal
        if len(sealed) < 2 or sealed[0] != _VERSION:
            raise refusal
        start = 2 + sealed[1]
        key = self._ring[1].get(sealed[2:start].decode(errors="replace"))
        end = start + _NONCE_BYTES
        if key is None or len(sealed) < end + FINGERPRINT_BYTES + 16:
            raise refusal
        try:
            return AESGCM(key).decrypt(sealed[start:end], sealed[end:], sealed[:end])
        except InvalidTag:
            raise refusal from None


def fingerprint_of(parts: Any) -> bytes:
    """A fingerprint of JSON-like data with native values, equal for equal data only."""
    text = json.dumps(_plain(parts), ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=FINGERPRINT_BYTES, person=b"shardweave.query").digest()


def _derived(secret: bytes) -> bytes:
    return hashlib.blake2b(secret, digest_size=32, person=b"shardweave.cur").digest()


def _body(state: CursorState) -> bytes:
    lagging = [[_position_list(each.position), sorted(each.lanes)] for each in state.lagging]
    maps = state.map_ids[0] if len(state.map_ids) == 1 else state.map_ids
    content: list[Any] = [state.started_ms, maps, _position_list(state.position)]
    if lagging or state.at_end or state.backwards:
        content += [lagging, int(state.at_end)]
    if state.backwards:
        content.append(1)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _state(body: bytes) -> CursorState:
    started, maps, position, *rest = json.loads(body)
    lagging, at_end = rest[:2] or ([], 0)
    return CursorState(
        started_ms=started,
        map_ids=tuple(maps) if isinstance(maps, list) else (maps,),
        position=_position(position),
        lagging=tuple(Lagging(_position(each), frozenset(lanes)) for each, lanes in lagging),
        at_end=bool(at_end),
        backwards=rest[2:] == [1],
    )


def _position_list(position: Position | None) -> list[Any] | None:
    if position is None:
        return None
    return [position.rank, *map(_plain, position.values), *([True] if position.behind else [])]


def _position(content: list[Any] | None) -> Position | None:
    if content is None:
        return None
    rank, *values = content
    if rank is None:
        value, *behind = values
        return Position(None, (_native(value),), bool(behind))
    return Position(rank, tuple(_native(value) for value in values))


def _plain(value: Any) -> Any:
    """JSON in which different native types have different forms."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    if isinstance(value, (int, Decimal)):
        return {"N": number_text(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"M": {name: _plain(element) for name, element in value.items()}}
    if isinstance(value, (set, frozenset)):
        return {"S": sorted((_plain(element) for element in value), key=str)}
    return [_plain(element) for element in value]


def _native(value: Any) -> Value:
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return base64.b64decode(content) if kind == "B" else number(content)
    return value
