"""Applying events: one transaction with the records that an event changes and the marker that it was applied.

If a record can't be shown (it was deleted, or required properties have not arrived yet), the properties from events are
kept in its remnant (`pending_records`) until it can.

The marker is an idempotency key (`idempotency`) whose scope is the read model. If two processes apply the same event,
or events of the same record, at the same time, a condition refuses one of them, which reads again.

Costs: a read of the marker, one of the records together, and a transaction with an action for each record and one for
the marker. If there is no record yet, its remnant needs one more action, and another round if a remnant exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from ...errors import (
    FieldFault,
    IdempotencyMismatch,
    ImmutableProperty,
    InputError,
    StillInProgress,
    ValidationFailed,
    ValueRefused,
)
from ...schema.entity_type import EntityType
from ...schema.read_models import Action, Event, ReadModel, Set, Update
from ...schema.schema import Schema
from ...table.values import Item, Value
from ...values.json_validation import field_faults
from ..attempts import AttemptContext
from ..idempotency import Idempotency, Keeping
from ..idempotency_keys import IdempotencyKey
from ..locations import ReadResult
from ..outcomes import Applied
from ..writing.condition_checks import absence_actions
from ..writing.prepare import new_draft
from ..writing.record_actions import remove_actions
from ..writing.write_actions import as_read, key_of
from ..writing.write_steps import Context, WritePlan, WriteStep, creation, replacement
from ..writing.writer import Writer
from .lww_registers import PROJECTED, Known, RegisterPart, When, Whole
from .pending_records import known_of, marks_of

EVENT_ID = "eventId"
MAX_ACTIONS = 33
"""The maximum number of records of one event: each may need three of the hundred actions of a transaction, the marker
one."""


@dataclass(frozen=True)
class ProjectStep(WriteStep):
    """Reads the record, merges the event, and writes the record or its remnant."""

    change: Whole | RegisterPart
    when: When

    @property
    def makes(self) -> bool:
        return True

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        known = self._known(seen)
        after = self.change.applied_to(known, self.when)
        if after == known:
            return WritePlan()
        values = self._shown(after)
        if values is None:
            return self._hidden(seen, after, moment, context)
        values = self.entity.readable(values)
        draft = new_draft(self.entity, values, moment.now_ms, context.new_revision(), self._kept(seen, values))
        noted = {PROJECTED: after.marks.encode()}
        if seen.found is None:
            plan = creation(self.entity, draft, seen, moment, context, self.met, noted)
        else:
            plan = replacement(self.entity, draft, seen, moment, context, self.met, noted)
        if self._by_marks(seen):
            return plan
        clear = context.remnants[self.entity.token].clear(self.entity, self.identity, self.remnant, moment)
        return replace(plan, actions=(*plan.actions, clear))

    # -- parts

    def _kept(self, seen: ReadResult, values: Item) -> Item:
        """The properties that were validated before: those of a record that an event sets, and stored ones."""
        if isinstance(self.change, Whole):
            return values
        stored = {} if seen.found is None else self.entity.readable(self.entity.visible(seen.found.item))
        return {name: value for name, value in stored.items() if name in values and values[name] == value}

    def _by_marks(self, seen: ReadResult) -> bool:
        """Whether the record itself has the marks of its events, and so has no remnant."""
        return seen.found is not None and PROJECTED in seen.found.item

    def _known(self, seen: ReadResult) -> Known:
        waiting = known_of(self.entity, self.identity, self.remnant)
        if seen.found is None:
            return waiting
        item = seen.found.item
        own = {name: item[name] for name in self.entity.properties if name in item and name not in self.identity}
        if self._by_marks(seen):
            return Known(own, marks_of(self.entity, self.identity, item))
        # A remnant beside a record was left by a program that does not know remnants; the record is newer.
        return Known(own, replace(waiting.marks, gone=False))

    def _shown(self, after: Known) -> dict[str, Value] | None:
        """The properties of the resulting record, None if there should be none."""
        if not after.marks.spoken_for:
            return None
        values = {**after.values, **self.identity}
        if self.entity.updated is not None:
            values.pop(self.entity.updated, None)
        complete = self.entity.prepared(values, None)
        needed = (each.stored for each in self.entity.properties.values() if each.required)
        return values if all(complete.get(name) is not None for name in needed) else None

    def _hidden(self, seen: ReadResult, after: Known, moment: AttemptContext, context: Context) -> WritePlan:
        entity, identity, remnants = self.entity, self.identity, context.remnants[self.entity.token]
        condition = None if self._by_marks(seen) else remnants.as_seen(entity, self.remnant, moment)
        if seen.found is None:
            actions = absence_actions(entity, identity, moment, seen.lookup)
        else:
            stored = seen.found.item
            key, read = key_of(entity, stored), as_read(stored)
            actions = remove_actions(entity, key, identity, read, moment, stored, self.met)
        put = remnants.put(entity, identity, after, moment, context.new_revision(), condition)
        return WritePlan((*actions, put), removes=seen.found is not None)


@dataclass(frozen=True)
class Projector:
    """Applies events; safe for many threads."""

    schema: Schema
    writer: Writer
    idempotency: Idempotency

    def apply(self, read_model: ReadModel, event: Event) -> Applied:
        """Apply an event, unless it was applied before. Raises InputErrors, IdempotencyMismatch if another event has
        its id, and AlreadyExists for a value that another record has."""
        steps, once = self.steps(read_model, event), key_of_event(read_model, event)

        def write(keeping: Keeping) -> object:
            return self.writer.transact_keeping(steps, keeping)

        try:
            kept = self.idempotency.transacted(once, lambda plans: b"", write)
        except IdempotencyMismatch:
            raise _another_event() from None
        except StillInProgress:
            raise StillInProgress("the event is being applied", where=EVENT_ID, fix="deliver it again later") from None
        return Applied(event.event_id, kept.repeated)

    def steps(self, read_model: ReadModel, event: Event) -> list[ProjectStep]:
        """The steps of an event. Raises InputErrors."""
        return [self._step(read_model, event, action) for action in projected(read_model, event)]

    def is_applied(self, read_model: ReadModel, event: Event) -> bool:
        """Whether an event was applied. Raises IdempotencyMismatch if another event has its id."""
        try:
            return self.idempotency.is_taken(key_of_event(read_model, event))
        except IdempotencyMismatch:
            raise _another_event() from None

    def _step(self, read_model: ReadModel, event: Event, action: Action) -> ProjectStep:
        model = type(action.record) if isinstance(action, Set) else action.model
        if model not in read_model.writes:
            raise InputError(
                f"the read model does not declare that it writes {model.__name__}",
                where=read_model.name,
                fix="add it to writes=(...)",
            )
        entity: EntityType[Any] = self.schema[model]
        if isinstance(action, Set):
            item = entity.dump(action.record)
            identity = {name: item.pop(name) for name in entity.identity}
            change: Whole | RegisterPart = Whole(item)
        else:
            identity = entity.identify(action.key if entity.identity else {})
            change = _part(entity, identity, action) if isinstance(action, Update) else Whole(None)
        return ProjectStep(entity, identity, change, (event.position, event.event_id))


def key_of_event(read_model: ReadModel, event: Event) -> IdempotencyKey:
    """The idempotency key of an event: its marker."""
    return IdempotencyKey(
        key=event.event_id,
        scope=f"projection/{read_model.name}",
        fingerprint=event.model_dump_json(by_alias=True).encode(),
        seconds=read_model.remember_seconds,
    )


def _another_event() -> IdempotencyMismatch:
    return IdempotencyMismatch(
        "another event had this id",
        where=EVENT_ID,
        fix="give each event an id of its own, and send it again with the content that it had",
    )


def projected(read_model: ReadModel, event: Event) -> Sequence[Action]:
    """The actions of an event. Raises InputError, and ValidationFailed for an invalid record."""
    if read_model.records:
        raise InputError(
            "the read model is fed by records, and takes no events", where=read_model.name, fix="write them"
        )
    if not isinstance(event, read_model.events):
        names = ", ".join(kind.__name__ for kind in read_model.events)
        raise InputError("the read model does not take such events", where=read_model.name, fix=f"give one of {names}")
    try:
        actions = read_model.project(event)
    except ValidationError as error:
        raise ValidationFailed(field_faults(error), where=read_model.name) from None
    if len(actions) > MAX_ACTIONS:
        raise InputError(
            f"the event means {len(actions)} actions, {MAX_ACTIONS} are possible",
            where=read_model.name,
            fix="write fewer records for each event",
        )
    return actions


def _part(entity: EntityType[Any], identity: Item, update: Update) -> RegisterPart:
    """The properties of an update, each checked separately. Raises ValidationFailed, ImmutableProperty."""
    values: dict[str, Value] = {}
    faults: list[FieldFault] = []
    entity.by_stored_name(dict.fromkeys((*update.changes, *update.add)))
    for name, value in update.changes.items():
        each = entity.property_of(name)
        try:
            values[each.stored] = None if value is None else each.parse_given(value)
        except ValidationFailed as error:
            faults += error.fields
    if faults:
        raise ValidationFailed(faults, where=entity.token)
    for name in identity:
        if values.pop(name, identity[name]) != identity[name]:
            raise ImmutableProperty("it is in the record's key", where=name, fix="leave it out")
    added: dict[str, int | Decimal] = {}
    for name, amount in update.add.items():
        each = entity.property_of(name)
        if isinstance(amount, bool) or not isinstance(amount, (int, Decimal)) or each.stored in identity:
            raise ValueRefused("must be a number, to be added to", where=each.stored, fix="add an int or Decimal")
        added[each.stored] = amount
    return RegisterPart(
        values, added, frozenset(each.stored for each in entity.properties.values() if each.null_stored)
    )
