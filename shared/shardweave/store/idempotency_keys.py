"""Idempotency keys and the answers that are stored under them, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError
from ..schema.entity import Entity

DAY_SECONDS = 86_400
MAX_KEY_CHARACTERS = 255

Answer = Callable[[tuple[Entity | None, ...]], bytes]
"""The answer to a write, from the records that it leaves (None for deletes and checks). Pure: it is called for every
attempt."""


@dataclass(frozen=True)
class IdempotencyKey:
    """The identity of a request. `scope` is the owner of the key (tenant and principal); `fingerprint` identifies the
    request's content, and may be the content itself; the key is kept for `seconds`."""

    key: str
    scope: str
    fingerprint: bytes
    seconds: int = DAY_SECONDS

    def __post_init__(self) -> None:
        for name, kind, wanted in _KINDS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind):
                message = f"must be {wanted}, got {type(value).__name__}"
                raise InputError(message, where=f"IdempotencyKey({name}=...)", fix="give that")
        if self.seconds < 1:
            raise InputError(
                "must be at least 1", where="IdempotencyKey(seconds=...)", fix="give more, or leave it out"
            )


_KINDS: tuple[tuple[str, type, str], ...] = (
    ("key", str, "a text"),
    ("scope", str, "a text"),
    ("fingerprint", bytes, "bytes"),
    ("seconds", int, "a whole number"),
)


@dataclass(frozen=True)
class KeptAnswer:
    """A stored answer, and whether it is that of an earlier request."""

    answer: bytes
    repeated: bool
