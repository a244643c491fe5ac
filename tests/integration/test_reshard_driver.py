"""A re-shard driven by the table's own changes, started over HTTP: the whole of it, as the local server runs it."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.api.operators import EVERYBODY, Operators
from shardweave.query.cursor import CursorKeys
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.driver import ReshardDriver
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Waits
from shardweave.reshard.timings import Pace
from shardweave.reshard.work_items import WorkItem
from shardweave.schema.entity_type import EntityType
from shardweave.service.build import Service, Settings, build, reshard_driver
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from shardweave.table.stream_operations import StreamRead, StreamRecord, StreamShards
from tests.unit.api_world import CURSOR_KEYS, Client, Clock, json_of, problem_of

WAITS = Waits(1000, 400, 500, clocks_ms=200, cursor_life_ms=5000, quiet_ms=500, recheck_ms=())
PATH = "/v1/_reshard/user"
SIXTEEN = {"charBits": 2, "chars": 2}


class Stage:
    """The user service, and what is given its table's changes."""

    def __init__(self, operators: str = EVERYBODY, keys: CursorKeys = CURSOR_KEYS) -> None:
        self.clock = Clock()
        settings = Settings(keys, waits=WAITS, operators=Operators.of_text(operators))
        self.service: Service = build(settings, open_table=self._open, clock=self.clock)
        self.client = Client(self.service.api)
        self.position = "TRIM_HORIZON"
        self.driver = self.new_driver()

    def _open(self, layout: Any) -> EmbeddedTable:
        return EmbeddedTable(layout, clock=lambda: self.clock() / 1000)

    def new_driver(self) -> ReshardDriver:
        parts = self.service.parts
        assert parts.maps is not None
        return reshard_driver(parts.schema, parts.table, parts.maps, WAITS, pace=Pace(200, 100, 10), clock=self.clock)

    def changes(self) -> tuple[StreamRecord, ...]:
        (shard,) = self.service.parts.table.run(StreamShards())
        page = self.service.parts.table.run(StreamRead(shard.id, self.position))
        self.position = page.position
        return page.records

    def stream(self, times: int = 1) -> None:
        """Every change is given to the driver, each so many times, until no more come."""
        for _ in range(500):
            changes = self.changes()
            if not changes:
                return
            for change in changes:
                for _ in range(times):
                    self.driver.handle(change)
            self.driver.drain()
        raise AssertionError("changes never end")

    def pass_time(self, seconds: int, times: int = 1) -> None:
        for _ in range(seconds * 2):
            self.stream(times)
            self.clock.now += 500
            self.driver.wake()
        self.stream(times)

    def add_users(self, count: int) -> list[str]:
        names = [f"user-{number}" for number in range(count)]
        for name in names:
            user = {"userId": name, "firstName": "Ann", "lastName": "B", "beneficiaryId": "b"}
            assert self.client.post("/v1/users", user).status == 201
        return names

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json_of(self.client.get(PATH))
        return found

    def listed(self, index: str = "beneficiaryId=b") -> list[str]:
        answer = self.client.get(f"/v1/users?{index}&limit=500")
        assert answer.status == 200, answer.body
        return sorted(user["userId"] for user in json_of(answer)["items"])


def test_it_runs_to_its_end_while_the_api_answers_and_nobody_calls_it_but_the_stream_and_a_clock() -> None:
    stage = Stage()
    names = stage.add_users(20)
    started = stage.client.post(PATH, SIXTEEN)
    assert (started.status, json_of(started)["phase"]) == (202, "dual_old")
    phases = []
    for second in range(40):
        stage.pass_time(1)
        phases.append(stage.status()["phase"])
        assert stage.listed() == sorted(names)
        name = f"late-{second}"
        user = {"userId": name, "firstName": "Bob", "lastName": "C", "beneficiaryId": "b"}
        assert stage.client.post("/v1/users", user).status == 201
        assert stage.client.patch(f"/v1/users/{names[0]}", {"phone": str(second)}).status == 200
        gone = names.pop(1) if second % 5 == 0 and len(names) > 5 else None
        if gone is not None:
            assert stage.client.delete(f"/v1/users/{gone}").status == 204
        names.append(name)
        if not stage.status()["moving"]:
            break
    assert list(dict.fromkeys(phases)) == ["dual_old", "dual_new", "new_only", "purge", "stable"]
    assert (stage.status()["shards"], stage.status()["attention"]) == (16, "")
    assert stage.listed() == sorted(names)
    for name in names:
        assert json_of(stage.client.get(f"/v1/users/{name}"))["userId"] == name


def test_changes_that_come_twice_and_a_driver_that_is_replaced_make_no_difference() -> None:
    stage = Stage()
    names = stage.add_users(8)
    stage.client.post(PATH, SIXTEEN)
    for _ in range(20):
        stage.pass_time(1, times=2)
        stage.driver = stage.new_driver()
    assert stage.status()["phase"] == "stable"
    assert stage.listed() == names


def test_without_any_change_the_clock_alone_gets_it_there() -> None:
    stage = Stage()
    names = stage.add_users(8)
    stage.client.post(PATH, SIXTEEN)
    for _ in range(200):
        stage.driver.wake()
        stage.clock.now += 500
    assert (stage.status()["phase"], stage.listed()) == ("stable", names)


class SlowMover(Mover):
    """A slice of it takes five seconds, as a page at a low rate does."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.passed_ms = 0
        self.slices = 0

    def slice(self, entity: EntityType[Any], name: WorkItem, slice_ms: int | None = None) -> WorkItem | None:
        self.passed_ms += 5_000
        self.slices += 1
        return name


def test_a_wake_ends_in_time_however_many_items_there_are_and_however_slow_each_is() -> None:
    stage = Stage()
    stage.add_users(1)
    assert stage.client.post(PATH, {"charBits": 2, "chars": 3, "rate": 1}).status == 202
    parts = stage.service.parts
    assert parts.maps is not None
    names = iter(range(10**6))
    common = {"new_token": lambda: f"token-{next(names)}", "clock": stage.clock}
    mover = SlowMover(parts.table, WAITS, owner="slow", **common)
    coordinator = Coordinator(parts.table, WAITS, **common)
    monotonic = {"monotonic": lambda: mover.passed_ms, "budget_ms": 6_000}
    driver = ReshardDriver(parts.schema, coordinator, mover, parts.maps, clock=stage.clock, **monotonic)
    driver.wake()
    assert (mover.slices, mover.passed_ms) == (2, 10_000)


def test_what_another_program_writes_in_the_old_space_is_copied_as_its_change_comes() -> None:
    stage = Stage()
    stage.add_users(1)
    stage.client.post(PATH, SIXTEEN)
    stage.pass_time(1)
    assert stage.status()["phase"] == "dual_old"
    entity = stage.service.parts.schema.entity("user")
    record = {"userId": "other", "created": stage.clock.now, "updated": stage.clock.now, "beneficiaryId": "b"}
    names = {"firstName": "O", "lastName": "P", "firstNameCanonical": "o", "lastNameCanonical": "p"}
    stage.service.parts.table.run(PutItem(entity.keys.build(record | names, entity.shard_map) | record | names))
    stage.pass_time(30)
    assert stage.status()["phase"] == "stable"
    assert "other" in stage.listed()


def test_an_estimate_starts_nothing() -> None:
    stage = Stage()
    stage.add_users(9)
    estimate = json_of(stage.client.post(f"{PATH}/estimate", SIXTEEN))
    assert (estimate["shardsFrom"], estimate["shardsTo"]) == (4, 16)
    assert estimate["copyUnits"] > estimate["emptyUnits"] > 0
    assert estimate["waitSeconds"] == 15
    assert estimate["checkSeconds"] >= 1
    slow = json_of(stage.client.post(f"{PATH}/estimate", {**SIXTEEN, "rate": 1}))
    assert slow["copySeconds"] == slow["emptySeconds"] == slow["records"] > estimate["emptySeconds"]
    assert stage.status()["moving"] is False


@pytest.mark.parametrize(("chars", "warned"), [(2, False), (3, True)])
def test_an_estimate_warns_of_more_shards_than_records(chars: int, warned: bool) -> None:
    stage = Stage()
    stage.add_users(9)
    estimate = json_of(stage.client.post(f"{PATH}/estimate", {"charBits": 2, "chars": chars}))
    assert ("more shards than records" in estimate.get("warning", "")) is warned


def test_another_rate_over_http() -> None:
    stage = Stage()
    stage.add_users(5)
    problem_of(stage.client.post(f"{PATH}/rate", {"rate": 50}), 409, "reshard_refused")
    stage.client.post(PATH, SIXTEEN)
    for body in ({}, {"rate": -1}, {"rate": 100_001}, {"rate": "50"}, {"rate": 50, "more": 1}):
        problem_of(stage.client.post(f"{PATH}/rate", body), 400, "validation_failed")
    for rate in (50, 0):
        answer = stage.client.post(f"{PATH}/rate", {"rate": rate})
        assert (answer.status, json_of(answer)["rate"], stage.status()["rate"]) == (200, rate, rate)
    stage.client.post(f"{PATH}/rate", {"rate": 100_000})
    stage.pass_time(60)
    status = stage.status()
    assert (status["phase"], status["shards"], status["rate"]) == ("stable", 16, 0)
    problem_of(stage.client.post(f"{PATH}/rate", {"rate": 50}), 409, "reshard_refused")


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_an_estimate_of_few_records_counts_them(count: int) -> None:
    stage = Stage()
    stage.add_users(count)
    estimate = json_of(stage.client.post(f"{PATH}/estimate", SIXTEEN))
    assert (estimate["records"], "averageBytes" in estimate) == (count, count > 0)


def test_taken_back_over_http() -> None:
    stage = Stage()
    names = stage.add_users(5)
    stage.client.post(PATH, SIXTEEN)
    stage.pass_time(1)
    problem_of(stage.client.post(PATH, SIXTEEN), 409, "conflict")
    assert stage.client.post(f"{PATH}/abort", {}).status == 202
    stage.pass_time(12)
    assert (stage.status()["phase"], stage.status()["shards"]) == ("stable", 4)
    assert stage.listed() == names
    problem_of(stage.client.post(f"{PATH}/abort", {}), 409, "reshard_refused")
    problem_of(stage.client.post(f"{PATH}/resume", {}), 409, "reshard_refused")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"charBits": 2, "chars": 1}, 409, "reshard_refused"),
        ({"charBits": 3, "chars": 1}, 409, "reshard_refused"),
        ({"charBits": 6, "chars": 1}, 400, "validation_failed"),
        ({"charBits": "2", "chars": 2}, 400, "validation_failed"),
        ({"chars": 2}, 400, "validation_failed"),
        ({"charBits": 2, "chars": 2, "more": 1}, 400, "validation_failed"),
    ],
)
def test_a_target_that_can_not_work_is_refused(body: dict[str, Any], status: int, code: str) -> None:
    stage = Stage()
    for path in (PATH, f"{PATH}/estimate"):
        problem = problem_of(stage.client.post(path, body), status, code)
        assert problem["where"] == ("body" if status == 400 else problem["where"])
    assert stage.status()["moving"] is False


def test_without_operators_there_are_no_such_paths_and_else_nobody_in_particular_is_refused() -> None:
    closed, others = Stage(""), Stage("arn:aws:iam::123456789012:user/somebody")
    for client, status, code in ((closed.client, 404, "route_not_found"), (others.client, 401, "unauthenticated")):
        problem_of(client.get(PATH), status, code)
        problem_of(client.post(PATH, SIXTEEN), status, code)
