"""Custom fields of projects: declared, typed, sorted by, shown by their names."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from services._samples.issues import BRIDGE, TUNNEL
from tests.unit.access_world import Person
from tests.unit.api_world import json_of, problem_of
from tests.unit.issue_world import grid, issue_of, load_told, numbers


def test_a_field_is_declared_set_shown_and_sorted_by() -> None:
    client = load_told()
    assert json_of(_declare(client, "weight", "number"))["customFields"] == {"weight": "number1"}
    for num, weight in ((1, "10.5"), (2, "9"), (3, None)):
        answer = _set(client, num, {"weight": weight})
        assert answer.status == 200, answer.body
        shown = json_of(answer)
        assert shown["custom"] == ({} if weight is None else {"weight": weight})
        assert not {"number1", "hasNumber1"} & shown.keys()
    page = grid(client, BRIDGE, "weight")
    assert [issue["custom"] for issue in page["items"]] == [{"weight": "9"}, {"weight": "10.5"}]
    assert numbers(page) == [2, 1]
    assert numbers(grid(client, BRIDGE, "-weight")) == [1, 2]
    assert page["columns"][-1] == {"name": "weight", "kind": "number", "custom": True}


def test_an_issue_without_a_value_leaves_the_order_and_stays_in_all_others() -> None:
    client = load_told()
    _declare(client, "spot", "text")
    _set(client, 1, {"spot": "north"})
    assert numbers(grid(client, BRIDGE, "spot")) == [1]
    _set(client, 1, {"spot": None})
    assert numbers(grid(client, BRIDGE, "spot")) == []
    assert numbers(grid(client, BRIDGE, "num")) == [1, 2, 3]


def test_a_grid_is_filtered_by_fields_in_any_order() -> None:
    client = load_told()
    for name, kind in (("weight", "number"), ("spot", "text"), ("checked", "date")):
        _declare(client, name, kind)
    for num, values in ((1, ("10.50", "north")), (2, ("10.5", "south")), (3, ("9", "north"))):
        _set(client, num, {"weight": values[0], "spot": values[1], "checked": f"2025-01-0{num}"})
    for asked, found in (
        ({"custom.weight": "10.5"}, [1, 2]),
        ({"custom.spot": "north"}, [1, 3]),
        ({"custom.spot": "north", "custom.weight": "10.5"}, [1]),
        ({"custom.checked": "2025-01-02", "state": "open"}, []),
        ({"custom.checked": "2025-01-03", "state": "open"}, [3]),
        ({"custom.spot": "west"}, []),
    ):
        assert numbers(grid(client, BRIDGE, "num", **asked)) == found
        assert numbers(grid(client, BRIDGE, "-num", **asked)) == found[::-1]
        query = "".join(f"&{name}={value}" for name, value in asked.items())
        told = json_of(client.get(f"/v1/issue-grid/explain?projectId={BRIDGE.project_id}{query}"))
        assert told["filters"] == len(asked)
    base = f"/v1/issue-grid?projectId={BRIDGE.project_id}"
    problem = problem_of(client.get(f"{base}&custom.colour=red"), 400, "unknown_name")
    assert (problem["where"], problem["fix"]) == ("custom.colour", "use some of checked, spot, weight")
    problem = problem_of(client.get(f"{base}&custom.weight=much"), 400, "validation_failed")
    assert problem["where"] == "custom.weight"
    problem_of(client.get(f"{base}&custom=red"), 400, "unknown_name")
    problem_of(client.get(f"{base}&custom.spot=a&custom.spot=b"), 400, "invalid_input")


def test_values_are_of_the_fields_kind() -> None:
    client = load_told()
    _declare(client, "checked", "date")
    problem = problem_of(_set(client, 1, {"checked": "soon"}), 400, "validation_failed")
    assert problem["errors"][0]["where"] == "values.checked"
    problem = problem_of(_set(client, 1, {"chequed": "2025-01-01"}), 400, "unknown_name")
    assert "checked" in problem["fix"]
    assert problem["where"] == "values.chequed"
    assert _set(client, 1, {"checked": "2025-01-01"}).status == 200


def test_a_project_has_as_many_fields_as_there_are_places() -> None:
    client = load_told()
    assert _declare(client, "first", "text").status == 200
    assert _declare(client, "second", "text").status == 200
    assert "at most 2" in problem_of(_declare(client, "third", "text"), 409, "conflict")["detail"]
    problem_of(_declare(client, "first", "number"), 409, "already_exists")
    problem_of(_declare(client, "state", "number"), 409, "already_exists")


def test_what_is_not_there_is_blamed_on_the_property_that_names_it() -> None:
    client, nobody = load_told(), str(uuid4())
    declaring = client.post("/v1/custom-fields", {"projectId": nobody, "name": "depth", "kind": "number"})
    assert problem_of(declaring, 404, "not_found")["where"] == "projectId"
    setting = client.post("/v1/custom-values", {"issueId": nobody, "values": {}})
    assert problem_of(setting, 404, "not_found")["where"] == "issueId"


def test_two_fields_never_share_a_place() -> None:
    client = load_told()
    path = f"/v1/projects/{BRIDGE.tenant_id}/{BRIDGE.project_id}"
    answer = client.ask("PATCH", path, {"customFields": {"a": "text1", "b": "text1"}})
    problem = problem_of(answer, 400, "validation_failed")
    assert problem["where"] == "body"
    assert "one place" in problem["errors"][0]["detail"]
    answer = client.ask("PATCH", path, {"customFields": {"title": "text1"}})
    assert "title is a column" in problem_of(answer, 400, "validation_failed")["errors"][0]["detail"]


def test_the_generated_project_is_sorted_by_each_of_its_fields() -> None:
    client = load_told(generated=60)
    for name in TUNNEL.custom_fields:
        page = grid(client, TUNNEL, name)
        values = [issue["custom"][name] for issue in page["items"]]
        key: Any = float if name == "depth" else str
        assert values == sorted(values, key=key)
        assert 0 < len(values) < 60


def _declare(client: Person, name: str, kind: str) -> Any:
    document = {"projectId": str(BRIDGE.project_id), "name": name, "kind": kind}
    return client.post("/v1/custom-fields", document)


def _set(client: Person, num: int, values: dict[str, Any]) -> Any:
    issue = issue_of(client, BRIDGE, num)
    return client.post("/v1/custom-values", {"issueId": issue["issueId"], "values": values})
