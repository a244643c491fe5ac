"""What a tenant may ask for in a minute, and that nobody else pays for it."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.api.operators import Operators
from shardweave.api.rate_limit import MINUTE_MS, RateLimit, Rates, owner_of
from shardweave.errors import ConfigurationError, RateExceeded, TableFull, TableUnavailable
from shardweave.schema.caller import Caller
from shardweave.service.build import Service
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Operation, PutItem, Query, Scan, UpdateItem
from tests.unit.access_world import TENANTS, Person, person
from tests.unit.api_world import Clock, CountedTable, problem_of, user_service

ANN, BOB = (Caller(name, json.dumps([tenant])) for name, tenant in (("ann", "acme"), ("bob", "bolt")))
ISSUES = "issue_tracker"


class Minutes:
    """Processes that share a table, one bucket a tenant."""

    def __init__(self, rates: Rates, processes: int = 1) -> None:
        self.clock = Clock()
        self.table = CountedTable(EmbeddedTable(TENANTS.layout, clock=lambda: self.clock() / 1000))
        self.processes = [RateLimit(TENANTS, self.table, rates, self.clock) for _ in range(processes)]

    def ask(self, caller: Caller = ANN, process: int = 0) -> int:
        """0 where the request is let in, else after how many seconds there is room."""
        try:
            with self.processes[process].spending(caller):
                return 0
        except RateExceeded as refused:
            return refused.retry_after_seconds

    @property
    def writes(self) -> int:
        return self.table.asked_since().count("UpdateItem")


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_tenant_makes_as_many_requests_in_a_minute_as_it_may_and_is_told_when_there_is_room() -> None:
    minutes = Minutes(Rates(requests=3))
    assert [minutes.ask() for _ in range(3)] == [0, 0, 0]
    seconds = minutes.ask()
    assert 1 <= seconds <= 60
    minutes.clock.now += seconds * 1000 - 1000
    assert minutes.ask() == 1, "not a second earlier"
    minutes.clock.now += 1000
    assert [minutes.ask() for _ in range(3)] == [0, 0, 0]


def test_all_callers_of_a_tenant_share_and_no_other_tenant_pays() -> None:
    minutes = Minutes(Rates(requests=2))
    another = Caller("another", ANN.tenant)
    assert (minutes.ask(ANN), minutes.ask(another)) == (0, 0)
    assert min(minutes.ask(ANN), minutes.ask(another)) > 0
    assert minutes.ask(BOB) == 0


def test_who_acts_for_no_tenant_has_a_bucket_of_its_own() -> None:
    """And nobody has that of a tenant by a name that is written like one."""
    owners = [
        owner_of(each)
        for each in (
            ANN,
            Caller("ann"),
            Caller("ann", '[""]'),
            Caller("bob", '[""]'),
            Caller(ANN.tenant),
            Caller("ann", '["", "acme"]'),
        )
    ]
    assert owners[1] == owners[2]
    assert len(set(owners)) == len(owners) - 1


def test_a_process_that_is_busy_for_a_tenant_writes_a_few_times_a_second() -> None:
    minutes = Minutes(Rates(requests=60 * 64))
    assert {minutes.ask() for _ in range(640)} == {0}
    assert minutes.writes <= 6 + 10, "1, 2, 4, ... 64 and then 64 each"
    for _ in range(20):
        minutes.clock.now += 1000
        assert minutes.ask() == 0
    assert minutes.writes <= 20, "never more than one a request"


def test_what_is_refused_costs_a_process_one_write_a_minute() -> None:
    minutes = Minutes(Rates(requests=2), processes=2)
    assert [minutes.ask() for _ in range(2)] == [0, 0]
    assert minutes.writes == 2
    assert all(minutes.ask(process=process) > 0 for _ in range(50) for process in (0, 1))
    assert minutes.writes == 2


@pytest.mark.parametrize("rates", [Rates(requests=3), Rates(read_units=5), Rates(3, 5)], ids=str)
@pytest.mark.parametrize("name", ["_requests", "_readUnits"])
@pytest.mark.parametrize("value", ["x", ["x"], {"a": 1}, b"x", True, None], ids=repr)
def test_a_minute_that_another_program_damaged_is_a_new_one(rates: Rates, name: str, value: Any) -> None:
    minutes = Minutes(rates, processes=2)
    assert minutes.ask() == 0
    (record,) = minutes.table.inner.run(Scan()).items
    minutes.table.inner.run(PutItem({**record, name: value}))
    asked = [minutes.ask(process=1) for _ in range(4)]
    assert asked[0] == 0, "it is let in, and the others as of any minute"
    assert (asked[3] > 0) == bool(rates.requests)
    (record,) = minutes.table.inner.run(Scan()).items
    assert type(record["_requests"]) is int


def test_records_of_minutes_go_by_themselves() -> None:
    minutes = Minutes(Rates(requests=2))
    minutes.ask()
    (record,) = minutes.table.inner.run(Scan()).items
    assert 60 < record[TENANTS.layout.ttl_attribute or ""] - minutes.clock() // 1000 <= 3600
    assert TENANTS.entity_of_key(record[TENANTS.hash_key]) is None
    assert "acme" not in str(record)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from([0, 0, 1, 300, 2000, 40_000])))
met: Counter[str] = Counter()


@settings(max_examples=60)
@given(st.sampled_from([1, 2, 5, 130, 600]), STEPS.filter(len), st.integers(1, 40))
def _never_more_than_the_limit(limit: int, steps: list[tuple[int, int, int]], times: int) -> None:
    minutes = Minutes(Rates(requests=limit), processes=3)
    let_in: Counter[Any] = Counter()
    for process, tenant, later in steps:
        caller = (ANN, BOB)[tenant]
        for _ in range(times):
            bucket = minutes.processes[process]._bucket(owner_of(caller))
            minute = (tenant, (minutes.clock() + bucket.offset_ms) // MINUTE_MS)
            refused = minutes.ask(caller, process)
            let_in[minute] += not refused
            met["let in" if not refused else "refused"] += 1
            if refused:
                unused = sum(
                    other._bucket(owner_of(caller)).tokens
                    for other in minutes.processes
                    if other._bucket(owner_of(caller)).minute == minute[1]
                )
                lost = 3 * max(1, limit // 60)
                assert let_in[minute] + max(unused, lost) >= limit, "refused, and there was room"
            assert let_in[minute] <= limit
        minutes.clock.now += later


def test_however_processes_and_tenants_take_turns_no_minute_has_more_than_its_limit() -> None:
    met.clear()
    _never_more_than_the_limit()
    assert {name: met[name] for name in ("let in", "refused") if met[name] < 300} == {}


# -- read units --------------------------------------------------------------------------------------------------------


def service(watch: Any = lambda table: table, **rates: int) -> tuple[Service, Clock]:
    clock = Clock()
    found = user_service(
        clock, watch=watch, service=ISSUES, rates=Rates(**rates), operators=Operators.of_text("group:operators")
    )
    return found, clock


def of_tenant(found: Service, number: int, *groups: str) -> Person:
    return person(found.api, "ann", *groups, tenant=f"00000000-0000-4000-8000-00000000000{number}")


class UnitsTable(CountedTable):
    """A table that adds up what its reads cost, and from which threads they came."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.units = 0.0
        self.threads: set[int] = set()

    def run(self, operation: Operation[Any], **options: Any) -> Any:
        answer = super().run(operation, **options)
        if isinstance(operation, Query):
            self.units += answer.units
            self.threads.add(threading.get_ident())
        return answer


def test_read_units_of_a_minute_are_those_that_requests_spent_on_whatever_thread() -> None:
    clock, tables = Clock(), list[UnitsTable]()

    def watch(table: Any) -> UnitsTable:
        tables.append(UnitsTable(table))
        return tables[-1]

    found = user_service(clock, watch=watch, rates=Rates(read_units=20))
    (table,), ann, bob = tables, person(found.api, "ann"), person(found.api, "bob")
    path = "/v1/users?firstNameCanonical.prefix=ja&limit=2"
    assert ann.get(path).status == 200
    one = table.units
    assert one >= 2
    assert table.threads - {threading.get_ident()}
    while (last := ann.get(path)).status == 200:
        assert table.units < 20 + 2 * one
    assert table.units >= 20
    assert "20 read units" in problem_of(last, 429, "rate_exceeded")["detail"]
    assert bob.get(path).status == 200
    clock.now += int(last.headers["retry-after"]) * 1000
    assert ann.get(path).status == 200


# -- over HTTP ---------------------------------------------------------------------------------------------------------


def test_who_has_asked_too_often_gets_429_with_when_to_come_back_and_nothing_is_done() -> None:
    found, clock = service(requests=2)
    acme, bolt = of_tenant(found, 1), of_tenant(found, 2)
    assert [acme.get("/v1/projects").status for _ in range(2)] == [200, 200]
    refused = acme.post("/v1/projects", {"junk": 1})
    problem = problem_of(refused, 429, "rate_exceeded")
    seconds = int(refused.headers["retry-after"])
    assert problem["fix"] == f"ask again in {seconds} s"
    assert bolt.get("/v1/projects").status == 200
    assert acme.get("/openapi.json").status == 200, "what it costs is no tenant's"
    clock.now += seconds * 1000
    assert acme.get("/v1/projects").status == 200


def test_a_request_that_is_refused_for_what_it_says_counts_too() -> None:
    found, _ = service(requests=2)
    acme = of_tenant(found, 1)
    assert [acme.get("/v1/projects?junk=1").status for _ in range(3)] == [400, 400, 429]


def test_operators_act_whatever_their_tenant_has_spent() -> None:
    found, _ = service(requests=1)
    operator = of_tenant(found, 1, "operators")
    assert [operator.get("/v1/projects").status for _ in range(2)] == [200, 429]
    for _ in range(3):
        assert operator.get("/v1/_reshard/issue").status == 200


def test_the_document_says_429_of_what_is_counted_where_there_is_a_limit() -> None:
    found, _ = service(requests=1000)
    paths = json.loads(found.api.openapi)["paths"]
    counted = {
        path: "rate_exceeded" in str(each["responses"].get("429"))
        for path, methods in paths.items()
        for each in methods.values()
    }
    uncounted = (
        "/openapi.json",
        "/v1/_doctor",
        "/v1/_reshard/",
        "/v1/_events/",
        "/v1/_explorer",
        "/v1/_shards/",
        "/explorer",
    )
    assert {path for path, said in counted.items() if not said} == {
        path for path in counted if path.startswith(uncounted)
    }
    unlimited, _ = service()
    assert "rate_exceeded" not in unlimited.api.openapi.decode().replace('"urn:shardweave:error:rate_exceeded"', "")


def failing(error: Exception) -> Any:
    def watch(table: Any) -> Any:
        def hook(operation: Operation[Any]) -> None:
            if isinstance(operation, UpdateItem) and str(operation.key["hashKey"]).startswith("_rate"):
                raise error

        return Hooked(table, hook)

    return watch


class Hooked(CountedTable):
    """A table with a hook that sees every operation before it runs, and may raise."""

    def __init__(self, inner: Any, hook: Any) -> None:
        super().__init__(inner)
        self._hook = hook

    def run(self, operation: Operation[Any], **options: Any) -> Any:
        self._hook(operation)
        return super().run(operation, **options)


def test_where_nothing_can_be_counted_a_request_is_refused_but_for_a_full_table() -> None:
    found, _ = service(failing(TableUnavailable("gone")), requests=5)
    refused = of_tenant(found, 1).get("/v1/projects")
    problem_of(refused, 503, "table_unavailable")
    assert refused.headers["retry-after"] == "1"
    found, _ = service(failing(TableFull("full")), requests=1)
    assert [of_tenant(found, 1).get("/v1/projects").status for _ in range(3)] == [200, 200, 200]


@pytest.mark.parametrize("rates", [{"requests": -1}, {"read_units": 100_000_001}])
def test_a_limit_that_can_not_be_is_refused(rates: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(rates))):
        Rates(**rates)
