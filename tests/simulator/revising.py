"""Writes of an application process that are to be carried out only in a revision: the one that is stored, which they
replace once, or one that is stored no more, in which nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardweave.errors import LookupNotReady, NotFound, OutcomeUnknown, RevisionConflict, ShardweaveError
from shardweave.schema.entity import Entity
from shardweave.store import Check, Delete, Put, Update, Written
from tests.simulator.clients import KINDS, Writer
from tests.simulator.oracle import Value

REVISING_KINDS = ("change_at_rev", "change_at_rev", "change_at_old_rev", "raise_counter_at_rev")
WAYS = ("put", "update", "delete", "transact", "batch")
NOBODYS = "rev-of-nobody"


class RevisingWriter(Writer):
    """A writer that also says which revision it changes."""

    def __init__(self, world: Any, name: str, operations: int, kinds: Any = KINDS) -> None:
        super().__init__(world, name, operations, kinds)
        if world.unfilled:
            self.not_done = (*self.not_done, LookupNotReady)
        self.known: dict[str, dict[str, int]] = {each: {} for each in self.ids}
        """The revisions that a record of its own was given, each with its number."""
        self.unknown = False
        """Whether the last change ended without an answer, or was a deletion of what is not there."""
        self.found_nothing = False

    def change_at_rev(self) -> None:
        """A change of the revision that was just read. Where the record was that all the time, it is carried out."""
        there = [each for each in self.ids if self.world.oracle.of(each).possible != {None}]
        name, number = self.world.simulation.random.choice(there or self.ids), self._number()
        began = self._now()
        try:
            seen: Any = self.store.get(self.world.model, self.key(name))
        except self.not_done:
            self.failed = True
            return
        possible = self.world.oracle.of(name).between(began, self._now())
        value = None if seen is None else seen.number
        assert value in possible, f"{name}: read {value}, possible was {set(possible)}"
        if seen is None:
            self.failed = True
            return
        self.known[name][seen.rev] = seen.number
        way = self.world.simulation.random.choice(WAYS)
        refused = self._change(way, name, number, seen.rev)
        if refused is None:
            self.world.done[f"{way} at its rev"] += not (self.failed or self.unknown)
            self.world.done["changes at their rev"] += not (self.failed or self.unknown)
        elif not self.world.tagged:  # whose rewriting gives records other revisions
            possible = self.world.oracle.of(name).between(began, self._now()) - {number}
            took = {None} if way == "delete" else set()
            assert possible - took != {seen.number}, f"{name} was {seen.number} all the time, {way} says {refused}"

    def change_at_old_rev(self) -> None:
        """A change of a revision that is not stored any more, which must not be carried out."""
        number, draw = self._number(), self.world.simulation.random
        name = draw.choice([each for each in self.ids if self._old(each)] or self.ids)
        old = self._old(name)
        rev = draw.choice(old[-3:]) if old else NOBODYS
        way = draw.choice(WAYS)
        given = self.known[name].get(rev)
        refused = self._change(way, name, number, rev)
        record = self.world.oracle.of(name)
        if given in record.between(self.began, self._now()):  # which a late create of it may have stored
            return
        may_have_ended = self.failed or self.unknown or self.found_nothing
        assert refused is not None or may_have_ended, f"{name}: {way} in {rev}, which was {given} long ago"
        if self.unknown and way != "delete":
            record.now(self._now(), record.possible - {number})
        if refused is not None:
            self.failed = False
            self.world.done[f"{way} refused at an old rev"] += bool(old)
            self.world.done["changes refused at an old rev"] += bool(old)

    def _old(self, name: str) -> list[str]:
        """The revisions that a record had, and has no more."""
        possible = self.world.oracle.of(name).possible
        return [rev for rev, given in self.known[name].items() if given not in possible]

    def _change(self, way: str, name: str, number: int, rev: str) -> ShardweaveError | None:
        """Change a record of its own in this way, if that is its revision. Gives how it was refused for that."""
        refused: list[ShardweaveError] = []
        work = self._changing(way, name, number, rev)
        self.unknown = self.found_nothing = False

        def change() -> Any:
            try:
                return work()
            except RevisionConflict as error:
                if "another revision" in str(error):
                    refused.append(error)
                raise
            except OutcomeUnknown:
                self.unknown = True
                raise

        value: Value = None if way == "delete" else number
        before = self.world.oracle.of(name).possible
        try:
            answer = self._write({name: value}, change)
        except NotFound as error:
            self._learn(name, exists=False)
            return error
        if isinstance(answer, Written) and way == "delete":
            self.found_nothing = answer.before is None
            there = None if answer.before is None else answer.before.number  # type: ignore[attr-defined]
            possible = self._seen(name, before)
            assert there in possible, f"{name}: delete gives {there}, possible was {set(possible)}"
            self._check_given(answer.before)
        return refused[0] if refused else None

    def _check_given(self, before: Any) -> None:
        """What was there is as it was given."""
        if before is not None:
            given = self.world.given[before.number]
            told = before.name, before.owner
            assert told == (given["name"], given["owner"]), f"{before} was there, given was {given}"

    def _changing(self, way: str, name: str, number: int, rev: str) -> Callable[[], Any]:
        model, key = self.world.model, self.key(name)
        if way == "delete":
            return lambda: self.store.write(Delete(model, key, rev=rev, returning=True))
        if way == "update":
            changes = self.changes(name, number)
            return lambda: self.store.update(model, key, changes, rev=rev)
        if way == "batch":
            update = Update(model, key, self.changes(name, number), rev=rev)
            return lambda: self._in_batch(update)
        values = self.world.values(name, number)
        if way == "put":
            return lambda: self.store.put(values, model, rev=rev)
        nothing = Check(model, self.key("nothing-0"), exists=False)
        return lambda: self.store.transact([Put(values, model, rev=rev), nothing])

    def _in_batch(self, update: Update) -> Entity | None:
        (outcome,) = self.store.batch_write(updates=[update]).updates
        if outcome.error is not None:
            raise outcome.error
        if outcome.status != "written":
            raise RevisionConflict("the batch had no time for it", where="batch", fix="send it again")
        return outcome.record

    def _write(self, new: dict[str, Value], work: Callable[[], Any], *, told: bool = False) -> Any:
        answer = super()._write(new, work, told=told)
        record = answer.record if isinstance(answer, Written) else answer
        for each in record if isinstance(record, tuple) else (record,):
            name = getattr(each, "thing_id", None)
            if name in self.known:
                self.known[name][each.rev] = each.number
        return answer

    def raise_counter_at_rev(self) -> None:
        """Read the counter, and set it to the next number if it is still in that revision."""
        model, key = self.world.model, self.key("counter")
        try:
            seen: Any = self.store.get(model, key)
        except self.not_done:
            self.failed = True
            return
        before = self.world.counted[0]
        self._count(lambda: self.store.update(model, key, {"number": seen.number + 1}, rev=seen.rev))
        self.failed = self.world.counted[0] == before
