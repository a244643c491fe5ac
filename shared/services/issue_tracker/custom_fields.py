"""Custom fields: a project gives a name to one of the places that issues have, and values are set by that name.

A place is of a kind, and so are its values: they are validated and sorted as such. A field keeps its place for ever, so
while an issue stays in its project no value of its is shown under another name; a merge maps places by name, and who
moves an issue by hand has to do it. The places bound how many fields a project may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from shardweave import Entity, Update, errors
from shardweave.access.access import ACCESS_ERRORS
from shardweave.api.collection import stored
from shardweave.api.keys import ROOT
from shardweave.api.messages import Response
from shardweave.api.models import RecordModels, validated
from shardweave.api.once import ONCE, ONCE_ERRORS, carried_out
from shardweave.api.operation import Answer, Body, Call, Operation
from shardweave.api.preconditions import entity_tag
from shardweave.property_json import JSON_CONFIG, json_bytes
from shardweave.service_parts import Parts
from shardweave.store.operations import Written

from .grid import issue_model, project_of, shown, tenant_of
from .records import COLUMNS, PLACES, FieldKind, FieldName, Issue, Project


class NewField(BaseModel):
    """A custom field of a project."""

    model_config = JSON_CONFIG

    project_id: UUID = Field(alias="projectId")
    name: FieldName
    kind: FieldKind


class NewValues(BaseModel):
    """Values of an issue's custom fields."""

    model_config = JSON_CONFIG

    issue_id: UUID = Field(alias="issueId")
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


def declare_field(parts: Parts) -> Operation:
    """A new custom field of a project."""
    models = RecordModels(parts.schema[Project], parts.external_keys)

    def run(call: Call) -> Response:
        tenant_id, given = tenant_of(parts, Project, "update", call), validated(NewField, call.document)
        key = {"tenant_id": tenant_id, "project_id": given["projectId"]}

        def changes(project: Project) -> dict[str, Any]:
            return {"custom_fields": with_field(project.custom_fields, given["name"], given["kind"])}

        with blaming("projectId"):
            return carried_out(parts.store, call, [Update(Project, key, changes)], answer_with(models))

    return Operation(
        "POST",
        f"{ROOT}/custom-fields",
        "declareCustomField",
        "A new custom field of a project",
        run,
        Answer(200, "The project as it is stored.", lambda: models.read),
        description=f"A project has at most {_most()}.",
        tag="projects",
        header_parameters=(ONCE,),
        body=Body(NewField),
        errors=(errors.NotFound, errors.AlreadyExists, errors.Conflict, *ONCE_ERRORS, *ACCESS_ERRORS),
    )


def set_values(parts: Parts) -> Operation:
    """Values of an issue's custom fields."""
    entity = parts.schema[Issue]
    models = RecordModels(entity, parts.external_keys)

    def run(call: Call) -> Response:
        tenant_id, given = tenant_of(parts, Issue, "update", call), validated(NewValues, call.document)
        fields: dict[str, str] = {}

        def changes(issue: Issue) -> dict[str, Any]:
            fields.clear()
            fields.update(project_of(parts.store, issue.tenant_id, issue.project_id).custom_fields)
            return dict(placed(name, value, fields) for name, value in given["values"].items())

        def by_name(made: Sequence[Written]) -> Response:
            record = record_of(made)
            assert isinstance(record, Issue)
            answer = Response.json(200, json_bytes(shown(record, fields)), **entity_tag(record.rev))
            return written(models, record, answer)

        def placed(name: str, value: Any, fields: Mapping[str, str]) -> tuple[str, Any]:
            if name not in fields:
                listed = ", ".join(fields) or "(it has none)"
                shown = name[:40]
                raise errors.UnknownName(
                    f"the project has no custom field {shown!r}", where=f"values.{shown}", fix=f"use some of {listed}"
                )
            place = entity.properties[fields[name]]
            return place.stored, None if value is None else place.read_json(value, ("values", name))

        key = {"tenant_id": tenant_id, "issue_id": given["issueId"]}
        with blaming("issueId"):
            return carried_out(parts.store, call, [Update(Issue, key, changes)], by_name)

    return Operation(
        "POST",
        f"{ROOT}/custom-values",
        "setCustomValues",
        "Values of an issue's custom fields, by name",
        run,
        Answer(200, "The issue, its custom fields by name.", lambda: issue_model(models, "IssueWithValues")),
        description="Fields that are not named keep their values.",
        tag="issues",
        header_parameters=(ONCE,),
        body=Body(NewValues),
        errors=(errors.NotFound, errors.Conflict, *ONCE_ERRORS, *ACCESS_ERRORS),
    )


def _most() -> str:
    counts = {kind: sum(each is kind for each in PLACES.values()) for kind in FieldKind}
    return ", ".join(f"{count} of the kind `{kind.value}`" for kind, count in counts.items())


@contextmanager
def blaming(where: str) -> Iterator[None]:
    """Names the property of the body that leads to no record. Raises NotFound."""
    try:
        yield
    except errors.NotFound as missing:
        raise errors.NotFound(missing.message, where=where, fix="give one of the tenant's") from missing


def answer_with(models: RecordModels) -> Callable[[Sequence[Written]], Response]:
    """The answer to a write of one record: the record as it is stored."""

    return lambda made: written(models, record_of(made), stored(models, record_of(made)))


def written(models: RecordModels, record: Entity, answer: Response) -> Response:
    """The answer to a request that does not name the record that it writes by a path, with the record's."""
    return replace(answer, places=(models.keys.path(record),))


def record_of(made: Sequence[Written]) -> Entity:
    """The one record that a write leaves."""
    (record,) = (each.record for each in made if each.record is not None)
    return record
