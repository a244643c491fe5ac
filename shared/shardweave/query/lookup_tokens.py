"""Tokens of the pages of a lookup: the position of a walk along ids, encrypted like cursors.

The position is an id, which may be that of a record that the caller may not see, so clients never get it in plain text.
A token is bound to the lookup, its value and the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..schema.entity_type import EntityType
from .cursor import CursorCodec, CursorState, Position, fingerprint_of
from .spec import Page

R = TypeVar("R")

_LOOKUP = "lookup"
_NO_MAP = (0,)
"""Lookup records are not moved by re-shards, so their cursors don't depend on a shard map."""


@dataclass(frozen=True)
class LookupTokens:
    """`cursors` seals the tokens, and `clock` (epoch milliseconds) says when a walk begins."""

    cursors: CursorCodec
    clock: Callable[[], int]

    def opened(self, token: str | None, walk: bytes) -> CursorState:
        """The state in a token; without a token, the beginning. Raises InvalidCursor, CursorMismatch, CursorExpired."""
        now = self.clock()
        return CursorState(now, _NO_MAP, None) if token is None else self.cursors.decode(token, walk, now)

    def page(
        self, read: Page[R], state: CursorState, walk: bytes, after: str | None, begins: tuple[str | None] | None
    ) -> Page[R]:
        """The page, with its tokens, of the records read from a state on. The next page continues after an id, or is
        None if nothing follows. The page before is read from where this page `begins`: an id, None for the end that was
        reached, or no such page."""
        onward = None if after is None else self._sealed(state, after, walk)
        back = None if begins is None else self._sealed(replace(state, backwards=not state.backwards), begins[0], walk)
        page = replace(read, cursor=onward, prev_token=back)
        return page.turned() if state.backwards else page

    def _sealed(self, state: CursorState, owner: str | None, walk: bytes) -> str:
        return self.cursors.encode(replace(state, position=None if owner is None else Position(None, (owner,))), walk)


def lookup_walk(
    entity: EntityType[Any], name: str, stored: Mapping[str, Any], scope: str, more: Sequence[Any] = ()
) -> bytes:
    """The fingerprint that the tokens of a lookup's pages are bound to: everything except `limit`, as for every list.
    `stored` are the values of the lookup's properties in stored form, `more` is what else is asked."""
    return fingerprint_of([_LOOKUP, entity.keys.design.key_format.name, entity.token, name, dict(stored), scope, *more])


def id_reached(state: CursorState) -> str | None:
    """The id of the last record that a walk has reached."""
    return None if state.position is None else str(state.position.values[0])
