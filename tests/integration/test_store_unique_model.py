"""Unique values, children and numbers against dictionaries: random operations, generations that begin, owners that
expire, answers that get lost. After every step whoever should have a value is found by it, and nobody else is.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shardweave.errors import AlreadyExists, HasChildren, NotFound, OutcomeUnknown, ParentMissing
from shardweave.store import Create, Delete, Operation, Put, Update
from shardweave.table.fault_injection import Fault, LoseAnswer, LoseRequest, MeetTransaction, Throttle
from tests.integration.test_store_model import Upcoming
from tests.unit.shop_world import Customer, Issue, Project, shop, unsound
from tests.unit.store_world import FIRST_BUMP, SECOND_BUMP

keys = st.sampled_from("abc")
phones = st.sampled_from([None, "1", "2", "3"])
emails = st.sampled_from([None, "x", "X", "y"])
cities = st.sampled_from([None, "Bath", "York"])
lifetimes = st.sampled_from([None, None, None, 1, 60])
projects = st.sampled_from("pq")
faults = st.lists(st.sampled_from([None, LoseAnswer(), LoseRequest(), Throttle(), MeetTransaction()]), max_size=3)

Known = dict[str, Any]


class ValuesMachine(RuleBasedStateMachine):
    """`people` are the customers that there should be, `issues` and `projects` likewise."""

    @initialize()
    def begin(self) -> None:
        self.upcoming = Upcoming()
        self.world = shop(self.upcoming)
        self.people: dict[str, Known] = {}
        self.issues: dict[str, tuple[str, int]] = {}
        self.projects: set[str] = set()
        self.taken: dict[str, int] = {}

    # -- the dictionaries

    @property
    def now(self) -> int:
        return self.world.clock.now

    def live(self, key: str) -> Known | None:
        found = self.people.get(key)
        if found is None or (found["expires"] is not None and found["expires"] <= self.now // 1000):
            return None
        return found

    def everybody(self) -> dict[str, Known]:
        return {key: found for key in self.people if (found := self.live(key)) is not None}

    def is_free(self, key: str, values: Known) -> bool:
        others = [each for other, each in self.everybody().items() if other != key]
        same_phone = any(values["phone"] is not None and each["phone"] == values["phone"] for each in others)
        folded = (values["email"] or "").casefold()
        same_email = any(folded and (each["email"] or "").casefold() == folded for each in others)
        return not same_phone and not same_email

    def person(self, phone: str | None, email: str | None, city: str | None, life: int | None) -> Known:
        expires = None if life is None else self.now // 1000 + life
        return {"phone": phone, "email": email, "city": city, "expires": expires}

    # -- what happens

    @rule(moment=st.sampled_from([FIRST_BUMP, SECOND_BUMP]))
    def time_passes_to(self, moment: int) -> None:
        self.world.clock.now = max(self.now, moment)

    @rule(seconds=st.sampled_from([1, 59, 600]))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.now += seconds * 1000

    @rule()
    def the_table_removes_what_has_expired(self) -> None:
        self.world.inner.expire(self.now / 1000)

    @rule(upcoming=faults)
    def trouble_is_ahead(self, upcoming: list[Fault | None]) -> None:
        self.upcoming.left = upcoming

    @rule(
        key=keys,
        phone=phones,
        email=emails,
        city=cities,
        life=lifetimes,
        how=st.sampled_from(["create", "put", "update", "batch"]),
    )
    def write(
        self, key: str, phone: str | None, email: str | None, city: str | None, life: int | None, how: str
    ) -> None:
        values = self.person(phone, email, city, life)
        free, there = self.is_free(key, values), self.live(key) is not None
        try:
            if how == "create":
                self.world.store.create({"customerId": key, **values}, Customer)
            elif how == "put":
                self.world.store.put({"customerId": key, **values}, Customer)
            elif how == "update":
                self.world.store.update(Customer, key, values)
            else:
                (outcome,) = self.world.store.batch_write([Put({"customerId": key, **values}, Customer)]).puts
                if outcome.error is not None:
                    raise outcome.error
        except AlreadyExists as conflict:
            expected = {"phone": not free, "email": not free, "customerId": how == "create" and there}
            assert expected[str(conflict.where)]  # noqa: PT017
        except NotFound:
            assert how == "update"
            assert not there
        except OutcomeUnknown:
            self.learn(key)
        else:
            assert free
            assert (not there) if how == "create" else (there or how != "update")
            self.people[key] = values

    def learn(self, key: str) -> None:
        """What became of a single write whose answer was lost."""
        record = self.world.other.get(Customer, key)
        if record is None:
            self.people.pop(key, None)
        else:
            values = ("phone", "email", "city", "expires")
            self.people[key] = {name: getattr(record, name) for name in values}

    @rule(key=keys)
    def delete(self, key: str) -> None:
        assert self.world.store.delete(Customer, key) is (self.live(key) is not None)
        self.people.pop(key, None)

    @rule(one=keys, other=keys)
    def exchange_phones(self, one: str, other: str) -> None:
        mine, theirs = self.live(one), self.live(other)
        if one == other or mine is None or theirs is None:
            return
        operations: list[Operation] = [
            Update(Customer, one, {"phone": theirs["phone"]}),
            Update(Customer, other, {"phone": mine["phone"]}),
        ]
        self.world.store.transact(operations)
        mine["phone"], theirs["phone"] = theirs["phone"], mine["phone"]

    @rule(project=projects)
    def make_project(self, project: str) -> None:
        self.world.store.put({"projectId": project}, Project)
        self.projects.add(project)

    @rule(project=projects)
    def delete_project(self, project: str) -> None:
        children = [issue for issue, (of, _) in self.issues.items() if of == project]
        try:
            removed = self.world.store.delete(Project, project)
        except HasChildren:
            assert children
            assert project in self.projects
        else:
            assert not children
            assert removed is (project in self.projects)
            self.projects.discard(project)

    @rule(project=projects, count=st.integers(1, 2))
    def make_issues(self, project: str, count: int) -> None:
        operations: list[Operation] = [Create({"projectId": project}, Issue) for _ in range(count)]
        before = self.taken.get(project, 0)
        try:
            made = self.world.store.transact(operations)
        except ParentMissing:
            assert project not in self.projects
        else:
            assert project in self.projects
            for issue in made:
                assert isinstance(issue, Issue)
                assert issue.num > before
                before = issue.num
                self.issues[issue.issue_id] = (project, issue.num)
        (last,) = self.world.other.take(Issue, "num", within=project)
        self.taken[project] = last

    @rule(which=st.integers(0, 9), project=projects, delete=st.booleans())
    def move_or_delete_issue(self, which: int, project: str, delete: bool) -> None:
        if not self.issues:
            return
        issue = list(self.issues)[which % len(self.issues)]
        if delete or project not in self.projects or self.issues[issue][0] == project:
            self.world.store.transact([Delete(Issue, issue)])
            del self.issues[issue]
            return
        (number,) = self.world.other.take(Issue, "num", within=project)
        self.world.store.update(Issue, issue, {"projectId": project, "num": number})
        self.issues[issue] = (project, number)

    # -- what always holds

    @invariant()
    def the_table_is_sound(self) -> None:
        assert list(unsound(self.world)) == []

    @invariant()
    def whoever_has_a_value_is_found_by_it(self) -> None:
        store, everybody = self.world.other, self.everybody()
        for phone in ("1", "2", "3"):
            owners = [key for key, values in everybody.items() if values["phone"] == phone]
            found = store.get_by(Customer, "phone", phone)
            assert owners == ([] if found is None else [found.customer_id])
        for email in ("x", "y"):
            owners = [key for key, values in everybody.items() if (values["email"] or "").casefold() == email]
            found = store.get_by(Customer, "email", email, within={"tenant": "t"})
            assert owners == ([] if found is None else [found.customer_id])
        for city in ("Bath", "York"):
            owners = sorted(key for key, values in everybody.items() if values["city"] == city)
            assert [each.customer_id for each in store.find_by(Customer, "city", city).items] == owners

    @invariant()
    def whoever_has_a_number_is_found_by_it(self) -> None:
        for issue, (project, number) in self.issues.items():
            found = self.world.other.get_by(Issue, "num", number, within={"projectId": project})
            assert found is not None
            assert found.issue_id == issue


ValuesMachine.TestCase.settings = settings(stateful_step_count=25)
test_values_are_those_of_dictionaries = ValuesMachine.TestCase
