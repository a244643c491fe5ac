"""Upserts, what was there, whole transactions, batches of updates, members of lists and related records on every table:
the same answers whatever carries them out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from shardweave import (
    Add,
    Check,
    Create,
    Database,
    Delete,
    Entity,
    Lookup,
    Put,
    Schema,
    Sequence,
    Unique,
    Update,
    belongs_to,
    errors,
    has_many,
    unique_property,
)
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.store import RetryClock, Store
from tests.integration.table_contract import OpenTable
from tests.unit.store_world import Clock

KEYS = CursorKeys("k", {"k": b"k" * 32})


class Tag(Entity, token="tag", partition="tenant", sort="name"):
    """What talks are marked with."""

    tenant: str
    name: str

    talks = has_many("talk", via="tags")


class Talk(Entity, token="talk", partition="tenant", sort="talk_id"):
    """A talk of a tenant, with its tags."""

    tenant: str
    talk_id: str
    number: int = 0
    state: str = "new"
    seen: int = 0
    tag_names: list[str] = Field(default_factory=list)
    aliases: set[str] = Field(default_factory=set)

    numbering = Sequence("number", within="tenant")
    tag_lookup = Lookup("tag_names", within="tenant", name="tag")
    alias_lookup = Unique("aliases", within="tenant", canonical=str.casefold, name="alias")
    tags = has_many(Tag, by=("tenant", "tag_names"))


class Saying(Entity, token="saying"):
    """What goes with its talk."""

    saying_id: str = unique_property()
    tenant: str
    talk_id: str

    of_talk = Lookup("talk_id", within="tenant")
    talk = belongs_to(Talk, by=("tenant", "talk_id"), enforced=True, on_delete="cascade")


SCHEMA = Schema([Tag, Talk, Saying])


def key(number: int) -> dict[str, Any]:
    return {"tenant": "t", "talk_id": f"k{number:03}"}


@pytest.fixture
def db(open_table: OpenTable) -> Database:
    table, clock = open_table(SCHEMA.layout), Clock()
    waiting = RetryClock(sleep=lambda _: None, monotonic=lambda: 0.0)
    store = Store(SCHEMA, table, clock=clock, waiting=waiting)
    return Database.over(store, QueryRunner(SCHEMA, table, KEYS, clock=clock))


def test_an_upsert_makes_a_record_once_and_changes_it_from_then_on(db: Database) -> None:
    made = db.update(Talk, key(1), {"seen": 1}, upsert={"aliases": {"One"}})
    assert (made.number, made.seen, made.state, made.aliases) == (1, 1, "new", {"One"})
    changed = db.update(Talk, key(1), lambda talk: {"seen": talk.seen + 1}, upsert={"aliases": {"other"}})
    assert (changed.number, changed.seen, changed.aliases) == (1, 2, {"One"})
    with pytest.raises(errors.ValueTaken):
        db.update(Talk, key(2), {"seen": 1}, upsert={"aliases": {"ONE"}})
    with pytest.raises(errors.ParentMissing):
        db.update(Saying, "s", {"talk_id": "k009"}, upsert={"tenant": "t"})
    assert (db.get(Talk, key(2)), db.get(Saying, "s")) == (None, None)
    db.transact([Add(Talk, key(2), {"seen": 5}, upsert=True), Update(Talk, key(3), {"seen": 1}, upsert={})])
    found = [talk for talk in db.batch_get(Talk, [key(1), key(2), key(3)]) if talk is not None]
    assert [talk.seen for talk in found] == [2, 5, 1]
    assert len({talk.number for talk in found}) == 3


def test_what_was_there_comes_back_from_a_put_and_a_delete(db: Database) -> None:
    assert db.put(Talk(**key(1), state="first", aliases={"a"}), returning="old") is None
    old = db.put(Talk(**key(1), state="second"), returning="old")
    assert old is not None
    assert (old.state, old.aliases, old.number) == ("first", {"a"}, 1)
    gone = db.delete(Talk, key(1), returning="old")
    assert gone is not None
    assert (gone.state, gone.aliases, gone.number) == ("second", set(), 1)
    assert db.delete(Talk, key(1), returning="old") is None


def test_a_transaction_has_a_hundred_records_and_one_more_is_refused_with_the_number_that_fits(db: Database) -> None:
    made = db.transact([Create(Tag(tenant="t", name=f"n{number:03}")) for number in range(100)])
    assert len(made) == 100
    many = [Create(Tag(tenant="u", name=f"n{number:03}")) for number in range(101)]
    with pytest.raises(errors.LimitExceeded, match="101 actions, 100 are possible") as refused:
        db.transact(many)
    assert refused.value.fix == "write at most 100 of its 101 operations at once"
    assert db.batch_get(Tag, [{"tenant": "u", "name": "n000"}, {"tenant": "t", "name": "n099"}]) == [None, made[99]]


def test_a_transaction_of_every_kind_is_all_or_nothing(db: Database) -> None:
    for number in (1, 2, 3):
        db.create(Talk(**key(number), seen=number))
    put, updated, added, gone, checked = db.transact(
        [
            Put(Talk(**key(4), state="put")),
            Update(Talk, key(1), {"state": "updated"}),
            Add(Talk, key(2), {"seen": 10, "aliases": {"two"}}),
            Delete(Talk, key(3)),
            Check(Talk, key(9), exists=False),
        ]
    )
    assert (gone, checked) == (None, None)
    assert db.batch_get(Talk, [key(4), key(1), key(2), key(3)]) == [put, updated, added, None]
    with pytest.raises(errors.NotFound) as refused:
        db.transact([Add(Talk, key(1), {"seen": 1}), Add(Talk, key(9), {"seen": 1})])
    assert refused.value.where == "operations[1].key"
    assert db.get(Talk, key(1)) == updated


def test_a_batch_of_updates_tells_of_each(db: Database) -> None:
    for number in (1, 2):
        db.create(Talk(**key(number), aliases={f"a{number}"}))
    updates = [
        Update(Talk, key(1), {"state": "changed"}),
        Update(Talk, key(2), {"aliases": {"A1"}}),
        Update(Talk, key(9), {"state": "none"}),
    ]
    outcomes = db.batch_write(updates=updates).updates
    assert [each.status for each in outcomes] == ["written", "failed", "failed"]
    assert [type(each.error) for each in outcomes[1:]] == [errors.ValueTaken, errors.NotFound]
    one, two = db.batch_get(Talk, [key(1), key(2)])
    assert one is not None
    assert two is not None
    assert (one.state, two.aliases) == ("changed", {"a2"})


def test_records_are_found_by_each_member_and_listed_from_what_they_list(db: Database) -> None:
    new = db.create(Tag(tenant="t", name="new"))
    db.create(Tag(tenant="t", name="old"))
    for number in range(1, 6):
        db.create(Talk(**key(number), tag_names=["new", "new", "old"] if number % 2 else ["old"]))
    within = {"tenant": "t"}

    def found(name: str) -> list[str]:
        return [talk.talk_id for talk in db.find_by(Talk, "tag", name, within=within).items]

    assert (found("new"), found("none")) == (["k001", "k003", "k005"], [])
    page = db.related(new, "talks", limit=2)
    following = db.related(new, "talks", limit=2, next_token=page.next_token)
    back = db.related(new, "talks", limit=2, prev_token=following.prev_token)
    assert [[talk.talk_id for talk in each.items] for each in (page, following, back)] == [
        ["k001", "k003"],
        ["k005"],
        ["k001", "k003"],
    ]
    ((first, *_),) = db.expand([following.items[0]], Talk.tags)
    assert first == new
    db.update(Talk, key(1), {"tag_names": []})
    db.delete(Talk, key(3))
    assert found("new") == ["k005"]


def test_the_members_of_a_lookup_may_all_change_at_once_and_are_no_more_than_forty(db: Database) -> None:
    db.create(Talk(**key(1), tag_names=[f"a{number}" for number in range(40)]))
    changed = db.update(Talk, key(1), {"tag_names": [f"b{number}" for number in range(40)]})
    for names in ([f"c{number}" for number in range(41)], ["x" * 1024]):
        with pytest.raises((errors.ValueRefused, errors.KeyTooLong)) as refused:
            db.update(Talk, key(1), {"tag_names": names})
        assert refused.value.where == "tagNames"
    assert db.get(Talk, key(1)) == changed
    assert db.find_by(Talk, "tag", "a0", within={"tenant": "t"}).items == ()
    assert db.find_by(Talk, "tag", "b39", within={"tenant": "t"}).items == (changed,)


def test_a_parent_goes_with_more_children_than_a_transaction_has(db: Database) -> None:
    db.create(Talk(**key(1)))
    for first in range(0, 60, 30):
        some = range(first, first + 30)
        db.transact([Create(Saying(saying_id=f"s{each}", tenant="t", talk_id="k001")) for each in some])
    assert db.delete(Talk, key(1))
    assert db.get(Talk, key(1)) is None
    assert db.batch_get(Saying, [f"s{each}" for each in (0, 30, 59)]) == [None] * 3
    assert db.find_by(Saying, "talk_id", "k001", within={"tenant": "t"}).items == ()
    assert list(db.deletions()) == []
