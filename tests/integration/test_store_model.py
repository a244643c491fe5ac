"""The store against a dictionary: random operations, generations that begin, records that expire, answers that get
lost. After every step each record is what the dictionary says, ids are live in one place, and every stored attribute
is the one that would be computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shardweave.errors import AlreadyExists, Conflict, ImmutableProperty, InputError, NotFound, OutcomeUnknown
from shardweave.schema.entity import Entity
from shardweave.store import Create, Delete, Operation, Put, Update
from shardweave.table.fault_injection import (
    WRITES,
    Fault,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    ProcessPart,
    Throttle,
)
from shardweave.table.operations import Operation as TableOperation
from tests.unit.store_world import DAY, FIRST_BUMP, SECOND_BUMP, START, Address, Person, World, is_consistent

HOUR = DAY // 24
MOMENTS = [START, FIRST_BUMP - HOUR - 1, FIRST_BUMP - HOUR, FIRST_BUMP - 1, FIRST_BUMP, SECOND_BUMP, SECOND_BUMP + DAY]
MODELS: dict[type[Entity], str] = {Person: "personId", Address: "address"}

models = st.sampled_from(list(MODELS))
keys = st.sampled_from("abc")
owners = st.sampled_from(["o", "p"])
lifetimes = st.sampled_from([None, None, None, 1, 60, 3600])
texts = st.sampled_from([None, "x", "y z", "Ä!"])
ages = st.sampled_from([None, None, 0, -240_000, 1, HOUR, 9 * DAY, 15 * DAY])
faults = st.lists(
    st.sampled_from([None, LoseAnswer(), LoseRequest(), Throttle(), MeetTransaction(), ProcessPart(1)]), max_size=4
)

Known = dict[str, Any]


class Upcoming:
    """The faults of the next writes."""

    def __init__(self) -> None:
        self.left: list[Fault | None] = []

    def next_for(self, operation: TableOperation[Any]) -> Fault | None:
        return self.left.pop(0) if self.left and isinstance(operation, WRITES) else None


class StoreMachine(RuleBasedStateMachine):
    """`known` is what the table should hold: the properties of every record by model and key."""

    @initialize()
    def begin(self) -> None:
        self.upcoming = Upcoming()
        self.world = World(self.upcoming)
        self.known: dict[tuple[type[Entity], str], Known] = {}

    # -- the dictionary

    @property
    def now(self) -> int:
        return self.world.clock.now

    def live(self, model: type[Entity], key: str) -> Known | None:
        found = self.known.get((model, key))
        if found is None or found.get("expires", self.now) <= self.now // 1000:
            return None
        return found

    def values(self, model: type[Entity], key: str, owner: str, life: int | None, text: str | None) -> Known:
        values: Known = {MODELS[model]: key}
        values |= {"name": "Ann", "group": text} if model is Person else {"ownerId": owner, "label": text}
        if life is not None:
            values["expires"] = self.now // 1000 + life
        return {name: value for name, value in values.items() if value is not None}

    def with_age(self, values: Known, age: int | None) -> Known:
        return values if age is None else values | {"created": self.now - age}

    def keep(self, model: type[Entity], record: Entity) -> None:
        dumped = self.world.schema[model].dump(record)
        self.known[(model, dumped[MODELS[model]])] = dumped

    def check_written(self, model: type[Entity], record: Entity, expected: Mapping[str, Any]) -> None:
        dumped = self.world.schema[model].dump(record)
        assert {name: dumped.get(name) for name in expected} == dict(expected)
        derived = {"created", "updated", "nameCanonical"}
        assert dumped.keys() - derived == expected.keys() - derived
        self.keep(model, record)

    # -- what happens

    @rule(moment=st.sampled_from(MOMENTS))
    def time_passes_to(self, moment: int) -> None:
        self.world.clock.now = max(self.now, moment)

    @rule(seconds=st.sampled_from([1, 59, 600, 7200]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.now += seconds * 1000

    @rule()
    def the_table_removes_what_has_expired(self) -> None:
        self.world.inner.expire(self.now / 1000)

    @rule(upcoming=faults)
    def trouble_is_ahead(self, upcoming: list[Fault | None]) -> None:
        self.upcoming.left = upcoming

    @rule(model=models, key=keys, owner=owners, life=lifetimes, text=texts, age=ages, as_record=st.booleans())
    def create(
        self,
        model: type[Entity],
        key: str,
        owner: str,
        life: int | None,
        text: str | None,
        age: int | None,
        as_record: bool,
    ) -> None:
        values = self.with_age(self.values(model, key, owner, life, text), age)
        given = {**values, "nameCanonical": "?"} if model is Person else values
        taken = self.live(model, key) is not None
        try:
            if as_record:
                record: Entity = self.world.store.create(model.model_validate(given))
            else:
                record = self.world.store.create(values, model)
        except (AlreadyExists, OutcomeUnknown):
            # Unknown when the answer got lost: who finds a record then can't tell whose it is.
            assert taken
        else:
            assert not taken
            self.check_written(model, record, {"created": self.now, **values})

    @rule(life=lifetimes, text=texts)
    def create_with_a_made_up_id(self, life: int | None, text: str | None) -> None:
        values = self.values(Person, "", "", life, text)
        del values["personId"]
        record = self.world.store.create(values, Person)
        self.check_written(Person, record, values | {"personId": record.person_id})

    @rule(model=models, key=keys, owner=owners, life=lifetimes, text=texts, age=ages)
    def put(
        self, model: type[Entity], key: str, owner: str, life: int | None, text: str | None, age: int | None
    ) -> None:
        values = self.with_age(self.values(model, key, owner, life, text), age)
        before = self.live(model, key)
        try:
            record = self.world.store.put(values, model)
        except ImmutableProperty:
            assert before is not None
            assert before["ownerId"] != values["ownerId"]
        else:
            created = values.get("created", self.now) if before is None else before["created"]
            self.check_written(model, record, values | {"created": created})

    @rule(model=models, key=keys, life=lifetimes, text=texts, with_rev=st.booleans())
    def update(self, model: type[Entity], key: str, life: int | None, text: str | None, with_rev: bool) -> None:
        before = self.live(model, key)
        expires = None if life is None else self.now // 1000 + life
        changes = {"group" if model is Person else "label": text, "expires": expires}
        current = self.world.other.get(model, key) if with_rev else None
        try:
            record = self.world.store.update(model, key, changes, rev=current.rev if current else None)
        except NotFound:
            assert before is None
        else:
            assert before is not None
            after = {name: value for name, value in (before | changes).items() if value is not None}
            self.check_written(model, record, {name: v for name, v in after.items() if name != "updated"})

    @rule(model=models, key=keys, with_rev=st.booleans())
    def delete(self, model: type[Entity], key: str, with_rev: bool) -> None:
        current = self.world.other.get(model, key) if with_rev else None
        removed = self.world.store.delete(model, key, rev=current.rev if current else None)
        assert removed is (self.live(model, key) is not None)
        if removed:
            del self.known[(model, key)]

    @rule(model=models, put=st.sets(keys), owner=owners, text=texts, removed=st.sets(keys))
    def batch(self, model: type[Entity], put: set[str], owner: str, text: str | None, removed: set[str]) -> None:
        puts = [Put(self.values(model, key, owner, None, text), model) for key in sorted(put)]
        if model is Person:
            puts.append(Put({"name": "made up"}, Person))
        deletes = [Delete(model, key) for key in sorted(removed)]
        try:
            result = self.world.store.batch_write(puts, deletes)
        except InputError:
            assert put & removed
            return
        for outcome, operation in zip(result.puts, puts, strict=True):
            if outcome.record is not None:
                self.keep(model, outcome.record)
            else:
                assert isinstance(outcome.error, ImmutableProperty)
                assert self.live(model, operation.record["address"])["ownerId"] != owner  # type: ignore[index]
        for outcome, delete in zip(result.deletes, deletes, strict=True):
            assert outcome.status == "written"
            if self.live(model, delete.key) is not None:
                del self.known[(model, delete.key)]

    @rule(created=keys, owner=owners, updated=keys, removed=keys)
    def transaction(self, created: str, owner: str, updated: str, removed: str) -> None:
        operations: list[Operation] = [
            Create(self.values(Address, created, owner, None, None), Address),
            Update(Person, updated, {"name": "Zoe"}),
        ]
        if removed != created:
            operations.append(Delete(Address, removed))
        possible = self.live(Address, created) is None and self.live(Person, updated) is not None
        if removed != created:
            possible = possible and self.live(Address, removed) is not None
        try:
            address, person, *_ = self.world.store.transact(operations)
        except (Conflict, NotFound):
            assert not possible
        else:
            assert possible
            assert address is not None
            assert person is not None
            self.keep(Address, address)
            self.keep(Person, person)
            if removed != created:
                del self.known[(Address, removed)]

    # -- what always holds

    @invariant()
    def the_table_is_sound(self) -> None:
        assert list(is_consistent(self.world, self.now)) == []

    @invariant()
    def every_record_is_what_it_should_be(self) -> None:
        for model, name in MODELS.items():
            expected = {key: self.live(model, key) for kind, key in self.known if kind is model}
            expected |= {key: self.live(model, key) for key in "abc"}
            found = self.world.other.batch_get(model, list(expected))
            dumped = [None if record is None else self.world.schema[model].dump(record) for record in found]
            assert dict(zip(expected, dumped, strict=True)) == expected
            key = next(iter(expected))
            one = self.world.other.get(model, {name: key})
            assert (None if one is None else self.world.schema[model].dump(one)) == expected[key]


StoreMachine.TestCase.settings = settings(stateful_step_count=30)
test_the_store_is_a_dictionary = StoreMachine.TestCase
