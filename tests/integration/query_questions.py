"""Random questions for the model test: a schema, records, and branches of about a shape that is asked for."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from shardweave.keys.key_format import ARTICLE, ORDERED
from shardweave.keys.sharding import ShardBump
from shardweave.query.spec import BranchSpec, Constraint, Equal, OneOf, Prefix, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.entity_type import EntityType
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Not,
    Or,
    Size,
)
from shardweave.values.codecs import Timestamp
from tests.integration.question_shapes import OWN, Shape

DAY = 86_400_000
NOW = 1_730_000_000_000
METAS: list[dict[str, Any] | None] = [
    None,
    {"kind": "a"},
    {"kind": 1, "list": [{"n": 1}, {"n": 2}]},
    {"list": [{"n": 2}]},
    {},
]
WORDS = ["", "a", "an", "ann", "anna", "b", "é", "a b", "!"]


AREAS = ("a", "ann", "b")


class Home(BaseModel):
    """A model, a member of which may place records."""

    area: str


class Place(BaseModel):
    """A model, whose members are elements of keys."""

    word: str | None = None


def make_schema(
    chooser: random.Random,
    generations: int,
    spreader: random.Random | None = None,
    kinder: random.Random | None = None,
) -> Schema:
    """A schema with so many generations. With a `spreader`, which leaves the rest as it is, in half of the cases most
    indexes have shards of their own: some in common, some not. With a `kinder` it has one to three further
    entities, with the same properties and keys, and with the same or with other bumps."""
    begins = [0, *(NOW - back * DAY for back in range(generations - 1, 0, -1))]
    bumps = [ShardBump(begin, chooser.randint(1, 2), place + 1) for place, begin in enumerate(begins)]
    if chooser.random() < 0.2:
        bumps[0] = ShardBump(0, 1, 0)
    key_format = ORDERED if chooser.random() < 0.9 else ARTICLE
    own: list[int | None] = [None, None, None]
    if spreader is not None and key_format.ordered and spreader.random() < 0.5:
        own = [spreader.choice(OWN) for _ in own]
    few, more, mine = own
    placed = {"shard_by": "home.area"} if spreader is not None and spreader.random() < 0.5 else {}

    class Things(Entity):
        thing_id: str = unique_property()
        created: Timestamp = timestamp_property()
        due: Timestamp | None = None
        first: str | None = None
        last: str | None = None
        rank: int | None = None
        score: int | None = None
        tags: set[str] | None = None
        meta: dict[str, Any] | None = None
        place: Place | None = None
        home: Home
        expires: int | None = ttl_property()

        if few is not None and more is not None:
            few_hash_key, more_hash_key = HashKey(shards=few), HashKey(shards=more)
        first_hash_key = HashKey("first", shards=mine)
        first_range_key = RangeKey("first", "last", "created")
        last_range_key = RangeKey("last", "first", "created")
        rank_range_key = RangeKey("rank", desc("score"))
        score_range_key = RangeKey("score", desc("rank"))
        time_range_key = RangeKey("created", "first")
        first_time_range_key = RangeKey("first", "created")
        last_time_range_key = RangeKey("last", "created")
        first_back_range_key = RangeKey("first", desc("created"))
        last_back_range_key = RangeKey("last", desc("created"))
        due_range_key = RangeKey("due", "created")
        made_range_key = RangeKey("created", "due")
        place_hash_key = HashKey("place.word", shards=mine)
        place_range_key = RangeKey("place.word", "created")
        home_hash_key = HashKey("home.area", shards=mine)

    projected = ["last_range_key", "first_range_key", "tags", "score"]
    indexes = [
        Index("first", "hash_key", "first_range_key"),
        Index("last", "hash_key", "last_range_key"),
        Index("rank", "hash_key", "rank_range_key"),
        Index("score", "hash_key", "score_range_key"),
        Index("rawRank", "hash_key", "rank"),
        Index("rawScore", "hash_key", "score"),
        Index("created", "hash_key", "created"),
        Index("time", "hash_key", "time_range_key"),
        Index("firstTime", "hash_key", "first_time_range_key"),
        Index("lastTime", "hash_key", "last_time_range_key"),
        Index("firstBack", "hash_key", "first_back_range_key"),
        Index("lastBack", "hash_key", "last_back_range_key"),
        Index("due", "hash_key", "due_range_key"),
        Index("made", "hash_key", "made_range_key"),
        Index("mine", "first_hash_key", "created"),
        Index("place", "hash_key", "place_range_key"),
        Index("minePlace", "place_hash_key", "created"),
        Index("mineHome", "home_hash_key", "rank_range_key"),
        Index("mineLast", "first_hash_key", "last_range_key", projection=[n for n in projected if "last_r" not in n]),
    ]
    if spreader is not None and few is not None:
        keys = ["few_hash_key", "more_hash_key", "few_hash_key", "more_hash_key", "hash_key"]
        indexes = [
            replace(each, hash_key=spreader.choice(keys)) if each.hash_key == "hash_key" else each for each in indexes
        ]

    class Thing(Things, token="thing", shard_bumps=bumps, **placed):
        """The entity of every question."""

    others: list[type[Entity]] = []
    if kinder is not None:
        for number in range(kinder.choice([1, 2, 3])):
            token, its = f"other{number}", bumps if kinder.random() < 0.6 else make_bumps(kinder)
            others.append(type(Entity)(f"Other{number}", (Things,), {}, token=token, shard_bumps=its, **placed))
    return Schema([Thing, *others], indexes, key_format=key_format)


def make_bumps(chooser: random.Random) -> list[ShardBump]:
    """One to three bumps, at times of any."""
    begins = [0, *(NOW - back * DAY // 2 for back in sorted(chooser.sample(range(1, 6), chooser.randint(0, 2)))[::-1])]
    return [ShardBump(begin, chooser.randint(1, 2), place + 1) for place, begin in enumerate(begins)]


def make_items(chooser: random.Random, thing: EntityType[Any], mark: str = "") -> list[dict[str, Any]]:
    """Records of an entity, at most 60; their ids end with the mark."""
    words = WORDS if thing.keys.format.ordered else [word for word in WORDS if "!" not in word]

    def maybe(values: list[Any]) -> Any:
        return chooser.choice(values) if chooser.random() < 0.85 else None

    items = []
    edges = [NOW - 2 * DAY, NOW - DAY]
    moments = [NOW, *(NOW - back * DAY // 2 for back in range(6)), *(edge + step for edge in edges for step in (-1, 0))]
    for number in range(chooser.choice([0, 3, 20, 40, 40, 60, 60])):
        values = {
            "thingId": f"t{number:03d}{mark}",
            "created": chooser.choice(moments) - chooser.choice([0, 0, 1]),
            "due": maybe(moments),
            "first": maybe(words),
            "last": maybe(words),
            "rank": maybe([-1, 0, 1, 2]),
            "score": maybe([1, 2, 3]),
            "tags": maybe([{"x"}, {"x", "y"}]),
            "meta": METAS[number % len(METAS)],
            "home": {"area": AREAS[number % 7 % 3]},
            "place": (None, {}, {"word": words[number % len(words)]}, {"word": "ann"})[number % 4],
            "expires": maybe([NOW // 1000 + 60]) if chooser.random() < 0.8 else NOW // 1000 - 60,
        }
        given = {name: value for name, value in values.items() if value is not None}
        items.append(thing.complete(thing.dump(thing.validate(given))))
    return items


ANY: list[list[str | None]] = [
    ["first"], ["last"], ["rank"], ["rawRank"], ["created"], ["time"], ["mine"], ["mineLast"], ["place"], ["minePlace"],
    ["mineHome"], [None],
    ["first", "last"], ["rank", "score"], ["rawRank", "rawScore"], ["first", "last", "first"],
]  # fmt: skip
WIDE = ["first", "last", "rank", "rawRank", "place", "mineHome", None]
"""Indexes that are not in order of time, whatever conditions fix."""
INTERLEAVED = [["firstTime", "lastTime", "place"], ["firstBack", "lastBack"], ["due", "made"]]
"""Pairs of indexes that fix values before the timestamp, or have it at different places."""


def make_branches(chooser: random.Random, shape: Shape) -> list[BranchSpec]:
    """Branches that agree, with conditions that fit their indexes, of about that shape."""
    conditions: list[tuple[str | None, dict[str, Constraint | OneOf]]]
    if shape.staged:
        conditions = staged_conditions(chooser, shape.branches)
    elif shape.branches == 1:
        index = chooser.choice(WIDE if shape.generations > 1 else [each for (each, *more) in ANY if not more])
        needed = index in ("mine", "mineLast", "minePlace", "mineHome")
        conditions = [(index, make_conditions(chooser, index) if needed or chooser.random() < 0.4 else {})]
    elif shape.generations > 1 and chooser.random() < 0.7:
        pair = chooser.choice(INTERLEAVED)
        indexes = [chooser.choice(pair) for _ in range(shape.branches)]
        conditions = [(index, make_conditions(chooser, index)) for index in indexes]
    else:
        families = [each for each in ANY if len(each) == shape.branches] or ANY
        conditions = [(index, make_conditions(chooser, index)) for index in chooser.choice(families)]
    return [BranchSpec(each, index, make_filter(chooser, 0.15)) for index, each in conditions]


def staged_conditions(chooser: random.Random, branches: int) -> list[tuple[str | None, dict[str, Constraint | OneOf]]]:
    """Conditions of branches in each of which the order is that of time, behind the same value if behind any."""
    family = chooser.choice(
        [["firstTime", "lastTime", "place"], ["firstBack", "lastBack"], ["created", "mine"], ["made"], ["time"]]
    )
    word = chooser.choice(["ann", "a", "b"])
    found: list[tuple[str | None, dict[str, Constraint | OneOf]]] = []
    for _ in range(branches):
        index = chooser.choice(family)
        conditions: dict[str, Constraint | OneOf] = {}
        if index not in ("created", "made", "time"):
            name = "place.word" if index == "place" else "last" if index.startswith("last") else "first"
            conditions[name] = Equal(chooser.choice([word, "a"]) if index == "mine" else word)
        if chooser.random() < 0.2:
            conditions["created"] = chooser.choice([Range(NOW - 3 * DAY // 2), Range(None, NOW - DAY // 2)])
        found.append((index, conditions))
    return found


BEFORE_TIME = [index for pair in INTERLEAVED for index in pair]


def make_conditions(chooser: random.Random, index: str | None) -> dict[str, Constraint | OneOf]:
    text = [Equal("ann"), Equal("a"), Prefix("a"), Prefix("an"), Prefix("")]
    numbers = [Equal(1), Range(0), Range(None, 1), Range(0, 1)]
    times = [Range(NOW - 2 * DAY), Range(None, NOW - DAY), Range(NOW - 2 * DAY, NOW - DAY)]
    visibility: list[Any] = [*text[:2], OneOf(("a", "ann")), OneOf(("b", "ann", "a"))]
    moments: list[Any] = [Equal(NOW - DAY), Equal(NOW - DAY // 2), OneOf((NOW, NOW - DAY)), *times]
    leads: dict[str | None, list[tuple[str, list[Any]]]] = {
        "firstTime": [("first", visibility), ("created", times)],
        "lastTime": [("last", visibility), ("created", times)],
        "firstBack": [("first", visibility), ("created", times)],
        "lastBack": [("last", visibility), ("created", times)],
        "due": [("due", moments), ("created", times)],
        "made": [("created", [*times, Equal(NOW - DAY)]), ("due", moments)],
        "first": [("first", text), ("last", text)],
        "last": [("last", text), ("first", text)],
        "rank": [("rank", numbers), ("score", numbers)],
        "score": [("score", numbers), ("rank", numbers)],
        "rawRank": [("rank", numbers)],
        "rawScore": [("score", numbers)],
        "created": [("created", times)],
        "time": [("created", [*times[:2], Equal(NOW)]), ("first", text)],
        "mine": [("created", times)],
        "place": [("place.word", visibility), ("created", times)],
        "minePlace": [("created", times)],
        "mineHome": [("rank", numbers), ("score", numbers)],
        "mineLast": [("last", text), ("first", [])],
        None: [("thingId", [Prefix("t00"), Equal("t001"), Prefix("t")])],
    }
    conditions: dict[str, Constraint | OneOf] = {}
    if index in ("mine", "mineLast"):
        owners: list[Constraint | OneOf] = [Equal("ann"), Equal("a"), OneOf(("ann", "a", "b")), OneOf(("a", "zz"))]
        conditions["first"] = chooser.choice(owners)
    if index == "minePlace":
        conditions["place.word"] = chooser.choice([Equal("ann"), OneOf(("ann", "a", ""))])
    if index == "mineHome":
        conditions["home.area"] = chooser.choice([Equal("ann"), Equal("b"), OneOf(("ann", "b"))])
    for name, choices in leads[index]:
        if name in conditions or not choices or chooser.random() < (0.15 if index in BEFORE_TIME else 0.4):
            break
        conditions[name] = chooser.choice(choices)
        if not isinstance(conditions[name], (Equal, OneOf)):
            break
    return conditions


def make_filter(chooser: random.Random, chance: float) -> Condition | None:
    leaves: list[Condition] = [
        Compare("score", "=", 2),
        Compare("score", "<>", 2),
        Compare("score", ">", 1),
        Between("score", 1, 2),
        In("score", (1, 3)),
        BeginsWith("thingId", "t00"),
        Contains("tags", "y"),
        Exists("tags"),
        Missing("score"),
        Size("tags", ">", 1),
        Compare("meta.kind", "=", "a"),
        Compare("meta.list.0.n", ">", 1),
        Missing("meta.list.1"),
        Compare("score", "=", 99),
    ]
    if chooser.random() > chance:
        return None
    leaf = chooser.choice(leaves)
    other = chooser.choice(leaves)
    return chooser.choice([leaf, Not(leaf), And((leaf, other)), Or((leaf, other))])
