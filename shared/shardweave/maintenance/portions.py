"""Old items in as many portions as transactions are needed to delete them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..table.operations import MAX_TRANSACTION_ACTIONS
from ..table.values import Item, item_bytes

MOST_BYTES = 3 * 1024 * 1024
"""The most that the items of a portion have together."""


def portions(olds: Sequence[tuple[Item, Item]]) -> Iterator[list[tuple[Item, Item]]]:
    """The portions of old items, each with its image. One action of a transaction is left free."""
    portion: list[tuple[Item, Item]] = []
    size = 0
    for old, image in olds:
        if portion and (len(portion) == MAX_TRANSACTION_ACTIONS - 1 or size + item_bytes(old) > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append((old, image))
        size += item_bytes(old)
    if portion:
        yield portion
