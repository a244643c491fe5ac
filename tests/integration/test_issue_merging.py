"""Merging projects: ids stay, numbers go on, and a merge that was cut off anywhere goes on."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

import pytest

from services._samples.issues import ACME, BRIDGE, NEWS, TUNNEL
from services.issue_tracker.merging import FieldPlan, Merger, field_plan
from services.issue_tracker.records import MAX_VALUES, Issue, MergeState, Project
from shardweave import Database
from shardweave.errors import Conflict, HasChildren
from tests.unit.access_world import Person
from tests.unit.api_world import json_of, problem_of
from tests.unit.issue_world import grid, issue_service, load_samples, load_told, numbers, somebody

SEVERAL_STEPS = 25


def test_issues_get_new_numbers_in_their_old_order_and_keep_their_ids() -> None:
    client = load_told(generated=5)
    before = grid(client, BRIDGE, "num")["items"]
    answer = json_of(_merge(client, BRIDGE, TUNNEL))
    assert answer == {"state": "done", "moved": 3}
    moved = grid(client, TUNNEL, "num")["items"][5:]
    assert [(each["num"], each["issueId"]) for each in moved] == [
        (6 + place, each["issueId"]) for place, each in enumerate(before)
    ]
    assert client.get(f"/v1/projects/{ACME.tenant_id}/{BRIDGE.project_id}").status == 404


def test_a_merge_sent_again_is_done() -> None:
    client = load_told()
    _merge(client, BRIDGE, TUNNEL)
    assert json_of(_merge(client, BRIDGE, TUNNEL)) == {"state": "done", "moved": 0}
    (merge,) = json_of(client.get("/v1/merges?expand=source,target,into"))["items"]
    assert (merge["expanded"]["source"], merge["expanded"]["target"]) == (None, None)
    assert merge["expanded"]["into"]["name"] == TUNNEL.name
    assert numbers(grid(client, TUNNEL, "num")) == [1, 2, 3]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_merge_that_was_cut_off_goes_on(steps: int) -> None:
    service = issue_service()
    load_samples(service, generated=SEVERAL_STEPS)
    merger = Merger(Database.over(service.parts.store, service.parts.queries))
    ids = (ACME.tenant_id, TUNNEL.project_id, BRIDGE.project_id)
    merge = merger.begin(*ids)
    left = iter([True] * steps)
    merge, first = merger.go_on(merge, lambda: next(left, False))
    merge, second = merger.go_on(merger.begin(*ids), lambda: True)
    assert merge.state is MergeState.DONE
    assert first + second == SEVERAL_STEPS
    assert numbers(grid(somebody(service, ACME), BRIDGE, "num")) == list(range(1, 3 + SEVERAL_STEPS + 1))


def test_an_issue_that_is_created_meanwhile_moves_too() -> None:
    service = issue_service()
    load_samples(service)
    store, merger = service.parts.store, Merger(Database.over(service.parts.store, service.parts.queries))
    merge = merger.begin(ACME.tenant_id, BRIDGE.project_id, TUNNEL.project_id)
    assert merger.move(merge) == 3
    late = store.create({"tenantId": ACME.tenant_id, "projectId": BRIDGE.project_id, "title": "Late"}, Issue)
    with pytest.raises(HasChildren):
        merger.end(merge)
    merge, moved = merger.go_on(merge, lambda: True)
    found = store.get(Issue, {"tenant_id": ACME.tenant_id, "issue_id": late.issue_id})
    assert (merge.state, moved) == (MergeState.DONE, 1)
    assert found is not None
    assert (found.project_id, found.num) == (TUNNEL.project_id, 4)
    assert store.get(Project, {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}) is None


def test_values_of_custom_fields_stay_with_their_names() -> None:
    client = load_told(generated=9)
    _declare(client, "contractor", "text")
    _declare(client, "remark", "text")
    before = {issue["issueId"]: issue["custom"] for issue in grid(client, TUNNEL, "num")["items"]}
    assert json_of(_merge(client, TUNNEL, BRIDGE))["state"] == "done"
    after = {issue["issueId"]: issue["custom"] for issue in grid(client, BRIDGE, "num")["items"]}
    assert {issue_id: after[issue_id] for issue_id in before} == before


def test_what_becomes_of_fields() -> None:
    assert field_plan({"a": "text1"}, {}) == FieldPlan({"a": "text1"}, {"text1": "text1"})
    assert field_plan({"a": "text1"}, {"b": "text1"}) == FieldPlan({"b": "text1", "a": "text2"}, {"text1": "text2"})
    assert field_plan({"a": "text1"}, {"a": "text2"}) == FieldPlan({"a": "text2"}, {"text1": "text2"})
    with pytest.raises(Conflict, match="text here and number there"):
        field_plan({"a": "text1"}, {"a": "number1"})
    assert field_plan({"a": "date1"}, {"b": "date1"}) == FieldPlan({"b": "date1", "a": "date2"}, {"date1": "date2"})


def test_a_step_moves_as_many_issues_as_their_values_leave_room_for() -> None:
    service = issue_service()
    load_samples(service)
    store = service.parts.store
    merger = Merger(Database.over(store, service.parts.queries))
    fields = {f"f{number}": f"number{number}" for number in range(1, MAX_VALUES + 1)}
    store.update(Project, {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}, {"custom_fields": fields})
    for num in (1, 2, 3):
        key = {"tenant_id": ACME.tenant_id, "issue_id": uuid5(BRIDGE.project_id, str(num))}
        values = {f"number{each}": each for each in range(1, (1, 40, 10)[num - 1] + 1)}
        store.update(Issue, key, {"custom_numbers": values})
    merge = merger.begin(ACME.tenant_id, BRIDGE.project_id, TUNNEL.project_id)
    assert [merger.move(merge) for _ in range(4)] == [1, 1, 1, 0]
    client = somebody(service, ACME)
    assert [len(each["custom"]) for each in grid(client, TUNNEL, "num")["items"]] == [1, 40, 10]
    assert [each["num"] for each in grid(client, TUNNEL, "-f1")["items"]] == [3, 2, 1]


def test_a_number_that_somebody_gave_ahead_of_the_others_does_not_stop_a_merge() -> None:
    client = load_told()
    client.made("issues", projectId=str(TUNNEL.project_id), title="From elsewhere", num=2)
    assert json_of(_merge(client, BRIDGE, TUNNEL)) == {"state": "done", "moved": 3}
    assert numbers(grid(client, TUNNEL, "num")) == [2, 4, 5, 6]


def test_what_can_not_be_merged() -> None:
    client = load_told()
    problem_of(_merge(client, BRIDGE, BRIDGE), 400, "invalid_input")
    problem_of(_merge(client, BRIDGE, NEWS), 404, "not_found")
    assert _merge(client, BRIDGE, TUNNEL).status == 200
    assert "has been merged" in problem_of(_merge(client, BRIDGE, NEWS), 409, "conflict")["detail"]


def _merge(client: Person, source: Project, target: Project) -> Any:
    ids = {"sourceId": str(source.project_id), "targetId": str(target.project_id)}
    return client.post("/v1/project-merges", ids)


def _declare(client: Person, name: str, kind: str) -> None:
    document = {"projectId": str(BRIDGE.project_id), "name": name, "kind": kind}
    assert client.post("/v1/custom-fields", document).status == 200
