"""What one operation does: what it must read, which actions it makes of that, what a refusal means to it.

Pure. A step is a frozen value. `wanted` is the identity to be read before `plan`; `plan` gives the actions and what
the operation will have returned; after a refusal `again` gives the step to be planned anew (from a new reading), or
raises. So every conflict is judged from a fresh reading, and a write that depends on what was read is never repeated
from an old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

from ...errors import (
    AlreadyExists,
    CancellationReason,
    Conflict,
    Forbidden,
    NotFound,
    RevisionConflict,
    ShardMapChanged,
)
from ...schema.entity import Entity
from ...schema.entity_type import REVISION, EntityType
from ...schema.relations import ChildLink
from ...table.operations import PutItem as PutAction
from ...table.values import Item
from ..events.pending_records import Remnants, taken_over
from ..locations import ReadResult, locations
from ..lookups.unique_values import NOTHING_MET, Conflicts
from ..operations import Among, Changes, Put, Related, Rev
from ..relations.enforced import COUNTED, Entities, Kinship, Parent, Tally, closed_by, kinship, record_name
from .additions import Addition
from .condition_checks import absence_actions, presence_actions
from .prepare import PreparedRecord, changed_draft, new_draft, replacing_draft, unknown_attributes, upserted_draft
from .record_actions import create_actions, remove_actions, replace_actions
from .write_actions import ActionRole, AttemptContext, WriteAction, as_read, has_revision, is_known, key_of

Refused = Sequence[tuple[WriteAction, CancellationReason]]
"""The actions of a step whose conditions were false, each with why."""


@dataclass(frozen=True)
class WritePlan:
    """The actions of one attempt. `rev` is the revision that they write, `record` the record they leave; `creates` says
    that there was none before, `removes` that they leave none; `before` is the record that was there, where that is
    wanted. Still to be made into actions: `parents` that must be
    there, `tallies` of their children; `closes` says that the record removed must have no children."""

    actions: tuple[WriteAction, ...] = ()
    rev: str | None = None
    record: Entity | None = None
    creates: bool = False
    removes: bool = False
    parents: tuple[Parent, ...] = ()
    tallies: tuple[Tally, ...] = ()
    closes: bool = False
    before: Entity | None = None

    @property
    def writes(self) -> bool:
        """Whether the actions write or remove the record, instead of leaving it alone."""
        return bool(self.actions) and (self.record is not None or self.removes)

    @property
    def written(self) -> Item | None:
        """The record as the actions write it."""
        written = (
            each for each in self.actions if each.part is ActionRole.RECORD and isinstance(each.action, PutAction)
        )
        return next((each.key_or_item for each in written), None)


@dataclass(frozen=True)
class Context:
    """What planning needs besides the step: new revisions, the names of all generated attributes, all entities, and
    the remnants of those that events are projected into, by token."""

    new_revision: Callable[[], str]
    generated_names: frozenset[str]
    entities: Entities
    remnants: Mapping[str, Remnants]


@dataclass(frozen=True)
class WriteStep:
    """One operation on its way. `met` are the lookup records of others that its attempts came upon, `remnant` what they
    found that events had said of its record; `visibility` says which records there are for whoever asks, `related`
    which of the entities that enforced relations connect it with."""

    entity: EntityType[Any]
    identity: Item
    met: Conflicts = field(default=NOTHING_MET, kw_only=True)
    remnant: Item | None = field(default=None, kw_only=True)
    visibility: Among | None = field(default=None, kw_only=True)
    related: Related | None = field(default=None, kw_only=True)

    @property
    def name(self) -> tuple[Any, ...]:
        """What tells its record from all others."""
        return record_name(self.entity, self.identity)

    @property
    def wanted(self) -> Item | None:
        """The identity to be read first, None when nothing need be read."""
        return self.identity

    @property
    def makes(self) -> bool:
        """Whether it may write a record where none was."""
        return False

    @property
    def relies_on(self) -> tuple[ChildLink, ...]:
        """The relations that must count all records already."""
        return ()

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        """The actions of this attempt. Raises InputError, NotFound and Conflict."""
        raise NotImplementedError

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        """The step to plan after a refusal. Raises Conflict where planning again is of no use."""
        return self.having_met(refused)

    def having_met(self, refused: Refused) -> Self:
        """The step that knows what its refused actions came upon."""
        met = [reason.item for planned, reason in refused if planned.part is ActionRole.REMNANT]
        return replace(self, met=self.met.after(self.entity, refused), remnant=met[0] if met else self.remnant)

    def on_another_map(self) -> WriteStep:
        """The step to plan anew when the shard map has changed."""
        return self

    def already_done(self, plan: WritePlan, refused: Refused, *, uncertain: bool) -> bool:
        """Whether a refusal shows that an earlier attempt of this very plan was carried out."""
        return plan.rev is not None and any(
            planned.part is ActionRole.RECORD and reason.item is not None and reason.item.get(REVISION) == plan.rev
            for planned, reason in refused
        )

    @property
    def may_only_replace(self) -> bool:
        """Whether an id that is given names no new record: it could be that of another's."""
        return self.visibility is not None and self.entity.shares_ids

    def is_hidden(self, seen: ReadResult) -> bool:
        """Whether what was found does not exist for whoever asks."""
        return seen.found is not None and self.visibility is not None and not self.visibility(seen.found.item)

    def check_revision(self, seen: ReadResult, rev: Rev) -> None:
        """Refuse a record of another revision than the one that is asked for, or none. Raises RevisionConflict."""
        if rev is None:
            return
        stored = None if seen.found is None or self.is_hidden(seen) else seen.found.item.get(REVISION)
        if stored is None or (stored not in rev if isinstance(rev, frozenset) else stored != rev):
            raise self.revision_conflict()

    def not_found(self) -> NotFound:
        return not_found(self.entity)

    def revision_conflict(self) -> RevisionConflict:
        return RevisionConflict("the record has another revision", where=REVISION, fix="read it again, and change that")

    def already_exists(self) -> AlreadyExists:
        names = ", ".join(self.entity.identity)
        return AlreadyExists(
            f"a record with this {names} exists" if names else "the record exists",
            where=names or self.entity.token,
            fix="give it another, or update the one that exists" if names else "update it",
        )


_OF_THE_IDENTITY = (ActionRole.RECORD, ActionRole.ELSEWHERE, ActionRole.OWNER)


@dataclass(frozen=True)
class CreateStep(WriteStep):
    """Reads nothing. `lookup` is the lookup record that an attempt met: its record may be gone."""

    draft: PreparedRecord
    lookup: Item | None = None

    @property
    def wanted(self) -> Item | None:
        return None

    @property
    def makes(self) -> bool:
        return True

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        return _made_by_hand(self, self.draft, replace(seen, lookup=self.lookup), moment, context)

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        lookup = self.lookup
        for planned, reason in refused:
            if planned.part is ActionRole.LOOKUP:
                lookup = reason.item
            elif planned.part in _OF_THE_IDENTITY and (reason.item is None or is_known(reason.item, moment)):
                raise self.already_exists()
        return replace(self.having_met(refused), lookup=lookup)


@dataclass(frozen=True)
class PutStep(WriteStep):
    """Reads, then replaces the live record, or creates one. `draft` is the record to be created, None where what is
    given makes one only together with what is kept of a stored one."""

    put: Put
    draft: PreparedRecord | None

    @property
    def makes(self) -> bool:
        return not (self.put.exists or self.may_only_replace) and self.put.rev is None

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        self.check_revision(seen, self.put.rev)
        if self.is_hidden(seen):
            raise self.not_found()
        if seen.found is None:
            if self.put.exists or self.may_only_replace:
                raise self.not_found()
            return _made_by_hand(self, self._admitted(self.drafted(None, moment, context)), seen, moment, context)
        draft = self._admitted(self.drafted(seen.found.item, moment, context))
        plan = replacement(self.entity, draft, seen, moment, context, self.met)
        return replace(plan, before=self.entity.load(seen.found.item)) if self.put.returning else plan

    def drafted(self, stored: Item | None, moment: AttemptContext, context: Context) -> PreparedRecord:
        """The record to be written in place of a stored one, or of none. Raises ValidationFailed, ValueRefused,
        ImmutableProperty."""
        rev = context.new_revision()
        if stored is None:
            return self.draft or new_draft(self.entity, self.put.record, moment.now_ms, rev)
        return replacing_draft(self.entity, self.put, stored, moment.now_ms, rev)

    def _admitted(self, draft: PreparedRecord) -> PreparedRecord:
        """The record, which is whoever asks's: what is kept is known only when it is read. Raises Forbidden."""
        if self.visibility is not None and not self.visibility(draft.item):
            raise Forbidden(
                "the record would not be the caller's", where=self.entity.token, fix="leave out who it belongs to"
            )
        return draft


@dataclass(frozen=True)
class UpdateStep(WriteStep):
    """Reads, changes what was read, and replaces it if it is still that. `start` is what a record starts with that is
    made where there is none; None where none is made."""

    changes: Changes
    rev: Rev
    from_json: bool
    start: Mapping[str, Any] | None = None

    @property
    def makes(self) -> bool:
        return self.start is not None and self.rev is None and not self.may_only_replace

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if self.is_hidden(seen):
            raise self.not_found()
        if seen.found is None:
            if self.start is None or self.may_only_replace:
                raise self.not_found()
            self.check_revision(seen, self.rev)
            rev, now_ms = context.new_revision(), moment.now_ms
            made = upserted_draft(self.entity, self.identity, self.start, self.changes, now_ms, rev)
            return _made_by_hand(self, made, seen, moment, context)
        self.check_revision(seen, self.rev)
        stored = seen.found.item
        rev, from_json = context.new_revision(), self.from_json
        draft = changed_draft(self.entity, stored, self.changes, moment.now_ms, rev, from_json=from_json)
        if draft is None:
            return WritePlan(record=self.entity.load(stored))
        return replacement(self.entity, draft, seen, moment, context, self.met)


@dataclass(frozen=True)
class AddStep(UpdateStep):
    """An update by the sums of what is there and the `additions`."""

    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class DeleteStep(WriteStep):
    """Reads, then removes what was read if it is still that. `strict`: nothing to remove is an error; `returning`: what
    was removed is wanted.

    With a given revision nothing is read where the record can be in one place only: `direct`.
    """

    rev: Rev
    strict: bool = False
    direct: bool = False
    returning: bool = False

    @property
    def wanted(self) -> Item | None:
        return None if self.direct else self.identity

    @property
    def relies_on(self) -> tuple[ChildLink, ...]:
        return self.entity.children

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if self.direct:
            assert not isinstance(self.rev, frozenset), "one revision needs no reading"
            place, *others = locations(self.entity, self.identity, moment.shard_map, moment.now_ms)
            if others:
                raise ShardMapChanged("the record can be in several places now", where=self.entity.token, fix="retry")
            actions = remove_actions(self.entity, place.key, self.identity, has_revision(self.rev), moment)
            return WritePlan(actions, removes=True)
        if seen.found is None or self.is_hidden(seen):
            if self.strict:
                raise self.not_found()
            return WritePlan()
        stored = seen.found.item
        self.check_revision(seen, self.rev)
        key = key_of(self.entity, stored)
        actions = remove_actions(self.entity, key, self.identity, as_read(stored), moment, stored, self.met)
        tallies = kinship(self.entity, stored, None, context.entities).tallies
        before = self.entity.load(stored) if self.returning else None
        return WritePlan(actions, removes=True, tallies=tallies, closes=bool(self.entity.children), before=before)

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        counters = [reason.item for planned, reason in refused if planned.part is ActionRole.COUNTER]
        if counters and all(planned.part is not ActionRole.RECORD for planned, _ in refused):
            raise closed_by(self.entity, self.identity, counters[0], self.related, some=self.visibility is not None)
        return replace(self.having_met(refused), direct=False)

    def on_another_map(self) -> WriteStep:
        return replace(self, direct=False)

    def already_done(self, plan: WritePlan, refused: Refused, *, uncertain: bool) -> bool:
        """An attempt without an answer, after which nothing is there, has removed it."""
        return uncertain and all(reason.item is None for _, reason in refused)


@dataclass(frozen=True)
class CheckStep(WriteStep):
    """Reads, and requires that it stays so."""

    rev: Rev
    exists: bool

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if not self.exists:
            if seen.found is not None:
                raise self.already_exists()
            return WritePlan(absence_actions(self.entity, self.identity, moment, seen.lookup))
        if seen.found is None:
            raise self.not_found()
        self.check_revision(seen, self.rev)
        matters = self.rev is not None
        return WritePlan(presence_actions(self.entity, seen.found, moment, revision_matters=matters))


def not_found(entity: EntityType[Any]) -> NotFound:
    """No live record of the entity has the key."""
    return NotFound(f"there is no such {entity.token}", where="key", fix="check the key")


def creation(
    entity: EntityType[Any],
    draft: PreparedRecord,
    seen: ReadResult,
    moment: AttemptContext,
    context: Context,
    met: Conflicts,
    noted: Item = MappingProxyType({}),
) -> WritePlan:
    """Write a record where none is. `noted` are attributes of the store's own."""
    kin = kinship(entity, None, draft.item, context.entities)
    planned = create_actions(
        entity,
        draft.item,
        moment,
        generated=draft.generated,
        lookup=seen.lookup,
        met=met,
        holders=seen.holders,
        extra={**noted, **_noted(kin)},
    )
    return replace(_plan(entity, draft, planned, kin), creates=True)


def replacement(
    entity: EntityType[Any],
    draft: PreparedRecord,
    seen: ReadResult,
    moment: AttemptContext,
    context: Context,
    met: Conflicts,
    noted: Item = MappingProxyType({}),
) -> WritePlan:
    """Write a record over the one found. `noted` are attributes of the store's own."""
    assert seen.found is not None
    kin = kinship(entity, seen.found.item, draft.item, context.entities)
    unknown = unknown_attributes(entity, seen.found.item, context.generated_names)
    extra = {**unknown, **noted, **_noted(kin)}
    planned = replace_actions(entity, seen.found, draft.item, moment, extra, met=met, holders=seen.holders)
    return _plan(entity, draft, planned, kin)


def _made_by_hand(
    step: WriteStep, draft: PreparedRecord, seen: ReadResult, moment: AttemptContext, context: Context
) -> WritePlan:
    """Write a record where none is, in place of what events said of it."""
    entity, identity, remnants = step.entity, step.identity, context.remnants.get(step.entity.token)
    if remnants is None or draft.generated:
        return creation(entity, draft, seen, moment, context, step.met)
    plan = creation(entity, draft, seen, moment, context, step.met, taken_over(entity, identity, step.remnant))
    return replace(plan, actions=(*plan.actions, remnants.clear(entity, identity, step.remnant, moment)))


def _plan(entity: EntityType[Any], draft: PreparedRecord, planned: tuple[WriteAction, ...], kin: Kinship) -> WritePlan:
    hash_name = entity.keys.design.hash_name
    record = entity.record_of({**draft.item, hash_name: planned[0].key_or_item[hash_name]})
    return WritePlan(planned, draft.item[REVISION], record, parents=kin.parents, tallies=kin.tallies)


def _noted(kin: Kinship) -> dict[str, Any]:
    return {COUNTED: list(kin.counted)} if kin.counted else {}


def kept_changing(step: WriteStep) -> Conflict:
    """Every attempt met a record that another writer had changed first."""
    return RevisionConflict("the record kept being changed by others", where=step.entity.token, fix="try again later")
