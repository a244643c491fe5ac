"""`shardweave size`: the size of each property of a record in bytes, including generated ones, as JSON.

Sizes are those that DynamoDB counts: the attribute's name and its value. An index contains a copy of what it projects.
With `--lines` there is a record in each line, and the sizes are those of all together.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..errors import ShardweaveError
from ..schema.entity_type import EntityType
from ..table.layout import TableLayout
from ..table.values import MAX_HASH_KEY_BYTES, MAX_ITEM_BYTES, MAX_RANGE_KEY_BYTES, Value, item_bytes, value_bytes
from .console import Streams, lines_of, whole_text
from .json_lines import document, objects, parse_object
from .records import item_of
from .schemas import add_entity_arguments, entity_of, schema_of

SUMMED = ("properties", "generated", "indexes")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_entity_arguments(parser)
    parser.add_argument("--lines", action="store_true", help="a record in each line: the sizes of all together")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the sizes of the record on standard input; with `--lines` 1 if any was refused."""
    schema = schema_of(options)
    entity = entity_of(options, schema)
    if options.lines:
        return _run_lines(entity, schema.layout, streams)
    streams.write(document(size(entity, schema.layout, _whole(entity, parse_object(whole_text(streams.stdin))))))
    return 0


def _run_lines(entity: EntityType[Any], layout: TableLayout, streams: Streams) -> int:
    refused: list[int] = []
    records = largest = 0
    sums: Counter[tuple[str, str]] = Counter()

    def refuse(number: int, error: ShardweaveError) -> None:
        refused.append(number)
        streams.say(f"line {number}: {error}")

    for line in objects(lines_of(streams.stdin), refuse):
        try:
            item = _whole(entity, line.values)
        except ShardweaveError as error:
            refuse(line.number, error)
            continue
        found = size(entity, layout, item)
        records, largest = records + 1, max(largest, found["total"])
        sums["", "total"] += found["total"]
        for kind in SUMMED:
            sums.update({(kind, name): count for name, count in found[kind].items()})
    parts = {kind: {name: count for (one, name), count in sums.items() if one == kind} for kind in SUMMED}
    streams.write(document({"records": records, **parts, "total": sums["", "total"], "largest": largest}))
    return 1 if refused else 0


def _whole(entity: EntityType[Any], values: Mapping[str, Any]) -> dict[str, Value]:
    item = item_of(entity, values)
    return item | entity.keys.build(item, entity.shard_map)


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
