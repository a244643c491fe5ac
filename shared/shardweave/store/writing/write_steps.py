"""The steps of operations: what a step reads, which actions it plans from that, and how it continues after a refusal.

Pure. A step is a frozen value. `wanted` is the identity to be read before `plan`; `plan` returns the actions and the
operation's result; after a refusal `again` returns the step to be planned again (from a new read), or raises. So every
conflict is resolved with a fresh read, and a write that depends on a read is never repeated with outdated data.
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
from ...schema.relations import COUNTED, ChildLink
from ...table.operations import PutItem as PutAction
from ...table.values import Item
from ..attempts import AttemptContext
from ..events.pending_records import Remnants, taken_over
from ..locations import ReadResult, locations
from ..lookups.unique_values import NOTHING_MET, Conflicts
from ..operations import Among, Changes, Put, Related, Rev
from ..outcomes import UNNUMBERED, not_found
from ..relations.enforced import ALONE, Entities, Kinship, Parent, Tally, closed_by, kinship, record_name
from .additions import Addition
from .condition_checks import absence_actions, presence_actions
from .prepare import (
    PreparedRecord,
    changed_draft,
    new_draft,
    replacing_draft,
    unknown_attributes,
    upserted_draft,
)
from .record_actions import create_actions, remove_actions, replace_actions
from .write_actions import ActionRole, WriteAction, as_read, has_revision, is_known, key_of

Refused = Sequence[tuple[WriteAction, CancellationReason]]
"""The actions of a step whose conditions were false, each with the reason."""


@dataclass(frozen=True)
class WritePlan:
    """The actions of one attempt. `rev` is the new revision, `record` the resulting record; `creates`: there was no
    record before; `removes`: there is none afterwards; `before` is the previous record, if it is requested. These parts
    become actions later: `parents` that must exist, `tallies` of their children; `closes`: the deleted record must have
    no children."""

    actions: tuple[WriteAction, ...] = ()
    rev: str | None = None
    record: Entity | None = None
    creates: bool = False
    removes: bool = False
    parents: tuple[Parent, ...] = ()
    tallies: tuple[Tally, ...] = ()
    closes: bool = False
    ends_work: bool = False
    before: Entity | None = None

    @property
    def is_one_action(self) -> bool:
        """Whether it is at most one action, so that there is nothing to merge."""
        return len(self.actions) <= 1 and not self.tallies and not self.closes

    @property
    def writes(self) -> bool:
        """Whether the actions write or delete the record."""
        return bool(self.actions) and (self.record is not None or self.removes)

    @property
    def written(self) -> Item | None:
        """The record that the actions write."""
        written = (
            each for each in self.actions if each.part is ActionRole.RECORD and isinstance(each.action, PutAction)
        )
        return next((each.key_or_item for each in written), None)


@dataclass(frozen=True)
class Context:
    """The context of planning: new revisions, the names of all generated attributes, all entities, and the remnants of
    entities that read models write, by token."""

    new_revision: Callable[[], str]
    generated_names: frozenset[str]
    entities: Entities
    remnants: Mapping[str, Remnants]


@dataclass(frozen=True)
class WriteStep:
    """One operation in progress. `met` are the lookup records of other owners that its attempts met, `remnant` is the
    remnant of its record that they found; `visibility` says which records the caller may see, `related` which records
    of entities that are connected by enforced relations."""

    entity: EntityType[Any]
    identity: Item
    met: Conflicts = field(default=NOTHING_MET, kw_only=True)
    remnant: Item | None = field(default=None, kw_only=True)
    visibility: Among | None = field(default=None, kw_only=True)
    related: Related | None = field(default=None, kw_only=True)

    @property
    def name(self) -> tuple[Any, ...]:
        """The name of its record: entity and identity."""
        return record_name(self.entity, self.identity)

    @property
    def wanted(self) -> Item | None:
        """The identity to be read first, None if no read is needed."""
        return self.identity

    @property
    def makes(self) -> bool:
        """Whether it may create a record."""
        return False

    @property
    def relies_on(self) -> tuple[ChildLink, ...]:
        """The relations whose counters must be complete."""
        return ()

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        """The actions of this attempt. Raises InputError, NotFound and Conflict."""
        raise NotImplementedError

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        """The step to plan after a refusal. Raises Conflict if planning again can't succeed."""
        return self.having_met(refused)

    def having_met(self, refused: Refused) -> Self:
        """The step with the items that its refused actions met."""
        met = [reason.item for planned, reason in refused if planned.part is ActionRole.REMNANT]
        return replace(self, met=self.met.after(self.entity, refused), remnant=met[0] if met else self.remnant)

    def on_another_map(self) -> WriteStep:
        """The step to plan again after a change of the shard map."""
        return self

    def already_done(self, plan: WritePlan, refused: Refused, *, uncertain: bool) -> bool:
        """Whether a refusal shows that an earlier attempt of this plan was carried out."""
        return plan.rev is not None and any(
            planned.part is ActionRole.RECORD and reason.item is not None and reason.item.get(REVISION) == plan.rev
            for planned, reason in refused
        )

    @property
    def may_only_replace(self) -> bool:
        """Whether a given id can't name a new record, since it could be the id of another caller's record."""
        return self.visibility is not None and self.entity.shares_ids

    def is_hidden(self, seen: ReadResult) -> bool:
        """Whether the caller may not see the record that was found."""
        return seen.found is not None and self.visibility is not None and not self.visibility(seen.found.item)

    def check_revision(self, seen: ReadResult, rev: Rev) -> None:
        """Refuse a record with another revision than the requested one, or without one. Raises RevisionConflict."""
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
    """Creates a record without a read. `lookup` is the lookup record that an attempt met: its record may be gone."""

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
    """Reads, then replaces the live record or creates one. `draft` is the record to be created, None if the given
    values are complete only together with values of a stored record."""

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
        """The record to be written, which replaces a stored one or none. Raises ValidationFailed, ValueRefused,
        ImmutableProperty."""
        rev = context.new_revision()
        if stored is None:
            return self.draft or new_draft(self.entity, self.put.record, moment.now_ms, rev)
        return replacing_draft(self.entity, self.put, stored, moment.now_ms, rev)

    def _admitted(self, draft: PreparedRecord) -> PreparedRecord:
        """The record, checked to belong to the caller, which is known only after the read. Raises Forbidden."""
        if self.visibility is not None and not self.visibility(draft.item):
            raise Forbidden(
                "the record would not be the caller's", where=self.entity.token, fix="leave out who it belongs to"
            )
        return draft


@dataclass(frozen=True)
class UpdateStep(WriteStep):
    """Reads a record, changes it, and replaces it if it is unchanged. `start` are the start values of a record that is
    created if none exists; None without upsert."""

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
            if any(made.item.get(each.property_name) in UNNUMBERED for each in self.entity.sequences):
                # It was there when numbers were taken, and is gone since.
                raise RevisionConflict("the record was deleted meanwhile", where=self.entity.token, fix="try again")
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
    """An update with the sums of the stored values and the `additions`."""

    additions: tuple[Addition, ...] = ()


@dataclass(frozen=True)
class DeleteStep(WriteStep):
    """Reads a record, and deletes it if it is unchanged. `strict`: a missing record is an error; `returning`: the
    deleted record is returned.

    With a given revision, nothing is read if the record can only be in one location: `direct`. `ending` ends the stored
    work of a deletion together with many children.
    """

    rev: Rev
    strict: bool = False
    direct: bool = False
    returning: bool = False
    ending: WriteAction | None = None

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
            if others or moment.old_form is not None:
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
        ending = () if self.ending is None else (self.ending,)
        return WritePlan(
            (*actions, *ending),
            removes=True,
            tallies=tallies,
            closes=bool(self.entity.children),
            ends_work=bool(ending),
            before=before,
        )

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        counters = [reason.item for planned, reason in refused if planned.part is ActionRole.COUNTER]
        if counters and all(planned.part is not ActionRole.RECORD for planned, _ in refused):
            raise closed_by(self.entity, self.identity, counters[0], self.related, some=self.visibility is not None)
        return replace(self.having_met(refused), direct=False)

    def on_another_map(self) -> WriteStep:
        return replace(self, direct=False)

    def already_done(self, plan: WritePlan, refused: Refused, *, uncertain: bool) -> bool:
        """Whether an earlier attempt without an answer has deleted the record, since it does not exist now."""
        return uncertain and all(reason.item is None for _, reason in refused)


@dataclass(frozen=True)
class CheckStep(WriteStep):
    """Reads a record, and requires that its state stays the same."""

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


def creation(
    entity: EntityType[Any],
    draft: PreparedRecord,
    seen: ReadResult,
    moment: AttemptContext,
    context: Context,
    met: Conflicts,
    noted: Item = MappingProxyType({}),
) -> WritePlan:
    """Create a record. `noted` are the store's own attributes."""
    counting = moment.counts_children
    kin = kinship(entity, None, draft.item, context.entities, counting=counting) if entity.relations else ALONE
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
    """Replace the record that was found. `noted` are the store's own attributes."""
    assert seen.found is not None
    stored, counting = seen.found.item, moment.counts_children
    kin = kinship(entity, stored, draft.item, context.entities, counting=counting) if entity.relations else ALONE
    unknown = unknown_attributes(entity, entity.as_known(seen.found.item), context.generated_names)
    extra = {**unknown, **noted, **_noted(kin)}
    planned = replace_actions(entity, seen.found, draft.item, moment, extra, met=met, holders=seen.holders)
    return _plan(entity, draft, planned, kin)


def _made_by_hand(
    step: WriteStep, draft: PreparedRecord, seen: ReadResult, moment: AttemptContext, context: Context
) -> WritePlan:
    """Create a record manually, in place of its remnant from events."""
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
    """The error that every attempt met a record that another writer had changed first."""
    return RevisionConflict("the record kept being changed by others", where=step.entity.token, fix="try again later")
