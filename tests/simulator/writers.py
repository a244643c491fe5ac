"""The application processes of a history that write in every way there is, beside those of `clients`: parts of records,
hundred actions at once, what was there before, models in records, and records that go with others."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from shardweave.errors import ImmutableProperty, LimitExceeded, NotFound, OutcomeUnknown, ParentMissing
from shardweave.query.shorthand import between
from shardweave.store import Add, Check, Create, Put, Update
from tests.simulator.clients import FIRST_KINDS, KINDS, NOT_DONE, TAGGED_KINDS
from tests.simulator.oracle import Value
from tests.simulator.repeating import REPEATING_KINDS, RepeatingWriter
from tests.simulator.revising import REVISING_KINDS
from tests.simulator.things import NAMES, OWNERS, SIZES, TAGS, home_of

EVERY_KIND = (
    *(*KINDS, "put_back", "transact_many", "transact_changes", "add_or_make"),
    *(*REVISING_KINDS, *REPEATING_KINDS),
)
PLACED_KINDS = (*EVERY_KIND, "misplace", "misplace", "misplace", "misplace")
EVERY_TAGGED_KIND = (
    *TAGGED_KINDS,
    "put_back",
    "patch_place",
    "patch_place",
    "transact_changes",
    "page_sizes",
    "page_sizes",
    *("add_tags", "add_tags", "add_tags", "take_tags", "take_tags", "change_at_rev"),
)
FAMILY_KINDS = (
    *("create", "put", "put", "update", "get", "delete", "delete", "remove", "batch", "transact", "upsert"),
    *("add_part", "add_part", "add_part", "add_part", "add_part", "drop_part", "move_part", "list_parts"),
)
MOST = 100
assert set(FIRST_KINDS) <= set(EVERY_KIND)


class EveryWriter(RepeatingWriter):
    """A writer with all operations."""

    def key(self, name: str) -> Any:
        identity = self.world.schema.entities["thing"].identity
        if len(identity) == 1:
            return name
        home = {f"home.{part}": value for part, value in home_of(name).items()}
        return {each: {"thingId": name, **home}[each] for each in identity}

    def changes(self, name: str, number: int) -> dict[str, Any]:
        values = super().changes(name, number)
        if self.key(name) != name and number % 3 == 0:  # what is left out stays, or is what the key says
            del values["home"], self.world.given[number]["home"]
        return values

    def list_names(self) -> None:
        """An owner's records from a name on, in the order of names, either way: of the writer's own, those that were
        there all the time, and none that never was."""
        draw = self.world.simulation.random
        owner, low, reverse = draw.choice(OWNERS), draw.choice(NAMES), draw.random() < 0.5
        asked: dict[str, Any] = {"within": {"owner": owner}, "reverse": reverse, "limit": 500}
        began = self._now()
        try:
            found = self.store.find_by(self.world.model, "byName", between(low, None), **asked).items
        except self.not_done:
            return
        names = [each.name for each in found]
        assert names == sorted(names, reverse=reverse), f"{owner}'s names are {names}"
        ids = [each.thing_id for each in found]
        for name in self.ids:
            possible = self.world.oracle.of(name).between(began, self._now())
            if len(possible) == 1:  # one that changes meanwhile may have moved past the reader
                (value,) = possible
                given = {} if value is None else self.world.given[value]
                is_listed = given.get("owner") == owner and given["name"] >= low
                assert ids.count(name) == is_listed, f"{name}: listed {ids.count(name)} times, possible was {possible}"

    def put_back(self) -> None:
        """A put that gives what was there, or a change that makes its record and says whether it did."""
        name, number, model = self._pick(), self._number(), self.world.model
        possible = self.world.oracle.of(name).possible
        is_put = self.world.simulation.random.random() < 0.6
        if is_put:
            write: Any = Put(self.world.values(name, number), model, returning=True)
        else:
            write = Update(model, self.key(name), self.changes(name, number), upsert=True)
        written = self._write({name: number}, lambda: self.store.write(write))
        if written is None:
            return
        possible = self._seen(name, possible)
        if is_put:
            before = None if written.before is None else written.before.number
            self._check_given(written.before)
            assert before in possible, f"{name}: put gives {before}, possible was {set(possible)}"
            assert written.created == (before is None), f"{name}: put gives {before}, created is {written.created}"
        told = {each is None for each in possible}
        assert written.created in told, f"{name}: created is {written.created}, possible was {set(possible)}"
        self.world.done["what was there" if is_put else "whether it was made"] += 1

    def patch_place(self) -> None:
        """A change of one part of the model in a record."""
        name, number = self._pick(), self._number()
        given = self.world.given
        self.world.values(name, number)

        def moved(record: Any) -> dict[str, Any]:
            place = record.place
            city = "moss" if place is None else place.city
            new = {"city": city, "floor": number}
            self.world.give(number, {**given[record.number], "number": number, "place": new})
            return {"number": number, "place": new}

        with contextlib.suppress(NotFound):
            self._write({name: number}, lambda: self.store.update(self.world.model, self.key(name), moved))

    def add_tags(self) -> None:
        """Tags that are added to those that are there, with another number, by itself or in a transaction: once, since
        the number would tell."""
        name, number, draw = self._pick(), self._number(), self.world.simulation.random
        possible = self.world.oracle.of(name).possible
        if len(possible) != 1 or None in possible:
            self.failed = True
            return
        (value,) = possible
        assert value is not None
        given, tags = self.world.given[value], set(draw.sample(TAGS, draw.randrange(1, 3)))
        self.world.give(number, {**given, "number": number, "tags": given["tags"] | tags})
        model, amounts = self.world.model, {"number": number - value, "tags": tags}
        with contextlib.suppress(NotFound):
            if draw.random() < 0.7:
                self._write({name: number}, lambda: self.store.add(model, name, amounts))
            else:
                both = [Add(model, name, amounts), Add(model, "counter", {"number": 1})]
                self._count(lambda: self._write({name: number}, lambda: self.store.transact(both), told=True))

    def take_tags(self) -> None:
        """A change that takes one tag away, whichever are there."""
        name, number = self._pick(), self._number()
        tag, given = self.world.simulation.random.choice(TAGS), self.world.given
        self.world.values(name, number)

        def taken(record: Any) -> dict[str, Any]:
            left = record.tags - {tag}
            self.world.give(number, {**given[record.number], "number": number, "tags": left})
            return {"number": number, "tags": left}

        with contextlib.suppress(NotFound):
            self._write({name: number}, lambda: self.store.update(self.world.model, name, taken))

    def page_sizes(self) -> None:
        """The same list as in `list_sizes`, in small pages, which other writes come between."""
        draw = self.world.simulation.random
        owner, size, reverse, limit = draw.choice(OWNERS), draw.choice(SIZES), draw.random() < 0.5, draw.choice((1, 2))
        asked: dict[str, Any] = {"within": {"owner": owner, "sizes.name": size}, "reverse": reverse, "limit": limit}
        found: list[Any] = []
        began, after = self._now(), None
        while True:
            try:
                page = self.store.find_by(self.world.model, "sizes", after=after, **asked)
            except self.not_done:
                self.failed = True
                return
            found += page.items
            self.world.done["pages of things by size"] += 1
            after = page.after
            if after is None:
                break
            self.world.simulation.sleep(int(draw.random() ** 3 * 3_000))
        values = [(each.sizes[size], each.number) for each in found]
        assert values == sorted(values, reverse=reverse), f"{owner}'s {size} is {values}"
        ids = [each.thing_id for each in found]
        for name, record in self.world.oracle.records.items():
            is_steady, value = record.steady(began, self._now())
            if is_steady:
                given = {} if value is None else self.world.given[value]
                is_listed = given.get("owner") == owner and size in given["sizes"]
                assert ids.count(name) == is_listed, f"{name}: listed {ids.count(name)} times, it had {value}"

    def add_or_make(self) -> None:
        """An addition to a record that is made where there is none: its number is the sum, which is given nowhere
        else."""
        name, number = self._pick(), self._number()
        start = self.world.values(name, number)
        possible = self.world.oracle.of(name).possible
        if possible != {None}:
            return
        start = {each: value for each, value in start.items() if each not in ("thing_id", "number")}
        key = self.key(name)
        self._write({name: number}, lambda: self.store.add(self.world.model, key, {"number": number}, upsert=start))

    def transact_changes(self) -> None:
        """A transaction of changes, one of which may make its record, and of an addition."""
        first, second = self.world.simulation.random.sample(self.ids, 2)
        new: dict[str, Value] = {first: self._number(), second: self._number()}
        model, operations = self.world.model, [Add(self.world.model, self.key("counter"), {"number": 1})]
        for name, number in new.items():
            assert number is not None
            changes = self.changes(name, number)
            operations.append(Update(model, self.key(name), changes, upsert=True))  # type: ignore[arg-type]
        self._count(lambda: self._write(new, lambda: self.store.transact(operations), told=True))

    def transact_many(self) -> None:
        """As many actions as a transaction has. While records move, the error says how many fit, and they do."""
        first, second = self.world.simulation.random.sample(self.ids, 2)
        model = self.world.model
        new: dict[str, Value] = {first: self._number(), second: self._number()}
        operations: list[Any] = []
        for name, number in new.items():
            assert number is not None
            operations.append(Put(self.world.values(name, number), model))
        others = [self.key(f"nothing-{each}") for each in range(MOST - len(operations))]
        operations += [Check(model, each, exists=False) for each in others]

        def write() -> Any:
            refused = self._refused_as_too_many(operations)
            if refused is None:
                self.world.done["a hundred at once"] += 1
                return ()
            self.world.done["too many at once"] += 1
            found = re.search(r"at most (\d+) of", refused.fix)
            assert found, refused.fix
            assert 20 <= int(found[1]) < MOST, refused.fix
            if self._refused_as_too_many(operations[: int(found[1])]) is None:
                return ()
            return self.store.transact(operations[:20])  # records began to move meanwhile

        self._write(new, write)

    def _refused_as_too_many(self, operations: list[Any]) -> LimitExceeded | None:
        """Carry them out in a transaction, unless they are too many for one."""
        try:
            self.store.transact(operations)
        except LimitExceeded as error:
            return error
        return None

    def misplace(self) -> None:
        """A change of what identifies or places a record, which is refused."""
        name, number = self._pick(), self._number()
        home: dict[str, Any] | None = {**home_of(name), "area": "elsewhere", "floor": number}
        if self.world.simulation.random.random() < 0.3:
            home = None
        try:
            self.store.update(self.world.model, self.key(name), {"home": home, "number": number})
        except ImmutableProperty:
            self.world.done[f"misplacements refused, by {len(self.world.schema.entities['thing'].identity)}"] += 1
        except (NotFound, OutcomeUnknown, *self.not_done):
            self.failed = True
        else:
            raise AssertionError(f"{name} was put elsewhere")

    # -- records that go with others

    def delete(self) -> None:
        self._deletes(super().delete)

    def _removed(self, name: str) -> bool:
        """A deletion that may have no time to end."""
        if "part" not in self.world.schema.entities:
            return super()._removed(name)
        seconds = self.world.simulation.random.choice((0, 0, 1, 10))
        return self.store.delete(self.world.model, name, seconds=seconds)

    def remove(self) -> None:
        self._deletes(super().remove)

    def change_at_rev(self) -> None:
        self._deletes(super().change_at_rev)

    def batch(self) -> None:
        self._deletes(super().batch)

    def transact(self) -> None:
        self._deletes(super().transact)

    def _deletes(self, work: Any) -> None:
        """Work that may delete things of the writer's own, with their parts."""
        if "part" not in self.world.schema.entities:
            work()
            return
        with contextlib.ExitStack() as under_way:
            for name in self.ids:
                under_way.enter_context(self._may_go(name))
            work()

    @contextlib.contextmanager
    def _may_go(self, name: str) -> Iterator[None]:
        world = self.world
        counts = world.deletions.setdefault(name, [0, 0])
        counts[0] += 1
        counts[1] += 1
        kept = {
            each for each, thing in world.parts_of.items() if thing == name and each not in world.parts_told.under_way
        }
        for each in kept:
            record = world.parts_told.of(each)
            record.now(self._now(), record.possible | {None})
        record = world.oracle.of(name)
        changes = len(record.times)

        def has_gone() -> bool:
            return any(possible == {None} for _, possible in record.times[changes:])

        try:
            with world.guests.losing_host(self._now, name, has_gone):
                yield
        finally:
            counts[1] -= 1
        if has_gone():
            for each in kept:
                if world.parts_of[each] == name:  # and was not moved meanwhile
                    world.parts_told.of(each).now(self._now(), frozenset({None}))
            world.done["things with parts that went"] += bool(kept)

    def add_part(self) -> None:
        """Parts of anybody's thing, which may go meanwhile."""
        world, draw = self.world, self.world.simulation.random
        name = f"w{draw.randrange(2)}-{draw.randrange(4)}"
        numbers = {
            f"part-{number}": number for number in (self._number() for _ in range(draw.choice((1, 6, 20, 20, 20))))
        }
        counts = world.deletions.setdefault(name, [0, 0])
        begun, was_going, began = counts[0], counts[1], self._now()
        world.parts_of |= dict.fromkeys(numbers, name)
        model = world.schema.entities["part"].model
        made = [
            Create({"part_id": each, "thing_id": name, "number": number}, model) for each, number in numbers.items()
        ]
        before = world.parts_told.begin(self._now(), {**numbers})
        try:
            self.store.transact(made)
        except (ParentMissing, *NOT_DONE):
            world.parts_told.fail(self._now(), before)
            self.failed = True
        except OutcomeUnknown:
            world.parts_told.unsure({**numbers})
        else:
            if counts[0] == begun and not was_going and not world.oracle.going(name, began):
                world.parts_told.end(self._now(), {**numbers})
            else:
                world.parts_told.unsure({**numbers})
                world.done["parts made while things went"] += 1

    def drop_part(self) -> None:
        part = self._a_part()
        if part is not None:
            with contextlib.suppress(OutcomeUnknown, *NOT_DONE):
                self.store.delete(self.world.schema.entities["part"].model, part)

    def move_part(self) -> None:
        """A part goes over to another thing, of which it may go with either."""
        part, name = self._a_part(), self._pick()
        if part is not None:
            with contextlib.suppress(OutcomeUnknown, NotFound, ParentMissing, *NOT_DONE):
                self.store.update(self.world.schema.entities["part"].model, part, {"thing_id": name})

    def _a_part(self) -> str | None:
        """A part that may be deleted or moved at any time from now on."""
        parts = [each for each in self.world.parts_of if each not in self.world.parts_told.under_way]
        if not parts:
            self.failed = True
            return None
        part = self.world.simulation.random.choice(parts)
        record = self.world.parts_told.of(part)
        record.now(self._now(), record.possible | {None, int(part.removeprefix("part-"))})
        self.world.parts_of[part] = ""
        return part

    def list_parts(self) -> None:
        """The parts of a thing: those that were there all the time, and none that was never its own."""
        world, name = self.world, self._pick()
        began = self._now()
        try:
            found = self.store.find_by(world.schema.entities["part"].model, "thing_id", name, limit=500).items
        except NOT_DONE:
            self.failed = True
            return
        ids = [each.part_id for each in found]  # type: ignore[attr-defined]
        assert len(ids) == len(set(ids)), f"{name}: a part is listed twice"
        for part, thing in world.parts_of.items():
            possible = world.parts_told.of(part).between(began, self._now())
            if thing == name and len(possible) == 1:
                assert (part in ids) == (None not in possible), f"{part} of {name}: possible was {set(possible)}"
