"""The grid: a project's issues in pages, sorted by one of its columns, with its custom fields by their names.

Costs of a page: a read of the project, and a query of the four shards, whatever the page and however many issues there
are. Filters drop issues after reading, so a page that drops many reads further; `/v1/issue-grid/explain` shows what.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import reduce
from operator import and_
from types import MappingProxyType
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from shardweave import Database, errors, where
from shardweave.routing import JsonModel, JsonType, Listed, RecordView, get, listed

from .records import COLUMNS, PLACES, FieldKind, Issue, Number, Priority, Project, State, Text, presence
from .sorting import LAST, sorting

KINDS = {
    "num": "number",
    "state": "state",
    "priority": "priority",
    "due": "date",
    "created": "time",
    "updated": "time",
}


TYPES = {FieldKind.TEXT: JsonType(Text), FieldKind.NUMBER: JsonType(Number), FieldKind.DATE: JsonType(dt.date)}
"""What values of custom fields of each kind are."""


class IssueWithValues(RecordView[Issue]):
    """Something to be done. Its number tells it from the others of its project, its id from all."""

    hidden = frozenset({*PLACES, *(presence(place) for place in PLACES)})
    custom: dict[str, str] = Field(description="The values of custom fields, by their names.")


class Column(JsonModel):
    """A column that the grid can be sorted by."""

    name: str
    kind: str = Field(description="text, number, date, time, state or priority.")
    custom: bool = Field(description="Whether it is a custom field of the project.")


class Columns(JsonModel):
    """What a grid can be sorted by."""

    columns: list[Column] = Field(description="The columns there are, those of the project last.")


def project_of(database: Database, key: Mapping[str, UUID], where: str = "projectId") -> Project:
    """A tenant's project. Raises NotFound that blames `where`."""
    found = database.get(Project, key)
    if found is None:
        raise errors.NotFound("there is no such project", where=where, fix="give one of the tenant's projects")
    return found


def columns_of(project: Project) -> list[Column]:
    """The columns of a project's grid."""
    own = [Column(name=name, kind=KINDS.get(name, "text"), custom=False) for name in COLUMNS]
    return own + [
        Column(name=name, kind=PLACES[place].value, custom=True) for name, place in project.custom_fields.items()
    ]


def issues_by(project: Project, sort: str, only: Mapping[str, Any] = MappingProxyType({})) -> Listed[Issue]:
    """A project's issues in the order that `sort` names, those that have the values of `only`. Raises UnknownName,
    UnsupportedQuery."""
    chosen = sorting(sort, project.custom_fields)
    conditions: dict[str, Any] = {"tenant_id": project.tenant_id, "project_id": project.project_id}
    if chosen.place is not None:
        conditions[presence(chosen.place)] = True
    return listed(Issue, conditions, index=chosen.index, filter=filter_of(only), reverse=chosen.reverse)


def custom_values(given: Mapping[str, str], fields: Mapping[str, str]) -> dict[str, Any]:
    """The values of custom fields, by the places where issues hold them. Raises UnknownName, ValidationFailed."""
    found = {}
    for name, text in given.items():
        shown = f"custom.{name[:40]}"
        if name not in fields:
            listed = ", ".join(fields) or "(it has none)"
            raise errors.UnknownName("the project has no such custom field", where=shown, fix=f"use some of {listed}")
        found[fields[name]] = TYPES[PLACES[fields[name]]].read(text, "custom", name)
    return found


def filter_of(only: Mapping[str, Any]) -> Any:
    """The filter that keeps issues with these values, None where none is given."""
    tests = [where(name) == value for name, value in only.items() if value is not None]
    return reduce(and_, tests) if tests else None


def with_values(issue: Issue, fields: Mapping[str, str]) -> IssueWithValues:
    """An issue as it stands in the grid of a project with these custom fields."""
    values = issue.model_dump(mode="json", include=set(fields.values()), exclude_none=True)
    return IssueWithValues(
        record=issue, custom={name: values[place] for name, place in fields.items() if place in values}
    )


ProjectId = Annotated[UUID, Field(description="The project.")]
Sort = Annotated[str, Field(description=f"{', '.join(COLUMNS)}, or a custom field.")]
OnlyState = Annotated[State | None, Field(description="Only issues in this state.")]
OnlyPriority = Annotated[Priority | None, Field(description="Only issues of this priority.")]
OnlyReporter = Annotated[str | None, Field(description="Only issues that this person reported.")]
OnlyAssignee = Annotated[str | None, Field(description="Only issues of this assignee.")]
OnlyCustom = Annotated[dict[str, str], Field(description="Only issues with this value of a custom field.")]


@get("/v1/issue-grid", tag="issues", errors=(errors.NotFound,))
def issue_grid(
    project_id: ProjectId,
    database: Database,
    custom: OnlyCustom,
    sort: Sort = LAST,
    state: OnlyState = None,
    priority: OnlyPriority = None,
    reporter: OnlyReporter = None,
    assignee: OnlyAssignee = None,
) -> Listed[IssueWithValues, Columns]:
    """A project's issues, sorted by a column.

    `sort` names one column, `-` before it for the other direction: `sort=-due`. Issues that are alike in it come by
    number, the same way; `sort=state,-num` has the numbers the other way. By a custom field come the issues that have
    a value there. `state`, `priority`, `reporter`, `assignee` and `custom.NAME` filter, in any order."""
    project = project_of(database, {"project_id": project_id})
    only = {"state": state, "priority": priority, "reporter": reporter, "assignee": assignee}
    only |= custom_values(custom, project.custom_fields)
    found = issues_by(project, sort, only).shown_as(lambda issue: with_values(issue, project.custom_fields))
    return found.with_members(Columns(columns=columns_of(project)))


class GridLane(JsonModel):
    """What is read of one shard. What it cost is there where the first page was read."""

    shard: str
    low: str | None = Field(description="Where its interval begins.")
    high: str | None = Field(description="Where its interval ends.")
    reads: int | None
    records: int | None
    units: float | None
    milliseconds: float | None


class GridPlan(JsonModel):
    """How a page of the grid is read, and why."""

    index: str = Field(description="The index that has the order.")
    order: str = Field(description="ascending or descending.")
    reasons: list[str]
    lanes: int = Field(description="Shards that are read at once.")
    estimated_reads: int = Field(description="Requests for a page; a filter may need more.")
    filters: int = Field(description="Tests that drop issues after reading.")
    reads: int | None = Field(description="Requests that the first page took, where it was run.")
    units: float | None = Field(description="Read units that it cost, where it was run.")
    shards: list[GridLane]


@get("/v1/issue-grid/explain", tag="issues", errors=(errors.NotFound,))
def explain_issue_grid(
    project_id: ProjectId,
    database: Database,
    custom: OnlyCustom,
    sort: Sort = LAST,
    state: OnlyState = None,
    priority: OnlyPriority = None,
    reporter: OnlyReporter = None,
    assignee: OnlyAssignee = None,
    *,
    run: Annotated[bool, Field(description="Read the first page, and say what it cost.")] = False,
) -> GridPlan:
    """How the grid with the same parameters is read, and why."""
    project = project_of(database, {"project_id": project_id})
    only = {"state": state, "priority": priority, "reporter": reporter, "assignee": assignee}
    only |= custom_values(custom, project.custom_fields)
    grid = issues_by(project, sort, only)
    found = database.explain(
        Issue, grid.conditions, index=grid.index, filter=grid.filter, reverse=grid.reverse, run=run
    )
    return GridPlan(
        index=found.indexes[0] or "",
        order=found.order,
        reasons=list(found.reasons),
        lanes=len(found.lanes),
        estimated_reads=found.estimated_reads,
        filters=sum(value is not None for value in only.values()),
        reads=None if found.stats is None else found.stats.requests,
        units=None if found.stats is None else found.stats.units,
        shards=_lanes_of(found),
    )


def _lanes_of(found: Any) -> list[GridLane]:
    """The lanes of an explanation."""
    costs = {} if found.stats is None else {each.lane: each for each in found.stats.reports}
    made = []
    for each in found.lanes:
        cost = costs.get(each.lane)
        made.append(
            GridLane(
                shard=each.hash_key.partition(" ")[0],
                low=each.low,
                high=each.high,
                reads=None if cost is None else cost.requests,
                records=None if cost is None else cost.scanned,
                units=None if cost is None else cost.units,
                milliseconds=None if cost is None else cost.milliseconds,
            )
        )
    return made
