"""Many at once on the issue tracker: numbers are unique and without gaps, no issue is left without its project."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from services.issue_tracker import schema
from services.issue_tracker.merging import Merger
from services.issue_tracker.records import Issue, MergeState, Project, Tenant
from shardweave import Database
from shardweave.errors import HasChildren, NotFound, ParentMissing, RevisionConflict
from shardweave.query.runner import QueryRunner
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS

THREADS = 20
CREATES = 2_000
ROUNDS = 25


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = schema()
    return Store(made, EmbeddedTable(made.layout, tmp_path / "table.db"))


def test_2000_issues_created_by_20_threads_have_the_numbers_1_to_2000(store: Store) -> None:
    project = _project(store)

    def create(position: int) -> int:
        return store.create(_values(project, f"Issue {position}"), Issue).num

    with ThreadPoolExecutor(THREADS) as pool:
        given = list(pool.map(create, range(CREATES)))
    assert sorted(given) == list(range(1, CREATES + 1))
    within = {"tenant_id": project.tenant_id, "project_id": project.project_id}
    for number in (1, CREATES // 2, CREATES):
        found = store.get_by(Issue, "num", number, within=within)
        assert found is not None
        assert found.num == number


def test_a_project_is_deleted_without_issues_or_not_at_all(store: Store) -> None:
    """Two create issues while a third deletes the project. Whoever comes first wins, and what is there fits."""
    for _ in range(ROUNDS):
        _race(store)


def test_a_project_that_has_issues_is_not_deleted_while_more_are_created(store: Store) -> None:
    project = _project(store)
    store.create(_values(project, "The first"), Issue)
    stop = threading.Event()
    refused = []

    def remove() -> None:
        while not (refused and stop.is_set()):
            with pytest.raises(HasChildren):
                store.delete(Project, _key(project))
            refused.append(1)

    with ThreadPoolExecutor(2) as pool:
        removing = pool.submit(remove)
        list(pool.map(lambda number: store.create(_values(project, f"Issue {number}"), Issue), range(50)))
        stop.set()
        removing.result()
    assert refused
    assert store.get(Project, _key(project)) is not None


def test_a_merge_that_several_carry_out_while_fields_are_declared_and_filled_loses_no_value(store: Store) -> None:
    source, queries = _project(store), QueryRunner(store.schema, store.table, CURSOR_KEYS)
    target = store.create({"tenantId": source.tenant_id, "name": "To"}, Project)
    ids = [store.create(_values(source, f"Issue {number}"), Issue).issue_id for number in range(70)]
    merger = Merger(Database.over(store, queries))
    merger.begin(source.tenant_id, source.project_id, target.project_id)

    def execute(_: int) -> None:
        merge = merger.begin(source.tenant_id, source.project_id, target.project_id)
        while merge.state is MergeState.OPEN:
            merge, _moved = merger.go_on(merge, lambda: True)

    def declare_and_fill(_: int) -> int:
        try:
            store.update(Project, _key(source), {"custom_fields": {"remark": "text1"}})
        except NotFound:
            return 0
        return sum(_is_filled(store, source, issue_id) for issue_id in reversed(ids))

    with ThreadPoolExecutor(4) as pool:
        filling = pool.submit(declare_and_fill, 0)
        list(pool.map(execute, range(3)))
        filled = filling.result()
    moved = [store.get(Issue, {"tenant_id": source.tenant_id, "issue_id": issue_id}) for issue_id in ids]
    assert {issue.project_id for issue in moved if issue} == {target.project_id}
    assert sorted(issue.num for issue in moved if issue) == sorted({issue.num for issue in moved if issue})
    assert sum(issue.custom_texts == {"text1": "Wet"} for issue in moved if issue) == filled
    assert store.get(Project, _key(source)) is None
    queries.close()


def _is_filled(store: Store, source: Project, issue_id: UUID) -> bool:
    """Give an issue a value, if it is still in the source."""
    key = {"tenant_id": source.tenant_id, "issue_id": issue_id}
    try:
        issue = store.update(
            Issue,
            key,
            lambda issue: {"custom_texts": {"text1": "Wet"}} if issue.project_id == source.project_id else {},
        )
    except RevisionConflict:
        return False
    return issue.custom_texts == {"text1": "Wet"}


def _race(store: Store) -> None:
    project = _project(store)
    ready = threading.Barrier(3)

    def create() -> Issue | None:
        ready.wait()
        try:
            return store.create(_values(project, "One"), Issue)
        except ParentMissing:
            return None

    def remove() -> bool:
        ready.wait()
        try:
            return store.delete(Project, _key(project))
        except HasChildren:
            return False

    with ThreadPoolExecutor(3) as pool:
        creating = [pool.submit(create), pool.submit(create)]
        removed = pool.submit(remove).result()
        issues = [each.result() for each in creating]
    there = store.get(Project, _key(project)) is not None
    assert there is not removed
    assert removed == (issues == [None, None])


def _project(store: Store) -> Project:
    tenant = store.create(Tenant(tenant_id=uuid4(), name="ACME Engineering"))
    return store.create(Project(tenant_id=tenant.tenant_id, project_id=uuid4(), name="Forth Rail Bridge"))


def _key(project: Project) -> dict[str, object]:
    return {"tenant_id": project.tenant_id, "project_id": project.project_id}


def _values(project: Project, title: str) -> dict[str, object]:
    return {**_key(project), "title": title}
