"""What the library keeps beside the records of an earlier declaration: the load of its shards, the control record of a
rekey that made them, and which of its lookups are filled. It goes with the last old item, since nothing would know it
when the declaration is gone. (An earlier declaration whose records were re-sharded does not evolve.)

Costs: a query, and a write for each item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..reshard.control import partition_key
from ..schema.entity_type import EntityType
from ..store.lookups.backfill_state import kept_names, marker_key
from ..table import Table
from ..table.operations import Query, key_of
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
