"""`shardweave plan`: the number of shards for a number of records of a size, and their capacity, as JSON.

The shard space is chosen so that its fullest shard stays within DynamoDB's partition of 10 GB: the mean is kept at
least a fifth below that, which is more than the unevenness of the hash up to 256 shards. Of the spaces with that many
shards, the one with the fewest characters is chosen. The plan is for the table; an index that projects everything needs
as much.

    shardweave plan --records 3e9 --bytes 512 --writes 2000 --index beneficiary=1e6 --index all=1

An index needs no more shards than its own writes require, however many the table has. A partition takes 1,000 write
units a second, and each hash key of the index gets the writes divided by the number of distinct values of its
properties (1 if it has none) and by its shards. A page of the index takes that many requests. The plan advises the
least power of two that leaves a fifth of the capacity free, or null (leave `shards` out) if that is not below the
table's. Writes are assumed to be spread evenly over the values; otherwise give the number of values that there would be
if all were as busy as the busiest.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigurationError
from ..keys.sharding import MAX_SHARDS, MAX_SUFFIX, ShardSpace
from ..table.values import MAX_ITEM_BYTES
from ..values.json_types import decimal_of
from .console import Streams
from .json_lines import document

PARTITION_BYTES = 10**10
PARTITION_READ_UNITS = 3000
PARTITION_WRITE_UNITS = 1000
READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
ROOM_PERCENT = 120
MOST = 10**18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--records", required=True, type=whole_number, metavar="N", help="how many, such as 3e9")
    parser.add_argument("--bytes", required=True, type=whole_number, metavar="N", help="the size of one in the table")
    parser.add_argument("--writes", type=whole_number, metavar="N", help="writes a second, for the shards of indexes")
    parser.add_argument(
        "--index", action="append", default=[], type=named_number, metavar="NAME=VALUES",
        help="an index, and how many distinct values the properties of its hash key have, 1 where it has none",
    )  # fmt: skip


def named_number(text: str) -> tuple[str, int]:
    """The name and the whole number in a text such as `beneficiary=1e6`. Raises ArgumentTypeError."""
    name, found, number = text.rpartition("=")
    if not (found and name):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no name and number; give one such as beneficiary=1e6")
    return name, whole_number(number)


def whole_number(text: str) -> int:
    """The whole number in a text such as `3e9`. Raises ArgumentTypeError."""
    number = decimal_of(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number; give one such as 3e9")
    if number > MOST:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is too large; {MOST:.0e} is the most".replace("e+", "e"))
    if number < 1 or number != number.to_integral_value():
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of 1 or more; give one such as 3e9")
    return int(number)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the plan."""
    if options.index and options.writes is None:
        message = "the shards of an index follow from its writes"
        raise ConfigurationError(message, where="--index", fix="give --writes, as many as there are in a second")
    found = plan(options.records, options.bytes)
    for name, values in options.index:
        found.setdefault("indexes", {})[name] = index_plan(found, options.writes, values)
    streams.write(document(found))
    return 0


def index_plan(table: Mapping[str, Any], writes: int, values: int) -> dict[str, Any]:
    """The figures of an index beside those of its table: its own number of shards (None for the table's), the cost of a
    page, and the size of one hash key."""
    units = -(-table["bytes"] // WRITE_UNIT_BYTES) * writes
    needed = -(-units * ROOM_PERCENT // (100 * PARTITION_WRITE_UNITS * values))
    shards = 1 << (needed - 1).bit_length()
    own = shards if shards < table["shards"] else None
    keys = values * (own or table["shards"])
    return {
        "values": values,
        "shards": own,
        "requestsPerPage": own or table["shards"],
        "recordsPerKey": -(-table["records"] // keys),
        "bytesPerKey": -(-table["storedBytes"] // keys),
        "writeUnitsPerKey": -(-units // keys),
    }


def plan(records: int, size: int) -> dict[str, Any]:
    """The figures of a table. Raises ConfigurationError if no shard space is large enough."""
    if size > MAX_ITEM_BYTES:
        message = f"a record has at most {MAX_ITEM_BYTES} bytes"
        raise ConfigurationError(message, where="--bytes", fix="give the size of one record")
    stored = records * size
    partitions = -(-stored // PARTITION_BYTES)
    space = shard_space(partitions)
    shards = space.shards
    return {
        "records": records,
        "bytes": size,
        "storedBytes": stored,
        "partitions": partitions,
        "shards": shards,
        "charBits": space.char_bits,
        "chars": space.chars,
        "recordsPerShard": -(-records // shards),
        "bytesPerShard": -(-stored // shards),
        "perShard": throughput(size, 1),
        "total": throughput(size, shards),
    }


def shard_space(partitions: int) -> ShardSpace:
    """The smallest shard space for the data of so many partitions. Raises ConfigurationError."""
    needed = 1 if partitions == 1 else -(-partitions * ROOM_PERCENT // 100)
    spaces = [ShardSpace(1, 0)]
    spaces += [
        ShardSpace(bits, chars)
        for bits in range(1, 6)
        for chars in range(1, MAX_SUFFIX + 1)
        if (1 << bits) ** chars <= MAX_SHARDS
    ]
    enough = [space for space in spaces if space.shards >= needed]
    if not enough:
        message = f"{partitions} partitions need more than {MAX_SHARDS} shards"
        raise ConfigurationError(message, where="--records", fix="plan several tables, or smaller records")
    return min(enough, key=lambda space: (space.shards, space.chars))


def throughput(size: int, shards: int) -> dict[str, int]:
    """The capacity of some shards for records of a size, in records per second."""
    write_units, read_units = -(-size // WRITE_UNIT_BYTES), -(-size // READ_UNIT_BYTES)
    return {
        "writes": shards * PARTITION_WRITE_UNITS // write_units,
        "transactionalWrites": shards * PARTITION_WRITE_UNITS // (2 * write_units),
        "reads": shards * PARTITION_READ_UNITS * 2 // read_units,
        "consistentReads": shards * PARTITION_READ_UNITS // read_units,
    }
