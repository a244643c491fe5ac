"""Lookups by the members of a list or set: one lookup record a member, kept in the record's transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from shardweave.errors import KeyTooLong, LimitExceeded, SchemaError, ValidationFailed, ValueRefused, ValueTaken
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.schema.declarations import Lookup, Unique, belongs_to
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put, Store, Update
from shardweave.store.lookups.lookup_records import MAX_MEMBERS
from shardweave.table.operations import DeleteItem, PutItem
from shardweave.values.codecs import Timestamp, TimestampSeconds
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.shop_world import sound, unsound
from tests.unit.store_world import BUMPS, FIRST_BUMP, SECOND_BUMP, START, World


class OldPost(Entity, token="post", shard_bumps=BUMPS):
    """A text as an older version of the program knows it."""

    post_id: str = unique_property()
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()
    tags: set[str] = Field(default_factory=set)
    slugs: list[str] | None = None
    editors: list[UUID] = Field(default_factory=list)
    text: str = ""


class Post(OldPost, token="post", shard_bumps=BUMPS):
    """A text with tags, found by each of them."""

    tag_lookup = Lookup("tags", canonical=str.casefold, name="tag")
    slug_lookup = Unique("slugs", name="slug")
    editor_lookup = Lookup("editors", name="editor")


class Link(Entity, token="link"):
    """Leads to the text that has a slug."""

    link_id: str = unique_property()
    slug: str

    post = belongs_to("post", by="slug", on="slugs")


SCHEMA = Schema([Post, Link])
ANN = UUID("00000000-0000-4000-8000-000000000001")


@pytest.fixture
def world() -> World:
    return begun()


def begun() -> World:
    world = World(schema=SCHEMA)
    for store in (world.store, world.other):
        for name in ("tag", "slug"):
            store.find_by(Post, name, "nothing")
    return world


def found(world: World, name: str, value: Any) -> list[str]:
    return [each.post_id for each in world.store.find_by(Post, name, value).items]


def test_a_record_is_found_by_each_of_its_members_and_the_lookup_follows_its_changes(world: World) -> None:
    world.store.create(Post(post_id="a", tags={"x", "y"}, editors=[ANN]))
    world.clock.now = SECOND_BUMP + 5
    world.store.create(Post(post_id="b", tags={"y"}, editors=[ANN, ANN]))
    assert [found(world, "tag", tag) for tag in "xyz"] == [["a"], ["a", "b"], []]
    assert found(world, "editor", ANN) == ["a", "b"]
    world.store.update(Post, "a", {"tags": {"z", "y"}})
    world.store.add(Post, "b", {"tags": {"w"}})
    assert [found(world, "tag", tag) for tag in "wxyz"] == [["b"], [], ["a", "b"], ["a"]]
    world.store.put(Post(post_id="b", tags={"x"}))
    world.store.delete(Post, "a")
    assert [found(world, "tag", tag) for tag in "wxyz"] == [[], ["b"], [], []]
    assert sound(world)


def test_members_are_found_in_their_canonical_form_and_counted_once(world: World) -> None:
    world.store.create(Post(post_id="a", tags={"Red", "RED", "blue"}))
    assert found(world, "tag", "reD") == ["a"]
    assert len([each for each in world.lookups() if each["hashKey"].startswith("post.tag!") and "_owner" in each]) == 2


def test_only_the_members_that_change_are_written(world: World) -> None:
    world.store.create(Post(post_id="a", tags={"x", "y"}, slugs=["s"]))
    world.requests()
    before = len(world.table.calls)
    world.store.update(Post, "a", {"text": "new"})
    assert world.requests()[-1] == "PutItem", "no member has changed"
    world.store.update(Post, "a", {"tags": {"x", "z"}})
    transaction = world.table.calls[-1]
    assert len(transaction.actions) == 3, "the record, a member taken, and one given up"
    assert before == 0


def test_a_lifetime_is_that_of_each_lookup_record(world: World) -> None:
    world.store.create(Post(post_id="a", tags={"x", "y"}))
    world.store.update(Post, "a", {"expires": START // 1000 + 60})
    assert sound(world)
    world.clock.now += 61_000
    assert found(world, "tag", "x") == []


def test_a_unique_member_belongs_to_one_record_and_moves_in_one_transaction(world: World) -> None:
    world.store.create(Post(post_id="a", slugs=["one", "two"]))
    with pytest.raises(ValueTaken) as caught:
        world.store.create(Post(post_id="b", slugs=["three", "two"]))
    assert caught.value.where == "slugs"
    assert found(world, "slug", "three") == []
    world.store.create(Post(post_id="b", slugs=["three"]))
    changes = [Update(Post, "a", {"slugs": ["one", "three"]}), Update(Post, "b", {"slugs": ["two"]})]
    world.store.transact(changes)
    assert [found(world, "slug", slug) for slug in ("one", "two", "three")] == [["a"], ["b"], ["a"]]
    post = world.store.get_by(Post, "slug", "three")
    assert post is not None
    assert post.post_id == "a"
    assert sound(world)


def test_a_relation_leads_to_the_record_that_has_the_member(world: World) -> None:
    world.store.create(Post(post_id="a", slugs=["one", "two"]))
    link = world.store.create(Link(link_id="l", slug="two"))
    (related,) = world.store.expand([link], "post")
    assert related["post"].post_id == "a"  # type: ignore[union-attr]


def test_too_many_or_too_long_members_are_refused_and_nothing_is_written(world: World) -> None:
    world.store.create(Post(post_id="a", tags={f"t{number}" for number in range(MAX_MEMBERS)}))
    world.store.update(Post, "a", {"tags": {f"u{number}" for number in range(MAX_MEMBERS)}})
    before = world.items()
    with pytest.raises(ValueRefused, match=f"at most {MAX_MEMBERS} members, and it has {MAX_MEMBERS + 1}") as caught:
        world.store.update(Post, "a", {"tags": {f"v{number}" for number in range(MAX_MEMBERS + 1)}})
    assert caught.value.where == "tags"
    with pytest.raises(KeyTooLong):
        world.store.create(Post(post_id="b", tags={"x", "y" * 1100}))
    with pytest.raises(ValidationFailed):
        world.store.find_by(Post, "tag", {"x"})
    result = world.store.batch_write([Put(Post(post_id="c", tags={"x"})), Put(Post(post_id="d", tags={"y" * 1100}))])
    assert [type(each.error) for each in result.puts] == [type(None), KeyTooLong]
    world.store.delete(Post, "c")
    assert world.items() == before


def test_a_stored_record_with_too_many_members_can_be_shortened_and_deleted(world: World) -> None:
    old = Store(Schema([OldPost]), world.inner, clock=world.clock, waiting=world.pauses.waiting())
    for name in "ab":
        old.create(OldPost(post_id=name, tags={f"t{number}" for number in range(200)}))
    report = world.store.backfill(Post, "tag", again=True)
    assert report.refused == 2
    assert [type(each.error) for each in report.examples] == [ValueRefused] * 2
    world.store.update(Post, "a", {"tags": {"t1"}})
    world.store.delete(Post, "b")
    assert found(world, "tag", "t1") == ["a"]
    assert sound(world)


def test_a_lookup_that_is_added_later_is_filled_with_all_members() -> None:
    world = World(schema=SCHEMA)
    old = Store(Schema([OldPost]), world.inner, clock=world.clock, waiting=world.pauses.waiting())
    for number in range(110):
        old.create(OldPost(post_id=f"p{number:03}", tags={"all", f"t{number}"}))
    assert world.new_store(world.inner).decide_lookups() == ("post.tag", "post.slug", "post.editor")
    for name in ("slug", "editor", "tag"):
        assert world.store.backfill(Post, name).ready
    assert (len(found(world, "tag", "all")), found(world, "tag", "t7")) == (100, ["p007"])
    assert list(unsound(world)) == []
    assert world.store.backfill(Post, "tag", again=True).filled == 0


def test_the_doctor_finds_and_repairs_the_lookup_record_of_one_member(world: World) -> None:
    for name in "ab":
        world.store.create(Post(post_id=name, tags={"x", f"of {name}"}, slugs=[name, f"{name}2"]))
    by_tag = [each for each in world.lookups() if each["hashKey"].startswith("post.tag!") and "_owner" in each]
    lost, dangling = by_tag[0], by_tag[1]
    world.inner.run(DeleteItem({name: lost[name] for name in ("hashKey", "rangeKey")}))
    world.inner.run(PutItem(dangling | {"rangeKey": "tags#never |postId#a", "_owner": "postId#a"}))
    doctor = Doctor(world.new_store(world.table).parts, world.clock, repair=True)
    report = doctor.run()
    assert report.findings.counts == {"lookup_missing": 1, "lookup_dangling": 1}
    assert sound(world)
    assert Doctor(world.new_store(world.table).parts, world.clock).run().code == 0


def test_what_is_imported_is_found_by_its_members(world: World, tmp_path: Path) -> None:
    world.store.create(Post(post_id="a", tags={"x", "y"}, slugs=["one", "two"]))
    Export(world.new_store(world.table).parts, list(SCHEMA.entities.values()), tmp_path).run()
    other = begun()
    lines = [line for path in sorted(tmp_path.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]
    assert Import(other.new_store(other.table).parts, other.clock).run(lines).written == 1
    assert (found(other, "tag", "y"), found(other, "slug", "two")) == (["a"], ["a"])
    assert sound(other)


def test_over_http_a_list_by_a_member_is_typed_as_the_member() -> None:
    client = Client(api_of(SCHEMA))
    client.post("/v1/posts", {"postId": "a", "tags": ["x", "y"], "editors": [str(ANN)]})
    for query in ("lookup=tag&tags=Y", f"lookup=editor&editors={ANN}"):
        assert [each["postId"] for each in json_of(client.get(f"/v1/posts?{query}"))["items"]] == ["a"]
    assert problem_of(client.get("/v1/posts?lookup=editor&editors=5"), 400, "validation_failed")["where"] == "editors"
    many = {"postId": "b", "tags": [str(number) for number in range(MAX_MEMBERS + 1)]}
    assert problem_of(client.post("/v1/posts", many), 400, "value_refused")["where"] == "tags"
    parameters = json_of(client.get("/openapi.json"))["paths"]["/v1/posts"]["get"]["parameters"]
    (editors,) = [each for each in parameters if each["name"] == "editors"]
    assert editors["schema"]["format"] == "uuid"


def test_a_list_whose_members_have_no_key_text_is_refused() -> None:
    class Bad(Entity, token="bad"):
        bad_id: str = unique_property()
        parts: list[dict[str, int]]
        floats: dict[str, str]

        by_part = Lookup("parts")
        by_float = Lookup("floats")

    with pytest.raises(SchemaError) as caught:
        Schema([Bad])
    assert [fault.where for fault in caught.value.faults] == ["entity Bad.by_part", "entity Bad.by_float"]


TAGS = st.frozensets(st.sampled_from(["a", "A", "b", "c", "d"]), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["create", "put", "update", "delete", "transact"]), TAGS, TAGS), max_size=8))
def test_after_any_writes_each_member_finds_exactly_the_records_that_have_it(steps: list[Any]) -> None:
    world, model = begun(), dict[str, frozenset[str]]()
    for at, (kind, one, two) in enumerate(steps):
        name = "pq"[at % 2]
        world.clock.now = (START, FIRST_BUMP, SECOND_BUMP)[min(at // 3, 2)]
        if kind in ("create", "put"):
            world.store.put(Post(post_id=name, tags=set(one)))
            model[name] = one
        elif kind == "delete":
            world.store.delete(Post, name)
            model.pop(name, None)
        elif kind == "update" and name in model:
            world.store.update(Post, name, {"tags": set(two)})
            model[name] = two
        elif kind == "transact" and name in model:
            made = Create(Post(post_id=f"n{at}", tags=set(one)))
            world.store.transact([made, Update(Post, name, {"tags": set(two)})])
            model |= {f"n{at}": one, name: two}
    for tag in "abcd":
        wanted = sorted(each for each, tags in model.items() if tag in {one.casefold() for one in tags})
        assert found(world, "tag", tag) == wanted
    assert sound(world)


class Tagged(Entity, token="tagged"):
    """Has more lookups of members than one transaction changes."""

    tagged_id: str = unique_property()
    ones: set[str] = Field(default_factory=set)
    twos: set[str] = Field(default_factory=set)
    threes: set[str] = Field(default_factory=set)

    one_lookup = Lookup("ones")
    two_lookup = Lookup("twos")
    three_lookup = Lookup("threes")


def test_one_record_with_more_members_than_a_transaction_has_actions_says_what_to_change() -> None:
    store = World(schema=Schema([Tagged])).store
    members = {name: {f"{name}{number}" for number in range(33)} for name in ("ones", "twos", "threes")}
    made = store.create(Tagged(tagged_id="t", **members))
    new = {name: {f"new {each}" for each in values} for name, values in members.items()}
    for write in (
        lambda: store.update(Tagged, "t", new),
        lambda: store.put(Tagged(tagged_id="t", **new)),
        lambda: store.create(Tagged(tagged_id="u", **members | {"ones": members["ones"] | {"one more"}})),
    ):
        with pytest.raises(LimitExceeded, match="actions, 100 are possible") as refused:
            write()
        assert (refused.value.where, refused.value.fix) == (
            "record",
            "change fewer of its values that lookups have at once",
        )
    assert store.batch_get(Tagged, ["t", "u"]) == [made, None]
    assert store.update(Tagged, "t", {"ones": new["ones"]}).ones == new["ones"]
