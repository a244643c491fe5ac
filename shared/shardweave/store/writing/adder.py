"""Additions that the table carries out by itself, where it may (see `additions`); all others are written as updates.

Guarantees: an addition is carried out once, or, where it raises anything but OutcomeUnknown, not at all. The table is
asked once, on condition that the record is live and that no newer shard map has marked it. Whatever it refuses, and
what is asked while the entity moves, is read and written on condition of the revision, as every update. Where the
answer is lost, the record is read: if it has the revision that was sent, the addition was carried out.

Costs: one write of the record, and a read before it where the record may be in several generations.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import OutcomeUnknown, ShardMapChanged, ShardweaveError
from ...errors.outcomes import note_maybe_written
from ...schema.entity_type import REVISION
from ...table.values import Item
from ..locations import locations
from ..reader import Reader, Wanted
from .additions import added_by_table, table_addition
from .sender import Refusal, Sender
from .write_actions import AttemptContext, key_of
from .write_steps import AddStep, Context, WritePlan
from .writer import Moments, Writer


@dataclass(frozen=True)
class Adder:
    """Adds for many threads at once."""

    reader: Reader
    sender: Sender
    writer: Writer
    context: Context
    moment_of: Moments

    def run(self, step: AddStep) -> WritePlan:
        """Carry out one addition. Raises what an update raises."""
        entity, moment = step.entity, self.moment_of(step.entity)
        alone = step.visibility is None and step.rev is None and moment.mirror is None
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
        """Where the record is, or would be; None where it has to be looked for, and is not found."""
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
        """What an addition without an answer left, as the record shows. Raises OutcomeUnknown where it does not."""
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
