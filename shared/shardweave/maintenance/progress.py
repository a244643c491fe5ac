"""The progress of long work, stored as a record in the table, from which any process can continue.

Format, one record for each piece of work:
    hashKey    _maintenance!          no entity's token begins so, so no query meets it
    rangeKey   rewrite#user           what the work is, and of which entity where it is of one
    state      {...}                  the work's own, see there
    rev        a revision, new with every change

What was done with another declaration is not gone on with: a work that depends on it keeps a digest of it (`of`).

Every change is one put on condition of the revision that was seen. So of two processes that do the same work one stops,
with a Conflict. For a process that may not write to the table, the progress is not stored.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors import AccessDenied, Conflict
from ..schema.entity_type import REVISION
from ..schema.schema import Schema
from ..store.parts import StoreParts
from ..store.relations.deletion_work import PARTITION, STATE
from ..store.writing.write_actions import as_read
from ..table.conditions import Condition, Missing
from ..table.operations import Action, DeleteItem, PutItem
from ..table.values import Item, Value


def declared(*parts: object) -> str:
    """A digest of a declaration: of texts that say all that a work depends on, and of classes and functions as they are
    written in a file; of those that are in none, the name alone."""
    told = [part if isinstance(part, str) else _written(part) for part in parts]
    return hashlib.blake2b(repr(told).encode(), digest_size=12).hexdigest()


def _written(part: Any) -> list[str]:
    classes = part.__mro__ if isinstance(part, type) else (part,)
    return [
        _source(each) for each in classes if str(getattr(each, "__module__", "")).partition(".")[0] not in _LIBRARIES
    ]


_getsource = lru_cache(maxsize=256)(inspect.getsource)


def _source(part: Any) -> str:
    try:
        return _getsource(part)
    except (OSError, TypeError):
        return str(getattr(part, "__qualname__", type(part).__qualname__))


def progress_key(schema: Schema, name: str) -> dict[str, Value]:
    """The key of a piece of work's record."""
    return {schema.hash_key: f"{PARTITION}{schema.key_format.shard_delimiter}", schema.range_key: name}


_LIBRARIES = (__name__.partition(".")[0], "builtins", "pydantic", "typing", "abc")
"""Whose classes are no part of a declaration."""


@dataclass
class Progress:
    """The progress record of one piece of work, as this process read it last."""

    parts: StoreParts
    name: str
    kept: bool = True
    _seen: Item | None = field(default=None, init=False)

    def read(self) -> Mapping[str, Any] | None:
        """The progress that was saved last, None if there is none."""
        (self._seen,) = self.parts.reader.items([self._key])
        state = None if self._seen is None else self._seen.get(STATE)
        return state if isinstance(state, Mapping) else None

    def sound(self, check: Callable[[Mapping[str, Any]], object]) -> Mapping[str, Any]:
        """The same; empty if there is none, or if `check` fails for it, since another program has written it: then the
        work begins anew."""
        saved = self.read() or {}
        try:
            check(saved)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return {}
        return saved

    def save(self, state: Mapping[str, Any]) -> None:
        """Save the progress. Raises Conflict if another process has saved meanwhile."""
        rev = self.parts.context.new_revision()
        item = {**self._key, STATE: dict(state), REVISION: rev}
        if self._sent(lambda seen: PutItem(item, seen, return_on_failure=True), rev):
            self._seen = item

    def clear(self) -> None:
        """Delete the record after the work is done. Raises Conflict if another process has saved meanwhile."""
        if self._seen is not None and self._sent(lambda seen: DeleteItem(self._key, seen, return_on_failure=True), ""):
            self._seen = None

    @property
    def _key(self) -> dict[str, Value]:
        return progress_key(self.parts.schema, self.name)

    def _sent(self, action: Callable[[Condition], Action], rev: str) -> bool:
        if not self.kept:
            return False
        seen = Missing(self.parts.schema.hash_key) if self._seen is None else as_read(self._seen)
        try:
            refusal = self.parts.sender.send([action(seen)])
        except AccessDenied:
            self.kept = False
            return False
        if refusal is not None and (refusal.reasons[0].item or {}).get(REVISION) != rev:
            raise Conflict(
                "another process does the same work",
                where=self.name,
                fix="let it end, or stop it; this one has changed nothing since",
            )
        return True
