"""The grid: a project's issues in pages, sorted by one of its columns, with its custom fields by their names.

Costs of a page: a read of the project, and a query of the four shards, whatever the page and however many issues there
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from shardweave import Database, errors
from shardweave.routing import JsonModel, Listed, RecordView, get, listed

from .records import COLUMNS, PLACES, Issue, Project, presence
from .sorting import LAST, sorting

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


def issues_by(project: Project, sort: str) -> Listed[Issue]:
    """A project's issues in the order that `sort` names. Raises UnknownName, UnsupportedQuery."""
    chosen = sorting(sort, project.custom_fields)
    conditions: dict[str, Any] = {"tenant_id": project.tenant_id, "project_id": project.project_id}
    if chosen.place is not None:
        conditions[presence(chosen.place)] = True
    return listed(Issue, conditions, index=chosen.index, reverse=chosen.reverse)


def with_values(issue: Issue, fields: Mapping[str, str]) -> IssueWithValues:
    """An issue as it stands in the grid of a project with these custom fields."""
    values = issue.model_dump(mode="json", include=set(fields.values()), exclude_none=True)
    return IssueWithValues(
        record=issue, custom={name: values[place] for name, place in fields.items() if place in values}
    )


@get("/v1/issue-grid", tag="issues", errors=(errors.NotFound,))
def issue_grid(
    project_id: Annotated[UUID, Field(description="The project.")],
    database: Database,
    sort: Annotated[str, Field(description=f"{', '.join(COLUMNS)}, or a custom field.")] = LAST,
) -> Listed[IssueWithValues, Columns]:
    """A project's issues, sorted by a column.

    `sort` names one column, `-` before it for the other direction: `sort=-due`. Issues that are alike in it come by
    number, the same way; `sort=state,-num` has the numbers the other way. By a custom field come the issues that have
    a value there."""
    project = project_of(database, {"project_id": project_id})
    found = issues_by(project, sort).shown_as(lambda issue: with_values(issue, project.custom_fields))
    return found.with_members(Columns(columns=columns_of(project)))
