"""Making the steps of operations.

Pure. An operation has an entity and the given values; its step has the identity, and the record as far as it can be
prepared before a read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import InputError, ShardweaveError, ValueRefused
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.identities import given_identity
from ...schema.schema import Schema
from ...table.values import Item
from ..attempts import AttemptContext
from ..operations import Add, Apply, Check, Create, Delete, Operation, Put, Reset, Update, Upsert
from ..outcomes import check_number_in
from ..relations.enforced import enforced
from .additions import additions_of, start_with, sums
from .prepare import PreparedRecord, new_draft, upserted_draft
from .write_steps import AddStep, CheckStep, Context, CreateStep, DeleteStep, PutStep, UpdateStep, WriteStep


class StepMaker:
    """Makes the step of an operation: finds its entity and checks the given values. `moment_of` returns the current
    time and shard maps."""

    def __init__(
        self, schema: Schema, context: Context, moment_of: Callable[[EntityType[Any]], AttemptContext]
    ) -> None:
        self._schema = schema
        self.context = context
        self._moment_of = moment_of

    def make(self, operation: Operation, *, strict: bool = False) -> WriteStep:
        """The step. `strict`: deleting a missing record is an error. Raises InputError."""
        if isinstance(operation, (Create, Put)):
            return self._writing(operation)
        if isinstance(operation, Apply):
            raise TypeError("an event is several steps, see AppliedEvents")
        entity = self._schema[operation.model]
        identity = entity.identify(operation.key)
        if isinstance(operation, Update):
            return self._updating(entity, identity, operation)
        if isinstance(operation, Add):
            return self._adding(entity, identity, operation)
        if isinstance(operation, Check):
            if operation.rev is not None and not operation.exists:
                raise InputError("no record has a revision where none may be", where="rev", fix="leave out one of both")
            return CheckStep(entity, identity, operation.rev, operation.exists)
        if isinstance(operation, Reset):
            return self._resetting(entity, identity, operation)
        unseen = operation.visibility is None and not operation.returning
        direct = isinstance(operation.rev, str) and unseen and self._has_one_place(entity)
        asker = _asker(operation)
        return DeleteStep(entity, identity, operation.rev, strict, direct, operation.returning, **asker)

    def make_all(self, operations: Sequence[Operation], *, named: bool = True) -> tuple[WriteStep, ...]:
        """The steps of a transaction. With `named` an error names its operation."""
        steps = []
        for position, operation in enumerate(operations):
            try:
                steps.append(self.make(operation, strict=True))
            except ShardweaveError as error:
                raise (name_operation(error, position) if named else error) from error.__cause__
        return tuple(steps)

    def _writing(self, operation: Create | Put) -> WriteStep:
        if isinstance(operation, Put) and operation.refused is not None:
            raise operation.refused
        record = operation.record
        entity = self.entity_of(operation)
        moment = self._moment_of(entity)
        if isinstance(operation, Put) and (named := _named_by_incomplete(entity, operation)) is not None:
            return self._putting(entity, entity.identify(named), operation, None)
        draft = new_draft(entity, record, moment.now_ms, self.context.new_revision())
        identity = given_identity(entity, draft.item)
        if len(identity) < len(entity.identity):
            identity = entity.identify(identity)
        if isinstance(operation, Create) or draft.generated:
            if operation.visibility is not None and entity.shares_ids and not draft.generated:
                raise ValueRefused("it is made up here", where=", ".join(entity.identity), fix="leave it out")
            return CreateStep(entity, identity, draft, **_asker(operation))
        return self._putting(entity, identity, operation, draft)

    @staticmethod
    def _updating(entity: EntityType[Any], identity: Item, operation: Update) -> UpdateStep:
        if operation.refused is not None:
            raise operation.refused
        start = start_of(entity, operation.upsert, identity)
        return UpdateStep(
            entity, identity, operation.changes, operation.rev, operation.from_json, start, **_asker(operation)
        )

    @staticmethod
    def _adding(entity: EntityType[Any], identity: Item, operation: Add) -> AddStep:
        additions = additions_of(entity, operation.amounts, from_json=operation.from_json)
        start = start_with(additions, start_of(entity, operation.upsert, identity))
        return AddStep(entity, identity, sums(additions), operation.rev, False, start, additions, **_asker(operation))

    def _resetting(self, entity: EntityType[Any], identity: Item, operation: Reset) -> WriteStep:
        from ..events.sum_steps import reset_step

        written = any(entity.model in each.writes for each in self._schema.read_model_list)
        return reset_step(entity, identity, operation.names, operation.rev, written=written, **_asker(operation))

    @staticmethod
    def _putting(entity: EntityType[Any], identity: Item, operation: Put, draft: PreparedRecord | None) -> PutStep:
        return PutStep(entity, identity, operation, draft, **_asker(operation))

    def drafted(self, step: PutStep, stored: Item) -> PreparedRecord:
        """The record that replaces a stored one, if there is one. Raises what `PutStep.drafted` does."""
        return step.drafted(stored or None, self._moment_of(step.entity), self.context)

    def started(self, step: UpdateStep) -> PreparedRecord:
        """The record that an upsert creates, if there is none. Raises what its creation does."""
        assert step.start is not None
        moment, rev = self._moment_of(step.entity), self.context.new_revision()
        return upserted_draft(step.entity, step.identity, step.start, step.changes, moment.now_ms, rev)

    def entity_of(self, operation: Create | Put) -> EntityType[Any]:
        """The entity of the given record or model. Raises UnknownName."""
        if isinstance(operation.record, Mapping):
            if operation.model is None:
                raise TypeError("a mapping needs its model: create(values, Model)")
            return self._schema[operation.model]
        return self._schema[type(operation.record)]

    def entity_named(self, model: type[Entity] | str) -> EntityType[Any]:
        """The entity of a model or token. Raises UnknownName."""
        return self._schema[model]

    def _has_one_place(self, entity: EntityType[Any]) -> bool:
        seen_first = entity.lookup_placed or entity.lookups or entity.children or any(enforced(entity))
        moment = self._moment_of(entity)
        return not seen_first and moment.shard_map.sole is not None and moment.old_form is None


def start_of(entity: EntityType[Any], upsert: Upsert, identity: Item) -> Mapping[str, Any] | None:
    """The start values of a record that an upsert creates; None without upsert. Raises ValueRefused for an identity
    that asks for the next number: each time it would make another record."""
    if upsert is False:
        return None
    check_number_in(entity, identity)
    return {} if upsert is True else upsert


def _asker(operation: Create | Put | Update | Add | Delete | Reset) -> dict[str, Any]:
    """The visibility of records for the caller of an operation."""
    return {"visibility": operation.visibility, "related": operation.related}


def _named_by_incomplete(entity: EntityType[Any], put: Put) -> dict[str, Any] | None:
    """The identity that a put gives, if its other missing values can only come from a stored record; else None."""
    if not put.keeping or not isinstance(put.record, Mapping):
        return None
    given = {entity.stored_name(name): value for name, value in put.record.items()}
    lacking = {each.stored for each in entity.properties.values() if each.required} - given.keys()
    identity = given_identity(entity, given)
    if not lacking or not lacking <= put.keeping or len(identity) < len(entity.identity):
        return None
    return identity


def name_operation(error: ShardweaveError, position: int) -> ShardweaveError:
    """The error, with the operation of several that it is about."""
    place = f"operations[{position}]"
    error.where = f"{place}.{error.where}" if error.where else place
    return error
