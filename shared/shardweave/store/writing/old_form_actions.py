"""Writing beside an old form: each write of a record repeated on its old item, and records brought after their old
items.

    create    Put the old item [nothing there, and nowhere else where an earlier declaration may have put it]
    replace   Update the old item: what changed [it says what the record said before]
    remove    Delete the old item [as above]

These are in the transaction of the record's write. If another program has changed the old item meanwhile, the whole
write is refused; then the record is first brought after its old item, by a step of its own, and the write is planned
again from that. So neither of two programs undoes the other's change. An update leaves attributes alone that were
added to the old item in between. Where the old items only follow (see `OldForm.leads`), they are put and deleted
without conditions.

Where parents count the old items, they do not count the records until the old items are left: a program of the earlier
declaration that deletes a parent knows only its own number, and would delete that of the records with it.

    bring     the record is created or replaced as its old item says [the old item is as it was read]
    take      the record is deleted [there is no old item]

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import AlreadyExists, ImmutableProperty, RevisionConflict
from ...schema.entity_type import REVISION, EntityType
from ...schema.identities import given_identity
from ...schema.old_forms import OldForm, changes
from ...table.conditions import Compare, Condition, Missing, Or
from ...table.operations import Action, ConditionCheck, DeleteItem, PutItem, UpdateItem
from ...table.values import Item, Value
from ..attempts import AttemptContext
from ..locations import ReadResult, locations
from ..lookups.lookup_records import OWNER, lookup_keys, owner_text
from ..lookups.unique_values import Conflicts, taken, value_actions
from ..relations.enforced import kinship
from .prepare import PreparedRecord
from .write_actions import ActionRole, WriteAction, primary_key
from .write_steps import Context, DeleteStep, Refused, WritePlan, WriteStep, creation, replacement


def with_old_form(
    step: WriteStep, plan: WritePlan, seen: ReadResult, moment: AttemptContext, context: Context
) -> WritePlan:
    """A plan that also writes the record's old item, and what an earlier declaration writes with it: its lookup
    records, and its children's numbers. Raises ValueRefused, ValueTaken."""
    form = moment.old_form
    if form is None or not plan.writes or isinstance(step, (BringStep, TakeStep)):
        return plan
    before = None if seen.found is None else form.image(seen.found.item)
    after = None if plan.written is None else form.image(plan.written)
    repeated = WriteAction(_repeated(form, before, after, moment), ActionRole.OLD_FORM)
    if form.old is None:
        return replace(plan, actions=(*plan.actions, repeated))
    elsewhere = _none_elsewhere(form, form.old, after, moment) if before is None and form.leads else ()
    tallies = kinship(form.old, before, after, context.entities).tallies if form.old.relations else ()
    lookups = _old_lookups(form.old, before, after, moment, step.met) if form.old.lookups else ()
    return replace(plan, actions=(*plan.actions, repeated, *elsewhere, *lookups), tallies=(*plan.tallies, *tallies))


def _old_lookups(
    old: EntityType[Any], before: Item | None, after: Item | None, moment: AttemptContext, met: Conflicts
) -> Sequence[WriteAction]:
    """The actions on the lookup records of an earlier declaration. A value that another record has there is taken: it
    is always that of a live record, since nothing expires there."""
    for lookup in old.lookups.values():
        for key in lookup_keys(old, lookup, after) if lookup.unique and after is not None else ():
            known = met.records.get(primary_key(old, key))
            if known is not None and after is not None and known.get(OWNER) != owner_text(old, after):
                raise taken(lookup.property_name)
    return value_actions(old, before, after, moment, met)


def _none_elsewhere(
    form: OldForm, old: EntityType[Any], after: Item | None, moment: AttemptContext
) -> Sequence[WriteAction]:
    """The checks that no old item has the identity of a new one in another generation of an earlier declaration."""
    assert after is not None, "a write without a record before has one after"
    own, absent = form.key(after), nothing_there(form, moment.seconds)
    places = locations(old, after, old.shard_map, moment.now_ms)
    return [WriteAction(ConditionCheck(each.key, absent), ActionRole.OLD_FORM) for each in places if each.key != own]


def _repeated(form: OldForm, before: Item | None, after: Item | None, moment: AttemptContext) -> Action:
    if not form.leads:
        return DeleteItem(form.key(before or {})) if after is None else PutItem(after)
    if before is None:
        assert after is not None, "a write without a record before has one after"
        return PutItem(after, nothing_there(form, moment.seconds))
    unchanged = form.unchanged(before)
    if after is None:
        return DeleteItem(form.key(before), unchanged)
    changed, removed = changes(before, after)
    if not changed and not removed:
        return ConditionCheck(form.key(before), unchanged)
    return UpdateItem(form.key(before), changed, removed, condition=unchanged)


def nothing_there(form: OldForm, seconds: int) -> Condition:
    """The condition that there is no live old item."""
    absent, ttl = Missing(form.key_names[0]), form.entity.ttl
    return absent if ttl is None else Or((absent, Compare(form.renamed.get(ttl, ttl), "<=", seconds)))


@dataclass(frozen=True)
class BringStep(WriteStep):
    """Reads a record, and makes it what its old item says, in one transaction with a check that the old item is as it
    was read; `here`: it is in the same table, so that it can be checked."""

    form: OldForm
    old: Item
    here: bool = True

    @property
    def makes(self) -> bool:
        return True

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if seen.found is not None and self.form.is_same(self.old, seen.found.item):
            return WritePlan()
        values = self.form.read(self.old)
        item: dict[str, Value] = {name: values[name] for name in self.entity.properties if name in values}
        extra = {name: value for name, value in values.items() if name not in item and name != REVISION}
        given = values.get(REVISION) if self.form.keeps_revision else None
        item[REVISION] = given if isinstance(given, str) else context.new_revision()
        moment = replace(moment, old_form=self.form)
        draft = PreparedRecord(item)
        if seen.found is None:
            plan = creation(self.entity, draft, seen, moment, context, self.met, extra)
        else:
            _check_place(self.entity, seen.found.item, item)
            # What the old item has no more is not kept as an unknown attribute.
            known = replace(context, generated_names=context.generated_names | frozenset(seen.found.item))
            plan = replacement(self.entity, draft, seen, moment, known, self.met, extra)
        return _checked(plan, self.form, self.old) if self.here else plan

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        _check_source(self, refused)
        return super().again(refused, moment)


@dataclass(frozen=True)
class TakeStep(DeleteStep):
    """Reads a record, and deletes it, if there is no old item, or only `instead` of what its record says."""

    form: OldForm | None = None
    key: Item | None = None
    instead: Item | None = None
    here: bool = True

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        plan = super().plan(seen, moment, context)
        assert self.form is not None
        assert self.key is not None
        if not plan.writes or not self.here:
            return plan
        if self.instead is not None:
            return _checked(plan, self.form, self.instead)
        check = ConditionCheck(self.key, nothing_there(self.form, moment.seconds))
        return replace(plan, actions=(*plan.actions, WriteAction(check, ActionRole.SOURCE)))

    def again(self, refused: Refused, moment: AttemptContext) -> WriteStep:
        _check_source(self, refused)
        return super().again(refused, moment)


@dataclass(frozen=True)
class LeaveStep(DeleteStep):
    """Deletes an old item of an earlier declaration, with its lookup records and its part of its parents' numbers, if
    it says what it said when it was read."""

    image: Item | None = None
    form: OldForm | None = None

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        assert self.form is not None
        assert self.image is not None
        if seen.found is not None and not self.form.unchanged(self.image).evaluate(seen.found.item):
            raise RevisionConflict("the old item was changed meanwhile", where=self.entity.token, fix="read it again")
        return super().plan(seen, moment, context)


def following_step(entity: EntityType[Any], identity: Item, form: OldForm, key: Item, old: Item | None) -> WriteStep:
    """The step that brings a record after what is in the place of its old item. Raises ValueRefused, and AlreadyExists
    if that is another record's."""
    if old is None:
        return TakeStep(entity, identity, None, form=form, key=key)
    read = form.read(old)
    if given_identity(entity, read) != identity:
        raise AlreadyExists(
            "another record has the key of its old item", where=", ".join(entity.identity), fix="give it another"
        )
    return BringStep(entity, identity, form, old)


def _checked(plan: WritePlan, form: OldForm, old: Item) -> WritePlan:
    if not plan.writes:
        return plan
    check = ConditionCheck(form.key(old), form.unchanged(form.image(form.read(old))))
    return replace(plan, actions=(*plan.actions, WriteAction(check, ActionRole.SOURCE)))


def _check_place(entity: EntityType[Any], stored: Item, item: Item) -> None:
    different = entity.unlike(stored, item)
    if different:
        raise ImmutableProperty(
            "the old item was made anew with another value", where=", ".join(different), fix="bring it in again"
        )


def _check_source(step: WriteStep, refused: Refused) -> None:
    if any(planned.part is ActionRole.SOURCE for planned, _ in refused):
        raise RevisionConflict("the old item was changed meanwhile", where=step.entity.token, fix="read it again")
