"""Fixtures for tests of the API: the user service on a table in memory, a client that speaks to the API without a
network, and a schema with every type of property.

Part      every type of property; one is named like a list parameter; an index that projects three properties
Shelf     found by two properties
Counter   there is one
"""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from threading import Lock
from types import ModuleType
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from shardweave.api.app import Api, Observation
from shardweave.api.expansion import MAX_RELATED
from shardweave.api.graphql.options import GraphQL
from shardweave.api.http import Response
from shardweave.api.lambda_event import event_of
from shardweave.api.problems import MEDIA_TYPE, STATUSES, TYPE_PREFIX, Problem
from shardweave.keys.shard_key import ExternalKeys
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.fanout import DEFAULT_THROTTLE, Outcome
from shardweave.query.runner import Observer, QueryRunner
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.service.build import Parts, Service, Settings, build, operations_of
from shardweave.store import Store
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from shardweave.table.operations import Operation, Query
from shardweave.table.retry import RetryClock
from shardweave.values.codecs import DecimalCodec, Timestamp, TimestampSeconds
from tests.unit.openapi_answers import described_by, document_of

NOW = 1_730_000_000_000
CURSOR_KEYS = CursorKeys("one", {"one": b"0123456789abcdef0123456789abcdef"})

EXTERNAL_KEYS = ExternalKeys("one", {"one": b"fedcba9876543210fedcba9876543210"})


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: int = NOW

    def __call__(self) -> int:
        return self.now


class Stopwatch:
    """Seconds that pass only where a test says so: `passes` inside a read makes that read as slow. What took longer
    than there was time for is late, and nothing else, whatever the machine's speed."""

    def __init__(self) -> None:
        self.now = 0.0
        self._lock = Lock()

    def passes(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds

    def comes(self, moment: float) -> None:
        """It is this moment, or later."""
        with self._lock:
            self.now = max(self.now, moment)

    def monotonic(self) -> float:
        return self.now

    def wait(self, futures: Collection[Future[Outcome[Any]]], seconds: float | None) -> Collection[Future[Any]]:
        """The reads that took no longer, when all have ended."""
        return {each for each in futures if seconds is None or each.result().milliseconds <= 1000 * seconds}

    @property
    def waiting(self) -> RetryClock:
        return RetryClock(self.passes, lambda: 0.5, self.monotonic)


@dataclass
class Client:
    """Speaks to an API as the local server does: from a raw target and bytes."""

    api: Api
    seen: list[Observation] = field(default_factory=list)

    def request(
        self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Response:
        path, _, query = target.partition("?")
        return self.answer(event_of(method, path, query, headers or {}, body))

    def answer(self, event: Mapping[str, Any], context: Any = None) -> Response:
        """The answer to an event. What holds for every answer is checked here, for all tests."""
        answer = self.api.resolve(event, context)
        check_answer(self.api, event, answer)
        return Response(answer["statusCode"], answer["body"].encode(), checked_headers(answer["headers"]))

    def send(
        self, method: str, target: str, document: Any, media_type: str = "application/json", **headers: str
    ) -> Response:
        """Header names are given with `_` for `-`."""
        more = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.request(method, target, json.dumps(document).encode(), {"content-type": media_type, **more})

    def get(self, target: str, **headers: str) -> Response:
        return self.request("GET", target, headers={name.replace("_", "-"): headers[name] for name in headers})

    def post(self, target: str, document: Any, **headers: str) -> Response:
        return self.send("POST", target, document, **headers)

    def patch(self, target: str, document: Any, **headers: str) -> Response:
        return self.send("PATCH", target, document, "application/merge-patch+json", **headers)

    def put(self, target: str, document: Any, **headers: str) -> Response:
        return self.send("PUT", target, document, **headers)

    def delete(self, target: str, **headers: str) -> Response:
        return self.request("DELETE", target, headers={name.replace("_", "-"): headers[name] for name in headers})


def check_answer(api: Api, event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Every answer is as the OpenAPI document says."""
    method, path = event["requestContext"]["http"]["method"], event["rawPath"]
    document = document_of(api)
    if document is not None:
        document.check(method, path, answer["statusCode"], answer["headers"], answer["body"].encode())


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer without the name of its request. Every answer, of whatever kind, has that, and says that
    nobody may keep it for others nor guess its type."""
    assert headers["x-request-id"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    return {name: text for name, text in headers.items() if name != "x-request-id"}


class CountedTable:
    """A table that keeps every operation that it was asked for."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout: TableLayout = inner.layout
        self.guards_inside_writes = inner.guards_inside_writes
        self.asked: list[Operation[Any]] = []

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        self.asked.append(operation)
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()

    def asked_since(self) -> list[str]:
        """The names of the operations since the last call."""
        names = [type(each).__name__ for each in self.asked]
        self.asked.clear()
        return names


class WatchedTable:
    """A table with a hook that sees every query before it runs, and may raise or wait."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout: TableLayout = inner.layout
        self.guards_inside_writes = inner.guards_inside_writes
        self.before: Callable[[Query], None] = lambda query: None
        self.queries = 0

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, Query):
            self.queries += 1
            self.before(operation)
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()


def json_of(response: Response) -> Any:
    """The JSON of an answer."""
    return json.loads(response.body)


def user_service(
    clock: Clock | None = None,
    *,
    watch: Callable[[Table], Table] = lambda table: table,
    stopwatch: Stopwatch | None = None,
    observe_query: Observer | None = None,
    **settings: Any,
) -> Service:
    """The user service on a new table in memory. `watch` may put something before the table."""
    clock, stopwatch = clock or Clock(), stopwatch or Stopwatch()
    service = build(
        Settings(cursor_keys=CURSOR_KEYS, **settings),
        open_table=lambda layout: watch(EmbeddedTable(layout, clock=lambda: clock() / 1000)),
        clock=clock,
        waiting=stopwatch.waiting,
        wait=stopwatch.wait,
        observe_query=observe_query,
    )
    described_by(service.api, (service.settings.service, bool(service.settings.rates)))
    return service


def api_of(
    schema: Schema,
    clock: Clock | None = None,
    *,
    table: Table | None = None,
    max_units: float | None = None,
    max_related: int = MAX_RELATED,
    throttle: int = DEFAULT_THROTTLE,
    stopwatch: Stopwatch | None = None,
    graphql: GraphQL | None = None,
    **options: Any,
) -> Api:
    """The API of a schema on a table, by default a new one in memory, with its GraphQL where that is given."""
    clock, stopwatch = clock or Clock(), stopwatch or Stopwatch()
    table = table or EmbeddedTable(schema.layout, clock=lambda: clock() / 1000)
    waiting = stopwatch.waiting
    queries = QueryRunner(
        schema,
        table,
        CURSOR_KEYS,
        maps=StaticMaps(),
        clock=clock,
        sleep=waiting.sleep,
        jitter=waiting.random,
        monotonic=waiting.monotonic,
        wait=stopwatch.wait,
        max_units=max_units,
        throttle=throttle,
    )
    store = Store(schema, table, maps=StaticMaps(), clock=clock, waiting=waiting, first=queries.first)
    parts = Parts(schema, table, store, queries, EXTERNAL_KEYS)
    module = ModuleType("no_operations_of_its_own")
    module.graphql = graphql  # type: ignore[attr-defined]
    operations = operations_of(module, parts, max_related=max_related)
    described = schema if graphql is None else (schema, "graphql")
    return described_by(
        Api(operations, title="Test", claims=parts.access.claims, restricted=parts.access.restricts, **options),
        described,
    )


def problem_of(response: Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, which has to be a whole and valid one of this status and code."""
    assert response.headers["content-type"] == MEDIA_TYPE
    document: dict[str, Any] = json_of(response)
    assert document == Problem.model_validate(document, strict=True).model_dump(exclude_unset=True)
    assert response.status == document["status"]
    assert (response.status, document["type"]) == (status, TYPE_PREFIX + code)
    assert document["title"]
    assert document["detail"]
    return document


CODES = frozenset(kind.code for kind in STATUSES) | {"internal_error"}


def code_of(response: Response) -> str:
    """The code of an answer that must be a problem document."""
    document = Problem.model_validate_json(response.body, strict=True)
    assert response.headers["content-type"] == MEDIA_TYPE
    assert document.status == response.status >= 400
    code = document.type.removeprefix(TYPE_PREFIX)
    assert code in CODES
    return code


# -- a schema with every type of property -----------------------------------------------------------------------------


class State(enum.Enum):
    NEW = "new"
    WORN = "worn"


class Part(Entity, token="part", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A part in store."""

    sku: Annotated[str, Field(pattern="^[a-z0-9/ .é-]+$")] = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    state: State = State.NEW
    urgent: bool = False
    number: int | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None
    weight: float | None = None
    made: dt.date | None = None
    seen: dt.datetime | None = None
    checked: TimestampSeconds | None = None
    serial: UUID | None = None
    image: bytes | None = None
    tags: set[str] = Field(default_factory=set)
    labels: dict[str, Any] = Field(default_factory=dict)
    limit: str | None = None

    state_hash_key = HashKey("state", "urgent")
    number_range_key = RangeKey("number", "price")
    day_range_key = RangeKey("made", "seen")
    serial_range_key = RangeKey("serial", "checked")


class Shelf(Entity, token="shelf", collection="shelves", partition="room", sort="number"):
    """A shelf, which its room and its number identify."""

    room: str
    number: int
    note: str | None = None


class Counter(Entity, token="counter", singleton=True):
    """How many parts there are."""

    total: int


PARTS = Schema(
    entities=[Part, Shelf, Counter],
    indexes=[
        Index("byState", "state_hash_key", "number_range_key"),
        Index("byDay", "hash_key", "day_range_key"),
        Index("bySerial", "hash_key", "serial_range_key", projection=("sku", "price", "tags")),
        Index("byLimit", "hash_key", "limit"),
    ],
)
