"""Grids by custom fields against brute force: random fields, values, sorts, filters, page sizes, both ways."""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services._samples.issues import ACME, BRIDGE
from services.issue_tracker.records import Issue, Project
from shardweave.local.loading import load
from shardweave.maintenance.doctor import Doctor
from tests.unit.api_world import json_of
from tests.unit.issue_world import issue_service, somebody

FIELDS = {"spot": "text1", "side": "text2", "weight": "number1", "length": "number2", "seen": "date1"}
NAMES = list(FIELDS)
TEXTS = st.sampled_from(["a", "ab", "a b", "a!", "a#b", "a |b", "b", "é"])
VALUES = {
    "text": TEXTS,
    "number": st.integers(-3, 3).map(lambda number: Decimal(number) / 2),
    "date": st.integers(0, 4).map(lambda number: dt.date(2025, 1, 30) + dt.timedelta(number)),
}


def kind(name: str) -> str:
    return FIELDS[name].rstrip("0123456789")


ISSUE = st.fixed_dictionaries(
    {"state": st.sampled_from(["open", "closed"])},
    optional={name: VALUES[kind(name)] for name in NAMES},
)
WRITES = st.lists(st.tuples(st.integers(0, 11), ISSUE), min_size=15, max_size=30)


@st.composite
def questions(draw: Any) -> dict[str, Any]:
    """A sort, and what keeps issues: of each field equality, bounds or a prefix."""
    tests: dict[str, tuple[Any, ...]] = {}
    tested = draw(st.lists(st.sampled_from(NAMES), min_size=draw(st.sampled_from([0, 1, 1])), max_size=2, unique=True))
    for name in tested:
        value = VALUES[kind(name)]
        shapes = ["equal", "low", "high", "both", *(["prefix", "prefix"] if kind(name) == "text" else [])]
        shape = draw(st.sampled_from(shapes))
        pair = sorted([draw(value), draw(value)])
        tests[name] = {
            "equal": ("equal", pair[0]),
            "low": ("bounds", pair[0], None),
            "high": ("bounds", None, pair[1]),
            "both": ("bounds", *pair),
            "prefix": ("prefix", str(pair[0])[:1]),
        }[shape]
    return {
        "sort": draw(st.sampled_from([*tested, *tested, *NAMES, "num", "num", "title"])),
        "down": draw(st.booleans()),
        "state": draw(st.sampled_from([None, None, "open"])),
        "limit": draw(st.integers(1, 4)),
        "tests": tests,
    }


def passes(issue: dict[str, Any], question: dict[str, Any]) -> bool:
    if question["state"] not in (None, issue["state"]):
        return False
    for name, (shape, *bounds) in question["tests"].items():
        value = issue.get(name)
        if value is None:
            return False
        if shape == "equal" and value != bounds[0]:
            return False
        if shape == "prefix" and not value.startswith(bounds[0]):
            return False
        if shape == "bounds" and not all(
            each is None or (each <= value if low else value <= each)
            for each, low in zip(bounds, (True, False), strict=True)
        ):
            return False
    return True


def asked(question: dict[str, Any]) -> str:
    found = {"projectId": str(BRIDGE.project_id), "limit": str(question["limit"])}
    found["sort"] = f"-{question['sort']}" if question["down"] else question["sort"]
    if question["state"]:
        found["state"] = question["state"]
    for name, (shape, *bounds) in question["tests"].items():
        if shape == "bounds":
            found |= {
                f"custom.{name}.{side}": str(each) for side, each in zip(("from", "to"), bounds, strict=True) if each
            }
            found |= {
                f"custom.{name}.{side}": "0" for side, each in zip(("from", "to"), bounds, strict=True) if each == 0
            }
        else:
            found[f"custom.{name}" if shape == "equal" else f"custom.{name}.prefix"] = str(bounds[0])
    return urlencode(found)


met: Counter[str] = Counter()


@given(writes=WRITES, several=st.lists(questions(), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def compare_grids_after(writes: list[Any], several: list[dict[str, Any]]) -> None:
    service = issue_service()
    load(service.parts.store, [ACME, BRIDGE], "", io.StringIO())
    store, client = service.parts.store, somebody(service, ACME)
    store.update(Project, {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}, {"custom_fields": FIELDS})
    within = {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}
    store.advance(Issue, "num", within=within, to=20)
    model: dict[int, dict[str, Any]] = {}
    for num, values in writes:
        key = {"tenant_id": ACME.tenant_id, "issue_id": UUID(int=100 - num)}
        held: dict[str, dict[str, Any]] = {"text": {}, "number": {}, "date": {}}
        for name in values.keys() & FIELDS.keys():
            held[kind(name)][FIELDS[name]] = values[name]
        given = {f"custom_{one}s": each for one, each in held.items()} | {"state": values["state"]}
        if num in model:
            met["updates"] += 1
            store.update(Issue, key, given)
        else:
            others = {"project_id": BRIDGE.project_id, "num": num + 1, "title": "t" * (1 + num % 3)}
            store.create({**key, **given, **others}, Issue)
        model[num] = {**values, "num": num + 1, "title": "t" * (1 + num % 3)}
    for question in several:
        wanted = [each for each in model.values() if question["sort"] in each and passes(each, question)]
        wanted.sort(key=lambda each: (each[question["sort"]], each["num"]), reverse=question["down"])
        target, walked = f"/v1/issue-grid?{asked(question)}", []
        page = json_of(client.get(target))
        while True:
            before = [each["num"] for each in page["items"]]
            walked += before
            if page["nextToken"] is None:
                break
            page = json_of(client.get(f"{target}&nextToken={page['nextToken']}"))
            back = json_of(client.get(f"{target}&prevToken={page['prevToken']}"))
            assert [each["num"] for each in back["items"]] == before
            met["pages back"] += 1
        assert walked == [each["num"] for each in wanted], question
        met["found" if wanted else "none found"] += 1
        met["by a field"] += question["sort"] in FIELDS
        met["by its own field's interval"] += question["sort"] in question["tests"] and bool(wanted)
        met["by number where a field equals"] += question["sort"] == "num" and any(
            shape == "equal" for shape, *_ in question["tests"].values()
        )
        for shape, *_ in question["tests"].values():
            met[shape] += bool(wanted)
    assert not Doctor(store.parts, service.parts.queries.now_ms).run().findings.counts


def test_each_grid_is_the_sorted_rest_of_its_project() -> None:
    met.clear()
    compare_grids_after()
    floors = {
        "updates": 50,
        "pages back": 50,
        "found": 50,
        "by a field": 50,
        "by its own field's interval": 15,
        "by number where a field equals": 1,
        "equal": 6,
        "bounds": 15,
        "prefix": 3,
    }
    assert {name: met[name] for name, floor in floors.items() if met[name] < floor} == {}
