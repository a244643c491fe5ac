"""The step of a backfill that adds one stored record to a lookup or an enforced relation.

Pure. The record is not changed, except for the relations noted on it, and if an upgrade gives it the value; all actions
require that it is still live in the revision that was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...schema.entity_type import REVISION, EntityType
from ...schema.relations import COUNTED, LookupType
from ...table.values import Item
from ..attempts import AttemptContext
from ..locations import ReadResult
from ..relations.enforced import uncounted
from ..writing.condition_checks import presence_actions
from ..writing.prepare import rewritten_draft, unknown_attributes
from ..writing.record_actions import replace_actions
from ..writing.write_steps import Context, WritePlan, WriteStep, replacement
from .lookup_records import lookup_keys, lookup_record
from .unique_values import claim_actions


@dataclass(frozen=True)
class FillStep(WriteStep):
    """Reads a record and adds it."""

    filled: str

    def plan(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        if seen.found is None:
            return WritePlan()
        stored = seen.found.item
        lookup = self.entity.lookups.get(self.filled)
        if lookup is None:
            return self._counted(seen, moment, context)
        keys = lookup_keys(self.entity, lookup, stored)
        if not keys:
            return self._upgraded(lookup, seen, moment, context)
        item = {**stored, REVISION: context.new_revision()}
        claims = [claim_actions(self.entity, lookup, key, item, moment, self.met, seen.holders) for key in keys]
        present = presence_actions(self.entity, seen.found, moment, revision_matters=True)
        return WritePlan((*present, *(each for claim in claims for each in claim)))

    def _upgraded(self, lookup: LookupType, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        """A record that has a value of the lookup only in its current form is written in that form, and the lookup
        with it."""
        assert seen.found is not None
        if not lookup_keys(self.entity, lookup, self.entity.current(seen.found.item)):
            return WritePlan()
        draft = rewritten_draft(self.entity, seen.found.item, context.new_revision())
        return replacement(self.entity, draft, seen, moment, context, self.met)

    def _counted(self, seen: ReadResult, moment: AttemptContext, context: Context) -> WritePlan:
        assert seen.found is not None
        stored, rev = self.entity.current(seen.found.item), context.new_revision()
        kin = uncounted(self.entity, stored, (self.filled,), context.entities)
        if not kin.tallies:
            return WritePlan()
        extra = {**unknown_attributes(self.entity, stored, context.generated_names), COUNTED: list(kin.counted)}
        item = {**self.entity.visible(stored), REVISION: rev}
        return WritePlan(replace_actions(self.entity, seen.found, item, moment, extra), rev, tallies=kin.tallies)


def is_counted(entity: EntityType[Any], name: str, item: Item) -> bool:
    """Whether a stored record is already counted by a relation, or has no parent."""
    return name in item.get(COUNTED, ()) or any(item.get(each) is None for each in entity.relations[name].by)


def leads_to(entity: EntityType[Any], record: Item | None, key: Item, item: Item) -> bool:
    """Whether a lookup record belongs to a stored record."""
    return record is not None and {**record, REVISION: ""} == lookup_record(entity, key, item, "")
