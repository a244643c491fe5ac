"""Shadow reads: both databases are asked, the caller gets the first one's answer, and differences are counted."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from shardweave import AsyncDatabase, Collection, Database, Entity, HashKey, Index, Schema, Shadow, unique_property
from shardweave.database.shadow import MAX_WAITING, ShadowDifference
from shardweave.errors import InputError, NotFound, UnknownName, UnsupportedQuery


class Part(Entity, token="part"):
    """Something in a store."""

    part_id: str = unique_property()
    kind: str
    price: int = 0

    kind_hash_key = HashKey("kind")


def schema() -> Schema:
    return Schema([Part], [Index("kind", "kind_hash_key", "price")])


def filled(**options: Any) -> Database:
    db = Database(schema(), **options)
    for number in range(6):
        db.create(Part(part_id=f"p{number}", kind=f"k{number % 2}", price=number))
    return db


def ask(db: Database) -> list[Any]:
    return [
        db.get(Part, "p1"),
        db.get("part", "nobody"),
        db.batch_get(Part, (key for key in ("p1", "p2"))),
        db.query(Part, kind="k1", limit=2).items,
        db.first(Part, kind="k0"),
        db.exists(Part, kind="none"),
        db.count(Part, kind="k1"),
    ]


def test_equal_databases_are_equal() -> None:
    with filled() as other:
        shadow = Shadow(other, share=1)
        db = filled(shadow=shadow)
        answers = ask(db)
        db.close()
        assert answers == ask(other)
        assert (shadow.counts.equal, shadow.counts.differing, shadow.samples) == (7, 0, ())


def test_differences_are_counted_and_sampled_without_values_and_never_seen_by_the_caller() -> None:
    told: list[ShadowDifference] = []
    with filled() as other:
        other.update(Part, "p1", {"price": 1234})
        other.delete(Part, "p2")
        shadow = Shadow(other, share=1, observe=told.append)
        db = filled(shadow=shadow)
        answers = ask(db)
        db.close()
    assert answers[0].price == 1
    assert shadow.counts.differing == 3
    assert told == list(shadow.samples)
    assert {each.operation: each.names for each in told} == {
        "get": ("price",),
        "batch_get": ("price",),
        "query": ("part_id", "price"),
    }
    assert "1234" not in str(shadow.samples)


def test_a_share_of_reads_is_asked() -> None:
    drawn = iter([0.05, 0.5, 0.099, 0.1])
    with filled() as other:
        shadow = Shadow(other, share=0.1, drawn=lambda: next(drawn))
        db = filled(shadow=shadow)
        for _ in range(4):
            db.get(Part, "p1")
        db.close()
    assert shadow.counts.equal == 2


def test_errors_are_the_first_databases_and_those_of_the_other_are_counted() -> None:
    class Other(Entity, token="part"):
        part_id: str = unique_property()

    with Database(Schema([Other])) as other:
        shadow = Shadow(other, share=1)
        db = filled(shadow=shadow)
        assert db.count(Part, kind="k1") == 3
        with pytest.raises(UnsupportedQuery):
            db.query(Part, price=3)
        with pytest.raises(NotFound):
            db.update(Part, "nobody", {"price": 1})
        db.close()
    assert sum((shadow.counts.failed or {}).values()) == 1


def test_what_is_written_meanwhile_is_no_difference() -> None:
    with filled() as other:
        shadow = Shadow(other, share=1)
        db = filled(shadow=shadow)
        held, go_on = threading.Event(), threading.Event()
        get = other.get

        def slow(*arguments: Any) -> Any:
            held.set()
            go_on.wait()
            return get(*arguments)

        other.get = slow  # type: ignore[method-assign]
        db.get(Part, "p1")
        held.wait()
        for each in (db, other):
            each.update(Part, "p1", {"price": 77})
        for _ in range(MAX_WAITING + 3):
            db.get(Part, "p1")
        go_on.set()
        db.close()
    counts = shadow.counts
    assert (counts.changed, counts.differing, counts.skipped) == (1, 0, 4)
    assert counts.equal == MAX_WAITING - 1


def test_pages_by_token_are_not_asked() -> None:
    with filled() as other:
        shadow = Shadow(other, share=1)
        db = filled(shadow=shadow)
        page = db.query(Part, kind="k1", limit=1)
        db.query(Part, kind="k1", limit=1, next_token=page.next_token)
        db.close()
    assert shadow.counts.equal == 1


def test_the_asynchronous_database() -> None:
    with filled() as other:
        shadow = Shadow(other, share=1)

        async def run() -> None:
            async with AsyncDatabase(schema(), shadow=shadow) as db:
                assert await db.get(Part, "p1") is None
                assert await db.count(Part, kind="k1") == 0

        asyncio.run(run())
    assert (shadow.counts.differing, shadow.counts.equal) == (2, 0)


@pytest.mark.parametrize("share", [-0.1, 1.1, True, "1"])
def test_a_wrong_share_is_refused(share: Any) -> None:
    with filled() as other, pytest.raises(InputError):
        Shadow(other, share=share)


class Piece(Entity, token="piece"):
    """A part, by the name that it has in a new schema."""

    part_id: str = unique_property()
    kind: str
    price: int = 0

    kind_hash_key = HashKey("kind")


class Tool(Entity, token="tool"):
    """What makes parts."""

    tool_id: str = unique_property()
    kind: str
    price: int = 0

    kind_hash_key = HashKey("kind")


def test_queries_of_several_entities_are_asked_too_by_the_names_of_the_other_schema() -> None:
    def both(first: type[Entity], **options: Any) -> Database:
        made = Database(Schema([first, Tool], [Index("kind", "kind_hash_key", "price")]), **options)
        for number in range(4):
            made.create(first(part_id=f"p{number}", kind="k", price=2 * number))
            made.create(Tool(tool_id=f"t{number}", kind="k", price=2 * number + 1))
        return made

    every = Collection("all", (Part, Tool), index="kind")
    with both(Piece) as other:
        shadow = Shadow(other, share=1, entities={"part": "piece"})
        db = both(Part, shadow=shadow)
        assert [each.price for each in db.query((Part, Tool), kind="k").items] == [*range(8)]
        assert db.count(["part", Tool], kind="k") == 8
        assert [each.price for each in db.query(every, kind="k", limit=3).items] == [0, 1, 2]
        assert db.get(Part, "p1") is not None
        with pytest.raises(UnknownName):
            db.query((Part, Piece), kind="k")
        db.close()
        assert (shadow.counts.failed, shadow.counts.equal, shadow.counts.differing) == ({}, 4, 0)

        other.update(Piece, "p1", {"price": 9})
        shadow = Shadow(other, share=1, entities={"part": "piece"})
        db = both(Part, shadow=shadow)
        db.query(every, kind="k")
        db.close()
    assert (shadow.counts.failed, shadow.counts.equal, shadow.counts.differing) == ({}, 0, 1)
    assert [(each.operation, each.entity) for each in shadow.samples] == [("query", "part, tool")]


@pytest.mark.parametrize("entities", [3, ["part"], {"part": 3}, {Part: "piece"}])
def test_names_that_are_none_are_refused(entities: Any) -> None:
    with filled() as other, pytest.raises(InputError, match="entities: must map tokens"):
        Shadow(other, entities=entities)


def test_what_is_no_shadow_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shadow: must be a Shadow, got int"):
        filled(shadow=3, path=tmp_path / "data")
    assert not (tmp_path / "data").exists()


class Broken:
    """A database that fails in its own way."""

    def __init__(self) -> None:
        self.schema = schema()

    def get(self, *_: Any) -> Any:
        raise OSError("no room")

    def close(self) -> None:
        """Nothing is open."""


def test_whatever_breaks_in_the_other_database_is_counted() -> None:
    shadow = Shadow(Broken(), share=1)
    db = filled(shadow=shadow)
    assert db.get(Part, "p1") is not None
    db.close()
    assert shadow.counts.failed == {"OSError": 1}
    assert shadow.counts.equal == 0
