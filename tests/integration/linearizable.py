"""Whether what clients saw of one record can have happened: each request at one moment between its sending and its
answer, one after the other.

A request without an answer took effect at some moment before the server's death, or never; one that was repeated with
its key after a death is one request, with an answer in the end. Checked by carrying along every state that the record
may be in, with the requests under way that have taken effect in it (after G. Lowe, "Testing for linearizability").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

State = Any
"""What a record is, None where there is none."""

MOST_CONFIGURATIONS = 200_000


@dataclass(frozen=True)
class Absent:
    """A condition: there is no record."""

    def holds(self, state: State) -> bool:
        return state is None


@dataclass(frozen=True)
class Noted:
    """A condition: the record is as the write with this note left it."""

    note: str

    def holds(self, state: State) -> bool:
        return state is not None and state[0] == self.note


@dataclass(eq=False)
class Request:
    """One request for one record. `kind` is read, create, put, patch, delete or remove; `note` and `handle` are what a
    write gives (a patch may give no handle). `outcome` is done, exists, missing, mismatch, refused, or empty when it is
    not known; `value` is the record that a read or a write showed. `sent` and `answered` are moments, in any unit."""

    kind: str
    note: str = ""
    handle: str | None = None
    keeps_handle: bool = False
    condition: Absent | Noted | None = None
    sent: float = 0
    answered: float = inf
    outcome: str = ""
    value: State = None
    shows_value: bool = field(default=False)

    def after(self, state: State) -> Iterator[State]:
        """The states to which it may lead from this one; none where its answer can't be that."""
        if self.outcome == "refused":
            yield state
        elif self.outcome == "exists":
            if state is not None:
                yield state
        elif self.outcome == "missing":
            if state is None:
                yield None
        elif self.outcome == "mismatch":
            if self.condition is not None and not self.condition.holds(state):
                yield state
        elif self.kind == "read":
            if not self.outcome or state == self.value:
                yield state
        elif self._takes_effect(state):
            new = self._effect(state)
            if not self.shows_value or new == self.value:
                yield new
        elif not self.outcome:
            yield state

    def _takes_effect(self, state: State) -> bool:
        if self.condition is not None and not self.condition.holds(state):
            return False
        return {"create": state is None, "patch": state is not None, "delete": state is not None}.get(self.kind, True)

    def _effect(self, state: State) -> State:
        if self.kind in ("delete", "remove"):
            return None
        return (self.note, state[1] if self.keeps_handle else self.handle)


class NotLinearizable(AssertionError):
    """What clients saw of a record can't have happened."""


Configuration = tuple[State, frozenset[int]]


def possible_states(
    requests: Sequence[Request], deaths: Iterable[float], first: Iterable[State] = (None,)
) -> set[State]:
    """What the record may be after all of them, if it was one of `first`. `deaths` are the moments at which the server
    was dead. Raises NotLinearizable."""
    events: list[tuple[float, int, str]] = [(moment, -1, "death") for moment in deaths]
    events += [(each.sent, number, "sent") for number, each in enumerate(requests)]
    events += [(each.answered, number, "answered") for number, each in enumerate(requests) if each.answered < inf]
    configurations: set[Configuration] = {(state, frozenset()) for state in first}
    pending: set[int] = set()
    for _, number, what in sorted(events):
        if what == "sent":
            pending.add(number)
            continue
        configurations = _with_effects(configurations, pending, requests)
        if what == "answered":
            configurations = {(state, done - {number}) for state, done in configurations if number in done}
            pending.discard(number)
        else:
            lost = {each for each in pending if requests[each].answered == inf}
            configurations = {(state, done - lost) for state, done in configurations}
            pending -= lost
        if not configurations:
            raise NotLinearizable(f"{requests[number]}, of {sorted(requests, key=lambda each: each.sent)[-12:]}")
    return {state for state, _ in _with_effects(configurations, pending, requests)}


def _with_effects(found: set[Configuration], pending: set[int], requests: Sequence[Request]) -> set[Configuration]:
    """With those that follow where some of the requests that are under way take effect."""
    reached = set(found)
    new = list(found)
    while new:
        state, done = new.pop()
        for number in pending - done:
            for after in requests[number].after(state):
                configuration = (after, done | {number})
                if configuration not in reached:
                    reached.add(configuration)
                    new.append(configuration)
        if len(reached) > MOST_CONFIGURATIONS:
            raise AssertionError("too many requests at once to be checked")
    return reached
