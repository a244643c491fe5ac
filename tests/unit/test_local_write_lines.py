"""What `dev` says of each write: what it consists of, and what it costs, without a value."""

from __future__ import annotations

import re

import pytest

from services._samples.issues import ACME, BRIDGE
from services.issue_tracker import schema
from services.issue_tracker.records import Issue, Project
from shardweave.errors import RevisionConflict
from shardweave.local.write_lines import MOST_NAMED, ToldWrites, line
from shardweave.store import Create, Store
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite, Scan


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def table(said: list[str]) -> Table:
    made = schema()
    return ToldWrites(EmbeddedTable(made.layout), made, said.append)


@pytest.fixture
def store(table: Table, said: list[str]) -> Store:
    made = Store(schema(), table)
    made.create(ACME)
    made.create(BRIDGE)
    said.clear()
    return made


def parts(text: str) -> str:
    found = re.fullmatch(r"(.*); [\d.]+ units, \d+\.\d ms", text)
    assert found, text
    return found[1]


def test_a_write_names_its_actions(store: Store, said: list[str]) -> None:
    key = {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}
    issue = store.create(Issue(**key, title="Secret title"))
    store.update(Issue, {"tenant_id": issue.tenant_id, "issue_id": issue.issue_id}, {"title": "Another"})
    store.delete(Issue, {"tenant_id": issue.tenant_id, "issue_id": issue.issue_id})
    assert [parts(each) for each in said] == [
        "write of issue: a transaction of 4: put issue, put issue.num, check project, update project.*",
        "write of issue: put issue",
        "write of issue: a transaction of 3: delete issue, delete issue.num, update project.*",
    ]
    assert not re.search("Secret|Another|[0-9a-f]{8}-", "".join(said)), "no value is said"


def test_reads_and_bookkeeping_and_what_was_refused_are_not_said(store: Store, table: Table, said: list[str]) -> None:
    table.run(Scan())
    store.take(Issue, "num", within={"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}, count=5)
    key = {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}
    with pytest.raises(RevisionConflict):
        store.update(Project, key, {"name": "x"}, rev="other")
    assert said == []


def test_a_batch_and_a_long_transaction_are_one_line(store: Store, table: Table, said: list[str]) -> None:
    record = next(each for each in table.run(Scan()).items if each["hashKey"].startswith("project!"))
    key = {name: record[name] for name in ("hashKey", "rangeKey")}
    table.run(BatchWrite(puts=(record,), deletes=({**key, "rangeKey": "projectId#x"},)))
    assert parts(said[0]) == "write of project: a batch of 2: put project, delete project"
    many = line("issue", "transaction", [("put", "issue")] * (MOST_NAMED + 3), 1.5, 2.0)
    assert many.endswith("put issue, 3 more; 1.5 units, 2.0 ms")


def test_what_it_wraps_is_what_the_store_sees(store: Store, table: Table) -> None:
    assert table.guards_inside_writes
    assert store.transact([Create(Issue(tenant_id=ACME.tenant_id, project_id=BRIDGE.project_id, title="t"))])
