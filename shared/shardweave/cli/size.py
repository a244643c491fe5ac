"""`shardweave size`: the size of each property of a record in bytes, including generated ones, as JSON.

Sizes are those that DynamoDB counts: the attribute's name and its value. An index contains a copy of what it projects.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..schema.entity_type import EntityType
from ..table.layout import TableLayout
from ..table.values import MAX_HASH_KEY_BYTES, MAX_ITEM_BYTES, MAX_RANGE_KEY_BYTES, Value, item_bytes, value_bytes
from .console import Streams, whole_text
from .json_lines import document, parse_object
from .records import item_of
from .schemas import add_entity_arguments, entity_of, schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_entity_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the sizes of the record on standard input."""
    schema = schema_of(options)
    entity = entity_of(options, schema)
    item = item_of(entity, parse_object(whole_text(streams.stdin)))
    item |= entity.keys.build(item, entity.shard_map)
    streams.write(document(size(entity, schema.layout, item)))
    return 0


def size(entity: EntityType[Any], layout: TableLayout, item: Mapping[str, Value]) -> dict[str, Any]:
    """The sizes of a whole item."""
    total = item_bytes(item)
    kinds: dict[str, list[str]] = {"properties": [], "generated": []}
    for name in item:
        kinds["properties" if name in entity.properties else "generated"].append(name)
    limits = {}
    for key, limit in _key_limits(layout).items():
        if key in item:
            limits[key] = {"bytes": value_bytes(item[key]), "limit": limit, "percent": _percent(item[key], limit)}
    return {
        **{kind: {name: item_bytes({name: item[name]}) for name in names} for kind, names in kinds.items()},
        "keys": limits,
        "indexes": {name: count for name, count in _index_bytes(layout, item).items() if count},
        "total": total,
        "limit": MAX_ITEM_BYTES,
        "percent": _share(total, MAX_ITEM_BYTES),
    }


def _key_limits(layout: TableLayout) -> dict[str, int]:
    pairs = [layout.keys_of(None), *((index.hash_key, index.range_key) for index in layout.indexes)]
    limits = {}
    for hash_key, range_key in pairs:
        limits[hash_key.name] = MAX_HASH_KEY_BYTES
        if range_key.type != "N":
            limits[range_key.name] = MAX_RANGE_KEY_BYTES
    return limits


def _index_bytes(layout: TableLayout, item: Mapping[str, Value]) -> dict[str, int]:
    """The size of the record's copy in each index, 0 if it is not in the index."""
    found = {}
    for index in layout.indexes:
        projected = layout.projected(index.name)
        copied = {name: value for name, value in item.items() if projected is None or name in projected}
        held = index.hash_key.name in item and index.range_key.name in item
        found[index.name] = item_bytes(copied) if held else 0
    return found


def _percent(value: Value, limit: int) -> Decimal:
    return _share(value_bytes(value), limit)


def _share(count: int, limit: int) -> Decimal:
    return (Decimal(count) * 100 / limit).quantize(Decimal("0.1"))
