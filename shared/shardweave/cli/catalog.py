"""`shardweave catalog`: the keys by which records can be found without a query, as JSON lines.

    {"entity": "user", "kind": "unique", "lookup": "phone", "secondaryKey": ["phone"], "shardKey": ["userId"], ...}

`secondaryKey` are the given properties, `shardKey` those that determine the shard of the record found. If a lookup
record is read, `stored` is the beginning of its hash key, and `lookupShards` the number of shards of the lookup.
"""

from __future__ import annotations

import argparse

from ..store.lookups.catalog import CatalogEntry, catalog
from .console import Streams
from .json_lines import json_text
from .schemas import add_service_arguments, schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_service_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """An entry on each line."""
    for entry in catalog(schema_of(options)):
        streams.write(json_text(_line(entry)))
    return 0


def _line(entry: CatalogEntry) -> dict[str, object]:
    line: dict[str, object] = {"entity": entry.entity, "kind": entry.kind}
    if entry.lookup is not None:
        line["lookup"] = entry.lookup
    line |= {"secondaryKey": list(entry.secondary_key), "shardKey": list(entry.shard_key)}
    if entry.stored is not None:
        line |= {"stored": entry.stored, "lookupShards": entry.lookup_shards}
    return line
