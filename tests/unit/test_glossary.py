"""docs/glossary.md has the words of the code, in their order, and no word that nobody uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shardweave
from shardweave.access.grant import Grant
from shardweave.errors.fault_text import Fault
from shardweave.keys.key_design import Element
from shardweave.keys.sharding import Generation, ShardBump, ShardMap, ShardSpace
from shardweave.query.branches import Branch
from shardweave.query.cursor import Position
from shardweave.query.fanout import FanOut
from shardweave.query.lanes import Lane
from shardweave.query.merge import Frontier, Snapshot
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.copy_actions import Stray
from shardweave.reshard.load.policy import Policy, Verdict
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Phase
from shardweave.reshard.work_items import WorkItem
from shardweave.schema.read_models import ReadModel
from shardweave.schema.shard_maps import Lease
from shardweave.store.idempotency_keys import IdempotencyKey
from shardweave.table.operations import Interval
from shardweave.values.codecs import Codec

from .guide_page import DOCS, page_text

ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page_text("glossary.md"), re.MULTILINE)[2:]
WORDS = [word for word, _ in ROWS]
SOURCE = "\n".join(
    path.read_text(encoding="utf-8").lower()
    for path in [*Path(shardweave.__file__).parent.rglob("*.py"), *DOCS.glob("*.md")]
    if path.name != "glossary.md"
)


def test_the_words_are_in_order_and_each_stands_once() -> None:
    assert len(WORDS) > 80
    assert sorted(set(WORDS), key=lambda word: word.replace("-", "")) == WORDS


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_used(word: str) -> None:
    assert re.search(rf"\b{word.replace(' ', '[ _]?').replace('-', '-?')}", SOURCE), word


def test_every_phase_of_a_re_shard_is_named() -> None:
    meaning = dict(ROWS)["phase"]
    assert re.findall("`(.*?)`", meaning) == [phase.name.lower() for phase in Phase]


@pytest.mark.parametrize(
    "kind",
    [
        *(Generation, ShardBump, ShardMap, ShardSpace, Lease),
        *(Element, Codec, Fault, Grant, Branch, Lane, Interval, FanOut, Frontier, Snapshot, Position),
        *(Coordinator, Mover, WorkItem, Stray, Policy, Verdict, ReadModel, IdempotencyKey),
    ],
)
def test_a_type_with_a_name_of_our_own_is_explained(kind: type) -> None:
    word = re.sub(r"(?<!^)([A-Z])", r" \1", kind.__name__).lower()
    assert {word, word.removeprefix("shard "), word.replace(" ", "-")} & set(WORDS)
