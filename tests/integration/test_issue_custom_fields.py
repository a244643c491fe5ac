"""Custom fields of projects: declared, typed, sorted by, shown by their names."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from services._samples.issues import BRIDGE, TUNNEL
from services.issue_tracker.records import MAX_VALUES
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
        assert not {"customTexts", "customNumbers", "customDates"} & shown.keys()
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
        read = any(name.startswith("custom.") for name in asked)
        assert (told["index"].startswith("custom"), told["filters"]) == (read, len(asked) - read)
    base = f"/v1/issue-grid?projectId={BRIDGE.project_id}"
    problem = problem_of(client.get(f"{base}&custom.colour=red"), 400, "unknown_name")
    assert problem["where"] == "custom.colour"
    assert problem["fix"].startswith("use some of checked, spot, weight")
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


def test_a_project_has_any_number_of_fields_and_each_sorts() -> None:
    client = load_told()
    for number in range(60):
        assert _declare(client, f"f{number}", ("text", "number", "date")[number % 3]).status == 200
    problem_of(_declare(client, "f1", "number"), 409, "already_exists")
    problem_of(_declare(client, "state", "number"), 409, "already_exists")
    for num in (1, 2, 3):
        values = [f"text {4 - num}", str(4 - num), f"2025-01-0{4 - num}"]
        assert _set(client, num, {f"f{number}": values[number % 3] for number in range(20, 60)}).status == 200
    for number in range(20, 60):
        assert numbers(grid(client, BRIDGE, f"f{number}")) == [3, 2, 1]
        assert numbers(grid(client, BRIDGE, f"-f{number}")) == [1, 2, 3]


def test_an_issue_has_at_most_so_many_values_and_more_change_nothing() -> None:
    client = load_told()
    for number in range(MAX_VALUES + 1):
        _declare(client, f"f{number}", "number")
    assert _set(client, 1, {f"f{number}": number for number in range(MAX_VALUES)}).status == 200
    problem = problem_of(_set(client, 1, {f"f{MAX_VALUES}": 1, "f0": 7}), 400, "validation_failed")
    assert f"at most {MAX_VALUES} custom values, and it has {MAX_VALUES + 1}" in str(problem)
    assert numbers(grid(client, BRIDGE, f"f{MAX_VALUES}")) == []
    assert [each["custom"]["f0"] for each in grid(client, BRIDGE, "f0")["items"]] == ["0"]
    assert _set(client, 1, {f"f{MAX_VALUES}": 1, "f0": None}).status == 200
    assert numbers(grid(client, BRIDGE, f"f{MAX_VALUES}")) == [1]


def test_a_text_too_long_for_a_list_is_refused_and_changes_nothing() -> None:
    client = load_told()
    _declare(client, "spot", "text")
    assert _set(client, 1, {"spot": "語" * 200}).status == 200, "of three bytes each"
    assert "customTexts" in problem_of(_set(client, 1, {"spot": "🚇" * 200}), 400, "key_too_long")["where"]
    assert [each["custom"]["spot"] for each in grid(client, BRIDGE, "spot")["items"]] == ["語" * 200]


def test_a_value_in_a_place_of_another_kind_is_refused() -> None:
    client = load_told()
    issue = issue_of(client, BRIDGE, 1)
    path = f"/v1/issues/{issue['tenantId']}/{issue['issueId']}"
    problem = problem_of(client.ask("PATCH", path, {"customTexts": {"number1": "5"}}), 400, "validation_failed")
    assert "number1 is no place of the kind text" in str(problem)
    problem_of(client.ask("PATCH", path, {"customTexts": {"text0": "5"}}), 400, "validation_failed")


def test_a_grid_takes_ranges_and_prefixes_and_turns_both_ways() -> None:
    client = load_told()
    for name, kind in (("weight", "number"), ("spot", "text"), ("checked", "date")):
        _declare(client, name, kind)
    for num, values in ((1, ("10.50", "north")), (2, ("-9", "nord")), (3, ("9", "south"))):
        _set(client, num, {"weight": values[0], "spot": values[1], "checked": f"2025-01-0{num}"})
    cases: list[tuple[str, dict[str, str], list[int]]] = [
        ("weight", {"custom.weight.from": "-9", "custom.weight.to": "9.5"}, [2, 3]),
        ("weight", {"custom.weight.to": "0"}, [2]),
        ("weight", {"custom.weight": "10.5"}, [1]),
        ("weight", {"custom.spot.prefix": "no"}, [2, 1]),
        ("weight", {"custom.spot.prefix": "no", "custom.weight.from": "0", "state": "open"}, [1]),
        ("spot", {"custom.spot.prefix": "no"}, [2, 1]),
        ("spot", {"custom.checked.from": "2025-01-02"}, [2, 3]),
        ("checked", {"custom.checked.from": "2025-01-02", "custom.checked.to": "2025-01-02"}, [2]),
        ("title", {"custom.checked.to": "2025-01-02", "custom.weight.from": "0"}, [1]),
        ("num", {"custom.spot": "nord", "custom.weight.to": "0"}, [2]),
    ]
    for sort, asked, found in cases:
        for way in (1, -1):
            walked: list[int] = []
            page = grid(client, BRIDGE, sort if way == 1 else f"-{sort}", limit=1, **asked)
            while True:
                walked += numbers(page)
                if page["nextToken"] is None:
                    break
                before, token = numbers(page), page["nextToken"]
                page = grid(client, BRIDGE, sort if way == 1 else f"-{sort}", limit=1, nextToken=token, **asked)
                back = grid(
                    client, BRIDGE, sort if way == 1 else f"-{sort}", limit=1, prevToken=page["prevToken"], **asked
                )
                assert numbers(back) == before
            assert walked == found[::way], (sort, asked)
    base = f"/v1/issue-grid?projectId={BRIDGE.project_id}"
    for asked, code, place in (
        ("custom.weight.prefix=1", "unsupported_query", "custom.weight.prefix"),
        ("custom.weight.above=1", "unknown_name", "custom.weight.above"),
        ("custom.weight=1&custom.weight.from=1", "unsupported_query", "custom.weight"),
        ("custom.spot.prefix=a&custom.spot.to=b", "unsupported_query", "custom.spot"),
        ("custom.weight.from=2&custom.weight.to=1", "invalid_input", "custom.weight"),
        ("custom.checked.from=soon", "validation_failed", "custom.checked.from"),
    ):
        for sort in ("num", "weight", "spot"):
            assert problem_of(client.get(f"{base}&sort={sort}&{asked}"), 400, code)["where"] == place


def test_a_list_of_a_field_says_how_it_is_read() -> None:
    client = load_told()
    _declare(client, "weight", "number")
    base = f"/v1/issue-grid/explain?projectId={BRIDGE.project_id}"
    plan = json_of(client.get(f"{base}&sort=-weight&custom.weight.from=1&state=open&run=true"))
    assert (plan["index"], plan["order"], plan["lanes"], plan["filters"]) == ("customNumbers", "descending", 1, 1)
    assert json_of(client.get(f"{base}&sort=num&custom.weight=1"))["index"] == "customNumbers"
    assert json_of(client.get(f"{base}&sort=title&custom.weight=1"))["index"] == "gridTitle"


def test_a_list_of_a_field_takes_what_every_page_takes() -> None:
    client = load_told()
    _declare(client, "weight", "number")
    for num in (1, 2, 3):
        _set(client, num, {"weight": num})
    base = f"/v1/issue-grid?projectId={BRIDGE.project_id}&sort=weight"
    assert numbers(json_of(client.get(f"{base}&reverse=true&timeLimitMs=5000&onShardError=partial"))) == [3, 2, 1]
    for asked, place in (("timeLimitMs=0", "timeLimitMs"), ("limit=0", "limit"), ("limit=501", "limit")):
        assert problem_of(client.get(f"{base}&{asked}"), 400, "limit_exceeded")["where"] == place


def test_a_token_of_a_field_is_good_for_its_own_grid_alone() -> None:
    client = load_told()
    for name in ("weight", "length"):
        _declare(client, name, "number")
    for num in (1, 2, 3):
        _set(client, num, {"weight": num, "length": num})
    token = grid(client, BRIDGE, "weight", limit=1)["nextToken"]
    base = f"/v1/issue-grid?projectId={BRIDGE.project_id}&limit=1&nextToken={token}"
    for other in ("sort=length", "sort=-weight", "sort=weight&state=open", "sort=weight&custom.weight.from=1"):
        assert problem_of(client.get(f"{base}&{other}"), 400, "cursor_mismatch")["where"] == "nextToken"
    assert client.get(f"{base}&sort=weight").status == 200


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
