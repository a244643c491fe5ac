"""Merging projects: all issues of one move to another, get new numbers in their old order, and keep their ids.

A merge is a record, and a row of transactions:

    begin    Create the Merge, or open the one that is done, when there is a source again with its id
    move     up to 20 issues of the source: project, number, places of custom values       again while there are any
    end      Delete the source; the Merge is done

Each may be repeated and any process may go on, see docs/beyond-one-transaction.md: an issue that is still to be moved
shows it by its project, the enforced relation refuses to end while there is one, and the merge is the only one of its
source. Enforced relations keep both projects from being deleted while it is open.

Custom fields go by their names. Each step gives the target what it lacks of the source's, and is refused where either
project has other fields by then, so that what is declared meanwhile goes along. A field that is of another kind in the
target is refused before anything is written; where it comes later, the merge stands still and says so, until it is
renamed or removed.

No project is source and target of open merges: to begin requires in its transaction that the target is not being
merged away, so there are no circles. The other half is looked up before. Of two that begin at one moment, P to Q and Q
to R, both may so be accepted: all issues end in R, since Q can't be deleted before P is.

Costs: four reads, one write for the numbers and one transaction for each 20 issues; for fewer where they have custom
values, of which each takes two actions more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from pydantic import Field

from shardweave import Check, Create, Database, Delete, Update, errors
from shardweave.routing import Claim, EveryRecord, JsonModel, TimeLeft, post

from .custom_fields import free_place
from .custom_values import property_of
from .grid import project_of
from .records import CLAIM, VALUES, Issue, Merge, MergeState, Project, kind_of

AT_ONCE = 20
"""Issues moved by one transaction: each is 4 of its 100 actions, their projects are 6 more."""

ACTIONS = 4 * (AT_ONCE + 1)
"""What the issues of one transaction may take: those without custom values 4 each, and each value 2 more. So one issue
with as many values as it may have fits too."""

MAX_MOVES = 100
"""Transactions of one request."""

RESERVE_MS = 3_000
"""Kept of a request's time for a last transaction."""

LAGS = 3
"""How often in a row the index may show what has moved already, or another writer may be faster, before a request
leaves the rest to the next."""

Step = Create | Update | Delete | Check

OVERTAKEN = (errors.AlreadyExists, errors.HasChildren, errors.NotFound, errors.ParentMissing, errors.RevisionConflict)
"""What a step meets where another writer was faster. Looked at again, it goes on, or says what is wrong."""


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
        kind = kind_of(place)
        new = fields.get(name) or free_place(fields, kind)
        if kind_of(new) is not kind:
            raise errors.Conflict(
                f"the custom field {name} is {kind.value} here and {kind_of(new).value} there",
                where="targetId",
                fix="rename one of them",
            )
        fields[name] = places[place] = new
    return FieldPlan(fields, places)


def moved_values(issue: Issue, places: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """The values of an issue's places after it has moved. What the source has no field for is of no field."""
    values: dict[str, dict[str, object]] = {name: {} for name in VALUES.values()}
    for old, new in places.items():
        held = getattr(issue, property_of(old))
        if old in held:
            values[property_of(new)][new] = held[old]
    return values


def fitting(issues: Sequence[Issue]) -> list[Issue]:
    """As many of the first issues as one transaction moves."""
    taken = 0
    found = []
    for issue in issues:
        taken += 4 + 2 * sum(len(getattr(issue, name)) for name in VALUES.values())
        if taken > ACTIONS:
            break
        found.append(issue)
    return found


# -- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merger:
    """Carries merges out."""

    database: Database

    def begin(self, tenant_id: UUID, source_id: UUID, target_id: UUID) -> Merge:
        """The merge of a source, begun if it is not yet. Raises NotFound, Conflict, InputError."""
        if source_id == target_id:
            raise errors.InputError(
                "a project can't be merged with itself", where="targetId", fix="give another project"
            )
        for _ in range(LAGS):
            known = self._merge(tenant_id, source_id)
            if known is not None and not self._makes_way(known):
                return _same_target(known, target_id)
            beginning = self.beginning(known, tenant_id, source_id, target_id)
            try:
                made = self.database.transact(beginning)[0]
            except OVERTAKEN:
                continue
            assert isinstance(made, Merge)
            return made
        raise errors.Conflict("the projects are being changed by others", where="sourceId", fix="send it again")

    def move(self, merge: Merge) -> int:
        """Move some of the issues that are still to be moved, and say how many; 0 when none was found. Raises
        Conflict where custom fields find no place."""
        asked = {"tenant_id": merge.tenant_id, "project_id": merge.source_id}
        page = self.database.query(Issue, asked, index="gridNum", limit=AT_ONCE)
        keys = [{"tenant_id": each.tenant_id, "issue_id": each.issue_id} for each in page.items]
        issues = [each for each in self.database.batch_get(Issue, keys) if each and each.project_id == merge.source_id]
        if not issues:
            return 0
        issues = fitting(issues)
        source, target = self._projects(merge.tenant_id, merge.source_id, merge.target_id)
        plan = field_plan(source.custom_fields, target.custom_fields)
        scope = {"tenant_id": merge.tenant_id, "project_id": merge.target_id}
        numbers = self.database.store.take(Issue, "num", within=scope, count=len(issues))
        steps = [
            Update(
                Issue,
                {"tenant_id": issue.tenant_id, "issue_id": issue.issue_id},
                {"project_id": merge.target_id, "num": number, **moved_values(issue, plan.places)},
                issue.rev,
            )
            for issue, number in zip(issues, numbers, strict=True)
        ]
        self.database.transact([*steps, _unchanged(source), _with_fields(target, plan)])
        return len(issues)

    def end(self, merge: Merge) -> Merge:
        """Remove the source and call the merge done. Raises HasChildren while it has issues."""
        key = {"tenant_id": merge.tenant_id, "source_id": merge.source_id}
        operations: list[Step] = [Update(Merge, key, {"state": MergeState.DONE}, merge.rev)]
        if self._project(merge.tenant_id, merge.source_id) is not None:
            source, target = self._projects(merge.tenant_id, merge.source_id, merge.target_id)
            plan = field_plan(source.custom_fields, target.custom_fields)
            operations += [Delete(Project, _key(source), source.rev), _with_fields(target, plan)]
        made = self.database.transact(operations)[0]
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
            except OVERTAKEN:
                merge = self._merge(merge.tenant_id, merge.source_id) or merge
                lags += 1
        return merge, total

    # -- parts

    def beginning(self, known: Merge | None, tenant_id: UUID, source_id: UUID, target_id: UUID) -> list[Step]:
        """What begins a merge, or opens the one that makes way. Raises NotFound, Conflict."""
        source, target = self._projects(tenant_id, source_id, target_id)
        onward = self._merge(tenant_id, target_id)
        if onward is not None and onward.state is MergeState.OPEN:
            raise errors.Conflict(
                "the target is being merged with another project itself", where="targetId", fix="give that one"
            )
        if self.database.find_by(Merge, "openTargetId", source_id, within={"tenantId": tenant_id}, limit=1).items:
            raise errors.Conflict(
                "another project is being merged with the source", where="sourceId", fix="wait until that is done"
            )
        ids = {"tenant_id": tenant_id, "source_id": source_id}
        values = {"target_id": target_id, "state": MergeState.OPEN}
        plan = field_plan(source.custom_fields, target.custom_fields)
        stays = {"tenant_id": tenant_id, "source_id": target_id}
        return [
            Create({**ids, **values}, Merge) if known is None else Update(Merge, ids, values, known.rev),
            _unchanged(source),
            _with_fields(target, plan),
            Check(Merge, stays, exists=False) if onward is None else Check(Merge, stays, onward.rev),
        ]

    def _makes_way(self, known: Merge) -> bool:
        """Whether a merge leaves room for another of its source: there is a source, and it does not move anywhere."""
        if self._project(known.tenant_id, known.source_id) is None:
            return False
        return known.state is MergeState.DONE or self._project(known.tenant_id, known.target_id) is None

    def _projects(self, tenant_id: UUID, source_id: UUID, target_id: UUID) -> tuple[Project, Project]:
        source = project_of(self.database, _named(tenant_id, source_id), "sourceId")
        return source, project_of(self.database, _named(tenant_id, target_id), "targetId")

    def _project(self, tenant_id: UUID, project_id: UUID) -> Project | None:
        return self.database.get(Project, _named(tenant_id, project_id))

    def _merge(self, tenant_id: UUID, source_id: UUID) -> Merge | None:
        return self.database.get(Merge, {"tenant_id": tenant_id, "source_id": source_id})


def _unchanged(project: Project) -> Check:
    """Its custom fields are still those that were read."""
    return Check(Project, _key(project), project.rev)


def _with_fields(target: Project, plan: FieldPlan) -> Check | Update:
    """The target has the fields of the plan, and had those that were read."""
    if plan.fields == target.custom_fields:
        return _unchanged(target)
    return Update(Project, _key(target), {"custom_fields": dict(plan.fields)}, target.rev)


def _same_target(merge: Merge, target_id: UUID) -> Merge:
    if merge.target_id != target_id:
        how_far = "is being" if merge.state is MergeState.OPEN else "has been"
        raise errors.Conflict(f"the project {how_far} merged with another", where="targetId", fix="give that one")
    return merge


def _key(project: Project) -> dict[str, UUID]:
    return _named(project.tenant_id, project.project_id)


def _named(tenant_id: UUID, project_id: UUID) -> dict[str, UUID]:
    return {"tenant_id": tenant_id, "project_id": project_id}


# -- the route --------------------------------------------------------------------------------------------------------


class ProjectMerge(JsonModel):
    """Which project is merged with which."""

    source_id: UUID = Field(description="The project whose issues move. It is removed in the end.")
    target_id: UUID = Field(description="The project that they move to.")


class MergeProgress(JsonModel):
    """How far a merge is."""

    state: MergeState = Field(description="`open`: send the request again. `done`: all issues have moved.")
    moved: int = Field(description="How many issues this request has moved.")


@post(
    "/v1/project-merges",
    tag="projects",
    errors=(errors.NotFound, errors.Conflict),
    idempotency_key=False,
)
def merge_projects(
    given: ProjectMerge, tenant_id: Annotated[UUID, Claim(CLAIM)], database: EveryRecord, time_left: TimeLeft
) -> MergeProgress:
    """Move all issues of a project to another.

    The issues keep their ids and get new numbers, in the order of the old ones. A request does as much as it has time
    for, and at most 2,000 issues; sent again, also by others and after it was cut off, it goes on where it stands.
    Until it is done neither project can be deleted, nor merged elsewhere. A project that is made again with the id of
    one that was merged can be merged again."""
    merger = Merger(database)
    merge = merger.begin(tenant_id, given.source_id, given.target_id)
    merge, moved = merger.go_on(merge, _in_time(time_left))
    return MergeProgress(state=merge.state, moved=moved)


def _in_time(time_left: TimeLeft) -> Callable[[], bool]:
    """Whether there is time for another step, counting them."""
    left = MAX_MOVES + LAGS

    def in_time() -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and time_left() > RESERVE_MS

    return in_time
