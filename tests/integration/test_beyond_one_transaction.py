"""What the guide to work beyond one transaction shows is so: the examples run, also when stopped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest

from shardweave import (
    Create,
    CursorKeys,
    Database,
    Delete,
    Entity,
    IdempotencyKey,
    Lookup,
    Schema,
    Sequence,
    Timestamp,
    Update,
    belongs_to,
    nanoid,
    unique_property,
)
from shardweave.errors import AlreadyExists
from shardweave.query.runner import QueryRunner
from shardweave.table.fault_injection import Crash, Crashed, Script
from tests.unit.store_world import World

CURSOR_KEYS = CursorKeys("test", {"test": b"a secret of tests, known to all of them"[:32]})
DOCS = Path(__file__).parents[2] / "docs"


def examples_of(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def run(example: str, names: dict[str, Any]) -> None:
    exec(compile(example, "docs", "exec", dont_inherit=True), names)


class Project(Entity, token="project"):
    """What issues are about."""

    project_id: str = unique_property()


class Issue(Entity, token="issue"):
    """Something to do."""

    issue_id: str = unique_property(default_factory=nanoid)
    project_id: str
    num: int = 0

    numbering = Sequence("num", within="project_id")
    by_project = Lookup("project_id")
    project = belongs_to(Project, by="project_id", enforced=True)


class Account(Entity, token="account"):
    """What somebody has."""

    account_id: str = unique_property()
    balance: int = 0


class Entry(Entity, token="entry"):
    """One change of an account."""

    entry_id: str = unique_property()
    account_id: str
    amount: int


ADD, MERGE, GO_ON, ASK = examples_of("beyond-one-transaction.md")
NAMES: dict[str, Any] = {
    "Account": Account,
    "Create": Create,
    "Delete": Delete,
    "Entity": Entity,
    "Entry": Entry,
    "IdempotencyKey": IdempotencyKey,
    "Issue": Issue,
    "Literal": Literal,
    "Lookup": Lookup,
    "Project": Project,
    "Timestamp": Timestamp,
    "Update": Update,
    "__name__": __name__,
    "unique_property": unique_property,
}


def merging(*faults: Any) -> tuple[World, dict[str, Any]]:
    """A merge of a project into another that has been begun: 22 issues are to be moved, on two pages."""
    names = dict(NAMES)
    run(MERGE, names)
    script = Script()
    world = World(script, schema=Schema(entities=[Project, Issue, Account, Entry, names["Merge"]]))
    for project in ("a", "b"):
        world.other.create({"projectId": project}, Project)
    for project, count in (("a", 22), ("b", 3)):
        made = [Create({"projectId": project, "issueId": f"{project}{n}"}, Issue) for n in range(count)]
        world.other.transact(made)
    queries = QueryRunner(world.schema, world.table, CURSOR_KEYS, clock=world.clock)
    names["db"] = Database.over(world.store, queries)
    names["merge"] = world.store.create({"mergeId": "m", "source": "a", "target": "b"}, names["Merge"])
    world.store.find_by(Issue, "projectId", "none")
    world.requests()
    script._left = list(faults)
    run(GO_ON, names)
    return world, names


def test_a_step_with_its_sign_is_done_once() -> None:
    world, names = merging()
    world.store.create({"accountId": "ann"}, Account)
    run(ADD, names)
    with pytest.raises(AlreadyExists) as raised:
        run(ADD, names)
    assert raised.value.where == "operations[0].entryId"
    account = world.store.get(Account, "ann")
    assert account is not None
    assert account.balance == 5


@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
def test_work_that_dies_anywhere_is_found_and_finished(carried_out: bool) -> None:
    smooth, names = merging()
    names["go_on"](names["merge"])
    for step in range(len(smooth.table.calls)):
        world, names = merging(*[None] * step, Crash(carried_out))
        with pytest.raises(Crashed):
            names["go_on"](names["merge"])
        for merge in world.store.find_by(names["Merge"], "state", "open").items:
            names["go_on"](merge)
        assert world.store.find_by(names["Merge"], "state", "open").items == ()
        issues = world.items_of(Issue)
        assert {issue["projectId"] for issue in issues} == {"b"}
        assert len({issue["num"] for issue in issues}) == 25
        assert [project["projectId"] for project in world.items_of(Project)] == ["b"]


def test_a_request_with_a_key_is_answered_as_the_first_time() -> None:
    _, names = merging()
    names |= {"key": "k", "caller": "ann", "content": b"", "values": {"projectId": "a"}}
    names["body_of"] = lambda record: record.issue_id.encode()
    run(ASK, names)
    first = names["kept"]
    run(ASK, names)
    assert names["kept"].answer == first.answer
    assert names["kept"].repeated
