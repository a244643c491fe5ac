"""Custom fields: a project gives a place to each of its fields, and values are set by the fields' names.

A place is of a kind, and so are its values: they are validated and sorted as such. A field keeps its place for ever, so
while an issue stays in its project no value of its is shown under another name; a merge maps places by name, and who
moves an issue by hand has to do it. A project may have any number of fields; an issue has at most 40 values.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any
from uuid import UUID

from pydantic import Field

from shardweave import Database, Update, errors
from shardweave.routing import JsonModel, Writes, post, writes

from .custom_values import changed_values, read_value
from .grid import IssueWithValues, project_of, with_values
from .records import COLUMNS, FieldKind, FieldName, Issue, Project


class NewField(JsonModel):
    """A custom field of a project."""

    project_id: UUID
    name: FieldName
    kind: FieldKind


class NewValues(JsonModel):
    """Values of an issue's custom fields."""

    issue_id: UUID
    values: dict[str, Any] = Field(description="By the fields' names: text, a number, a date; null removes the value.")


def with_field(fields: Mapping[str, str], name: str, kind: FieldKind) -> dict[str, str]:
    """A project's fields and one more, in a place that is free. Raises AlreadyExists."""
    if name in fields or name in COLUMNS:
        raise errors.AlreadyExists("there is such a column", where="name", fix="choose another name")
    return {**fields, name: free_place(fields, kind)}


def free_place(fields: Mapping[str, str], kind: FieldKind) -> str:
    """The first place of a kind that no field has."""
    taken = set(fields.values())
    return next(place for number in count(1) if (place := f"{kind.value}{number}") not in taken)


@post("/v1/custom-fields", status=200, tag="projects", errors=(errors.NotFound, errors.AlreadyExists))
def declare_custom_field(given: NewField) -> Writes[Project]:
    """A new custom field of a project.

    A project may have any number of them."""

    def changes(project: Project) -> dict[str, Any]:
        return {"custom_fields": with_field(project.custom_fields, given.name, given.kind)}

    return writes(
        Update(Project, {"project_id": given.project_id}, changes),
        refusals={errors.NotFound: missing("project", "projectId")},
    )


@post("/v1/custom-values", status=200, tag="issues", errors=(errors.NotFound, errors.Conflict))
def set_custom_values(given: NewValues, database: Database) -> Writes[IssueWithValues]:
    """Values of an issue's custom fields, by name.

    Fields that are not named keep their values. An issue has at most 40."""
    fields: dict[str, str] = {}

    def changes(issue: Issue) -> dict[str, Any]:
        fields.clear()
        fields.update(project_of(database, {"project_id": issue.project_id}).custom_fields)
        named = {place_of(name, fields): (name, value) for name, value in given.values.items()}
        return changed_values(
            issue, {place: read_value(place, value, "values", name) for place, (name, value) in named.items()}
        )

    return writes(
        Update(Issue, {"issue_id": given.issue_id}, changes),
        answer=lambda issue: with_values(issue, fields),
        refusals={errors.NotFound: missing("issue", "issueId")},
    )


def place_of(name: str, fields: Mapping[str, str]) -> str:
    """Where issues hold a custom field. Raises UnknownName."""
    if name not in fields:
        listed = ", ".join(fields) or "(it has none)"
        shown = name[:40]
        raise errors.UnknownName(
            f"the project has no custom field {shown!r}", where=f"values.{shown}", fix=f"use some of {listed}"
        )
    return fields[name]


def missing(what: str, where: str) -> errors.NotFound:
    """The property of the body that leads to no record."""
    return errors.NotFound(f"there is no such {what}", where=where, fix="give one of the tenant's")
