"""Tokens of pages that a lookup gives: where a walk along ids has come to, sealed as cursors are.

The position is an id, which may be that of a record that the caller may not see, so it never leaves plain. A token is
bound to the lookup, its value and the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..schema.entity_type import EntityType
from .cursor import CursorCodec, CursorState, Position, fingerprint_of
from .spec import Page

R = TypeVar("R")

_LOOKUP = "lookup"
_NO_MAP = 0
"""Lookups stay where they are while records move, so their cursors are of no shard map."""


@dataclass(frozen=True)
class LookupTokens:
    """`cursors` seals the tokens, and `clock` (epoch milliseconds) says when a walk begins."""

    cursors: CursorCodec
    clock: Callable[[], int]

    def opened(self, token: str | None, walk: bytes) -> CursorState:
        """What a token holds; without one, the beginning. Raises InvalidCursor, CursorMismatch, CursorExpired."""
        now = self.clock()
        return CursorState(now, _NO_MAP, None) if token is None else self.cursors.decode(token, walk, now)

    def page(
        self, read: Page[R], state: CursorState, walk: bytes, after: str | None, begins: tuple[str | None] | None
    ) -> Page[R]:
        """The page that is answered of what was read from a state on, with its tokens. It goes on after an id, None
        where nothing follows. The page before is asked for from where it `begins`: at an id, at None, which is the end
        that was reached, or not at all."""
        onward = None if after is None else self._sealed(state, after, walk)
        back = None if begins is None else self._sealed(replace(state, backwards=not state.backwards), begins[0], walk)
        page = replace(read, cursor=onward, prev_token=back)
        return page.turned() if state.backwards else page

    def _sealed(self, state: CursorState, owner: str | None, walk: bytes) -> str:
        return self.cursors.encode(replace(state, position=None if owner is None else Position(None, (owner,))), walk)


def lookup_walk(entity: EntityType[Any], name: str, values: Mapping[str, Any], scope: str) -> bytes:
    """What the tokens of a lookup's pages are bound to: everything but `limit`, as of every list. `values` are those of
    its properties by stored name."""
    stored = {each: entity.properties[each].parse(value) for each, value in values.items()}
    return fingerprint_of([_LOOKUP, entity.keys.design.key_format.name, entity.token, name, stored, scope])


def id_reached(state: CursorState) -> str | None:
    """The id that a walk has come to."""
    return None if state.position is None else str(state.position.values[0])
