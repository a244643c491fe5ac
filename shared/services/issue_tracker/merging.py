"""Merging projects: all issues of one move to another, get new numbers in their old order, and keep their ids.

A merge is a record, and a row of transactions:

    begin    Create the Merge; the target gets the custom fields that it lacks
    move     up to 20 issues of the source: project, number, places of custom values       again while there are any
    end      Delete the source; the Merge is done

Each may be repeated and any process may go on, see docs/beyond-one-transaction.md: an issue that is still to be moved
shows it by its project, the enforced relation refuses to end while there is one, and the merge is the only one of its
source. What can be refused for good, custom fields that find no place, is refused before anything is written.

Costs: two reads, one write for the numbers and one transaction for each 20 issues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from shardweave.access.access import ACCESS_ERRORS
from shardweave.api.keys import ROOT
from shardweave.api.messages import Response
from shardweave.api.models import validated
from shardweave.api.operation import Answer, Body, Call, Operation
from shardweave.errors import Conflict, HasChildren, InputError, NotFound, RevisionConflict
from shardweave.property_json import JSON_CONFIG, json_bytes
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.service import Parts
from shardweave.store import Create, Delete, Store, Update

from .custom_fields import with_field
from .grid import project_of, tenant_of
from .records import PLACES, Issue, Merge, MergeState, Project

AT_ONCE = 20
"""Issues moved by one transaction: each is 4 of its 100 actions, their projects are a few more."""

MAX_MOVES = 100
"""Transactions of one request."""

RESERVE_MS = 3_000
"""Kept of a request's time for a last transaction."""

LAGS = 3
"""How often in a row the index may show what has moved already before a request leaves the rest to the next."""


# -- plans, pure ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldPlan:
    """What becomes of custom fields: those of the target afterwards, and each place's new place."""

    fields: Mapping[str, str]
    places: Mapping[str, str]


def field_plan(source: Mapping[str, str], target: Mapping[str, str]) -> FieldPlan:
    """Fields of one name and kind are one field; others become fields of the target. Raises Conflict."""
    fields, places = dict(target), {}
    for name, place in source.items():
        if name not in fields:
            fields = with_field(fields, name, PLACES[place])
        if PLACES[fields[name]] is not PLACES[place]:
            raise Conflict(
                f"the custom field {name} is {PLACES[place].value} here and {PLACES[fields[name]].value} there",
                where="targetId",
                fix="rename one of them",
            )
        places[place] = fields[name]
    return FieldPlan(fields, places)


def moved_values(issue: Issue, places: Mapping[Any, str]) -> dict[str, object]:
    """The values of an issue's places after it has moved. What the source has no field for is of no field."""
    values: dict[str, object] = dict.fromkeys(PLACES)
    return values | {new: getattr(issue, old) for old, new in places.items()}


# -- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merger:
    """Carries merges out."""

    store: Store
    queries: QueryRunner

    def begin(self, tenant_id: UUID, source_id: UUID, target_id: UUID) -> Merge:
        """The merge of a source, begun if it is not yet. Raises NotFound, Conflict, InputError."""
        if source_id == target_id:
            raise InputError("a project can't be merged with itself", where="targetId", fix="give another project")
        known = self._merge(tenant_id, source_id)
        if known is not None:
            return _same_target(known, target_id)
        source, target = (project_of(self.store, tenant_id, each) for each in (source_id, target_id))
        plan = field_plan(source.custom_fields, target.custom_fields)
        ids = {"tenant_id": tenant_id, "source_id": source_id, "target_id": target_id}
        fields = Update(Project, _key(target), {"custom_fields": dict(plan.fields)}, target.rev)
        made = self.store.transact([Create({**ids, "places": dict(plan.places)}, Merge), fields])[0]
        assert isinstance(made, Merge)
        return made

    def move(self, merge: Merge) -> int:
        """Move some of the issues that are still to be moved, and say how many; 0 when none was found."""
        asked = {"tenantId": Equal(merge.tenant_id), "projectId": Equal(merge.source_id)}
        page = self.queries.run(QuerySpec("issue", asked, "gridNum", limit=AT_ONCE))
        keys = [{"tenant_id": each.tenant_id, "issue_id": each.issue_id} for each in page.items]
        issues = [each for each in self.store.batch_get(Issue, keys) if each and each.project_id == merge.source_id]
        if not issues:
            return 0
        scope = {"tenant_id": merge.tenant_id, "project_id": merge.target_id}
        numbers = self.store.take(Issue, "num", within=scope, count=len(issues))
        steps = [
            Update(
                Issue,
                {"tenant_id": issue.tenant_id, "issue_id": issue.issue_id},
                {"project_id": merge.target_id, "num": number, **moved_values(issue, merge.places)},
                issue.rev,
            )
            for issue, number in zip(issues, numbers, strict=True)
        ]
        self.store.transact(steps)
        return len(issues)

    def end(self, merge: Merge) -> Merge:
        """Remove the source and call the merge done. Raises HasChildren while it has issues."""
        source = {"tenant_id": merge.tenant_id, "project_id": merge.source_id}
        done = Update(
            Merge, {"tenant_id": merge.tenant_id, "source_id": merge.source_id}, {"state": MergeState.DONE}, merge.rev
        )
        made = self.store.transact([Delete(Project, source), done])[1]
        assert isinstance(made, Merge)
        return made

    def go_on(self, merge: Merge, in_time: Callable[[], bool]) -> tuple[Merge, int]:
        """Do steps as long as there is time, and give the merge and how many issues have moved. Another process that
        does the same at the same time takes steps away, and no more."""
        total = lags = 0
        while merge.state is MergeState.OPEN and lags < LAGS and in_time():
            try:
                moved = self.move(merge)
                total += moved
                lags = 0 if moved else lags + 1
                if not moved:
                    merge = self.end(merge)
            except (HasChildren, RevisionConflict, NotFound):
                merge = self._merge(merge.tenant_id, merge.source_id) or merge
                lags += 1
        return merge, total

    def _merge(self, tenant_id: UUID, source_id: UUID) -> Merge | None:
        return self.store.get(Merge, {"tenant_id": tenant_id, "source_id": source_id})


def _same_target(merge: Merge, target_id: UUID) -> Merge:
    if merge.target_id != target_id:
        raise Conflict("the project is being merged with another", where="targetId", fix="give that one")
    return merge


def _key(project: Project) -> dict[str, UUID]:
    return {"tenant_id": project.tenant_id, "project_id": project.project_id}


# -- the route --------------------------------------------------------------------------------------------------------


class ProjectMerge(BaseModel):
    """Which project is merged with which."""

    model_config = JSON_CONFIG

    source_id: UUID = Field(alias="sourceId", description="The project whose issues move. It is removed in the end.")
    target_id: UUID = Field(alias="targetId", description="The project that they move to.")


class MergeProgress(BaseModel):
    """How far a merge is."""

    state: MergeState = Field(description="`open`: send the request again. `done`: all issues have moved.")
    moved: int = Field(description="How many issues this request has moved.")


def merge_projects(parts: Parts) -> Operation:
    """The route of merges."""
    merger = Merger(parts.store, parts.queries)

    def run(call: Call) -> Response:
        given = validated(ProjectMerge, call.document)
        merge = merger.begin(tenant_of(parts, Project, "delete", call), given["sourceId"], given["targetId"])
        merge, moved = merger.go_on(merge, _in_time(call))
        return Response.json(200, json_bytes({"state": merge.state.value, "moved": moved}))

    return Operation(
        "POST",
        f"{ROOT}/project-merges",
        "mergeProjects",
        "Move all issues of a project to another",
        run,
        Answer(200, "How far the merge is.", MergeProgress),
        description="The issues keep their ids and get new numbers, in the order of the old ones. A request does as "
        f"much as it has time for, and at most {AT_ONCE * MAX_MOVES:,} issues; sent again, also by others and after "
        "it was cut off, it goes on where it stands.",
        tag="projects",
        body=Body(ProjectMerge),
        errors=(NotFound, Conflict, *ACCESS_ERRORS),
    )


def _in_time(call: Call) -> Callable[[], bool]:
    """Whether there is time for another step, counting them."""
    began, left = time.monotonic(), MAX_MOVES + LAGS

    def in_time() -> bool:
        nonlocal left
        left -= 1
        spent_ms = (time.monotonic() - began) * 1000
        return left >= 0 and (call.time_left_ms is None or spent_ms < call.time_left_ms - RESERVE_MS)

    return in_time
