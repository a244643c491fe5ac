"""`shardweave plan`: how many shards a number of records of a size needs, and what they carry, as JSON.

A shard space is chosen so that its fullest shard stays within DynamoDB's partition of 10 GB: the mean is kept at least
a fifth below, which is more than the unevenness of the hash up to 256 shards. Of the spaces with that many shards the
one with the fewest characters is taken. What is planned is the table; an index that projects everything needs as much.
"""

from __future__ import annotations

import argparse
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
    streams.write(document(plan(options.records, options.bytes)))
    return 0


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
