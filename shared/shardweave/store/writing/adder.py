"""Additions to numbers and sets: the table itself adds if possible (see `additions`); all others are written as
updates.

Guarantees: an addition is carried out once, or, if it raises anything but OutcomeUnknown, not at all. One update is
sent, on condition that the record is live and has no mark of a newer shard map. If the table refuses it, and always
during a re-shard of the entity, the record is read and written on condition of its revision, like every update. If the
answer is lost, the record is read: if it has the revision that was sent, the addition was carried out.

Costs: one write of the record, and a read before it if the record may be in several generations.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import OutcomeUnknown, ShardMapChanged, ShardweaveError
from ...errors.outcomes import note_maybe_written
from ...schema.entity_type import REVISION
from ...table.values import Item
from ..attempts import AttemptContext
from ..locations import locations
from ..reader import Reader, Wanted
from .additions import added_by_table, table_addition
from .sender import Refusal, Sender
from .write_actions import key_of
from .write_steps import AddStep, Context, WritePlan
from .writer import Moments, Writer


@dataclass(frozen=True)
class Adder:
    """Carries out additions; safe for many threads."""

    reader: Reader
    sender: Sender
    writer: Writer
    context: Context
    moment_of: Moments

    def run(self, step: AddStep) -> WritePlan:
        """Carry out one addition. Raises the errors of an update."""
        entity, moment = step.entity, self.moment_of(step.entity)
        single = moment.mirror is None and moment.old_form is None
        alone = step.visibility is None and step.rev is None and single
        if not (alone and added_by_table(entity, step.additions)):
            return self.writer.run(step)
        key = self._key(step, moment)
        if key is None:
            return self.writer.run(step)
        rev = self.context.new_revision()
        update = table_addition(entity, key, step.additions, moment, rev)
        try:
            left = self.sender.send_update(update, [] if moment.lease is None else [moment.lease])
        except ShardMapChanged:
            return self.writer.run(step)  # nothing was sent
        except OutcomeUnknown:
            left = self._left(key, rev)
        if isinstance(left, Refusal):
            return self.writer.run(step)
        try:
            return WritePlan(rev=rev, record=entity.load(left))
        except ShardweaveError as error:
            note_maybe_written(error)
            raise

    def _key(self, step: AddStep, moment: AttemptContext) -> Item | None:
        """The key where the record is or would be; None if it has to be looked for and is not found."""
        entity = step.entity
        if not entity.lookup_placed:
            first, *others = locations(entity, step.identity, moment.shard_map, moment.now_ms)
            if not others:
                return first.key
        try:
            (seen,) = self.reader.find([Wanted(entity, step.identity, moment)])
        except ShardMapChanged:
            return None
        return None if seen.found is None else key_of(entity, seen.found.item)

    def _left(self, key: Item, rev: str) -> Item:
        """The result of an addition whose answer was lost, from a read of the record. Raises OutcomeUnknown if the
        record does not show it."""
        try:
            (item,) = self.reader.items([key])
        except ShardweaveError:
            item = None
        if item is None or item.get(REVISION) != rev:
            raise OutcomeUnknown(
                "the table did not answer, so the addition may or may not have been carried out",
                fix="read the record before adding again",
            )
        return item
