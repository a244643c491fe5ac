"""Merging projects while others change them: nothing is lost, and no merge is open for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from services._samples.issues import ACME, BRIDGE, TUNNEL
from services.issue_tracker.merging import Merger
from services.issue_tracker.records import Merge, MergeState, Project
from shardweave import Database
from shardweave.errors import Conflict, HasChildren, NotFound, RevisionConflict
from shardweave.service.build import Service
from shardweave.store import Store
from shardweave.table.operations import DeleteItem, Scan
from tests.unit.access_world import Person
from tests.unit.api_world import json_of, problem_of
from tests.unit.issue_world import grid, issue_of, issue_service, load_samples, numbers, somebody

MERGE = (ACME.tenant_id, BRIDGE.project_id, TUNNEL.project_id)


@pytest.fixture
def service() -> Service:
    made = issue_service()
    load_samples(made)
    return made


@pytest.fixture
def me(service: Service) -> Person:
    return somebody(service, ACME)


@pytest.fixture
def merger(service: Service) -> Merger:
    return Merger(Database.over(service.parts.store, service.parts.queries))


@pytest.fixture
def harbour(me: Person) -> Project:
    """A third project, without issues."""
    return Project.model_validate(me.made("projects", name="Harbour"))


class Meddler:
    """A store, before whose next taking of numbers somebody else does something."""

    def __init__(self, store: Store, meddle: Callable[[], object]) -> None:
        self._store, self._meddle = store, meddle

    def take(self, *arguments: Any, **named: Any) -> range:
        self._meddle()
        return self._store.take(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


# -- custom fields that are declared meanwhile ------------------------------------------------------------------------


def test_a_field_that_is_declared_after_the_beginning_goes_along(me: Person, merger: Merger, harbour: Project) -> None:
    merge = merger.begin(ACME.tenant_id, BRIDGE.project_id, harbour.project_id)
    _declare(me, BRIDGE, "remark", "text")
    _set(me, issue_of(me, BRIDGE, 1), remark="Wet")
    assert merger.go_on(merge, lambda: True)[0].state is MergeState.DONE
    assert _column(me, harbour, "remark") == ["Wet", None, None]


def test_a_field_without_a_value_goes_along_too(me: Person, merger: Merger, harbour: Project) -> None:
    merge = merger.begin(ACME.tenant_id, BRIDGE.project_id, harbour.project_id)
    merger.move(merge)
    _declare(me, BRIDGE, "remark", "text")
    merger.end(merge)
    fields = json_of(me.get(f"/v1/projects/{ACME.tenant_id}/{harbour.project_id}"))["customFields"]
    assert "remark" in fields


def test_a_field_that_is_declared_between_reading_and_writing_is_met(
    service: Service, me: Person, merger: Merger, harbour: Project
) -> None:
    merge = merger.begin(ACME.tenant_id, BRIDGE.project_id, harbour.project_id)

    def meddle() -> None:
        _declare(me, BRIDGE, "remark", "text")
        _set(me, issue_of(me, BRIDGE, 2), remark="Wet")

    store: Any = Meddler(service.parts.store, meddle)
    with pytest.raises(RevisionConflict):
        Merger(Database.over(store, service.parts.queries)).move(merge)
    assert numbers(grid(me, BRIDGE, "num")) == [1, 2, 3]
    merger.go_on(merge, lambda: True)
    assert _column(me, harbour, "remark") == [None, "Wet", None]


def test_a_field_of_another_kind_stops_the_merge_until_it_is_renamed(me: Person, merger: Merger) -> None:
    merge = merger.begin(*MERGE)
    _declare(me, BRIDGE, "section", "date")
    _set(me, issue_of(me, BRIDGE, 1), section="2024-05-06")
    assert problem_of(_merge(me, BRIDGE, TUNNEL), 409, "conflict")["where"] == "targetId"
    with pytest.raises(Conflict, match="section is date here and text there"):
        merger.go_on(merge, lambda: True)
    path = f"/v1/projects/{ACME.tenant_id}/{BRIDGE.project_id}"
    assert me.ask("PATCH", path, {"customFields": {"section": None, "inspected": "date1"}}).status == 200
    assert json_of(_merge(me, BRIDGE, TUNNEL))["state"] == "done"
    assert _column(me, TUNNEL, "inspected") == ["2024-05-06", None, None]


# -- projects that come and go ----------------------------------------------------------------------------------------


def test_a_project_that_is_made_again_is_merged_again(me: Person) -> None:
    assert json_of(_merge(me, BRIDGE, TUNNEL)) == {"state": "done", "moved": 3}
    path = f"/v1/projects/{ACME.tenant_id}/{BRIDGE.project_id}"
    assert me.ask("PUT", path, {"name": "Bridge again"}).status == 201
    me.made("issues", projectId=str(BRIDGE.project_id), title="A new one")
    assert json_of(_merge(me, BRIDGE, TUNNEL)) == {"state": "done", "moved": 1}
    assert numbers(grid(me, TUNNEL, "num")) == [1, 2, 3, 4]
    assert me.get(path).status == 404
    assert json_of(_merge(me, BRIDGE, TUNNEL)) == {"state": "done", "moved": 0}


def test_neither_project_of_an_open_merge_can_be_deleted(me: Person, merger: Merger, harbour: Project) -> None:
    merge = merger.begin(ACME.tenant_id, harbour.project_id, BRIDGE.project_id)
    for issue in grid(me, BRIDGE, "num")["items"]:
        assert me.ask("DELETE", f"/v1/issues/{ACME.tenant_id}/{issue['issueId']}").status == 204
    for project in (harbour, BRIDGE):
        problem_of(me.ask("DELETE", f"/v1/projects/{ACME.tenant_id}/{project.project_id}"), 409, "has_children")
    assert merger.go_on(merge, lambda: True)[0].state is MergeState.DONE
    assert me.ask("DELETE", f"/v1/projects/{ACME.tenant_id}/{BRIDGE.project_id}").status == 204


def test_no_project_is_source_and_target_of_open_merges(me: Person, merger: Merger, harbour: Project) -> None:
    merge = merger.begin(*MERGE)
    onward = problem_of(_merge(me, TUNNEL, harbour), 409, "conflict")
    assert (onward["where"], "being merged with the source" in onward["detail"]) == ("sourceId", True)
    assert problem_of(_merge(me, harbour, BRIDGE), 409, "conflict")["where"] == "targetId"
    assert problem_of(_merge(me, TUNNEL, BRIDGE), 409, "conflict")["where"] == "targetId"
    merger.go_on(merge, lambda: True)
    assert json_of(_merge(me, TUNNEL, harbour)) == {"state": "done", "moved": 3}


def test_of_two_merges_in_a_circle_that_begin_at_one_moment_one_is_refused(
    service: Service, merger: Merger, harbour: Project
) -> None:
    there = (ACME.tenant_id, TUNNEL.project_id, BRIDGE.project_id)
    store = service.parts.store
    planned = merger.beginning(None, *there)
    merger.begin(*MERGE)
    with pytest.raises(Conflict):
        store.transact(planned)
    with pytest.raises(Conflict, match="being merged"):
        merger.begin(*there)


def test_a_row_of_merges_that_began_at_one_moment_ends_in_the_last_project(
    service: Service, me: Person, merger: Merger, harbour: Project
) -> None:
    planned = merger.beginning(None, ACME.tenant_id, TUNNEL.project_id, harbour.project_id)
    first = merger.begin(*MERGE)
    second = service.parts.store.transact(planned)[0]
    assert isinstance(second, Merge)
    second, _ = merger.go_on(second, lambda: True)
    assert second.state is MergeState.OPEN
    with pytest.raises(HasChildren):
        merger.end(second)
    merger.go_on(first, lambda: True)
    assert merger.go_on(second, lambda: True)[0].state is MergeState.DONE
    assert numbers(grid(me, harbour, "num")) == [1, 2, 3]


@pytest.mark.parametrize("lost", ["target", "source"])
def test_a_merge_whose_project_another_program_took_away_is_no_dead_end(
    service: Service, me: Person, merger: Merger, harbour: Project, lost: str
) -> None:
    merger.begin(*MERGE)
    if lost == "target":
        _taken_away(service, TUNNEL)
        assert problem_of(_merge(me, BRIDGE, TUNNEL), 404, "not_found")["where"] == "targetId"
        assert json_of(_merge(me, BRIDGE, harbour)) == {"state": "done", "moved": 3}
    else:
        for issue in grid(me, BRIDGE, "num")["items"]:
            me.ask("DELETE", f"/v1/issues/{ACME.tenant_id}/{issue['issueId']}")
        _taken_away(service, BRIDGE)
        assert json_of(_merge(me, BRIDGE, TUNNEL)) == {"state": "done", "moved": 0}


# -- what others see --------------------------------------------------------------------------------------------------


def test_merges_are_read_over_http_and_not_written(me: Person, merger: Merger) -> None:
    merger.begin(*MERGE)
    path = f"/v1/merges/{ACME.tenant_id}/{BRIDGE.project_id}"
    assert json_of(me.get("/v1/merges?state=open"))["items"][0]["targetId"] == str(TUNNEL.project_id)
    ids = {"sourceId": str(uuid4()), "targetId": str(uuid4())}
    for method, target in (("POST", "/v1/merges"), ("PUT", path), ("PATCH", path), ("DELETE", path)):
        assert me.ask(method, target, {**ids, "state": "done"}).status == 405
    assert json_of(me.get(path))["state"] == "open"


def _merge(client: Person, source: Project, target: Project) -> Any:
    ids = {"sourceId": str(source.project_id), "targetId": str(target.project_id)}
    return client.post("/v1/project-merges", ids)


def _declare(client: Person, project: Project, name: str, kind: str) -> None:
    document = {"projectId": str(project.project_id), "name": name, "kind": kind}
    assert client.post("/v1/custom-fields", document).status == 200


def _column(client: Person, project: Project, name: str) -> list[Any]:
    """A project's values of a custom field, by number."""
    return [issue["custom"].get(name) for issue in grid(client, project, "num")["items"]]


def _set(client: Person, issue: dict[str, Any], **values: str) -> None:
    answer = client.post("/v1/custom-values", {"issueId": issue["issueId"], "values": values})
    assert answer.status == 200, answer.body


def _taken_away(service: Service, project: Project) -> None:
    """Remove a project's item behind the store's back."""
    table = service.parts.table
    for item in table.run(Scan(consistent=True)).items:
        if item["hashKey"].startswith("project!") and item.get("projectId") == str(project.project_id):
            table.run(DeleteItem({"hashKey": item["hashKey"], "rangeKey": item["rangeKey"]}))
            return
    raise NotFound("it is not there", where=project.name, fix="look at the keys")
