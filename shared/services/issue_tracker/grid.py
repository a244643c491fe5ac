"""The grid: a project's issues in pages, sorted by one of its columns, with its custom fields by their names.

Costs of a page: a read of the project, and a query of the four shards, whatever the page and however many issues there
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, Field, create_model

from shardweave import Entity, errors
from shardweave.access.access import ACCESS_ERRORS, Access
from shardweave.api.keys import ROOT
from shardweave.api.messages import Response
from shardweave.api.models import RecordModels
from shardweave.api.operation import Answer, Call, Operation, Parameter
from shardweave.api.pages import PAGING, Pages, paging
from shardweave.api.query_routes import QUERY_ERRORS
from shardweave.property_json import json_bytes
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.service_parts import Parts
from shardweave.store import Store

from .records import COLUMNS, PLACES, Issue, Project, presence
from .sorting import LAST, sorting

HIDDEN = {*PLACES, *(presence(place) for place in PLACES)}
"""The properties that a grid shows under the names that the project gave them."""

KINDS = {
    "num": "number",
    "state": "state",
    "priority": "priority",
    "due": "date",
    "created": "time",
    "updated": "time",
}


class Column(BaseModel):
    """A column that the grid can be sorted by."""

    name: str
    kind: str = Field(description="text, number, date, time, state or priority.")
    custom: bool = Field(description="Whether it is a custom field of the project.")


def tenant_of(parts: Parts, model: type[Entity], operation: str, call: Call) -> UUID:
    """The tenant of a caller who may do this. Raises Unauthenticated, Forbidden."""
    tenant_id: UUID = parts.access.grant(parts.schema[model], operation, call.caller).within("tenantId", None)
    return tenant_id


def project_of(store: Store, tenant_id: UUID, project_id: UUID, where: str = "projectId") -> Project:
    """A tenant's project. Raises NotFound that blames `where`."""
    found = store.get(Project, {"tenant_id": tenant_id, "project_id": project_id})
    if found is None:
        raise errors.NotFound("there is no such project", where=where, fix="give one of the tenant's projects")
    return found


def columns_of(project: Project) -> list[Column]:
    """The columns of a project's grid."""
    own = [Column(name=name, kind=KINDS.get(name, "text"), custom=False) for name in COLUMNS]
    return own + [
        Column(name=name, kind=PLACES[place].value, custom=True) for name, place in project.custom_fields.items()
    ]


def grid_query(project: Project, sort: str) -> QuerySpec:
    """The query of a project's grid. Raises UnknownName, UnsupportedQuery."""
    chosen = sorting(sort, project.custom_fields)
    conditions = {"tenantId": Equal(project.tenant_id), "projectId": Equal(project.project_id)}
    if chosen.place is not None:
        conditions[presence(chosen.place)] = Equal(True)
    return QuerySpec(Issue.declaration.token, conditions, chosen.index, chosen.reverse)


def grid(parts: Parts) -> Operation:
    """The route of grids."""
    models = RecordModels(parts.schema[Issue], parts.external_keys)

    def run(call: Call) -> Response:
        project_id = parts.schema[Issue].properties["projectId"].read_text(call.query["projectId"], ("projectId",))
        project = project_of(parts.store, tenant_of(parts, Project, "get", call), project_id)
        pages = GridPages(models, parts.queries, parts.access, project.custom_fields)
        asked = grid_query(project, call.query.get("sort", LAST))
        given = paging(call.query)
        reverse = given.pop("reverse") != asked.reverse
        spec = replace(asked, reverse=reverse, **given)
        columns = [column.model_dump() for column in columns_of(project)]
        return pages.answer(pages.run(spec, call, operation="list"), {"columns": columns})

    return Operation(
        "GET",
        f"{ROOT}/issue-grid",
        "issueGrid",
        "A project's issues, sorted by a column",
        run,
        Answer(200, "The page, and the columns there are.", lambda: grid_model(models)),
        description="`sort` names one column, `-` before it for the other direction: `sort=-due`. Issues that are "
        "alike in it come by number, the same way; `sort=state,-num` has the numbers the other way. By a custom "
        "field come the issues that have a value there.",
        tag="issues",
        query_parameters=(
            Parameter("projectId", "The project.", UUID, required=True),
            Parameter("sort", f"{', '.join(COLUMNS)}, or a custom field.", str, "num"),
            *PAGING,
        ),
        errors=(errors.NotFound, *QUERY_ERRORS, *ACCESS_ERRORS),
    )


class GridPages(Pages):
    """Pages of issues with their custom fields by name."""

    def __init__(self, models: RecordModels, queries: QueryRunner, access: Access, fields: Mapping[str, str]) -> None:
        super().__init__(models, queries, access)
        self._fields = fields

    def text(self, record: Any) -> bytes:
        """The JSON text of an issue."""
        return json_bytes(shown(record, self._fields))


def shown(issue: Issue, fields: Mapping[str, str]) -> dict[str, Any]:
    """An issue as it stands in the grid of a project with these custom fields."""
    document = issue.model_dump(mode="json", by_alias=True, exclude_none=True)
    custom = {name: document[place] for name, place in fields.items() if place in document}
    kept = {name: value for name, value in document.items() if name not in _HIDDEN_STORED}
    return kept | {"custom": custom}


_HIDDEN_STORED = {Issue.model_fields[name].alias for name in HIDDEN}


def issue_model(models: RecordModels, name: str) -> type[BaseModel]:
    """What `shown` gives, by the name of the model."""
    fields: dict[str, Any] = {
        name: (info.annotation, info)
        for name, info in models.read.model_fields.items()
        if info.alias not in _HIDDEN_STORED and name != "expanded"
    }
    values = dict[str, str]
    made = create_model(
        name,
        __doc__=Issue.__doc__,
        custom=(values, Field(description="The values of custom fields, by their names.")),
        **fields,
    )
    return cast("type[BaseModel]", made)


def grid_model(models: RecordModels) -> type[BaseModel]:
    """What a grid answers."""
    row: Any = issue_model(models, "GridIssue")
    return create_model(
        "IssueGrid",
        __base__=models.page,
        __doc__="A page of a project's issues.",
        items=(list[row], Field(description="The issues of this page.")),
        columns=(list[Column], Field(description="The columns there are, those of the project last.")),
    )
