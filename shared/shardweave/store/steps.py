"""What one operation does: what it must read, which actions it makes of that, what a refusal means to it.

Pure. A step is a frozen value. `wanted` is the identity to be read before `plan`; `plan` gives the actions and what
the operation will have returned; after a refusal `again` gives the step to be planned anew (from a new reading), or
raises. So every conflict is judged from a fresh reading, and a write that depends on what was read is never repeated
from an old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..entity import Entity
from ..entity_type import REVISION, EntityType
from ..errors import AlreadyExists, CancellationReason, Conflict, NotFound, RevisionConflict, ShardweaveError
from ..schema import Schema
from ..table.values import Item
from .actions import (
    Moment,
    Part,
    PlannedAction,
    absence_actions,
    create_actions,
    is_known,
    key_of,
    presence_actions,
    remove_actions,
    replace_actions,
)
from .drafts import Draft, changed_draft, new_draft, replacing_draft, unknown_attributes
from .operations import Changes, Check, Create, Operation, Put, Update
from .places import Sighting, places

Refused = Sequence[tuple[PlannedAction, CancellationReason]]
"""The actions of a step whose conditions were false, each with why."""


@dataclass(frozen=True)
class Plan:
    """The actions of one attempt. `rev` is the revision that they write, `record` the record they leave; `removes` says
    that they leave none."""

    actions: tuple[PlannedAction, ...] = ()
    rev: str | None = None
    record: Entity | None = None
    removes: bool = False


@dataclass(frozen=True)
class Context:
    """What planning needs besides the step: new revisions, and the names of all generated attributes."""

    new_revision: Callable[[], str]
    generated_names: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One operation on its way."""

    entity: EntityType[Any]
    identity: Item

    @property
    def wanted(self) -> Item | None:
        """The identity to be read first, None when nothing need be read."""
        return self.identity

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        """The actions of this attempt. Raises InputError, NotFound and Conflict."""
        raise NotImplementedError

    def again(self, refused: Refused, moment: Moment) -> Step:
        """The step to plan after a refusal. Raises Conflict where planning again is of no use."""
        return self

    def already_done(self, plan: Plan, refused: Refused, *, uncertain: bool) -> bool:
        """Whether a refusal shows that an earlier attempt of this very plan was carried out."""
        return plan.rev is not None and any(
            planned.part is Part.RECORD and reason.item is not None and reason.item.get(REVISION) == plan.rev
            for planned, reason in refused
        )

    def not_found(self) -> NotFound:
        return NotFound("there is no such record", where=self.entity.token, fix="check the key")

    def revision_conflict(self) -> RevisionConflict:
        return RevisionConflict("the record has another revision", where=REVISION, fix="read it again, and change that")

    def already_exists(self) -> AlreadyExists:
        names = ", ".join(self.entity.identity)
        return AlreadyExists(
            f"a record with this {names} exists" if names else "the record exists",
            where=names or self.entity.token,
            fix="give it another, or update the one that exists",
        )


@dataclass(frozen=True)
class CreateStep(Step):
    """Reads nothing. `lookup` is the lookup record that an attempt met: its record may be gone."""

    draft: Draft
    lookup: Item | None = None

    @property
    def wanted(self) -> Item | None:
        return None

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        return creation(self.entity, self.draft, moment, self.lookup)

    def again(self, refused: Refused, moment: Moment) -> Step:
        lookup = self.lookup
        for planned, reason in refused:
            if planned.part is Part.LOOKUP:
                lookup = reason.item
            elif reason.item is None or is_known(reason.item, moment):
                raise self.already_exists()
        return replace(self, lookup=lookup)


@dataclass(frozen=True)
class PutStep(Step):
    """Reads, then replaces the live record, or creates one."""

    given: Entity | Mapping[str, Any]
    draft: Draft

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        if seen.found is None:
            return creation(self.entity, self.draft, moment, seen.lookup)
        stored = seen.found.item
        draft = replacing_draft(self.entity, self.given, stored, moment.now_ms, context.new_revision())
        return replacement(self.entity, seen, draft, moment, context)


@dataclass(frozen=True)
class UpdateStep(Step):
    """Reads, changes what was read, and replaces it if it is still that."""

    changes: Changes
    rev: str | None

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        if seen.found is None:
            raise self.not_found()
        stored = seen.found.item
        if self.rev is not None and stored.get(REVISION) != self.rev:
            raise self.revision_conflict()
        draft = changed_draft(self.entity, stored, self.changes, moment.now_ms, context.new_revision())
        return replacement(self.entity, seen, draft, moment, context)


@dataclass(frozen=True)
class DeleteStep(Step):
    """Reads, then removes what was read if it is still that. `strict`: nothing to remove is an error.

    With a given revision nothing is read where the record can be in one place only: `direct`.
    """

    rev: str | None
    strict: bool = False
    direct: bool = False

    @property
    def wanted(self) -> Item | None:
        return None if self.direct else self.identity

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        if self.direct:
            (place,) = places(self.entity, self.identity, moment.shard_map, moment.now_ms)
            return self._removal(place.key, self.rev, moment)
        if seen.found is None:
            if self.strict:
                raise self.not_found()
            return Plan()
        stored = seen.found.item
        rev = stored.get(REVISION)
        if self.rev is not None and rev != self.rev:
            raise self.revision_conflict()
        return self._removal(key_of(self.entity, stored), rev, moment)

    def again(self, refused: Refused, moment: Moment) -> Step:
        return replace(self, direct=False)

    def already_done(self, plan: Plan, refused: Refused, *, uncertain: bool) -> bool:
        """An attempt without an answer, after which nothing is there, has removed it."""
        return uncertain and all(reason.item is None for _, reason in refused)

    def _removal(self, key: Item, rev: str | None, moment: Moment) -> Plan:
        return Plan(remove_actions(self.entity, key, self.identity, rev, moment), removes=True)


@dataclass(frozen=True)
class CheckStep(Step):
    """Reads, and requires that it stays so."""

    rev: str | None
    exists: bool

    def plan(self, seen: Sighting, moment: Moment, context: Context) -> Plan:
        if not self.exists:
            if seen.found is not None:
                raise self.already_exists()
            return Plan(absence_actions(self.entity, self.identity, moment, seen.lookup))
        if seen.found is None:
            raise self.not_found()
        if self.rev is not None and seen.found.item.get(REVISION) != self.rev:
            raise self.revision_conflict()
        matters = self.rev is not None
        return Plan(presence_actions(self.entity, seen.found, moment, revision_matters=matters))


def creation(entity: EntityType[Any], draft: Draft, moment: Moment, lookup: Item | None) -> Plan:
    """Write a record where none is."""
    planned = create_actions(entity, draft.item, moment, generated=draft.generated, lookup=lookup)
    return Plan(planned, draft.item[REVISION], entity.load(draft.item))


def replacement(entity: EntityType[Any], seen: Sighting, draft: Draft, moment: Moment, context: Context) -> Plan:
    """Write a record over the one found."""
    assert seen.found is not None
    unknown = unknown_attributes(entity, seen.found.item, context.generated_names)
    planned = replace_actions(entity, seen.found, draft.item, moment, unknown)
    return Plan(planned, draft.item[REVISION], entity.load(draft.item))


class StepMaker:
    """Makes the step of an operation: finds its entity, checks what it gives. `moment_of` says when and by what map."""

    def __init__(self, schema: Schema, context: Context, moment_of: Callable[[EntityType[Any]], Moment]) -> None:
        self._schema = schema
        self.context = context
        self._moment_of = moment_of

    def make(self, operation: Operation, *, strict: bool = False) -> Step:
        """The step. `strict`: deleting what is not there is an error. Raises InputError."""
        if isinstance(operation, (Create, Put)):
            return self._writing(operation)
        entity = self._schema[operation.model]
        identity = entity.identify(operation.key)
        if isinstance(operation, Update):
            return UpdateStep(entity, identity, operation.changes, operation.rev)
        if isinstance(operation, Check):
            return CheckStep(entity, identity, operation.rev, operation.exists)
        direct = operation.rev is not None and self._has_one_place(entity)
        return DeleteStep(entity, identity, operation.rev, strict, direct)

    def make_all(self, operations: Sequence[Operation]) -> tuple[Step, ...]:
        """The steps of a transaction. An error says which operation it is about."""
        steps = []
        for position, operation in enumerate(operations):
            try:
                steps.append(self.make(operation, strict=True))
            except ShardweaveError as error:
                raise name_operation(error, position) from error.__cause__
        return tuple(steps)

    def _writing(self, operation: Create | Put) -> Step:
        record = operation.record
        entity = self._entity_of(record, operation.model)
        moment = self._moment_of(entity)
        draft = new_draft(entity, record, moment.now_ms, self.context.new_revision())
        identity = {name: draft.item[name] for name in entity.identity if name in draft.item}
        if len(identity) < len(entity.identity):
            identity = entity.identify(identity)
        if isinstance(operation, Create) or draft.generated:
            return CreateStep(entity, identity, draft)
        return PutStep(entity, identity, record, draft)

    def _entity_of(self, record: Entity | Mapping[str, Any], model: type[Entity] | None) -> EntityType[Any]:
        if isinstance(record, Mapping):
            if model is None:
                raise TypeError("a mapping needs its model: create(values, Model)")
            return self._schema[model]
        return self._schema[type(record)]

    def _has_one_place(self, entity: EntityType[Any]) -> bool:
        return self._moment_of(entity).shard_map.sole is not None and not entity.lookup_placed


def kept_changing(step: Step) -> Conflict:
    """Every attempt met a record that another writer had changed first."""
    return RevisionConflict("the record kept being changed by others", where=step.entity.token, fix="try again later")


def name_operation(error: ShardweaveError, position: int) -> ShardweaveError:
    """The same error, saying which operation of several it is about."""
    place = f"operations[{position}]"
    error.where = f"{place}.{error.where}" if error.where else place
    return error
