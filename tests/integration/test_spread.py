"""How evenly the hashes spread ids, which docs/spread.md shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.spread import IDS, KINDS, SHARDS, empty, run, unevenness
from shardweave.keys.key_format import ORDERED, crc32, string_hash

PAGE = Path(__file__).parents[2] / "docs" / "spread.md"


@pytest.mark.parametrize("make", KINDS.values(), ids=list(KINDS))
def test_the_fullest_shard_stays_within_a_fifth_of_the_mean(make: Callable[[int], Iterator[str]]) -> None:
    texts = list(make(IDS))
    assert len(set(texts)) == IDS
    hashes = [ORDERED.hash(text) for text in texts]
    assert max(unevenness(hashes, shards) for shards in SHARDS) <= 1.2
    assert empty(hashes, 256) == 0


def test_sequential_numbers_are_why_string_hash_is_not_the_default() -> None:
    texts = list(KINDS["number, 12 digits"](10_000))
    assert empty([string_hash(text) for text in texts], 32) == 16
    assert empty([crc32(text) for text in texts], 32) == 0


def test_the_page_shows_what_is_measured() -> None:
    shown = PAGE.read_text(encoding="utf-8")
    for table in run(ids=2_000):
        assert table.title.partition(",")[0] in shown
        for row in table.rows:
            assert f"| {row[0]} " in shown
