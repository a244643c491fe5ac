"""What becomes of the children of a parent that is deleted: it is refused, they are let go, or they go too."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.access import Allow
from shardweave.errors import (
    Conflict,
    DeleteIncomplete,
    HasChildren,
    NotFound,
    OutcomeUnknown,
    RevisionConflict,
    SchemaError,
)
from shardweave.schema.declarations import Lookup, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Delete
from shardweave.store.lookups.lookup_records import OWNER
from shardweave.table.fault_injection import WRITES, LoseAnswer, Meanwhile, Script
from tests.unit.access_world import person
from tests.unit.api_world import api_of, json_of, problem_of
from tests.unit.store_world import World

EVERYBODY = [Allow("*", groups="admin"), Allow("*", owner="user_id")]


class Board(Entity, token="board", access=EVERYBODY):
    """A parent of all kinds."""

    board_id: str = unique_property(default_factory=nanoid)
    user_id: str | None = None


class Note(Entity, token="note", access=[Allow("*")]):
    """May do without its board."""

    note_id: str = unique_property(default_factory=nanoid)
    board_id: str | None = None

    boards = Lookup("board_id")
    board = belongs_to(Board, by="board_id", enforced=True, on_delete="detach")


class Column(Entity, token="column", access=[Allow("*", groups="admin")]):
    """Goes with its board."""

    column_id: str = unique_property(default_factory=nanoid)
    board_id: str

    boards = Lookup("board_id")
    board = belongs_to(Board, by="board_id", enforced=True, on_delete="cascade")


class Card(Entity, token="card", access=[Allow("*", groups="admin")]):
    """Goes with its column."""

    card_id: str = unique_property(default_factory=nanoid)
    column_id: str

    columns = Lookup("column_id")
    column = belongs_to(Column, by="column_id", enforced=True, on_delete="cascade")


class Seal(Entity, token="seal", access=[Allow("*")]):
    """Keeps its board."""

    seal_id: str = unique_property(default_factory=nanoid)
    board_id: str

    board = belongs_to(Board, by="board_id", enforced=True)


SCHEMA = Schema([Board, Note, Column, Card, Seal])
MODELS = (Board, Note, Column, Card, Seal)


def board(*faults: Any, notes: int = 3, columns: int = 2, cards: int = 3) -> World:
    """A board `b` with children; the faults are those of the writes that follow."""
    script = Script(matching=WRITES)
    world = World(script, schema=SCHEMA)
    for name in ("b", "other"):
        world.other.create(Board(board_id=name))
        world.other.create(Note(note_id=f"note of {name}", board_id=name))
    world.other.batch_write([Note(board_id="b") for _ in range(notes - 1)])
    for number in range(columns):
        world.other.create(Column(column_id=f"c{number}", board_id="b"))
        world.other.batch_write([Card(column_id=f"c{number}") for _ in range(cards)])
    world.store.delete(Board, "none")
    script._left = list(faults)
    return world


def left(world: World) -> dict[str, int]:
    return {model.__name__: len(world.items_of(model)) for model in MODELS}


def is_sound(world: World) -> bool:
    """No child without its parent, no number that is wrong, no lookup that leads nowhere."""
    boards = {item["boardId"] for item in world.items_of(Board)}
    columns = {item["columnId"] for item in world.items_of(Column)}
    children = [
        item["boardId"] for model in (Note, Column, Seal) for item in world.items_of(model) if "boardId" in item
    ]
    owners = [item for item in world.items() if OWNER in item]
    looked_up = sum("boardId" in item for item in world.items_of(Note)) + len(world.items_of(Column))
    numbers = sum(
        number
        for item in world.items()
        if world.schema.entity_of_key(item["hashKey"]) is None and OWNER not in item
        for name, number in item.items()
        if name in ("note_board", "column_board", "seal_board", "card_column")
    )
    return (
        set(children) <= boards
        and {item["columnId"] for item in world.items_of(Card)} <= columns
        and len(owners) == looked_up + len(world.items_of(Card))
        and numbers == len(children) + len(world.items_of(Card))
    )


def test_children_are_let_go_or_go_too() -> None:
    world = board(notes=45, columns=3, cards=30)
    assert world.store.delete(Board, "b")
    assert left(world) == {"Board": 1, "Note": 46, "Column": 0, "Card": 0, "Seal": 0}
    assert sum("boardId" in item for item in world.items_of(Note)) == 1, "another's stay"
    assert is_sound(world)


def test_nothing_is_changed_where_the_deletion_is_refused() -> None:
    world = board()
    world.other.create(Seal(board_id="b"))
    before = world.items()
    with pytest.raises(HasChildren) as raised:
        world.store.delete(Board, "b")
    assert "seal" in raised.value.message
    with pytest.raises(RevisionConflict):
        world.store.delete(Board, "b", rev="another")
    with pytest.raises(HasChildren):
        world.store.transact([Delete(Board, "b")])
    assert world.items() == before


def test_a_batch_lets_children_go_too() -> None:
    world = board()
    outcomes = world.store.batch_write(deletes=[Delete(Board, "b"), Delete(Board, "none")]).deletes
    assert [each.status for each in outcomes] == ["written", "written"]
    assert left(world) == {"Board": 1, "Note": 4, "Column": 0, "Card": 0, "Seal": 0}
    assert is_sound(world)


def test_children_that_come_meanwhile_go_too() -> None:
    world: World

    def come() -> None:
        world.other.create(Note(board_id="b"))
        world.other.create(Column(column_id="late", board_id="b"))
        world.other.create(Card(column_id="late"))

    world = board(*[Meanwhile(lambda: come() if not world.other.get(Column, "late") else None)] * 6)
    assert world.store.delete(Board, "b")
    assert left(world)["Column"] == 0
    assert is_sound(world)


def test_a_deletion_that_is_cut_goes_on_when_it_is_asked_again() -> None:
    world: World

    def much_later() -> None:
        world.pauses.now += 1000

    nothing = Meanwhile(lambda: None)
    world = board(nothing, nothing, Meanwhile(much_later), notes=50, columns=2)
    with pytest.raises(DeleteIncomplete) as raised:
        world.store.delete(Board, "b")
    assert raised.value.fix == "delete it again: it goes on"
    assert raised.value.maybe_written
    assert 0 < sum("boardId" not in item for item in world.items_of(Note)) < 50
    assert world.store.get(Board, "b") is not None
    assert is_sound(world)
    assert world.store.delete(Board, "b")
    assert left(world) == {"Board": 1, "Note": 51, "Column": 0, "Card": 0, "Seal": 0}
    assert is_sound(world)


@pytest.mark.parametrize("seconds", [2, 50])
def test_a_deletion_goes_on_for_as_long_as_it_is_told(seconds: int) -> None:
    """A second goes by with each transaction."""
    world: World

    def second() -> None:
        world.pauses.now += 1

    world = board(*[Meanwhile(second)] * 100, notes=300, columns=0)
    with pytest.raises(DeleteIncomplete):
        world.store.delete(Board, "b", seconds=3)
    gone = sum("boardId" not in item for item in world.items_of(Note))
    assert 0 < gone <= 2 * 20
    if seconds == 50:
        assert world.store.delete(Board, "b", seconds=seconds)
    assert is_sound(world)


def test_a_batch_says_of_a_deletion_that_is_cut_that_it_is_not_processed() -> None:
    world: World

    def much_later() -> None:
        world.pauses.now += 1000

    world = board(Meanwhile(lambda: None), Meanwhile(much_later), notes=50)
    (outcome,) = world.store.batch_write(deletes=[Delete(Board, "b")]).deletes
    assert outcome.status == "unprocessed"
    (outcome,) = world.store.batch_write(deletes=[Delete(Board, "b")]).deletes
    assert outcome.status == "written"
    assert is_sound(world)


def test_each_child_that_was_written_is_followed_once() -> None:
    told: list[tuple[str, str, str]] = []
    world: World

    def much_later() -> None:
        world.pauses.now += 1000

    def follow(entity: Any, record: Any, fate: str) -> None:
        told.append((entity.token, entity.dump(record)[entity.identity[0]], fate))

    world = board(Meanwhile(lambda: None), Meanwhile(much_later), notes=50, columns=2, cards=3)
    notes = {item["noteId"] for item in world.items_of(Note) if item["boardId"] == "b"}
    cards = {item["cardId"] for item in world.items_of(Card)}
    with pytest.raises(DeleteIncomplete):
        world.store.delete(Board, "b", follow=follow)
    let_go = {item["noteId"] for item in world.items_of(Note) if "boardId" not in item}
    assert {each for _, each, _ in told} == let_go
    world.store.delete(Board, "b", follow=follow)
    expected = {("note", each, "detached") for each in notes} | {("card", each, "deleted") for each in cards}
    assert set(told) == expected | {("column", f"c{number}", "deleted") for number in range(2)}
    assert len(told) == len(set(told))


def test_a_child_whose_write_was_not_answered_is_followed_as_unknown() -> None:
    told: list[str] = []
    world = board(Meanwhile(lambda: None), *[LoseAnswer()] * 60, notes=3, columns=0)
    with pytest.raises(OutcomeUnknown):
        world.store.delete(Board, "b", follow=lambda entity, record, fate: told.append(fate))
    assert told == ["unknown"] * 3


def test_an_owner_lets_go_what_others_attached() -> None:
    """Also what they may not see."""
    api = api_of(SCHEMA)
    ann, admin = person(api, "ann"), person(api, "root", "admin")
    for name in ("b", "c", "d"):
        ann.made("boards", boardId=name)
    note = admin.made("notes", boardId="b")
    admin.made("columns", boardId="b", columnId="x")
    admin.made("cards", columnId="x", cardId="y")
    admin.made("seals", boardId="c")
    admin.made("notes", boardId="c")
    assert ann.ask("DELETE", "/v1/boards/b").status == 204
    assert "boardId" not in json_of(admin.get(f"/v1/notes/{note['noteId']}"))
    problem_of(admin.get("/v1/cards/y"), 404, "not_found")
    problem_of(ann.ask("DELETE", "/v1/boards/c"), 409, "has_children")
    admin.made("notes", boardId="d")
    for _ in range(2):
        assert ann.ask("DELETE", "/v1/boards/d", idempotency_key="k").status == 204
    problem_of(person(api, "bob").ask("DELETE", "/v1/boards/c"), 404, "not_found")


# -- any tree ---------------------------------------------------------------------------------------------------------

TREES = st.lists(st.tuples(st.sampled_from(["note", "column", "card", "seal"]), st.sampled_from("abc")), max_size=25)
met: Counter[str] = Counter()


@settings(max_examples=40)
@given(TREES, st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def _deletions_are_as_declared(tree: list[tuple[str, str]], deleted: list[str]) -> None:
    world = World(schema=SCHEMA)
    for name in "abc":
        world.store.create(Board(board_id=name))
        world.store.create(Column(column_id=name, board_id=name))
    for kind, name in tree:
        made = {"note": Note, "seal": Seal, "column": Column}
        world.store.create(Card(column_id=name) if kind == "card" else made[kind](board_id=name))
    there = set("abc")
    for name in deleted:
        if ("seal", name) in tree and name in there:
            before = world.items()
            with pytest.raises(HasChildren):
                world.store.delete(Board, name)
            assert world.items() == before
            met["refused"] += 1
        else:
            assert world.store.delete(Board, name) is (name in there)
            there.discard(name)
            met["deleted"] += 1
        assert is_sound(world)
    counted = Counter(kind for kind, name in tree if name in there)
    notes = sum(kind == "note" for kind, _ in tree)
    assert left(world) == {
        "Board": len(there),
        "Note": notes,
        "Column": counted["column"] + len(there),
        "Card": counted["card"],
        "Seal": counted["seal"],
    }


def test_deletions_of_any_tree_are_as_declared() -> None:
    met.clear()
    _deletions_are_as_declared()
    assert {name: met[name] for name in ("refused", "deleted") if met[name] < 15} == {}


# -- declarations -----------------------------------------------------------------------------------------------------


def faults_of(*models: type[Entity]) -> list[tuple[str, str]]:
    with pytest.raises(SchemaError) as caught:
        Schema(list(models))
    return [(fault.where, fault.fix) for fault in caught.value.faults]


def test_what_can_be_wrong_with_a_policy() -> None:
    class Loose(Entity, token="loose"):
        loose_id: str = unique_property()
        board_id: str

        unknown = belongs_to(Board, by="board_id", enforced=True, on_delete="forget")  # type: ignore[arg-type]
        kept = belongs_to(Board, by="board_id", enforced=True, on_delete="detach")
        free = belongs_to(Board, by="board_id", on_delete="cascade")

    assert faults_of(Board, Loose) == [
        ("entity Loose.unknown: on_delete", "choose one, or leave it out"),
        ("entity Loose.kept", "declare Lookup('board_id')"),
        ("entity Loose.kept", "let one be None, or use cascade"),
        ("entity Loose.free", "add enforced=True"),
        ("entity Loose.free", "declare Lookup('board_id')"),
    ]


def test_a_cascade_ends_and_is_not_refused_half_way() -> None:
    class Folder(Entity, token="folder"):
        folder_id: str = unique_property()
        parent_id: str | None = None

        parents = Lookup("parent_id")
        parent = belongs_to("folder", by="parent_id", enforced=True, on_delete="cascade")

    class Page(Entity, token="page"):
        page_id: str = unique_property()
        board_id: str

        boards = Lookup("board_id")
        board = belongs_to(Board, by="board_id", enforced=True, on_delete="cascade")

    class Line(Entity, token="line"):
        line_id: str = unique_property()
        page_id: str

        page = belongs_to(Page, by="page_id", enforced=True)

    assert faults_of(Folder) == [("entity Folder.parent", "let one of its relations restrict or detach")]
    assert faults_of(Board, Page, Line) == [
        ("entity Page.board", "let that relation cascade or detach, or this one restrict")
    ]


def test_creators_and_deleters_at_once_leave_nothing_behind() -> None:
    world = board(notes=1, columns=0)
    barrier = threading.Barrier(4)

    def attempt(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except (Conflict, NotFound) as refusal:
            return refusal

    def work(worker: int) -> None:
        barrier.wait()
        for turn in range(6):
            if worker == 0:
                attempt(lambda: world.store.delete(Board, "b"))
                attempt(lambda: world.store.create(Board(board_id="b")))
            elif worker == 1:
                attempt(lambda turn=turn: world.store.create(Column(column_id=f"n{turn}", board_id="b")))
            elif worker == 2:
                attempt(lambda turn=turn: world.store.create(Card(column_id=f"n{turn}")))
            else:
                attempt(lambda: world.store.create(Note(board_id="b")))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert is_sound(world)
    world.store.put(Board(board_id="b"))
    assert world.store.delete(Board, "b")
    assert left(world)["Card"] == 0
    assert is_sound(world)
