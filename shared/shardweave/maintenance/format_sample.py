"""Which key format a table's records are written in, by a sample of them.

By another format than the one that they are written in, nearly every record looks damaged, and its repair would write
keys that no other process finds. So what writes generated keys anew looks at some records first. Damage makes keys that
no format gives: it never counts for another one.

Costs: a page of each segment of the table, at most `ROUNDS` times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ShardweaveError
from ..keys.sharding import ShardMap
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..store.parts import StoreParts
from ..table.values import Item
from .walk import PAGE, Pace, Walk, table_lanes

ROUNDS = 3
ENOUGH = 200
"""So many records whose keys differ by format are a sample."""


def stored_formats(parts: StoreParts, others: Mapping[str, Schema], *, rate: float = 0, page: int = PAGE) -> list[str]:
    """Those of the `others`, the same schema in other key formats, by which nearly all records of a table are written
    that are not written by the format of `parts`; empty if it is that one, or can't be told."""
    first = next(iter(parts.schema.entities.values()))
    counted = _Counted()
    walk = Walk(Asking(parts.table, parts.waiting), first, table_lanes(), lambda items: items, page=page, rate=rate)
    pace = Pace(rate, parts.waiting)
    for number, results in enumerate(walk.rounds(), 1):
        for items in results:
            _count(parts, others, items, counted)
        if number == ROUNDS or max(counted.telling.values(), default=0) >= ENOUGH:
            break
        pace.did(walk.read)
    found = [name for name in others if counted.is_of(name)]
    most = max((counted.of[name] for name in found), default=0)
    return [name for name in found if counted.of[name] == most]


class _Counted:
    """By format: the records whose keys tell it from the given one, those that have its keys, and those that have the
    keys of the given one."""

    def __init__(self) -> None:
        self.telling, self.of, self.own = Counter[str](), Counter[str](), Counter[str]()

    def is_of(self, name: str) -> bool:
        return 2 * self.of[name] > self.telling[name] and self.of[name] > 9 * self.own[name]


def _count(parts: StoreParts, others: Mapping[str, Schema], items: Sequence[Item], counted: _Counted) -> None:
    for item in items:
        entity = parts.schema.entity_of_key(str(item[parts.schema.hash_key]))
        if entity is None:
            continue
        shard_map = parts.moment_of(entity).shard_map
        own = _keys(entity, item, shard_map)
        for name, schema in others.items():
            other = _keys(schema.entities[entity.token], item, shard_map)
            if own is None or other is None or own == other:
                continue
            counted.telling[name] += 1
            counted.of[name] += _has(item, other)
            counted.own[name] += _has(item, own)


def _keys(entity: EntityType[Any], item: Item, shard_map: ShardMap) -> Item | None:
    """The generated properties of a record in a format; None if it can't have any."""
    properties = {name: item[name] for name in entity.properties if item.get(name) is not None}
    try:
        return entity.keys.build(properties, shard_map)
    except ShardweaveError:
        return None


def _has(item: Item, keys: Item) -> bool:
    return all(item.get(name) == text for name, text in keys.items())
