"""Shards: shard spaces, bumps, generations, shard maps, and the hash keys that a query must read.

A record's shard is a pure function of a text (its `shard_by`) and the time it was created: the last bump at or before
that time gives the generation, `hash(text) mod shards` the shard, written in base `2**char_bits` with `chars` digits
of `0-9a-v`. Because `chars` grows strictly from bump to bump, two generations never share a hash key.

A generated hash key may be spread over fewer shards than the table, at most k, a power of two: a record's shard there
is the number of its shard modulo k, in the base and width of its generation. So two generations still never share an
index key, and the number can be computed from the stored hash key and the map.

The hash keys to read are those of all generations that can hold matching records. Clocks differ, so a generation that
begins up to an hour from now counts as begun for readers, and for the checks of a create.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import datetime as dt

MAX_SHARDS = 2**20
MAX_SUFFIX = 16
"""The maximum number of characters of a suffix, which every sharded key reserves."""
MAX_LISTED_BITS = 12
"""The number of bits up to which the first, and the last, characters of suffixes are kept in a list."""
READ_AHEAD_MS = 60 * 60 * 1000
"""Generations that begin within this time are read already."""
WRITE_AHEAD_MS = 5 * 60 * 1000
"""The maximum time by which a record's timestamp may be ahead of the writer's clock."""

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
SUFFIX = f"[{_DIGITS}]{{0,{MAX_SUFFIX}}}"
"""The pattern of a shard suffix."""
_is_suffix = re.compile(SUFFIX).fullmatch


@dataclass(frozen=True)
class ShardSpace:
    """All suffixes of one width. `chars=0` is one shard with an empty suffix."""

    char_bits: int
    chars: int

    @property
    def shards(self) -> int:
        return int((1 << self.char_bits) ** self.chars)

    @cached_property
    def hash_bits(self) -> int:
        """The number of low bits of a hash that determine the shard."""
        return self.char_bits * self.chars

    def suffix(self, shard: int) -> str:
        """The suffix of a shard number, 0 to shards - 1."""
        mask = (1 << self.char_bits) - 1
        return "".join(_DIGITS[shard >> self.char_bits * position & mask] for position in range(self.chars - 1, -1, -1))

    def suffix_of(self, hashed: int) -> str:
        """The suffix of the shard of a hash."""
        shards, low_bits, high, low = self._halves
        shard = hashed % shards
        if not low_bits:
            return high[shard]
        return high[shard >> low_bits] + low[shard & len(low) - 1]

    def suffix_within(self, hashed: int, most: int) -> str:
        """The suffix of a hash in an index with a maximum number of shards, a power of two."""
        return self.suffix_of(hashed % most)

    def shards_within(self, most: int | None) -> int:
        """The number of shards in an index with a maximum, or, with None, the number of the table's shards."""
        return self.shards if most is None else min(self.shards, most)

    def shard_of(self, suffix: str) -> Shard | None:
        """The shard with a suffix; None if the space has none."""
        digits = [_DIGITS.find(digit) for digit in suffix]
        if len(digits) != self.chars or not all(0 <= digit < 1 << self.char_bits for digit in digits):
            return None
        number = 0
        for digit in digits:
            number = number << self.char_bits | digit
        return Shard(self, number)

    @cached_property
    def _halves(self) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
        """The number of shards, the bits of the last characters of a suffix, all first ones, and all last ones."""
        low = max(0, self.chars - MAX_LISTED_BITS // self.char_bits)
        first, last = ShardSpace(self.char_bits, self.chars - low), ShardSpace(self.char_bits, low)
        return self.shards, low * self.char_bits, tuple(first.suffixes()), tuple(last.suffixes())

    def suffixes(self) -> Iterator[str]:
        """Every suffix, in shard order, which is also their sort order."""
        return (self.suffix(shard) for shard in range(self.shards))


@dataclass(frozen=True)
class Shard:
    """One shard of a space, which gives a record's suffixes instead of its hash."""

    space: ShardSpace
    number: int

    @property
    def hash_bits(self) -> int:
        """Zero, since the shard does not depend on a hash."""
        return 0

    @property
    def suffix(self) -> str:
        """The suffix in the table's hash key."""
        return self.space.suffix_of(self.number)

    def suffix_of(self, hashed: int) -> str:
        """As `suffix`, whatever the hash is."""
        return self.space.suffix_of(self.number)

    def suffix_within(self, hashed: int, most: int) -> str:
        """The suffix in an index that has at most so many shards, whatever the hash is."""
        return self.space.suffix_of(self.number % most)


def is_suffix(text: str) -> bool:
    """Whether a text can be a shard suffix."""
    return _is_suffix(text) is not None


@dataclass(frozen=True)
class ShardBump:
    """Records created at or after `timestamp` use this shard space. In a declaration it is a datetime with its zone, or
    a number in the unit of the entity's timestamp property, 0 for all time; elsewhere it is that number."""

    timestamp: int
    char_bits: int
    chars: int

    if TYPE_CHECKING:

        def __init__(self, timestamp: dt.datetime | int, char_bits: int, chars: int) -> None: ...

    @property
    def space(self) -> ShardSpace:
        return ShardSpace(self.char_bits, self.chars)


@dataclass(frozen=True)
class Generation:
    """A shard space with its range of record timestamps: `begins <= t < ends` (None: open)."""

    space: ShardSpace
    begins: int
    ends: int | None


@dataclass(frozen=True)
class ShardMap:
    """The generations in force of an entity. `id` is stored in cursors: a re-shard changes it, a bump does not.
    `version` grows with every started re-shard."""

    generations: tuple[Generation, ...]
    id: int = 0
    version: int = 0

    @classmethod
    def of_bumps(cls, bumps: tuple[ShardBump, ...], map_id: int = 0, version: int = 0) -> ShardMap:
        """The map of a declaration. Bumps must be in order; a zero-time bump of one shard is added when missing."""
        if not bumps or bumps[0].timestamp > 0:
            bumps = (ShardBump(0, 1, 0), *bumps)
        ends = [bump.timestamp for bump in bumps[1:]]
        generations = (
            Generation(bump.space, bump.timestamp, end) for bump, end in zip(bumps, [*ends, None], strict=True)
        )
        return cls(tuple(generations), map_id, version)

    @property
    def bumps(self) -> tuple[ShardBump, ...]:
        """The bumps of the generations: the inverse of `of_bumps`."""
        return tuple(ShardBump(each.begins, each.space.char_bits, each.space.chars) for each in self.generations)

    def shard_of(self, suffix: str) -> Shard | None:
        """The shard with a suffix; None if no generation has it. The suffixes of different generations have different
        lengths."""
        found = (each.space.shard_of(suffix) for each in self.generations)
        return next((shard for shard in found if shard is not None), None)

    @cached_property
    def sole(self) -> Generation | None:
        """The generation, when there is only one."""
        return self.generations[0] if len(self.generations) == 1 else None

    def generation_of(self, timestamp: int) -> Generation:
        """The last generation that begins at or before `timestamp`."""
        return self.generations[bisect_right(self._later, timestamp)]

    @cached_property
    def _later(self) -> list[int]:
        """The begin of each generation except the first."""
        return [generation.begins for generation in self.generations[1:]]

    def between(self, earliest: int | None, latest: int | None) -> tuple[Generation, ...]:
        """The generations that can hold a record with a timestamp in the closed window; None leaves a side open."""
        return tuple(
            generation
            for generation in self.generations
            if (latest is None or generation.begins <= latest)
            and (earliest is None or generation.ends is None or generation.ends > earliest)
        )

    def begun(self, now: int, unit: Literal["ms", "s"] = "ms") -> tuple[Generation, ...]:
        """The generations that reads and the check of a create must include at `now`."""
        ahead = READ_AHEAD_MS if unit == "ms" else READ_AHEAD_MS // 1000
        return self.between(None, now + ahead)


@dataclass(frozen=True)
class Placement:
    """The possible shards of a shard text: one suffix in each of some generations."""

    generation: Generation
    suffix: str


def placements(
    generations: tuple[Generation, ...],
    hash_text: Callable[[str], int],
    shard_text: str | None,
    most: int | None = None,
) -> Iterator[Placement]:
    """Every (generation, suffix) to read, in order of generation and shard: one for each generation if the query
    determines `shard_by`, otherwise all. With `most`, those of an index with a maximum number of shards."""
    hashed = None if shard_text is None else hash_text(shard_text)
    for generation in generations:
        space = generation.space
        if hashed is not None:
            yield Placement(generation, space.suffix_of(hashed % space.shards_within(most)))
            continue
        for shard in range(space.shards_within(most)):
            yield Placement(generation, space.suffix(shard))


def bump_faults(bumps: tuple[ShardBump, ...]) -> list[tuple[str, str]]:
    """The faults of an entity's bumps: (message, fix) pairs."""
    found = []
    for bump in bumps:
        if not 1 <= bump.char_bits <= 5 or not 0 <= bump.chars <= MAX_SUFFIX:
            fix = f"char_bits is 1 to 5, chars 0 to {MAX_SUFFIX}"
            found.append((f"the bump at {bump.timestamp} is out of range", fix))
        elif bump.char_bits * bump.chars > 20:
            found.append((f"the bump at {bump.timestamp} has over {MAX_SHARDS} shards", "use fewer characters"))
        if bump.timestamp < 0:
            found.append((f"the bump at {bump.timestamp} begins before the epoch", "begin at 0 or later"))
    for earlier, later in itertools.pairwise(bumps):
        if later.timestamp <= earlier.timestamp:
            found.append((f"the bump at {later.timestamp} is out of order", "order bumps by timestamp, each once"))
        if later.chars <= earlier.chars:
            message = f"the bump at {later.timestamp} is not wider than the one before"
            found.append((message, "let chars grow, so that generations never share a hash key"))
    if bumps and bumps[0].timestamp > 0 and bumps[0].chars == 0:
        message = f"the bump at {bumps[0].timestamp} is not wider than the one shard of the time before it"
        found.append((message, "begin it at 0, or give it chars of 1 or more"))
    return found
