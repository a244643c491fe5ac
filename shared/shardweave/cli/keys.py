"""`shardweave keys`: records in, the same records with their generated properties out.

    echo '{"userId": "u1", "created": 1726880933000}' | shardweave keys --entity user

The clock is not used: a record's creation time may be in the future.
"""

from __future__ import annotations

import argparse

from ..errors import ShardweaveError
from .console import Streams, lines_of
from .json_lines import json_text, objects
from .records import item_of
from .schemas import add_entity_arguments, entity_of, schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_entity_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print each line of standard input with its keys; 1 if any was refused."""
    entity = entity_of(options, schema_of(options))
    refused = 0

    def refuse(number: int, error: ShardweaveError) -> None:
        nonlocal refused
        refused += 1
        streams.say(f"line {number}: {error}")

    for line in objects(lines_of(streams.stdin), refuse):
        try:
            item = item_of(entity, line.values)
            completed = item | entity.complete(item)
        except ShardweaveError as error:
            refuse(line.number, error)
        else:
            streams.write(json_text(completed))
    return 1 if refused else 0
