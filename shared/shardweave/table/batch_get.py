"""Reads of many items by their keys: requests of at most 100, until nothing is left unprocessed.

A table may leave any keys of a batch unprocessed. They are requested again after a pause; an answer that read something
resets the count of attempts. Each key is requested once, even if it is given several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .operations import MAX_BATCH_GET, BatchGet, BatchGetAnswer
from .retry import Backoff
from .values import Item, Value

Key = tuple[Value, Value]


class KeysToRead:
    """The keys that are not read yet, and the items found. `names` are the table's key attributes."""

    def __init__(self, names: tuple[str, str], keys: Iterable[Item]) -> None:
        self._names = names
        self._left = {self.key_of(key): key for key in keys}
        self.found: dict[Key, Item | None] = {}
        """The items by their keys, None for an item that does not exist; keys that are not read yet are not in it."""

    def key_of(self, item: Item) -> Key:
        """The key of an item."""
        return item[self._names[0]], item[self._names[1]]

    @property
    def left(self) -> int:
        """The number of keys that are not read yet."""
        return len(self._left)

    def requests(self, *, consistent: bool) -> list[BatchGet]:
        """The requests that read the remaining keys."""
        keys = list(self._left.values())
        chunks = (keys[start : start + MAX_BATCH_GET] for start in range(0, len(keys), MAX_BATCH_GET))
        return [BatchGet(tuple(chunk), consistent=consistent) for chunk in chunks]

    def take(self, request: BatchGet, answer: BatchGetAnswer) -> bool:
        """Add the items of an answer. Returns whether anything was read."""
        unprocessed = {self.key_of(key) for key in answer.unprocessed}
        read = [key for key in map(self.key_of, request.keys) if key not in unprocessed]
        self.found |= dict.fromkeys(read)
        self.found |= {self.key_of(item): item for item in answer.items}
        for key in read:
            self._left.pop(key, None)
        return bool(read)


def read_in_turn(keys: KeysToRead, ask: Callable[[BatchGet], BatchGetAnswer | None], pauses: Backoff) -> bool:
    """Read keys request by request, consistently. `ask` returns None if there was no answer. False if there are no
    retries left and not everything was read."""
    while keys.left:
        request = keys.requests(consistent=True)[0]
        answer = ask(request)
        progress = answer is not None and keys.take(request, answer)
        if progress:
            pauses.progress()
        complete = answer is not None and not answer.unprocessed
        if not complete and not pauses.pause():
            return False
    return True
