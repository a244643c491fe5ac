"""`shardweave plan`: how many shards a number of records of a size needs, and what they carry, as JSON.

A shard space is chosen so that its fullest shard stays within DynamoDB's partition of 10 GB: the mean is kept at least
a fifth below, which is more than the unevenness of the hash up to 256 shards. Of the spaces with that many shards the
one with the fewest characters is taken. What is planned is the table; an index that projects everything needs as much.

    shardweave plan --records 3e9 --bytes 512 --writes 2000 --index beneficiary=1e6 --index all=1

An index needs no more shards of its own than its writes do, whatever the table has: a partition takes 1,000 write units
a second, and each of its hash keys gets the writes divided by the distinct values of its properties (1 where it has
none) and by its shards. A page by it takes that many requests. The least power of two is advised that keeps a fifth
free; null, to leave `shards` out, where that is no fewer than the table has. Values are taken to be written evenly: of
ones that are not, give how many there would be if all were as busy as the busiest.
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
    """`beneficiary=1e6` is a name and a whole number. Raises ArgumentTypeError."""
    name, found, number = text.rpartition("=")
    if not (found and name):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no name and number; give one such as beneficiary=1e6")
    return name, whole_number(number)


def whole_number(text: str) -> int:
    """`3e9` is a whole number. Raises ArgumentTypeError."""
    number = decimal_of(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number; give one such as 3e9")
    if number > MOST:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is too large; {MOST:.0e} is the most".replace("e+", "e"))
    if number < 1 or number != number.to_integral_value():
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of 1 or more; give one such as 3e9")
    return int(number)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """The plan."""
    if options.index and options.writes is None:
        message = "the shards of an index follow from its writes"
        raise ConfigurationError(message, where="--index", fix="give --writes, as many as there are in a second")
    found = plan(options.records, options.bytes)
    for name, values in options.index:
        found.setdefault("indexes", {})[name] = index_plan(found, options.writes, values)
    streams.write(document(found))
    return 0


def index_plan(table: Mapping[str, Any], writes: int, values: int) -> dict[str, Any]:
    """What an index needs beside the figures of its table: the shards of its own, None for the table's, and what a page
    by it costs and one of its hash keys holds."""
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
    """The figures. Raises ConfigurationError for what no shard space carries."""
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
    """The smallest space for that many partitions' data. Raises ConfigurationError."""
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
    """What some shards carry each second, of records of that size."""
    write_units, read_units = -(-size // WRITE_UNIT_BYTES), -(-size // READ_UNIT_BYTES)
    return {
        "writes": shards * PARTITION_WRITE_UNITS // write_units,
        "transactionalWrites": shards * PARTITION_WRITE_UNITS // (2 * write_units),
        "reads": shards * PARTITION_READ_UNITS * 2 // read_units,
        "consistentReads": shards * PARTITION_READ_UNITS // read_units,
    }
