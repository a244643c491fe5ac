"""The issue tracker: grids, numbers, parents, custom fields, as they come over HTTP."""

from __future__ import annotations

import datetime as dt
import io
from urllib.parse import quote

import pytest

from services._samples.issues import BIG, BRIDGE, NEWS, TUNNEL, issue_tracker_samples
from services.issue_tracker import merge_projects, schema, set_custom_values
from services.issue_tracker.merging import AT_ONCE, MAX_MOVES
from services.issue_tracker.records import COLUMNS, MAX_VALUES, Issue
from services.issue_tracker.sorting import Sorting, sorting
from shardweave.errors import UnknownName, UnsupportedQuery
from shardweave.local.loading import load
from shardweave.store import Store
from tests.unit.access_world import Person
from tests.unit.api_world import json_of, problem_of
from tests.unit.issue_world import grid, issue_service, load_told, numbers

DAY = dt.date(2025, 1, 1)


@pytest.fixture(scope="module")
def told() -> Person:
    """The small projects, for tests that only read."""
    return load_told()


def test_state_ascending_and_number_descending(told: Person) -> None:
    assert numbers(grid(told, BRIDGE, "state,-num")) == [3, 1, 2]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("num", [1, 2, 3]),
        ("-num", [3, 2, 1]),
        ("state", [1, 3, 2]),
        ("-state", [2, 3, 1]),
        ("state,num", [1, 3, 2]),
        ("-state,-num", [2, 3, 1]),
        ("-state,num", [2, 1, 3]),
        ("title", [2, 3, 1]),
        ("-title", [1, 3, 2]),
        ("created", [1, 2, 3]),
        ("-created", [3, 2, 1]),
        ("due", [1, 2, 3]),
    ],
)
def test_one_column_either_way(told: Person, sort: str, expected: list[int]) -> None:
    assert numbers(grid(told, BRIDGE, sort)) == expected


@pytest.mark.parametrize("sort", ["num", "-num", "state,-num", "title", "-due"])
def test_a_grid_is_filtered_in_any_order(told: Person, sort: str) -> None:
    every = grid(told, BRIDGE, sort)["items"]
    for name in ("state", "priority", "reporter", "assignee"):
        for value in {issue[name] for issue in every if name in issue}:
            kept = [issue["num"] for issue in every if issue.get(name) == value]
            assert numbers(grid(told, BRIDGE, sort, **{name: quote(value)})) == kept
    first = every[0]
    both = grid(told, BRIDGE, sort, state=first["state"], priority=first["priority"], limit=1)
    assert numbers(both) == [first["num"]]
    assert grid(told, BRIDGE, sort, reporter="nobody")["items"] == []


def test_a_filtered_grid_goes_back_and_forth(told: Person) -> None:
    kept = numbers(grid(told, BRIDGE, "-num", state="open"))
    first = grid(told, BRIDGE, "-num", state="open", limit=1)
    second = grid(told, BRIDGE, "-num", state="open", limit=1, nextToken=first["nextToken"])
    assert [*numbers(first), *numbers(second)] == kept[:2]
    assert numbers(grid(told, BRIDGE, "-num", state="open", limit=1, prevToken=second["prevToken"])) == kept[:1]


def test_a_grid_says_how_it_is_read(told: Person) -> None:
    target = f"/v1/issue-grid/explain?projectId={BRIDGE.project_id}&sort=-due&state=open"
    plan = json_of(told.get(target))
    assert (plan["index"], plan["order"], plan["lanes"], plan["filters"]) == ("gridDue", "descending", 4, 1)
    assert plan["reasons"]
    assert "reads" not in plan or plan["reads"] is None
    ran = json_of(told.get(f"{target}&run=true"))
    assert ran["reads"] >= 4
    assert ran["units"] > 0
    assert [each["shard"] for each in ran["shards"]] == [f"issue!{number}" for number in range(4)]
    assert sum(each["reads"] for each in ran["shards"]) == ran["reads"]
    assert sum(each["units"] for each in ran["shards"]) == ran["units"]
    assert plan["shards"][0].keys() >= {"shard"}
    assert plan["shards"][0].get("reads") is None
    problem_of(told.get(f"/v1/issue-grid/explain?projectId={BRIDGE.project_id}&sort=nothing"), 400, "unknown_name")
    lost = json_of(told.get(f"/v1/issue-grid?projectId={BRIDGE.project_id}&state=lost"))
    assert (lost["status"], lost["where"]) == (400, "state")


def test_every_column_has_an_index_that_ends_in_num() -> None:
    made = schema()
    entity = made[Issue]
    grids = {name: view for name, view in entity.views.items() if name and name.startswith("grid")}
    assert all(view.range_elements[-1].name == "num" for view in grids.values())
    assert {sorting(column, {}).index for column in COLUMNS} <= set(grids)
    assert len(made.indexes) <= 20
    assert not [name for name in grids if name.startswith(("gridText", "gridNumber", "gridDate"))]


@pytest.mark.parametrize(
    ("sort", "needed"),
    [
        ("priority,-num", 'RangeKey("priority", desc("num"))'),
        ("-priority,num", 'RangeKey("priority", desc("num"))'),
        ("state,title", 'RangeKey("state", "title", "num")'),
        ("-state,due", 'RangeKey("state", desc("due"), desc("num"))'),
    ],
)
def test_a_pair_without_an_index_says_which_one_it_needs(sort: str, needed: str) -> None:
    with pytest.raises(UnsupportedQuery) as refused:
        sorting(sort, TUNNEL.custom_fields)
    assert needed in refused.value.message


def test_sorting_by_what_is_no_column() -> None:
    with pytest.raises(UnknownName, match="depth"):
        sorting("depht", TUNNEL.custom_fields)
    with pytest.raises(UnsupportedQuery, match="twice"):
        sorting("state,state", {})
    with pytest.raises(UnsupportedQuery, match="nothing is left"):
        sorting("num,title", {})
    for pair in ("depth,-num", "state,depth", "depth,section"):
        with pytest.raises(UnsupportedQuery, match="has no second column"):
            sorting(pair, TUNNEL.custom_fields)
    assert sorting("-depth", TUNNEL.custom_fields) == Sorting(None, reverse=True, place="number1")
    assert sorting("depth,num", TUNNEL.custom_fields) == Sorting(None, reverse=False, place="number1")


def test_the_sample_data_are_loaded_once_and_numbering_goes_on() -> None:
    service = issue_service()
    store = service.parts.store
    samples = [each for each in issue_tracker_samples(DAY) if not (isinstance(each, Issue) and each.num > 60)]
    assert load(store, samples, "", io.StringIO()) == len(samples) == 5 + 5 + 60
    assert load(store, samples, "", io.StringIO()) == 0
    assert [_next(store, project.tenant_id, project.project_id) for project in (BRIDGE, NEWS, TUNNEL)] == [4, 3, 61]


def test_the_sample_data_are_the_same_every_time() -> None:
    samples = list(issue_tracker_samples(DAY))
    assert samples == list(issue_tracker_samples(DAY))
    assert len(samples) == 5 + 5 + BIG
    ends = int(dt.datetime.combine(DAY, dt.time(), dt.UTC).timestamp() * 1000)
    assert all(each.created < ends for each in samples if isinstance(each, Issue))


def test_a_tenants_projects_by_name(told: Person) -> None:
    found = told.get("/v1/projects?index=projectsByName")
    assert b"Forth Rail Bridge" in found.body
    assert b"The Daily News" not in found.body


def _next(store: Store, tenant_id: object, project_id: object) -> int:
    values = {"tenantId": tenant_id, "projectId": project_id, "title": "One more"}
    return store.create(values, Issue).num


def test_the_routes_say_the_numbers_that_hold() -> None:
    assert f"at most {AT_ONCE * MAX_MOVES:,} issues" in merge_projects.texts[1]
    assert f"at most {MAX_VALUES}" in set_custom_values.texts[1]
