"""`shardweave space`: the hash keys that a query would read, as a JSON list.

One hash key for each shard of each generation that can contain results, or for each shard of a hash key with its own
number of shards; only one for each generation if the given values determine the shard. Without `--to`, generations that
begin within the hour are included, as in queries.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigurationError, InputError, ValueRefused
from ..keys.key_design import Generated
from ..keys.sharding import READ_AHEAD_MS, placements
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.resolve import generated_keys
from ..values.codecs import TimestampCodec
from ..values.times import iso_time
from .console import Streams
from .json_lines import json_text, parse_object
from .records import values_of
from .schemas import add_entity_arguments, entity_of, schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_entity_arguments(parser)
    parser.add_argument("--hash-key", required=True, metavar="NAME", help="the table's hash key or a generated one")
    parser.add_argument("--item", default="{}", metavar="JSON", help="the properties that the query fixes")
    time = "2024-01-31, 2024-01-31T09:30:00Z, or epoch milliseconds"
    for name, destination, side in (("--from", "earliest", "later"), ("--to", "latest", "before")):
        help_text = f"records created at this time or {side}: {time}"
        parser.add_argument(name, type=moment, dest=destination, metavar="TIME", help=help_text)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the hash keys on one line."""
    entity = entity_of(options, schema_of(options))
    key = hash_key_named(entity, options.hash_key)
    latest = streams.clock() + READ_AHEAD_MS if options.latest is None else options.latest
    if options.earliest is not None and options.earliest > latest:
        raise ConfigurationError("it lies after the end of the time", where="--from", fix="give an earlier time")
    try:
        space = _space(entity, key, parse_object(options.item), options.earliest, latest)
    except InputError as error:
        where = f"--item.{error.where}" if error.where else "--item"
        raise ConfigurationError(error.message, where=where, fix=error.fix) from None
    streams.write(json_text(space))
    return 0


def moment(text: str) -> int:
    """The epoch milliseconds of a time: a day (its midnight in UTC), a date and time with a zone, or milliseconds.
    Raises ArgumentTypeError, also for seconds."""
    if re.fullmatch("-?[0-9]+", text):
        try:
            TimestampCodec("ms").encode(int(text[:20]))
        except ValueRefused as error:
            raise argparse.ArgumentTypeError(f"{error.message}; {error.fix}") from None
        return int(text)
    try:
        return iso_time(text, TimestampCodec("ms"), "")
    except ValueRefused as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.fix}") from None


def _space(
    entity: EntityType[Any], key: Generated, given: Mapping[str, Any], earliest: int | None, latest: int
) -> list[str]:
    """The hash keys, in order of generation and shard. Times are in milliseconds. Raises InputError."""
    item, keys = values_of(entity, given), entity.keys
    fixed = all(element.value_in(item) is not None for element in keys.design.shard_by)
    text = keys.shard_text(item) if fixed else None
    generations = entity.shard_map.between(
        None if earliest is None else entity.in_unit(earliest), entity.in_unit(latest)
    )
    places = placements(generations, keys.format.hash, text, key.shards)
    return [keys.hash_key(place.suffix, key.elements, item) for place in places]


def hash_key_named(entity: EntityType[Any], name: str) -> Generated:
    """A hash key by its stored or its Python name. Raises ConfigurationError."""
    design = entity.keys.design
    if name in (design.hash_name, "hash_key"):
        return Generated(design.hash_name, design.partition, sharded=True)
    model: type[Entity] = entity.model
    stored = {python_name: attribute for python_name, (attribute, _) in generated_keys(model).items()}
    sharded = {each.name: each for each in design.generated if each.sharded}
    found = sharded.get(name, sharded.get(stored.get(name, "")))
    if found is None:
        known = ", ".join((design.hash_name, *sharded))
        raise ConfigurationError(f"there is no hash key {name!r}", where="--hash-key", fix=f"use one of {known}")
    return found
