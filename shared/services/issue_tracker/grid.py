"""The grid: a project's issues in pages, sorted by one of its columns, with its custom fields by their names.

Costs of a page: a read of the project, and a query of the four shards, whatever the page and however many issues there
are. By a custom field, or by number where a custom field equals a value, a page is read from the list of an ordered
lookup: a query of its entries and a batch of issues for each 100. Filters drop issues after reading, so a page that
drops many reads further; `/v1/issue-grid/explain` shows what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from pydantic.alias_generators import to_camel

from shardweave import Database, errors, where
from shardweave.routing import JsonModel, Listed, RecordView, get, listed, listed_by

from .custom_values import FieldTest, property_of, tests_of, values_by_name
from .records import COLUMNS, VALUES, Issue, Priority, Project, State, kind_of
from .sorting import LAST, sorting

BY_LOOKUP = 4
"""Requests for a page of 100 by an ordered lookup: its entries, one more entry, and the issues of both."""

KINDS = {
    "num": "number",
    "state": "state",
    "priority": "priority",
    "due": "date",
    "created": "time",
    "updated": "time",
}


class IssueWithValues(RecordView[Issue]):
    """Something to be done. Its number tells it from the others of its project, its id from all."""

    hidden = frozenset(VALUES.values())
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
        Column(name=name, kind=kind_of(place).value, custom=True) for name, place in project.custom_fields.items()
    ]


@dataclass(frozen=True)
class Wanted:
    """Which issues of a project a grid has: those with the values `only`, and that pass the tests of custom fields."""

    only: Mapping[str, Any] = field(default_factory=dict)
    tests: Sequence[FieldTest] = ()

    @property
    def count(self) -> int:
        return sum(value is not None for value in self.only.values()) + len(self.tests)

    def filter(self, read: FieldTest | None) -> Any:
        """The filter of what is not `read` by an interval, None where nothing is left."""
        plain = [where(name) == value for name, value in self.only.items() if value is not None]
        tests = [*plain, *(each.filter for each in self.tests if each is not read)]
        return reduce(and_, tests) if tests else None


ALL = Wanted()


def issues_by(project: Project, sort: str, wanted: Wanted = ALL) -> Listed[Issue]:
    """The issues of a project that are wanted, in the order that `sort` names. Raises UnknownName, UnsupportedQuery."""
    chosen = sorting(sort, project.custom_fields)
    inside: dict[str, Any] = {"tenant_id": project.tenant_id, "project_id": project.project_id}
    if chosen.place is not None:
        read = next((each for each in wanted.tests if each.place == chosen.place), None)
    else:
        by_number = chosen.index == "gridNum"
        read = next((each for each in wanted.tests if by_number and each.equal is not None), None)
    place = chosen.place if read is None else read.place
    if place is None:
        return listed(Issue, inside, index=chosen.index, filter=wanted.filter(None), reverse=chosen.reverse)
    name = property_of(place)
    return listed_by(
        Issue,
        name,
        None if read is None else read.asked,
        within={**inside, f"{name}.name": place},
        filter=wanted.filter(read),
        reverse=chosen.reverse,
    )


def with_values(issue: Issue, fields: Mapping[str, str]) -> IssueWithValues:
    """An issue as it stands in the grid of a project with these custom fields."""
    return IssueWithValues(record=issue, custom=values_by_name(issue, fields))


ProjectId = Annotated[UUID, Field(description="The project.")]
Sort = Annotated[str, Field(description=f"{', '.join(COLUMNS)}, or a custom field.")]
OnlyState = Annotated[State | None, Field(description="Only issues in this state.")]
OnlyPriority = Annotated[Priority | None, Field(description="Only issues of this priority.")]
OnlyReporter = Annotated[str | None, Field(description="Only issues that this person reported.")]
OnlyAssignee = Annotated[str | None, Field(description="Only issues of this assignee.")]
OnlyCustom = Annotated[
    dict[str, str], Field(description="Only issues with this value of a custom field; also .from, .to, .prefix.")
]


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
    a value there. `state`, `priority`, `reporter`, `assignee` and `custom.NAME` filter, in any order; also
    `custom.NAME.from`, `.to` (both included) and, of a text, `.prefix`."""
    project = project_of(database, {"project_id": project_id})
    only = {"state": state, "priority": priority, "reporter": reporter, "assignee": assignee}
    wanted = Wanted(only, tests_of(custom, project.custom_fields))
    found = issues_by(project, sort, wanted).shown_as(lambda issue: with_values(issue, project.custom_fields))
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

    index: str = Field(description="The index that has the order, or the ordered lookup.")
    order: str = Field(description="ascending or descending.")
    reasons: list[str]
    lanes: int = Field(description="Shards that are read at once; of a lookup its one list.")
    estimated_reads: int = Field(description="Requests for a page; a filter may need more.")
    filters: int = Field(description="Tests that drop issues after reading.")
    reads: int | None = Field(description="Requests that the first page took, where it was run by an index.")
    units: float | None = Field(description="Read units that it cost, where it was run by an index.")
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
    wanted = Wanted(only, tests_of(custom, project.custom_fields))
    grid = issues_by(project, sort, wanted)
    if grid.lookup is not None:
        return _plan_of_lookup(grid, wanted)
    found = database.explain(
        Issue, grid.conditions, index=grid.index, filter=grid.filter, reverse=grid.reverse, run=run
    )
    return GridPlan(
        index=found.indexes[0] or "",
        order=found.order,
        reasons=list(found.reasons),
        lanes=len(found.lanes),
        estimated_reads=found.estimated_reads,
        filters=wanted.count,
        reads=None if found.stats is None else found.stats.requests,
        units=None if found.stats is None else found.stats.units,
        shards=_lanes_of(found),
    )


def _plan_of_lookup(grid: Listed[Issue], wanted: Wanted) -> GridPlan:
    """The plan of a grid that is read by an ordered lookup."""
    assert grid.lookup is not None
    interval = "its part that the field's test asks for" if grid.value is not None else "all of it"
    return GridPlan(
        index=to_camel(grid.lookup),
        order="descending" if grid.reverse else "ascending",
        reasons=["the custom field has a list in an ordered lookup", f"{interval} is read, and a batch of issues"],
        lanes=1,
        estimated_reads=BY_LOOKUP,
        filters=wanted.count - (grid.value is not None),
        reads=None,
        units=None,
        shards=[],
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
