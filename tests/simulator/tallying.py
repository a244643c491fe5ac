"""The application processes of a history whose read models are fed by records and by events: they reset numbers, and
apply events by themselves and in transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardweave.errors import NotFound, OutcomeUnknown, StillInProgress
from shardweave.store import Apply, Put, Reset
from tests.simulator.clients import KINDS, NOT_DONE
from tests.simulator.tallies import EventTold
from tests.simulator.things import OWNERS
from tests.simulator.writers import EveryWriter

TALLYING_KINDS = (
    *(*KINDS, "reset_totals", "reset_totals", "reset_totals", "reset_with_thing", "reset_with_thing"),
    *("reset_tally", "reset_tally", "reset_tally", "reset_tally"),
    *("note", "note", "note_with_thing", "note_with_thing", "note_with_thing", "note_again", "note_again", "note_two"),
)
SUMS = ("things", "numbers")


class TallyingWriter(EveryWriter):
    """A writer that also resets numbers, and notes something of owners."""

    not_done = (*NOT_DONE, StillInProgress)

    def reset_totals(self) -> None:
        """Set numbers to 0, all or one, sometimes only in the revision that was read."""
        total, draw = self.world.schema.entities["total"].model, self.world.simulation.random
        owner, names = draw.choice(OWNERS), draw.choice(((), (), ("things",), ("numbers",)))
        try:
            seen = self.store.get(total, owner) if draw.random() < 0.3 else None
            rev = None if seen is None else seen.rev
            record: Any = self.store.reset(total, owner, *names, rev=rev)
        except (NotFound, OutcomeUnknown, *self.not_done):
            self.failed = True
            return
        left = {name: getattr(record, name) for name in names or SUMS}
        assert not any(left.values()), f"{owner} has {left} after a reset"
        self.world.done["resets of what was seen"] += rev is not None

    def reset_tally(self) -> None:
        """Set the sum over events to 0, sometimes only in the revision that was read: no event that was counted is
        counted again."""
        tally, draw = self.world.schema.entities["tally"].model, self.world.simulation.random
        owner = draw.choice(OWNERS)
        try:
            seen = self.store.get(tally, owner) if draw.random() < 0.3 else None
            record: Any = self.store.reset(tally, owner, rev=None if seen is None else seen.rev)
        except (NotFound, OutcomeUnknown, *self.not_done):
            self.failed = True
            return
        assert record.amount == 0, f"{owner} has {record.amount} after a reset"

    def reset_with_thing(self) -> None:
        """A reset that is made together with a record, or not at all."""
        name, number, draw = self._pick(), self._number(), self.world.simulation.random
        total = self.world.schema.entities["total"].model
        operations = [Put(self.world.values(name, number), self.world.model), Reset(total, draw.choice(OWNERS))]
        try:
            self._write({name: number}, lambda: self.store.transact(operations))
        except NotFound:
            self.failed = True

    # -- events

    def note(self) -> None:
        """An event by itself."""
        told = self._event()
        if told is not None:
            self._give([told], lambda: self.store.apply("tallies", told.event))

    def note_with_thing(self) -> None:
        """An event together with a record."""
        told, name, number = self._event(), self._pick(), self._number()
        if told is None:
            return
        told.with_number = number
        operations = [Put(self.world.values(name, number), self.world.model), Apply("tallies", told.event)]
        work = self._writing(name, number, operations)
        self._give([told], work)

    def note_two(self) -> None:
        """Two events in one transaction, one of which was given before, perhaps, with a record."""
        told, name, number = self._event(), self._pick(), self._number()
        if told is None:
            return
        other = self.world.simulation.random.choice(self.world.tallies.events)
        given = [told] if other is told or other.event.owner == told.event.owner else [told, other]
        put = Put(self.world.values(name, number), self.world.model)
        told.with_number = number
        self._give(given, self._writing(name, number, [put, *(Apply("tallies", each.event) for each in given)]))

    def note_again(self) -> None:
        """An event that was given before, by whoever it was."""
        events = self.world.tallies.events
        if not events:
            self.failed = True
            return
        told = self.world.simulation.random.choice(events)
        was_counted, was_not = not told.may_be_not, not told.may_be
        applied = self._give([told], lambda: self.store.apply("tallies", told.event))
        if applied is not None:
            assert applied.repeated or not was_counted, f"{told} was counted before, and is again"
            assert not applied.repeated or not was_not or told.given > 1, f"{told} is said to be counted before"
            self.world.done["events told again"] += applied.repeated

    def _event(self) -> EventTold | None:
        draw = self.world.simulation.random
        told = self.world.tallies.event(draw.choice(OWNERS), draw.randrange(1, 30))
        self.failed = told is None
        return told

    def _writing(self, name: str, number: int, operations: list[Any]) -> Callable[[], Any]:
        return lambda: self._write({name: number}, lambda: self.store.transact(operations), told=True)

    def _give(self, events: list[EventTold], work: Callable[[], Any]) -> Any:
        """Give events, and note what may have become of them."""
        could = [each.may_be for each in events]
        for each in events:
            each.may_be = True
            each.given += 1
            each.with_number = each.with_number if each.given == 1 else None
        under_way = [each.given for each in events]
        try:
            answer = work()
        except OutcomeUnknown:
            return None
        except self.not_done:
            self.failed = True
            for each, before, given in zip(events, could, under_way, strict=True):
                if each.given == given:  # and nobody else gave it meanwhile
                    each.may_be = before
            return None
        for each in events:
            each.may_be_not = False
        return answer
