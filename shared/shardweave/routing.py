"""Routes of a service's own: a function whose signature says what a request has to give, and what it may use.

    @post("/v1/order-notes/{order_id}", tag="orders", errors=(errors.NotFound,))
    def add_note(order_id: str, given: NewNote, database: Database, clock: Clock) -> Note:
        '''A note on an order.

        The caller must be able to see the order.'''

Every route of a module is served, and described in the OpenAPI document, as those of its entities are: the first line
of its text is the summary, the rest the description. A parameter is what its type says:

    a pydantic model      the body: a JSON object that fits it, every fault listed
    `Database`            the records of the caller: rules and claims hold in every method
    `EveryRecord`         the records of everybody; whoever takes it sees to rights itself
    `Caller`, `Clock`     who asks; the epoch milliseconds
    `TimeLeft`            the milliseconds that are left to answer
    `Annotated[UUID, Claim("tenant")]`   the value of a claim, of any type that has a text
    any other             one of the path, where the path has its name, else of the query, by its camelCase name;
                          `Annotated[str, Field(description=...)]` describes it, a default makes it optional

What it gives is answered by the return type:

    an entity             200 with the record and its ETag; 304 to a GET that has it; 404 for None
    a pydantic model      its JSON; fields that are entities as they are shown everywhere
    a `RecordView`        a record without some of its properties, and with members more
    None                  204
    `Listed[...]`         a page of entities, or of another form of them: `listed(...)`, or `listed_by(...)` with a
                          lookup, says which records, the request which page
    `Writes[...]`         writes that are one transaction: `writes(...)`; a request that is repeated with its
                          Idempotency-Key is answered as the first time; `Writes[tuple[A, B]]` shows the records by
                          their tokens

Another route that is no GET may be repeated with a key too: what it gave is kept once it is done.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, ParamSpec

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from typing_extensions import TypeVar

from .database.database import Database
from .errors import ConfigurationError, ShardweaveError
from .query.shorthand import constraints
from .query.spec import BranchSpec, Constraint, OneOf
from .schema.caller import Caller
from .schema.entity import Entity
from .schema.property import Property
from .store.operations import Operation
from .table.conditions import Condition
from .values.codecs import codec_of

__all__ = [
    "Caller",
    "Claim",
    "Clock",
    "EveryRecord",
    "JsonModel",
    "JsonType",
    "Listed",
    "RecordView",
    "Route",
    "TimeLeft",
    "Writes",
    "delete",
    "get",
    "listed",
    "listed_by",
    "patch",
    "post",
    "put",
    "writes",
]

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=Entity, default=Any)
M = TypeVar("M", default=Any)
N = TypeVar("N", default=None)
T = TypeVar("T", default=Any)
V = TypeVar("V")
W = TypeVar("W")

ANY_CALLER = object()
EveryRecord = Annotated[Database, ANY_CALLER]
"""The records of everybody."""


class Clock:
    """Gives epoch milliseconds when it is called."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def __call__(self) -> int:
        return self._now_ms()


class TimeLeft:
    """Gives the milliseconds that are left to answer the request; infinity where nothing ends it."""

    def __init__(self, left_ms: Callable[[], float]) -> None:
        self._left_ms = left_ms

    def __call__(self) -> float:
        return self._left_ms()


@dataclass(frozen=True)
class Claim:
    """The claim of the caller's token that gives a parameter its value. Who has none is refused with 401 or 403."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError("must be the name of a claim", where="Claim(...)", fix='give "tenant", say')


class JsonModel(BaseModel):
    """A body or an answer: names in JSON are camelCase, and no others are taken."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )


class RecordView(JsonModel, Generic[E]):
    """A record as it is shown everywhere, without the properties that `hidden` names, and with the members that a
    subclass declares."""

    hidden: ClassVar[frozenset[str]] = frozenset()
    record: E


class JsonType:
    """A type that JSON values are read as, as strictly as the properties of records are: for a value whose type
    depends on others."""

    def __init__(self, annotation: Any) -> None:
        self._annotation = annotation

    def read(self, value: Any, *where: str | int) -> Any:
        """The value in Python. Raises ValidationFailed, which names the place in the body."""
        return self._property.read_json(value, where)

    @cached_property
    def _property(self) -> Property:
        codec = codec_of(self._annotation)
        return Property("value", "value", self._annotation, codec, None, required=True, has_default=False)


@dataclass(frozen=True)
class Listed(Generic[T, N]):
    """Which records a list has, and how they are shown. See `listed` and `listed_by`."""

    entity: type[Entity] | str
    conditions: Mapping[str, Constraint | OneOf]
    index: str | None = None
    filter: Condition | None = None
    branches: Sequence[BranchSpec] | None = None
    reverse: bool = False
    earliest: dt.datetime | int | None = None
    latest: dt.datetime | int | None = None
    row: Callable[[Any], Any] | None = None
    members: BaseModel | None = None
    lookup: str | None = None
    value: Any = None
    within: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: Any = () if self.branches is None else self.branches
        are_branches = isinstance(given, (tuple, list)) and all(isinstance(each, BranchSpec) for each in given)
        for name, is_right, wanted in (
            ("index", self.index is None or isinstance(self.index, str), "the name of an index"),
            ("branches", are_branches, "a list of branches, as `branch` makes them"),
            ("reverse", isinstance(self.reverse, bool), "true or false"),
        ):
            if not is_right:
                raise ConfigurationError(f"must be {wanted}", where=f"listed({name}=...)", fix="correct it")

    def shown_as(self, row: Callable[[T], V]) -> Listed[V, N]:
        """The same list, each record in the form that `row` gives it."""
        return replace(self, row=row)  # type: ignore[return-value]

    def with_members(self, members: W) -> Listed[T, W]:
        """The same list, the page with the members of a model beside its own."""
        return replace(self, members=members)  # type: ignore[return-value, arg-type]


def listed(
    entity: type[E] | str,
    conditions: Mapping[str, Any] | None = None,
    /,
    *,
    index: str | None = None,
    filter: Condition | None = None,
    branches: Sequence[BranchSpec] | None = None,
    reverse: bool = False,
    earliest: dt.datetime | int | None = None,
    latest: dt.datetime | int | None = None,
    **equal: Any,
) -> Listed[E]:
    """The caller's records that meet conditions, as `Database.query` takes them. How many, and from where, the request
    says; its `reverse` is the reverse of this order."""
    asked = constraints(conditions, equal)
    return Listed(entity, asked, index, filter, branches, reverse, earliest, latest)


def listed_by(
    entity: type[E] | str,
    lookup: str,
    value: Any = None,
    /,
    *,
    within: Mapping[str, Any] | None = None,
    filter: Condition | None = None,
    reverse: bool = False,
) -> Listed[E]:
    """The caller's records with a value, or by an ordered lookup those that meet a condition, as `Database.find_by`
    takes them. How many, and from where, the request says; its `reverse` is the reverse of this order."""
    asked = {} if within is None else within
    return Listed(entity, {}, filter=filter, reverse=reverse, lookup=lookup, value=value, within=asked)


@dataclass(frozen=True)
class Writes(Generic[M]):
    """Writes that are one transaction. See `writes`."""

    operations: Sequence[Operation]
    answer: Callable[..., M] | None = None
    refusals: Mapping[type[ShardweaveError], ShardweaveError] = field(default_factory=dict)


def writes(
    *operations: Operation,
    answer: Callable[..., M] | None = None,
    refusals: Mapping[type[ShardweaveError], ShardweaveError] | None = None,
) -> Writes[M]:
    """Writes of the caller's records, all or none. `answer` makes the answer of the records that were written, in their
    order, and is pure; without it they are the answer. `refusals` say what is raised in place of an error."""
    return Writes(operations, answer, refusals or {})


@dataclass(frozen=True)
class Route(Generic[P, R]):
    """A route of a service. Called, it is the function that it was made of."""

    method: str
    path: str
    function: Callable[P, R]
    status: int | None = None
    tag: str = ""
    errors: tuple[type[ShardweaveError], ...] = ()
    idempotency_key: bool = True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """What the operation is called: the function's name in camelCase."""
        return to_camel(self.function.__name__)

    @property
    def texts(self) -> tuple[str, str]:
        """The summary and the description."""
        summary, _, rest = inspect.cleandoc(self.function.__doc__ or "").partition("\n")
        return summary.rstrip("."), " ".join(rest.split())

    @property
    def place(self) -> str:
        """Where it is declared, for errors."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


def get(
    path: str, *, tag: str = "", errors: Sequence[type[ShardweaveError]] = ()
) -> Callable[[Callable[P, R]], Route[P, R]]:
    """A route that reads. `errors` are those that a caller can meet beside those of every route."""
    return _route("GET", path, None, tag, errors)


def post(
    path: str,
    *,
    status: int | None = None,
    tag: str = "",
    errors: Sequence[type[ShardweaveError]] = (),
    idempotency_key: bool = True,
) -> Callable[[Callable[P, R]], Route[P, R]]:
    """A route that does something. It is answered with `status`: by default 201 where a record was made, else 200.
    Without `idempotency_key` a request that is sent again is always carried out again: for work that goes on."""
    return _route("POST", path, status, tag, errors, idempotency_key=idempotency_key)


def put(
    path: str, *, tag: str = "", errors: Sequence[type[ShardweaveError]] = ()
) -> Callable[[Callable[P, R]], Route[P, R]]:
    """A route that puts what it is given in place of what is there."""
    return _route("PUT", path, None, tag, errors)


def patch(
    path: str, *, tag: str = "", errors: Sequence[type[ShardweaveError]] = ()
) -> Callable[[Callable[P, R]], Route[P, R]]:
    """A route that changes what is there."""
    return _route("PATCH", path, None, tag, errors)


def delete(
    path: str, *, tag: str = "", errors: Sequence[type[ShardweaveError]] = ()
) -> Callable[[Callable[P, R]], Route[P, R]]:
    """A route that removes something."""
    return _route("DELETE", path, None, tag, errors)


def _route(
    method: str,
    path: str,
    status: int | None,
    tag: str,
    errors: Sequence[type[ShardweaveError]],
    *,
    idempotency_key: bool = True,
) -> Callable[[Callable[P, R]], Route[P, R]]:
    def made(function: Callable[P, R]) -> Route[P, R]:
        listed = tuple(errors) if isinstance(errors, (tuple, list)) else (errors,)
        found = Route(method, path, function, status, tag, listed, idempotency_key)
        for name, is_right, wanted in (
            ("status", status is None or (type(status) is int and 200 <= status < 300), "a status from 200 to 299"),
            ("tag", isinstance(tag, str), "a text"),
            ("errors", all(map(_is_error, listed)), "a list of error classes of shardweave.errors"),
            ("idempotency_key", isinstance(idempotency_key, bool), "true or false"),
        ):
            if not is_right:
                raise ConfigurationError(
                    f"{name} must be {wanted}", where=found.place, fix="correct it, or leave it out"
                )
        if not isinstance(path, str) or not path.startswith("/v1/"):
            fix = f'give "/v1/{to_camel(function.__name__)}", say'
            raise ConfigurationError("its path must begin with /v1/", where=found.place, fix=fix)
        if inspect.iscoroutinefunction(function):
            raise ConfigurationError("must be a plain function", where=found.place, fix="write def, not async def")
        return found

    return made


def _is_error(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, ShardweaveError)
