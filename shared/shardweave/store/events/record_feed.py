"""Feeding read models from records: what a record adds to numbers of others, kept right as it changes.

A change that the table's stream tells of is a hint: what a record adds goes by its state, which is read anew. What it
added before is remembered (see `counts`), and in one transaction the numbers get the difference and the memory the new
state. So a change that is told twice, late, before an earlier one, or of a copy that a re-shard made, changes nothing
more. What is remembered is read before the record: of two processes that count the same record the second must read
both again, so none goes back to an older state. For that, the last change of a record is remembered also where it adds
nothing else, and that it is gone where it was never counted: one that read an earlier state, and stopped, can't write.

A record that can't be read adds what it added before. A record counts for as long as it is stored and has not expired;
one that expires is taken out when the table removes it.

Costs: for each change of a record, and each read model that it feeds, a read of what is remembered, a read of the
record, and where it adds something else than before a read and a transaction of the changed numbers and the memory, 20
records at a time, else a write of the memory. A change that only moves a record costs the first read or two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from ...errors import (
    FieldFault,
    InputError,
    LimitExceeded,
    RecordUnreadable,
    ShardweaveError,
    StillInProgress,
    Unreadable,
    ValidationFailed,
)
from ...schema.entity import Entity
from ...schema.entity_type import MARK, REVISION, EntityType
from ...schema.read_models import ReadModel, Update
from ...schema.schema import Schema
from ...table.conditions import Compare, Condition, Or
from ...table.operations import PutItem
from ...table.retry import CONTENDED
from ...table.stream_operations import StreamRecord
from ...table.values import Item
from ...values.json_validation import field_faults
from ..idempotency import TakenMeanwhile
from ..locations import ReadResult
from ..lookups.lookup_records import owner_text
from ..parts import StoreParts
from ..writing.additions import additions_of
from ..writing.write_actions import ActionRole, WriteAction, absent, as_read
from ..writing.write_steps import WritePlan
from .counts import OF, Number, Part, Target, is_counted, memory_item, memory_key, parts_in
from .sum_steps import CountPlan, CountStep, sums_of

MAX_TARGETS = 100
"""The most records to which one record adds."""
GONE = object()
"""The last state of a record that was removed."""
AT_ONCE = 20
"""The records that are changed in one transaction: each is one action, or two while a re-shard moves them."""

Amounts = Mapping[Target, tuple[Item, Mapping[str, Number]]]
"""What a record adds: to each target its identity, and the amounts by number."""

Outcome = Literal["same", "counted", "unreadable"]


@dataclass(frozen=True)
class Uncounted:
    """What a record adds now to another of an entity, and the part that it added before."""

    entity: EntityType[Any]
    part: Part
    amounts: Mapping[str, Number]


@dataclass(frozen=True)
class RecordFeed:
    """Counts records of a store; safe for many threads."""

    parts: StoreParts

    def handle(self, change: StreamRecord) -> None:
        """Count the record of a change, in each read model that it feeds. Raises what the table raises, and InputError
        where `project` failed."""
        schema, image = self.parts.schema, change.new or change.old
        entity = schema.entity_of_key(str(change.key[schema.hash_key]))
        if entity is None or image is None or is_only_marked(change):
            return
        read_models = fed_by(schema, entity)
        identity = _identity(entity, {**image, **change.key}) if read_models else None
        if identity is None:
            return
        rev = None if change.new is None else change.new.get(REVISION)
        last = GONE if change.new is None else rev
        for each in read_models:
            self.count(each, entity, identity, rev=rev if isinstance(rev, str) else None, last=last)

    def count(
        self,
        read_model: ReadModel,
        entity: EntityType[Any],
        identity: Item,
        *,
        rev: str | None = None,
        last: Any = None,
        rebuild: str = "",
    ) -> Outcome:
        """Bring what a record adds to its present state. `rev` is a revision that it had at some time: if that is
        counted, nothing is read. `last` is the revision that it got by a change, or GONE: if that is its present state,
        it is remembered also where nothing else is added, since others may have read an earlier one. `rebuild` also
        counts what has not changed, and of a record that fails what it added before. Raises as `handle` does."""
        key = memory_key(entity, read_model.name, identity)
        outcome: Outcome = "same"
        pauses = self.parts.waiting.pauses(CONTENDED)
        while True:
            (memory,) = self.parts.reader.items([key])
            if memory is not None and rev is not None and memory.get(OF) == rev:
                return "same"
            before = remembered_parts(self.parts.schema, entity, memory)
            (seen,) = self.parts.reader.find_now([(entity, identity)])
            failed: ShardweaveError | None = None
            try:
                amounts = self._amounts(read_model, entity, seen)
            except (InputError, RecordUnreadable) as error:
                if not rebuild:
                    if isinstance(error, RecordUnreadable):
                        return "unreadable"
                    raise
                failed, amounts = error, _as_before(before)
            steps = self._steps(before, amounts, rebuild)
            own = None if seen.found is None else seen.found.item.get(REVISION)
            is_last = last is not None and not failed and last == (GONE if seen.found is None else own)
            if not steps and not (is_last and (own is None or memory is None or memory.get(OF) != own)):
                return _ended(outcome, failed)
            counted, left = steps[:AT_ONCE], steps[AT_ONCE:]
            own = None if left or failed else own
            try:
                self._send(entity, key, memory, before, counted, own if isinstance(own, str) else None)
                outcome = "counted" if steps else outcome
                if not left:
                    return _ended(outcome, failed)
            except TakenMeanwhile:
                if not pauses.pause():
                    raise StillInProgress(
                        f"the {entity.token} kept being counted by others", where=read_model.name, fix="try again later"
                    ) from None

    # -- parts

    def _amounts(self, read_model: ReadModel, entity: EntityType[Any], seen: ReadResult) -> Amounts:
        """What the record that was read adds. Raises RecordUnreadable, InputError."""
        if seen.unreadable is not None:
            raise RecordUnreadable(seen.unreadable)
        if seen.found is None:
            return {}
        return amounts_of(self.parts.schema, read_model, entity.load(seen.found.item))

    def _steps(self, before: Mapping[Target, Part], amounts: Amounts, rebuild: str) -> list[CountStep]:
        found = uncounted_parts(self.parts.schema, before, amounts, rebuild)
        return [CountStep(each.entity, each.part.identity, each.part, each.amounts, rebuild) for each in found]

    def _send(
        self,
        entity: EntityType[Any],
        key: Item,
        memory: Item | None,
        before: Mapping[Target, Part],
        steps: Sequence[CountStep],
        of: str | None,
    ) -> None:
        parts, rev = self.parts, self.parts.context.new_revision()

        def remember(plans: Sequence[WritePlan]) -> list[WriteAction]:
            after = dict(before)
            for step, plan in zip(steps, plans, strict=True):
                assert isinstance(plan, CountPlan)
                assert plan.part is not None
                target = target_of(step.entity, step.identity)
                if plan.part.numbers:
                    after[target] = plan.part
                else:
                    after.pop(target, None)
            seconds = parts.moment_of(entity).seconds
            ttl = parts.schema.layout.ttl_attribute or ""
            put = PutItem(
                memory_item(key, after.values(), of, rev, {ttl: seconds + self._remembered(entity)}),
                _as_seen(entity, memory, ttl, seconds),
                return_on_failure=True,
            )
            return [WriteAction(put, ActionRole.KEPT)]

        if steps:
            parts.writer.transact_keeping(steps, remember)
            return
        refusal = parts.sender.send([each.action for each in remember(())])
        if refusal is not None and (refusal.reasons[0].item or {}).get(REVISION) != rev:
            raise TakenMeanwhile("another process counted the record")

    def _remembered(self, entity: EntityType[Any]) -> int:
        return max(each.remember_seconds for each in fed_by(self.parts.schema, entity))


def fed_by(schema: Schema, entity: EntityType[Any]) -> list[ReadModel]:
    """The read models that an entity's records feed."""
    return [each for each in schema.read_model_list if entity.model in each.records]


def is_only_marked(change: StreamRecord) -> bool:
    """Whether only the mark of a re-shard differs, as after a copy."""
    old, new = change.old, change.new
    if old is None or new is None or old.get(REVISION) != new.get(REVISION):
        return False
    return all(old.get(name) == new.get(name) for name in {*old, *new} - {MARK})


def _as_before(before: Mapping[Target, Part]) -> Amounts:
    """What a record added before."""
    return {
        target: (part.identity, {name: each.whole for name, each in part.numbers.items()})
        for target, part in before.items()
    }


def _ended(outcome: Outcome, failed: ShardweaveError | None) -> Outcome:
    """The outcome of a record. Raises the error of one that failed."""
    if failed is None:
        return outcome
    if isinstance(failed, RecordUnreadable):
        return "unreadable"
    raise failed


def uncounted_parts(
    schema: Schema, before: Mapping[Target, Part], amounts: Amounts, rebuild: str = ""
) -> list[Uncounted]:
    """The targets of which something else is remembered than a record adds; with `rebuild` also those that it has not
    counted yet."""
    found = []
    for target in dict.fromkeys((*before, *amounts)):
        entity = schema.entities.get(target[0])
        if entity is None:
            continue  # an entity that is no longer declared
        identity, added = amounts.get(target, ({}, {}))
        part = before.get(target) or Part(entity.token, identity)
        if not is_counted(part, added, rebuild):
            found.append(Uncounted(entity, part, added))
    return found


def target_of(entity: EntityType[Any], identity: Item) -> Target:
    """The name of a record that is added to."""
    return entity.token, owner_text(entity, identity)


def amounts_of(schema: Schema, read_model: ReadModel, record: Entity) -> Amounts:
    """What a record adds by its state. Raises InputError, which names the read model."""
    found: dict[Target, tuple[Item, dict[str, Number]]] = {}
    for entity, identity, added in _told(schema, read_model, record):
        _, numbers = found.setdefault(target_of(entity, identity), (identity, {}))
        for name, amount in added.items():
            numbers[name] = numbers.get(name, 0) + amount
    if len(found) > MAX_TARGETS:
        raise LimitExceeded(
            f"a {type(record).__name__} adds to {len(found)} records, {MAX_TARGETS} are possible",
            where=read_model.name,
            fix="add to fewer, or count in records of more parts",
        )
    return found


def _told(
    schema: Schema, read_model: ReadModel, record: Entity
) -> list[tuple[EntityType[Any], Item, Mapping[str, Number]]]:
    try:
        return [_action(schema, read_model, each) for each in read_model.project(record) or ()]
    except ValidationError as error:
        raise ValidationFailed(field_faults(error), where=read_model.name) from None
    except ShardweaveError as error:
        error.where = f"{read_model.name}: {error.where}" if error.where else read_model.name
        raise
    except Exception as error:
        message = f"project ended with {type(error).__name__} for a {type(record).__name__}"
        raise InputError(
            message, where=read_model.name, fix="correct the function; the record is tried again"
        ) from error


def _action(schema: Schema, read_model: ReadModel, action: Any) -> tuple[EntityType[Any], Item, Mapping[str, Number]]:
    if not isinstance(action, Update) or action.changes:
        raise InputError(
            "a read model of records can only add to numbers", fix="give UpdateRecord(Model, key, add={...})"
        )
    if action.model not in read_model.writes:
        message = f"the read model does not declare that it writes {action.model.__name__}"
        raise InputError(message, fix="add it to writes=(...)")
    entity: EntityType[Any] = schema[action.model]
    identity, numbers = entity.identify(action.key if entity.identity else {}), sums_of(entity)
    added: dict[str, Number] = {}
    for each in additions_of(entity, action.add):
        name, amount = each.each.stored, each.amount
        if name not in numbers:
            fix = f"add to {' or '.join(numbers)}"
            raise InputError("it is no number whose default is 0", where=name, fix=fix)
        if isinstance(amount, float):
            raise ValidationFailed([FieldFault((name,), "Input should be an int or Decimal", "decimal_type")])
        added[name] = amount
    return entity, identity, added


def _identity(entity: EntityType[Any], item: Item) -> Item | None:
    """The identity in a stored item; None for one whose key another program made up."""
    found = entity.identity_in(item)
    if len(found) < len(entity.identity):
        return None
    try:
        return entity.identify(found) if entity.identity else {}
    except ShardweaveError:
        return None


def remembered_parts(schema: Schema, entity: EntityType[Any], memory: Item | None) -> dict[Target, Part]:
    """What is remembered, by target, without numbers that are not declared any more. Raises RecordUnreadable."""
    found = {}
    try:
        for each in parts_in(memory):
            target = schema.entities.get(each.token)
            if target is None:
                found[each.token, repr(each.identity)] = each
            elif (part := each.among(sums_of(target))).numbers:
                found[target_of(target, each.identity)] = part
    except (ShardweaveError, KeyError, TypeError, ValueError):
        assert memory is not None
        design = entity.keys.design
        stored = tuple(memory.get(name) for name in (design.hash_name, design.range_name))
        raise RecordUnreadable(Unreadable(entity.token, {}, "sums_damaged", stored_key=stored)) from None
    return found


def _as_seen(entity: EntityType[Any], memory: Item | None, ttl: str, seconds: int) -> Condition:
    if memory is None:
        return Or((absent(entity), Compare(ttl, "<=", seconds)))
    return as_read(memory)
