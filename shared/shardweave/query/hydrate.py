"""Hydration: the whole records behind the keys that an index gave, in batches of 100.

A record that was deleted between the two reads is left out; one that changed is given as it is now.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import TableUnavailable
from ..table.operations import MAX_BATCH_GET, BatchGet
from ..table.values import Item
from .fanout import FanOut
from .plan import Plan

MAX_ROUNDS = 8


def hydrated(
    plan: Plan, items: Sequence[Item], fanout: FanOut, deadline: float | None, now_seconds: float
) -> list[Item | None]:
    """The whole items, in the same order, None for one that is gone. Raises DeadlineTooShort, TableError."""
    names = (plan.entity.keys.design.hash_name, plan.entity.keys.design.range_name)
    keys = [(item[names[0]], item[names[1]]) for item in items]
    found: dict[tuple[str, str], Item] = {}
    wanted = list(dict.fromkeys(keys))
    for _ in range(MAX_ROUNDS):
        chunks = [wanted[start : start + MAX_BATCH_GET] for start in range(0, len(wanted), MAX_BATCH_GET)]
        wanted = []
        reads = [BatchGet(tuple(dict(zip(names, key, strict=True)) for key in chunk)) for chunk in chunks]
        for outcome in fanout.read(reads, deadline):
            if outcome.error is not None:
                raise outcome.error
            assert outcome.answer is not None, "a read has an answer or an error"
            found |= {(item[names[0]], item[names[1]]): item for item in outcome.answer.items}
            wanted += [(key[names[0]], key[names[1]]) for key in outcome.answer.unprocessed]
        if not wanted:
            whole = [found.get(key) for key in keys]
            return [None if each is None or plan.entity.is_expired(each, now_seconds) else each for each in whole]
    raise TableUnavailable("the table leaves whole records unread", where="hydrate", fix="try again, with less load")
