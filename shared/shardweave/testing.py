"""What the tests of a program need: a clock to set, a fresh database, and a client of a service's HTTP routes.

    # conftest.py
    import pytest
    import orders

    pytest_plugins = ["shardweave.testing"]

    @pytest.fixture
    def schema():
        return orders.schema()

    @pytest.fixture
    def service():
        return orders

The fixtures are `clock`, `database`, which takes the fixture `schema`, and `client`, which takes the fixture
`service`: a module, or the name of one that ships. Everything is in memory and ends with the test. No test waits: what
pauses lets the clock go on. The classes can also be used without pytest.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType, TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

from .api.app import REQUEST_ID, Observation, Observe
from .api.lambda_event import authorizer_of, event_of, verified_token
from .api.operators import ALL_OPERATORS
from .api.problems import MEDIA_TYPE, TYPE_PREFIX
from .database.database import Database
from .database.read_models import StreamFollower
from .errors import ConfigurationError, InputError
from .keys.shard_key import ExternalKeys
from .query.cursor import CursorKeys
from .schema.schema import Schema
from .service.build import Service, Settings, build
from .store import RetryClock
from .table.embedded import EmbeddedTable
from .values.times import epoch_of

__all__ = ["Answer", "Client", "Clock", "Problem", "ValueProblem", "client", "clock", "database"]

BEGIN = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
_KEY = {"test": b"a secret of tests, known to all of them"[:32]}
_MERGE_PATCH = "application/merge-patch+json"


class Clock:
    """A clock that stands still until a test moves it. Called, it gives epoch milliseconds; `waiting` is for whatever
    pauses, and moves it on instead."""

    def __init__(self, begin: dt.datetime | int = BEGIN) -> None:
        self.now_ms = 0
        self.set(begin)
        self._passed = 0.0

    def __call__(self) -> int:
        return self.now_ms

    def __repr__(self) -> str:
        return f"Clock({self.now_ms})"

    @property
    def now(self) -> dt.datetime:
        """The time, in UTC."""
        return dt.datetime.fromtimestamp(self.now_ms / 1000, dt.UTC)

    def set(self, moment: dt.datetime | int) -> None:
        """It is this moment: a datetime with its zone, or epoch milliseconds."""
        if moment is None:
            raise InputError("must be a moment, got None", where="moment", fix="give a datetime, or epoch milliseconds")
        self.now_ms = epoch_of(moment, "ms", "moment")

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """So much time passes."""
        self._pass(dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds))

    @property
    def waiting(self) -> RetryClock:
        """Pauses that take no time of the test's."""
        return RetryClock(lambda seconds: self._pass(dt.timedelta(seconds=seconds)), lambda: 0.5, lambda: self._passed)

    def _pass(self, time: dt.timedelta) -> None:
        self._passed += time.total_seconds()
        self.now_ms += round(time.total_seconds() * 1000)


@dataclass(frozen=True)
class ValueProblem:
    """One value that does not fit, by its place in what was sent."""

    where: str
    detail: str
    type: str


@dataclass(frozen=True)
class Problem:
    """Why a request was refused. `code` is the error's own, as `errors.NotFound.code` is."""

    code: str
    status: int
    detail: str
    where: str = ""
    fix: str = ""
    values: tuple[ValueProblem, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a service answered. Names of headers are in lower case. `failure` is what was raised behind a 500."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    failure: BaseException | None = field(default=None, compare=False)

    @cached_property
    def json(self) -> Any:
        """The JSON of the body, None where there is none."""
        return json.loads(self.body) if self.body else None

    @property
    def etag(self) -> str | None:
        """The tag of the record's revision, for `if_match`."""
        return self.headers.get("etag")

    @property
    def location(self) -> str:
        """The path of the record that was made. Raises AssertionError where the answer names none."""
        if "location" not in self.headers:
            raise AssertionError(f"answered with {self.status} and no location: {self.problem or 'nothing was made'}")
        return self.headers["location"]

    @cached_property
    def problem(self) -> Problem | None:
        """Why the request was refused; None where it was not."""
        if self.headers.get("content-type") != MEDIA_TYPE:
            return None
        said = self.json
        values = tuple(ValueProblem(each["where"], each["detail"], each["type"]) for each in said.get("errors", ()))
        code = said["type"].removeprefix(TYPE_PREFIX)
        return Problem(code, said["status"], said["detail"], said.get("where", ""), said.get("fix", ""), values)

    def expect(self, status: int) -> Self:
        """This answer, which has to have a status; else the test fails with what was answered, and what was raised."""
        if self.status == status:
            return self
        raise AssertionError(f"answered with {self.status}: {self.problem or self.body.decode()}") from self.failure


@dataclass(frozen=True)
class Client:
    """Asks a service in this process, on a table in memory. Nobody in particular asks, until `as_caller` says who.

    `service` is a module with `schema(key_format)`, the name of a service that ships, or a schema alone. Opened with
    `with`, it closes the service; the clients of its callers share it.
    """

    service: ModuleType | str | Schema
    clock: Clock = field(default_factory=Clock)
    claims: Mapping[str, Any] = field(default_factory=dict)
    _shared: dict[str, Service] = field(default_factory=dict, repr=False)
    _failures: dict[str, BaseException] = field(default_factory=dict, repr=False)
    _followers: dict[str, StreamFollower] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self._shared:
            self._shared["service"] = _built(self.service, self.clock, self._keep_failure)

    def _keep_failure(self, seen: Observation) -> None:
        if seen.failure is not None:
            self._failures[seen.request_id] = seen.failure

    def close(self) -> None:
        """Close the service, once; from then on every request is refused, of the clients of its callers too."""
        built = self._shared.pop("service", None)
        if built is not None:
            built.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """The records of the service."""
        return Database.over(self._built.parts.store, self._built.parts.queries)

    @property
    def openapi(self) -> dict[str, Any]:
        """The service's description of itself."""
        document: dict[str, Any] = json.loads(self._built.api.openapi)
        return document

    def as_caller(
        self,
        subject: str = "somebody",
        *,
        tenant: str | None = None,
        groups: Sequence[str] = (),
        claims: Mapping[str, Any] | None = None,
    ) -> Client:
        """A client whose requests are of a caller, as a verified token says it. `tenant` is the value of the claim that
        records are bound to."""
        _check_caller(groups, tenant, claims)
        found: dict[str, Any] = {"iss": "https://login.example.com/", "sub": subject, **(claims or {})}
        built = self._built
        if groups:
            found["groups"] = list(groups)
        if tenant is not None:
            bound = built.parts.access.claims
            if len(bound) != 1:
                said = ", ".join(bound) or "none"
                raise InputError(f"records are bound to {said}", where="tenant", fix="give claims={...}")
            if found.setdefault(bound[0], tenant) != tenant:
                raise InputError(f"the claims have another {bound[0]}", where="tenant", fix="say it once")
        return replace(self, claims=found)

    # -- requests

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, **parameters: Any) -> Answer:
        """The answer to GET. Parameters are those of the query; with dots in their names they are given as a mapping,
        `**{"name.prefix": "ja"}`."""
        return self.request("GET", path, parameters=parameters, headers=headers)

    def post(self, path: str, document: Any = None, *, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to POST of a JSON document."""
        return self.request("POST", path, document, headers=headers)

    def put(
        self, path: str, document: Any, *, if_match: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to PUT of a JSON document."""
        return self.request("PUT", path, document, headers=_with_condition(headers, if_match))

    def patch(
        self, path: str, document: Any, *, if_match: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to PATCH with a merge patch: null removes a property."""
        return self.request("PATCH", path, document, headers=_with_condition(headers, if_match))

    def delete(self, path: str, *, if_match: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to DELETE."""
        return self.request("DELETE", path, headers=_with_condition(headers, if_match))

    def request(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to any request."""
        path, _, query = path.partition("?")
        asked = urlencode({name: _parameter(value) for name, value in (parameters or {}).items() if value is not None})
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if self.claims:
            sent.setdefault("authorization", f"Bearer {verified_token(self.claims)}")
        if document is not None:
            sent.setdefault("content-type", _MERGE_PATCH if method == "PATCH" else "application/json")
        body = b"" if document is None else json.dumps(document, default=str).encode()
        joined = "&".join(each for each in (query, asked) if each)
        event = event_of(method, quote(path, safe="/%"), joined, sent, body, self._authorizer)
        answered = self._built.api.resolve(event)
        self._follow()
        headers = {name.lower(): value for name, value in answered["headers"].items()}
        failure = self._failures.pop(headers.get(REQUEST_ID, ""), None)
        return Answer(int(answered["statusCode"]), headers, answered["body"].encode(), failure)

    def _follow(self) -> None:
        """Feed the read models of records with what the request has changed, as a deployed service does soon after."""
        if any(each.records for each in self._built.parts.schema.read_models.values()):
            self._followers.setdefault("service", StreamFollower(self._built.parts.store)).follow()

    @property
    def _authorizer(self) -> dict[str, Any]:
        return authorizer_of(self.claims) if self.claims else {}

    @property
    def _built(self) -> Service:
        if "service" not in self._shared:
            raise InputError("it is closed", where="client", fix="use it inside its with block, or make another one")
        return self._shared["service"]


def _built(service: Any, clock: Clock, observe: Observe) -> Service:
    name, module = _named_module(service)
    settings = Settings(
        cursor_keys=CursorKeys("test", _KEY),
        service=name,
        operators=ALL_OPERATORS,
        external_keys=lambda: ExternalKeys("test", _KEY),
    )
    return build(
        settings,
        module=module,
        open_table=lambda layout: EmbeddedTable(layout, clock=lambda: clock() / 1000),
        clock=clock,
        waiting=clock.waiting,
        observe=observe,
    )


def _check_caller(groups: Any, tenant: Any, claims: Any) -> None:
    """Refuses what a caller can't have, never half understood."""
    if isinstance(groups, str) or not all(isinstance(each, str) for each in groups):
        message = f"must be a list of names, got {type(groups).__name__}"
        raise InputError(message, where="groups", fix='give groups=["operators"]')
    if tenant is not None and not isinstance(tenant, str):
        raise InputError(f"must be text, got {type(tenant).__name__}", where="tenant", fix='give tenant="acme"')
    if claims is not None and not isinstance(claims, Mapping):
        message = f"must map claims to values, got {type(claims).__name__}"
        raise InputError(message, where="claims", fix='give claims={"team": "red"}')


def _named_module(service: Any) -> tuple[str, ModuleType | None]:
    if isinstance(service, str):
        return service, None
    if isinstance(service, ModuleType):
        return service.__name__.rpartition(".")[2], service
    if not isinstance(service, Schema):
        fix = "give a module, its name, or a schema"
        raise InputError(f"must be a service, got {type(service).__name__}", where="service", fix=fix)
    module = ModuleType("service")
    module.schema = lambda key_format: service  # type: ignore[attr-defined]
    return module.__name__, module


def _with_condition(headers: Mapping[str, str] | None, if_match: str | None) -> dict[str, str]:
    return {**(headers or {}), **({} if if_match is None else {"if-match": if_match})}


def _parameter(value: Any) -> str:
    """A parameter as it is written in a query: true and false in lower case, what is not text as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, default=str).strip('"')


# -- fixtures -------------------------------------------------------------------------------------------------------

try:
    import pytest

    fixture = pytest.fixture
except ModuleNotFoundError as error:
    if error.name != "pytest":
        raise

    def fixture(function: Any) -> Any:  # type: ignore[misc]
        """A fixture where there is no pytest: it says so to whoever uses it."""

        def missing(*arguments: Any, **named: Any) -> Any:
            raise ConfigurationError(
                f"{function.__name__} is a fixture of pytest, which is not installed",
                where="shardweave.testing",
                fix="`pip install pytest`, or use Client, Clock and Database themselves",
            )

        return missing


@fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


@fixture
def database(schema: Schema, clock: Clock) -> Iterator[Database]:
    """A fresh database in memory, of the fixture `schema`."""
    with Database(schema, clock=clock, waiting=clock.waiting) as opened:
        yield opened


@fixture
def client(service: ModuleType | str | Schema, clock: Clock) -> Iterator[Client]:
    """A client of the fixture `service`, whose `database` has its records."""
    with Client(service, clock) as opened:
        yield opened
