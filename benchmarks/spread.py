"""How evenly ids fall into shards: the fullest shard over the mean, for both hashes and several kinds of ids.

Ids are made with a fixed seed, so that every run counts the same ones.
"""

from __future__ import annotations

import random
import string
import uuid
from collections import Counter
from collections.abc import Callable, Iterator

from benchmarks.tables import Table
from shardweave.keys.key_format import crc32, string_hash

TITLE = "Spread of ids over shards"
IDS = 100_000
SHARDS = (4, 8, 16, 32, 64, 128, 256)
HASHES: dict[str, Callable[[str], int]] = {"CRC-32": crc32, "string-hash": string_hash}

_URL_SAFE = string.ascii_letters + string.digits + "-_"
_FIRST = ("ana", "ben", "chloé", "dmitri", "eun", "fatima", "george", "hana", "ivan", "josé", "kim", "李", "mia")
_LAST = ("almeida", "brown", "chen", "dubois", "evans", "fischer", "garcía", "haddad", "ito", "jansen", "kowalski")
_DOMAINS = ("example.com", "example.org", "mail.example.net")


def nanoids(count: int) -> Iterator[str]:
    """21 random URL-safe characters."""
    chance = random.Random(1)
    return ("".join(chance.choices(_URL_SAFE, k=21)) for _ in range(count))


def uuids_4(count: int) -> Iterator[str]:
    """Random UUIDs."""
    chance = random.Random(2)
    return (str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(count))


def uuids_7(count: int) -> Iterator[str]:
    """UUIDs that begin with the time: a few each millisecond, the rest random."""
    chance = random.Random(3)
    moment = 1_726_880_933_000
    for _ in range(count):
        moment += chance.choice((0, 0, 1, 2))
        rest = chance.getrandbits(12) << 64 | chance.getrandbits(62)
        yield str(uuid.UUID(int=moment << 80 | 0x7 << 76 | 0b10 << 62 | rest))


def numbers(count: int) -> Iterator[str]:
    """Sequential numbers of a fixed width."""
    return (f"{number:012d}" for number in range(count))


def numbered_names(count: int) -> Iterator[str]:
    """Names with a number behind."""
    return (f"customer-{number}" for number in range(count))


def addresses(count: int) -> Iterator[str]:
    """E-mail addresses of people of many names at a few providers."""
    for number in range(count):
        first, last = _FIRST[number % len(_FIRST)], _LAST[number // len(_FIRST) % len(_LAST)]
        yield f"{first}.{last}{number // 1000}{number % 7}@{_DOMAINS[number % 3]}"


KINDS: dict[str, Callable[[int], Iterator[str]]] = {
    "nanoid": nanoids,
    "UUID v4": uuids_4,
    "UUID v7": uuids_7,
    "number, 12 digits": numbers,
    "numbered name": numbered_names,
    "e-mail": addresses,
}


def unevenness(hashes: list[int], shards: int) -> float:
    """The records in the fullest shard over the mean."""
    return max(Counter(hashed % shards for hashed in hashes).values()) * shards / len(hashes)


def empty(hashes: list[int], shards: int) -> int:
    """The shards that nothing falls into."""
    return shards - len({hashed % shards for hashed in hashes})


def run(ids: int = IDS) -> list[Table]:
    """A table for each hash."""
    tables = []
    for name, hash_of in HASHES.items():
        rows: list[list[object]] = []
        for kind, make in KINDS.items():
            hashes = [hash_of(text) for text in make(ids)]
            rows.append([kind, *(unevenness(hashes, shards) for shards in SHARDS), empty(hashes, SHARDS[-1])])
        tables.append(
            Table(
                f"{name}: fullest shard over the mean, {ids:,} ids",
                ["ids", *(f"{shards} shards" for shards in SHARDS), f"empty of {SHARDS[-1]}"],
                rows,
            )
        )
    return tables
