"""Custom fields: a project gives a name to one of the places that issues have, and values are set by that name.

A place is of a kind, and so are its values: they are validated and sorted as such. A field keeps its place for ever, so
while an issue stays in its project no value of its is shown under another name; a merge maps places by name, and who
moves an issue by hand has to do it. The places bound how many fields a project may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import Field

from shardweave import Database, Update, errors
from shardweave.routing import JsonModel, Writes, post, writes

from .grid import TYPES, IssueWithValues, project_of, with_values
from .records import COLUMNS, PLACES, FieldKind, FieldName, Issue, Project


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
    """A project's fields and one more, in a place that is free. Raises AlreadyExists, Conflict."""
    if name in fields or name in COLUMNS:
        raise errors.AlreadyExists("there is such a column", where="name", fix="choose another name")
    place = free_place(fields, kind)
    if place is None:
        raise errors.Conflict(f"a project has {at_most(kind)}", where="kind", fix="use one it has")
    return {**fields, name: place}


def free_place(fields: Mapping[str, str], kind: FieldKind) -> str | None:
    """The first place of a kind that no field has."""
    return next((place for place in PLACES if PLACES[place] is kind and place not in fields.values()), None)


def at_most(kind: FieldKind) -> str:
    """How many fields of a kind a project may have."""
    return f"at most {sum(each is kind for each in PLACES.values())} field(s) of the kind {kind.value}"


@post("/v1/custom-fields", status=200, tag="projects", errors=(errors.NotFound, errors.AlreadyExists, errors.Conflict))
def declare_custom_field(given: NewField) -> Writes[Project]:
    """A new custom field of a project.

    A project has at most 2 of the kind `text`, 1 of the kind `number`, 1 of the kind `date`."""

    def changes(project: Project) -> dict[str, Any]:
        return {"custom_fields": with_field(project.custom_fields, given.name, given.kind)}

    return writes(
        Update(Project, {"project_id": given.project_id}, changes),
        refusals={errors.NotFound: missing("project", "projectId")},
    )


@post("/v1/custom-values", status=200, tag="issues", errors=(errors.NotFound, errors.Conflict))
def set_custom_values(given: NewValues, database: Database) -> Writes[IssueWithValues]:
    """Values of an issue's custom fields, by name.

    Fields that are not named keep their values."""
    fields: dict[str, str] = {}

    def changes(issue: Issue) -> dict[str, Any]:
        fields.clear()
        fields.update(project_of(database, {"project_id": issue.project_id}).custom_fields)
        return {place_of(name, fields): read(name, value, fields) for name, value in given.values.items()}

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


def read(name: str, value: Any, fields: Mapping[str, str]) -> Any:
    """A custom field's value. Raises ValidationFailed."""
    return None if value is None else TYPES[PLACES[fields[name]]].read(value, "values", name)


def missing(what: str, where: str) -> errors.NotFound:
    """The property of the body that leads to no record."""
    return errors.NotFound(f"there is no such {what}", where=where, fix="give one of the tenant's")
