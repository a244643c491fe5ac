"""An entity under an old and a new declaration in one table, with the programs of both."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from shardweave.database.database import Database
from shardweave.keys.key_format import ORDERED, KeyFormat, string_hash
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.values.codecs import Timestamp
from tests.unit.rekey_world import NOW, RekeyWorld

OLD, NEW = "order", "order2"
KEYS = CursorKeys("k", {"k": b"k" * 32})
CUSTOMERS = ("c0", "c1", "c2")


FOUR = (ShardBump(0, char_bits=2, chars=1),)


def order_class(
    token: str,
    *,
    elements: tuple[str, ...] = ("state", "created"),
    bumps: tuple[ShardBump, ...] = FOUR,
    **options: Any,
) -> type[Entity]:
    """A declaration of orders."""

    class Order(Entity, token=token, shard_bumps=list(bumps), **options):
        """What a customer ordered."""

        order_id: str = unique_property()
        created: Timestamp = timestamp_property()
        customer_id: str
        state: str = "open"
        total: int = 0

        customer_hash_key = HashKey("customer_id")
        place_range_key = RangeKey(*elements)

    return Order


@dataclass(frozen=True)
class Row:
    """One row of what changes: the options of both declarations, and their key formats."""

    old: dict[str, Any]
    new: dict[str, Any]
    old_format: KeyFormat = ORDERED
    new_format: KeyFormat = ORDERED


ROWS = {
    "token": Row({}, {}),
    "shard_by: of another property": Row({}, {"shard_by": "customer_id"}),
    "partition and sort": Row({}, {"partition": "customer_id", "sort": "order_id"}),
    "partition and sort, back to the id alone": Row(
        {"partition": "customer_id", "sort": "order_id"}, {"shard_by": "customer_id"}
    ),
    "shard_by: of the whole identity": Row(
        {"partition": "customer_id", "sort": "order_id"},
        {"partition": "customer_id", "sort": "order_id", "shard_by": "order_id"},
    ),
    "hash": Row({}, {}, new_format=KeyFormat("ordered", hash=string_hash)),
    "delimiters": Row({}, {}, new_format=KeyFormat("dashed", "~", "=", " ;")),
    "elements of a key": Row({}, {"elements": ("total", "state")}),
}
"""The changes of a declaration that move records."""


class EvolutionWorld(RekeyWorld):
    """Programs of both declarations. `old_store` is that of one that knows only the old one."""

    def __init__(self, row: Row, **options: Any) -> None:
        old, new = order_class(OLD, **row.old), order_class(NEW, **row.new)
        indexes = [Index("byCustomer", hash_key="customer_hash_key", range_key="place_range_key")]
        self.old_schema = Schema([old], indexes, key_format=row.old_format)
        if row.old_format == row.new_format:
            schema, form = Schema([old, new], indexes, key_format=row.new_format), {NEW: OLD}
        else:
            schema, form = Schema([new], indexes, key_format=row.new_format), {NEW: self.old_schema[OLD]}  # type: ignore[dict-item]
        super().__init__(schema, form, token=NEW, **options)
        self.old_model, self.model = old, new
        self.old_store = self.store_of_old()

    def store_of_old(self) -> Store:
        """A program that was not changed."""
        return Store(self.old_schema, self.inner, clock=self.clock)

    @staticmethod
    def values(number: int, **more: Any) -> dict[str, Any]:
        """A record of either declaration."""
        made = {"orderId": f"o{number}", "customerId": CUSTOMERS[number % 3], "total": number, "created": NOW - number}
        return {**made, **more}

    def key(self, number: int, *, old: bool = False) -> dict[str, Any]:
        """What identifies that record."""
        entity = self.old_schema[OLD] if old else self.entity
        return {name: self.values(number)[name] for name in entity.identity}

    def read_old(self, number: int) -> Any:
        """The record, as the old program reads it."""
        return self.old_store.get(self.old_model, self.key(number, old=True))

    def read(self, number: int, store: Store | None = None) -> Any:
        """The record, as the new program reads it."""
        return (store or self.new_store()).get(self.model, self.key(number))

    def listed(self, *, old: bool = False) -> list[str]:
        """The ids of all records, by the index."""
        schema, model = (self.old_schema, self.old_model) if old else (self.schema, self.model)
        store = self.old_store if old else self.new_store()
        runner = QueryRunner(schema, self.inner, KEYS, clock=self.clock, maps=store.parts.maps)
        with closing(runner):
            asked = Database.over(store, runner)
            found = [each for customer in CUSTOMERS for each in asked.records(model, customer_id=customer)]
        return sorted(each.order_id for each in found)  # type: ignore[attr-defined]

    def old_keys(self) -> list[str]:
        """The hash keys of items that begin with the old token: of records, lookups, counters."""
        keys = (str(item[self.schema.hash_key]) for item in self.items())
        return [key for key in keys if re.split("[^A-Za-z0-9]", key)[0] == OLD and "_reshard" not in key]
