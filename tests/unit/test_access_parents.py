"""A parent that its child's maker may not read is no parent: every way of writing answers as for an id that nobody has,
also when the owner changes in between. Children are named to those who may read them all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.access import Allow
from shardweave.errors import NotFound, ParentMissing
from shardweave.schema.declarations import Sequence, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Check, Create, Delete, Update
from shardweave.store.operations import Visible
from shardweave.table.fault_injection import WRITES, Meanwhile, Script
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, problem_of
from tests.unit.store_world import World

OWN = Allow("*", owner="user_id")


class Folder(Entity, token="folder", access=[Allow("*", groups="admin"), OWN]):
    """Somebody's own."""

    folder_id: str = unique_property()
    user_id: str


class Sheet(Entity, token="sheet", access=[Allow("*", groups=("admin", "clerk")), OWN]):
    """Lies in a folder; its id may be made up."""

    sheet_id: str = unique_property(default_factory=nanoid)
    user_id: str
    folder_id: str | None = None

    folder = belongs_to(Folder, by="folder_id", enforced=True)


class Page(Entity, token="page", access=[Allow("*", groups="admin"), OWN]):
    """Has a number in its folder."""

    page_id: str = unique_property(default_factory=nanoid)
    user_id: str
    folder_id: str
    num: int | None = None

    numbering = Sequence("num", within="folder_id")
    folder = belongs_to(Folder, by="folder_id", enforced=True)


class Stamp(Entity, token="stamp", access=[Allow("*")]):
    """Everybody's, on a folder."""

    stamp_id: str = unique_property()
    folder_id: str

    folder = belongs_to(Folder, by="folder_id", enforced=True)


class Vault(Entity, token="vault", access=[Allow("create", "delete"), Allow("*", groups="admin")]):
    """Whoever makes one does not see it again."""

    vault_id: str = unique_property()


class Coin(Entity, token="coin", access=[Allow("*")]):
    """Lies in a vault."""

    coin_id: str = unique_property()
    vault_id: str

    vault = belongs_to(Vault, by="vault_id", enforced=True)


SCHEMA = Schema([Folder, Sheet, Page, Stamp, Vault, Coin])


def people() -> tuple[Person, Person, Person]:
    """Ann, Bob, and somebody who may do everything; Ann and Bob have a folder each, Ann has a sheet in hers."""
    api = api_of(SCHEMA)
    ann, bob, admin = person(api, "ann"), person(api, "bob"), person(api, "root", "admin")
    for each in (ann, bob):
        each.made("folders", folderId=each.claims["sub"])
    ann.made("sheets", sheetId="own", folderId="ann")
    return ann, bob, admin


WAYS: dict[str, Callable[[Person, str], Any]] = {
    "create": lambda who, folder: who.post("/v1/sheets", {"folderId": folder}),
    "create once": lambda who, folder: who.ask("POST", "/v1/sheets", {"folderId": folder}, idempotency_key="k"),
    "create everybody's": lambda who, folder: who.post("/v1/stamps", {"stampId": "s", "folderId": folder}),
    "put a new one": lambda who, folder: who.ask("PUT", "/v1/sheets/new", {"folderId": folder}),
    "put over": lambda who, folder: who.ask("PUT", "/v1/sheets/own", {"folderId": folder}),
    "put only a new one": lambda who, folder: who.ask("PUT", "/v1/sheets/new", {"folderId": folder}, if_none_match="*"),
    "update": lambda who, folder: who.ask("PATCH", "/v1/sheets/own", {"folderId": folder}),
    "update once": lambda who, folder: who.ask("PATCH", "/v1/sheets/own", {"folderId": folder}, idempotency_key="k"),
    "batch, made up": lambda who, folder: who.post("/v1/sheets/batch-write", {"puts": [{"folderId": folder}]}),
    "batch, given": lambda who, folder: who.post(
        "/v1/sheets/batch-write", {"puts": [{"sheetId": "new", "folderId": folder}, {"sheetId": "other"}]}
    ),
    "batch once": lambda who, folder: who.ask(
        "POST", "/v1/sheets/batch-write", {"puts": [{"sheetId": "own", "folderId": folder}]}, idempotency_key="k"
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_hidden_parent_is_answered_as_none(way: Callable[[Person, str], Any]) -> None:
    answers = []
    for folder in ("bob", "nobody"):
        ann, bob, _ = people()
        answer = way(ann, folder)
        answers.append((answer.status, answer.body.replace(folder.encode(), b"it")))
        assert b"parent_missing" in answer.body
        assert bob.ask("DELETE", "/v1/folders/bob").status == 204, "nothing of others keeps the owner from deleting"
    assert answers[0] == answers[1]


NUMBERED: dict[str, Callable[[Person, str], Any]] = {
    "create": lambda who, folder: who.post("/v1/pages", {"folderId": folder}),
    "create a given one": lambda who, folder: who.post("/v1/pages", {"folderId": folder, "pageId": "new"}),
    "create once": lambda who, folder: who.ask("POST", "/v1/pages", {"folderId": folder}, idempotency_key="k"),
    "put a new one": lambda who, folder: who.ask("PUT", "/v1/pages/new", {"folderId": folder}),
    "put over": lambda who, folder: who.ask("PUT", "/v1/pages/own", {"folderId": folder}),
    "batch": lambda who, folder: who.post(
        "/v1/pages/batch-write", {"puts": [{"folderId": folder}, {"folderId": "ann"}, {"folderId": folder}]}
    ),
    "batch once": lambda who, folder: who.ask(
        "POST", "/v1/pages/batch-write", {"puts": [{"pageId": "own", "folderId": folder}]}, idempotency_key="k"
    ),
}


@pytest.mark.parametrize("way", NUMBERED.values(), ids=NUMBERED)
@pytest.mark.parametrize("folder", ["bob", "nobody"])
def test_a_child_that_is_refused_for_its_parent_takes_no_number_there(
    way: Callable[[Person, str], Any], folder: str
) -> None:
    ann, bob, _ = people()
    ann.made("pages", pageId="own", folderId="ann")
    for _ in range(2):
        assert b"parent_missing" in way(ann, folder).body
    if folder == "nobody":
        bob.made("folders", folderId="nobody")
    assert bob.made("pages", folderId=folder)["num"] == 1


def test_others_of_a_batch_are_numbered_where_one_is_refused_for_its_parent() -> None:
    ann, bob, _ = people()
    puts = [{"pageId": f"p{at}", "folderId": folder} for at, folder in enumerate(("ann", "bob", "ann"))]
    answer = json.loads(ann.post("/v1/pages/batch-write", {"puts": puts}).body)
    assert [each["status"] for each in answer["puts"]] == ["written", "failed", "written"]
    assert sorted(json.loads(ann.get(f"/v1/pages/p{at}").body)["num"] for at in (0, 2)) == [1, 2]
    assert bob.made("pages", folderId="bob")["num"] == 1


def test_a_transaction_that_is_refused_for_a_parent_names_the_operation_and_takes_no_number() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Folder(folder_id="a", user_id="ann"))
    pages = [Create(Page(user_id="ann", folder_id=each)) for each in "az"]
    with pytest.raises(ParentMissing) as raised:
        world.store.transact(pages)
    assert raised.value.where.startswith("operations[1].")
    made = world.store.transact([*pages, Create(Folder(folder_id="z", user_id="ann"))])
    assert [getattr(each, "num", None) for each in made] == [1, 1, None]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_parent_that_may_be_read_is_one(way: Callable[[Person, str], Any]) -> None:
    ann, _, admin = people()
    assert b"parent_missing" not in way(ann, "ann").body
    admin.ask("DELETE", "/v1/sheets/new")
    admin.made("folders", folderId="third", userId="ann")
    assert b"parent_missing" not in way(ann, "third").body


def test_whoever_may_not_read_an_entity_has_no_parent_in_it() -> None:
    ann, _, admin = people()
    assert ann.post("/v1/vaults", {"vaultId": "v"}).status == 201
    problem_of(ann.post("/v1/coins", {"coinId": "c", "vaultId": "v"}), 409, "parent_missing")
    admin.made("coins", coinId="c", vaultId="v")


def test_a_child_stays_with_a_parent_that_became_hidden() -> None:
    ann, bob, admin = people()
    assert admin.ask("PATCH", "/v1/folders/ann", {"userId": "bob"}).status == 200
    assert ann.ask("PUT", "/v1/sheets/own", {"folderId": "ann"}).status == 200, "it leads nowhere new"
    assert ann.ask("PATCH", "/v1/sheets/own", {"folderId": None}).status == 200, "away from it always leads a way"
    problem_of(ann.ask("PATCH", "/v1/sheets/own", {"folderId": "ann"}), 409, "parent_missing")
    assert bob.ask("DELETE", "/v1/folders/ann").status == 204


def test_children_are_named_to_whoever_may_read_them_all() -> None:
    ann, _, admin = people()
    hidden = problem_of(ann.ask("DELETE", "/v1/folders/ann"), 409, "has_children")
    assert hidden["detail"] == "the folder has records that belong to it"
    admin.made("stamps", stampId="s", folderId="ann")
    assert problem_of(ann.ask("DELETE", "/v1/folders/ann"), 409, "has_children")["detail"] == (
        "the folder has records of stamp"
    )
    shown = problem_of(admin.ask("DELETE", "/v1/folders/ann"), 409, "has_children")
    assert shown["detail"] == "the folder has records of sheet, stamp"
    in_batch = json.loads(ann.post("/v1/folders/batch-write", {"deletes": ["ann"]}).body)
    assert in_batch["deletes"][0]["problem"]["detail"] == "the folder has records of stamp"


# -- who owns it changes in between -----------------------------------------------------------------------------------


def anns(token: str) -> Visible:
    return Visible(lambda item: item.get("userId") == "ann", ("userId",), None)


def race(act: Callable[[World], object]) -> World:
    """A folder of Ann's, and one of Bob's; what others do just before the next write."""
    world: World
    script = Script(matching=WRITES)
    world = World(script, schema=SCHEMA)
    for name in ("ann", "bob"):
        world.other.create(Folder(folder_id=name, user_id=name))
    world.store.create(Stamp(stamp_id="first", folder_id="bob"))
    script._left = [Meanwhile(lambda: act(world))]
    return world


def sheet(**values: Any) -> Create:
    return Create({"userId": "ann", "folderId": "ann", **values}, Sheet, related=anns)


@pytest.mark.parametrize(
    "beside",
    [(), (Check(Folder, "ann"),), (Update(Folder, "bob", {"user_id": "cid"}),)],
    ids=["alone", "beside a check of it", "beside another change"],
)
def test_an_owner_that_changes_just_before_the_child_is_written_is_noticed(beside: tuple[Any, ...]) -> None:
    world = race(lambda world: world.other.update(Folder, "ann", {"user_id": "bob"}))
    with pytest.raises(ParentMissing):
        world.store.transact([sheet(), *beside])
    assert world.items_of(Sheet) == []
    assert world.store.delete(Folder, "ann")


def test_an_owner_that_stays_is_no_conflict() -> None:
    world = race(lambda world: world.other.update(Folder, "ann", {"user_id": "ann"}))
    world.store.transact([sheet()])
    assert len(world.items_of(Sheet)) == 1


def test_a_parent_of_the_same_transaction_is_judged_as_it_is_written() -> None:
    world = race(lambda world: None)
    given = Create(Folder(folder_id="new", user_id="bob"))
    with pytest.raises(ParentMissing) as raised:
        world.store.transact([given, sheet(folderId="new")])
    assert raised.value.where == "operations[1].folderId"
    world.store.transact([Update(Folder, "bob", {"user_id": "ann"}), sheet(folderId="bob")])
    with pytest.raises(ParentMissing):
        world.store.transact([Update(Folder, "ann", {"user_id": "bob"}), sheet(folderId="ann")])


def test_a_parent_that_an_operation_leaves_as_it_is_must_still_be_there() -> None:
    world = race(lambda world: world.other.delete(Folder, "ann"))
    child = Create({"userId": "a", "folderId": "ann"}, Sheet)
    with pytest.raises(NotFound):
        world.store.transact([Update(Folder, "ann", {"user_id": "ann"}), child])
    assert world.items_of(Sheet) == []


def test_a_batch_counts_children_whose_ids_are_made_up() -> None:
    world = race(lambda world: None)
    put, lost = ({"userId": "ann", "folderId": name} for name in ("ann", "nobody"))
    outcomes = world.store.batch_write([Sheet(**_named(put)), Sheet(**_named(lost))]).puts
    assert [each.status for each in outcomes] == ["written", "failed"]
    assert isinstance(outcomes[1].error, ParentMissing)
    problem = world.store.batch_write(deletes=[Delete(Folder, "ann")]).deletes[0]
    assert problem.status == "failed", "it has a child"


def _named(values: dict[str, str]) -> dict[str, str]:
    return {"user_id": values["userId"], "folder_id": values["folderId"]}


# -- any course of events ---------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["ann", "bob"])
STEPS = st.lists(
    st.tuples(
        NAMES,
        st.sampled_from(["make", "attach", "give", "remove", "free"]),
        st.sampled_from("fg"),
        st.sampled_from("xy"),
    ),
    min_size=8,
    max_size=30,
)
met: Counter[str] = Counter()


@settings(max_examples=40)
@given(STEPS)
def _only_visible_parents_get_children(steps: list[tuple[str, str, str, str]]) -> None:
    api = api_of(SCHEMA)
    folks = {name: person(api, name) for name in ("ann", "bob")}
    admin = person(api, "root", "admin")
    owner: dict[str, str] = {}
    lies: dict[str, str | None] = {}
    for name, step, folder, sheet in steps:
        who, path, own = folks[name], f"/v1/folders/{folder}", f"{name}{sheet}"
        if step == "make":
            status = who.ask("PUT", path, {}, if_none_match="*").status
            assert status == (201 if folder not in owner else 412)
            owner.setdefault(folder, name)
        elif step == "give" and folder in owner:
            assert admin.ask("PATCH", path, {"userId": name}).status == 200
            owner[folder] = name
        elif step == "attach":
            answer = who.ask("PUT", f"/v1/sheets/{own}", {"folderId": folder})
            if owner.get(folder) == name or lies.get(own) == folder:
                assert answer.status in (200, 201)
                lies[own] = folder
                met["attached"] += 1
            else:
                problem_of(answer, 409, "parent_missing")
                met["hidden" if folder in owner else "none"] += 1
        elif step == "free":
            assert who.ask("DELETE", f"/v1/sheets/{own}").status == (204 if own in lies else 404)
            lies.pop(own, None)
        elif step == "remove":
            answer = who.ask("DELETE", path)
            if owner.get(folder) != name:
                problem_of(answer, 404, "not_found")
            elif folder in lies.values():
                problem_of(answer, 409, "has_children")
                met["has children"] += 1
            else:
                assert answer.status == 204
                del owner[folder]


def test_only_what_may_be_read_gets_children_whatever_happens() -> None:
    met.clear()
    _only_visible_parents_get_children()
    floors = {"attached": 25, "hidden": 20, "none": 20, "has children": 5}
    assert {name: met[name] for name, floor in floors.items() if met[name] < floor} == {}
