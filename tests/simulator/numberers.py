"""The application processes of a history whose records are numbered by a sequence, and have codes that only one may
have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shardweave.errors import AlreadyExists, NotFound, OutcomeUnknown
from shardweave.schema.entity import Entity
from shardweave.store import Update, Written
from tests.simulator.clients import KINDS, NOT_DONE, SHARED, World
from tests.simulator.oracle import Value
from tests.simulator.serials import SHELVES, Serials, shelf_of
from tests.simulator.writers import EveryWriter

CODES = (1, 2, 3, 4)
NUMBERED_KINDS = (
    *KINDS,
    *("put_back", "transact_changes", "add_or_make", "upsert_by_function", "upsert_by_function", "upsert_by_function"),
    *("share", "share", "share", "share", "unshare", "take_numbers", "advance_numbers"),
    *(
        "take_code",
        "take_code",
        "take_code",
        "take_code",
        "take_code",
        "take_code",
        "drop_code",
        "exchange_codes",
        "exchange_codes",
        "get_by_code",
    ),
    *("change_at_rev", "change_at_old_rev", "write_once", "write_once", "write_again"),
)


class NumberingWriter(EveryWriter):
    """A writer of records that are numbered, and have codes."""

    def __init__(self, world: World, *given: Any) -> None:
        super().__init__(world, *given)
        self.serials: Serials = world.serials

    # -- what is told of numbers

    def _write(self, new: dict[str, Value], work: Callable[[], Any], *, told: bool = False) -> Any:
        low = dict(self.serials.highest)
        self._may_lose_codes(new)
        answer = super()._write(new, work, told=told)
        for record in _records_in(answer):
            name, number = record.thing_id, record.number
            if number != new.get(name):
                continue  # the counter's
            before = self.world.oracle.of(name).between(self.began, self._now()) - {number}
            if before == {None}:
                self.serials.made(name, number, record.serial, low.get(record.shelf, 0))
                self.world.done["things made and numbered"] += 1
            elif len(before) == 1:
                (earlier,) = before
                assert earlier is not None
                self.serials.kept(name, earlier, number, record.serial)
                self.world.done["numbers kept"] += 1
            else:
                self.serials.told(name, number, record.serial)
        return answer

    def _check_read(self, names: list[str], read: Callable[[], list[Any]]) -> None:
        def noticing() -> list[Any]:
            found = read()
            for record in found:
                if record is not None:
                    self.serials.told(record.thing_id, record.number, record.serial)
            return found

        super()._check_read(names, noticing)

    def upsert_by_function(self) -> None:
        """A change of whatever is there, or a new record: the function tells which."""
        self._upsert(self._pick(), own=True)

    def share(self) -> None:
        """The same of a record that all make, change and delete."""
        self._upsert(f"{SHARED}{self.world.simulation.random.randrange(2)}", own=False)

    def _upsert(self, name: str, *, own: bool) -> None:
        number, low = self._number(), dict(self.serials.highest)
        start = {**self.changes(name, number), "shelf": shelf_of(name), "number": 0}
        started: list[int] = []

        def changed(record: Any) -> dict[str, Any]:
            started.append(record.number)
            if record.number:
                self.world.give(number, {**self.world.given[record.number], "number": number})
            return {"number": number}

        def work() -> Any:
            return self.store.update(self.world.model, name, changed, upsert=start)

        try:
            record = self._write({name: number}, work) if own else work()
        except OutcomeUnknown:
            return
        except self.not_done:
            self.failed = True
            return
        if record is None:
            return
        if started[-1] == 0:
            self.serials.made(name, number, record.serial, low.get(record.shelf, 0))
            self.world.done["upserts that made"] += 1
        else:
            self.serials.kept(name, started[-1], number, record.serial)
            self.world.done["upserts that changed"] += 1

    def unshare(self) -> None:
        with contextlib.suppress(OutcomeUnknown, *NOT_DONE):
            self.store.delete(self.world.model, f"{SHARED}{self.world.simulation.random.randrange(2)}")

    def take_numbers(self) -> None:
        """Numbers without records, which no record may have then."""
        shelf, low = self.world.simulation.random.choice(SHELVES), dict(self.serials.highest)
        try:
            taken = self.store.take(self.world.model, "serial", within=shelf, count=3)
        except NOT_DONE:
            self.failed = True
            return
        for each in taken:
            assert each > low.get(shelf, 0), f"{each} was taken, when {low} had been given"
            owner = self.serials.names.setdefault((shelf, each), "nobody")
            assert owner == "nobody", f"{owner} has the number {each}, which was taken"
            self.serials.names[shelf, each] = f"taken {each}"
        self.serials.highest[shelf] = max(taken[-1], self.serials.highest.get(shelf, 0))

    def advance_numbers(self) -> None:
        shelf = self.world.simulation.random.choice(SHELVES)
        to = self.serials.highest.get(shelf, 0) + self.world.simulation.random.randrange(5)
        try:
            self.store.advance(self.world.model, "serial", within=shelf, to=to)
        except NOT_DONE:
            self.failed = True
            return
        self.serials.highest[shelf] = max(to, self.serials.highest.get(shelf, 0))

    # -- codes

    def batch(self) -> None:
        self._may_lose_codes(self.ids)
        super().batch()

    def _may_lose_codes(self, names: Iterable[str]) -> None:
        """Writes of records begin that may leave them without their codes."""
        for name in names:
            record = self.serials.codes.of(name)
            record.now(self._now(), record.possible | {None})

    def take_code(self) -> None:
        """Give a record a code, unless another has it."""
        self._give_codes({self._pick(): self.world.simulation.random.choice(CODES)})

    def drop_code(self) -> None:
        self._give_codes({self._pick(): None})

    def exchange_codes(self) -> None:
        """Two records exchange their codes, in one transaction."""
        codes = self.serials.codes
        having = [each for each in self.ids if codes.of(each).possible - {None}]
        first = self.world.simulation.random.choice(having or self.ids)
        others = [each for each in having if each != first] or [each for each in self.ids if each != first]
        second = self.world.simulation.random.choice(others)
        one, other = (max(codes.of(each).possible - {None}, default=None) for each in (first, second))
        self._give_codes({first: other, second: one})

    def _give_codes(self, given: dict[str, Value]) -> None:
        codes, model, began = self.serials.codes, self.world.model, self._now()
        before = codes.begin(began, given)
        changes = [Update(model, name, {"code": code}) for name, code in given.items()]
        try:
            if len(changes) == 1:
                self.store.write(changes[0])
            else:
                self.store.transact(changes)
        except OutcomeUnknown:
            codes.unsure(given)
            return
        except AlreadyExists:
            codes.fail(self._now(), before)
            self.failed = True
            wanted = {each for each in given.values() if each is not None}
            assert wanted & self._codes_of_others(given, began), f"{wanted} are said to be taken"
            self.world.done["codes that were taken"] += 1
            return
        except (NotFound, *NOT_DONE):
            codes.fail(self._now(), before)
            self.failed = True
            return
        for name, record in codes.records.items():
            is_steady, code = record.steady(began, self._now())
            is_taken = name not in given and is_steady and code is not None and code in given.values()
            assert not is_taken, f"{name} had {code} all the time, which {list(given)} took"
        codes.end(self._now(), given)
        self.world.done["codes exchanged"] += len(given) > 1 and None not in given.values()

    def _codes_of_others(self, given: dict[str, Value], began: int) -> set[Value]:
        others = (each for name, each in self.serials.codes.records.items() if name not in given)
        found = {code for each in others for code in each.between(began, self._now())}
        if len(given) > 1:  # or the one's code, where the other has it
            found |= {code for name in given for code in self.serials.codes.of(name).between(began, self._now())}
        return found

    def get_by_code(self) -> None:
        """The record that has a code: one that may have it, and none only where nobody had it all the time."""
        code, began = self.world.simulation.random.choice(CODES), self._now()
        try:
            found = self.store.get_by(self.world.model, "code", code)
        except NOT_DONE:
            self.failed = True
            return
        records = self.serials.codes.records.items()
        if found is not None:
            possible = self.serials.codes.of(found.thing_id).between(began, self._now())  # type: ignore[attr-defined]
            assert code in possible, f"{found} has {code}, possible was {set(possible)}"
            self.world.done["records found by code"] += 1
        else:
            having = [name for name, record in records if record.steady(began, self._now()) == (True, code)]
            assert not having, f"{having} had {code} all the time, and nobody was found"


def _records_in(answer: Any) -> Iterator[Any]:
    """The things in the answer of a write."""
    if isinstance(answer, Written):
        answer = answer.record
    for each in answer if isinstance(answer, tuple) else (answer,):
        if isinstance(each, Entity) and hasattr(each, "serial"):
            yield each
