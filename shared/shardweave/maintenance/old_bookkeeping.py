"""What the library keeps beside the records of an earlier declaration: the load of its shards, the control record of a
rekey that made them, which of its lookups are filled, and what parents count. It goes with the last old item, since
nothing would know it when the declaration is gone. (An earlier declaration whose records were re-sharded does not
evolve.)

While old items are left behind, some processes write them still and some do not. So the number of an item that only
one of the two has written may be counted twice: in the end each parent counts none.

Costs: a query, and a write for each item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..reshard.control import partition_key
from ..schema.entity_type import EntityType
from ..store.lookups.backfill_state import kept_names, marker_key
from ..store.relations.enforced import enforced
from ..table import Table
from ..table.conditions import Exists
from ..table.operations import Query, UpdateItem, key_of
from ..table.values import Item


def old_bookkeeping(table: Table, old: EntityType[Any]) -> Iterator[Item]:
    """The keys of these items."""
    design = old.keys.design
    query = Query(design.hash_name, partition_key(old), design.range_name, consistent=True)
    while True:
        page = table.run(query)
        yield from (key_of(table.layout.key_names, item) for item in page.items)
        if page.last_key is None:
            break
        query = replace(query, start_key=page.last_key)
    for name in kept_names(old):
        yield marker_key(old, name)


def children_left(old: EntityType[Any], item: Item) -> list[UpdateItem]:
    """The update of a parent's counter that still counts old items; none for any other item."""
    design = old.keys.design
    counter, delimiter, _ = str(item.get(design.hash_name)).partition(design.key_format.shard_delimiter)
    names = [f"{old.token}_{each.name}" for each in enforced(old) if delimiter and counter == f"{each.target}.*"]
    left = {name: 0 for name in names if item.get(name)}
    key = key_of((design.hash_name, design.range_name), item)
    return [UpdateItem(key, left, condition=Exists(design.hash_name))] if left else []
