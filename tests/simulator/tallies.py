"""What may be counted in the read models of a history: what is told of events, and what is left of a number after a
reset.

An event counts once, however often it is given, and together with what is written in its transaction. A reset leaves
what was counted until then out: each record's part begins at 0 again, follows the changes that are counted later, and
ends with its record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shardweave.store.events.counts import KIND, PARTS, SUMS
from shardweave.table.values import Item
from tests.simulator.totals import Noted

BASE = 4
MOST_EVENTS = 60
"""A sum of more would have more digits than the table keeps."""
MEMORIES = f"thing.{KIND}totals!"
Part = tuple[str, str]
"""An owner, and the name of a number."""


@dataclass
class EventTold:
    """What was told of one event: whether it may be counted, and may be not; the number of the thing that was written
    in the only transaction in which it was given, if there is such a one."""

    event: Noted
    may_be: bool = False
    may_be_not: bool = True
    given: int = 0
    with_number: int | None = None


@dataclass
class Tallies:
    """What was told of all events, and the parts of all numbers."""

    events: list[EventTold] = field(default_factory=list)
    ever_stored: set[int] = field(default_factory=set)
    """The numbers of things that were stored at some time."""
    parts: dict[tuple[str, Part], list[int]] = field(default_factory=dict)
    """By the record that remembers it: what a thing adds to a number by its state, and how much of that is counted."""
    resets: set[tuple[str, str]] = field(default_factory=set)
    counted_ever: set[int] = field(default_factory=set)
    """The events that were added to a tally, and `counted_now`, by owner, those that no reset has taken away since."""
    counted_now: dict[str, set[int]] = field(default_factory=dict)
    tally_revs: set[str] = field(default_factory=set)
    shapes: Counter[str] = field(default_factory=Counter)

    def event(self, owner: str, position: int) -> EventTold | None:
        """A new event, None when there were enough."""
        if len(self.events) >= MOST_EVENTS:
            return None
        number = len(self.events)
        amount = BASE**number
        told = EventTold(Noted(event_id=f"event-{number}", position=position, owner=owner, amount=amount))
        self.events.append(told)
        return told

    # -- what is stored

    def written(self, hash_key: str, new: Item | None, by: str) -> None:
        """An item was written: follow what is remembered, events that are added, and resets."""
        if hash_key.startswith("thing!") and new is not None:
            self.ever_stored.add(new["number"])
        elif hash_key.startswith(MEMORIES) and new is not None:
            self._remembered(new["rangeKey"], new[PARTS])
        elif hash_key.startswith("tally!") and new is not None and not by.startswith("mover"):
            self._added(new)
        elif hash_key.startswith("total!") and new is not None:
            for name, reset in (new.get(SUMS) or {}).get("since", {}).items():
                if (reset, name) not in self.resets:
                    self.resets.add((reset, name))
                    self._reset(new["owner"], name)

    def _remembered(self, record: str, parts: list[Any]) -> None:
        found = {
            (record, (identity["owner"], name)): numbers[0]
            for _, identity, each, _ in parts
            for name, numbers in each.items()
        }
        for key in [key for key in self.parts if key[0] == record and key not in found]:
            del self.parts[key]
        for key, whole in found.items():
            before, counted = self.parts.get(key, (0, 0))
            self.parts[key] = [whole, counted + whole - before]

    def _added(self, tally: Item) -> None:
        """A tally was written, and perhaps its copy too, in the same revision."""
        if tally["rev"] in self.tally_revs:
            return
        self.tally_revs.add(tally["rev"])
        owner = tally["owner"]
        before = self.counted_now.get(owner, set())
        times = [tally["amount"] // BASE**number % BASE for number in range(len(self.events))]
        now = {number for number, each in enumerate(times) if each}
        assert max(times) <= 1, f"{owner}'s events are added as often as {times}"
        again = (now - before) & self.counted_ever
        assert not again, f"{[self.events[each] for each in again]} was counted before a reset, and again"
        if before - now:
            assert not now, f"a reset leaves {now} of {before}"
            self.shapes["tallies reset with something in them"] += 1
        self.counted_ever |= now
        self.counted_now[owner] = now

    def _reset(self, owner: str, name: str) -> None:
        own = [part for (_, key), part in self.parts.items() if key == (owner, name)]
        self.shapes["numbers reset"] += 1
        self.shapes["numbers reset with something in them"] += any(part[1] for part in own)
        for part in own:
            part[1] = 0

    # -- the end

    def counted(self, owner: str, name: str) -> int:
        """What a number is."""
        return sum(counted for (_, key), (_, counted) in self.parts.items() if key == (owner, name))

    def whole(self, owner: str, name: str) -> int:
        """What it were without resets."""
        return sum(whole for (_, key), (whole, _) in self.parts.items() if key == (owner, name))

    def check_events(self, tallies: Mapping[str, Item]) -> None:
        """Each event was counted as often as it may be, what is left after resets is what is stored, and the last event
        of each owner is the last."""
        counted: dict[str, list[Noted]] = {}
        amounts = {owner: item["amount"] for owner, item in tallies.items()}
        for number, told in enumerate(self.events):
            owner = told.event.owner
            times = int(number in self.counted_ever)
            assert times <= told.may_be, f"{told} is counted {times} times"
            assert times or told.may_be_not, f"{told} is not counted"
            if told.with_number is not None:
                is_stored = told.with_number in self.ever_stored
                assert times == is_stored, f"{told} is counted {times} times, its thing was stored: {is_stored}"
                self.shapes["events with a thing"] += 1
            if times:
                counted.setdefault(owner, []).append(told.event)
        for owner, amount in amounts.items():
            events = counted.get(owner, [])
            left = [self.events[number].event.amount for number in self.counted_now[owner]]
            assert amount == sum(left), f"{owner} has the amount {amount}, not {sum(left)}"
            last = max(((each.position, each.event_id) for each in events), default=(0, None))[1]
            assert tallies[owner].get("last") == last, f"{owner}'s last event is {tallies[owner]}, not {last}"
