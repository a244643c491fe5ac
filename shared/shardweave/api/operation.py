"""An operation of the API: one method on one path, with its parameters and answers, as a frozen value.

The same value is registered as a route, checks a request (parameters, media type, JSON) and describes it in the OpenAPI
document, so that the document matches what is accepted. An operation runs only on a `Call`: a request that passed these
checks. Operations don't depend on the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ..errors import ConfigurationError, ShardweaveError
from ..wire.parameter import Parameter, ParameterFamily
from .authorizer_claims import Caller
from .http import JSON, Response

_IN_PATH = re.compile(r"\{\w+\}")

Model = type[BaseModel] | Callable[[], type[BaseModel]]
"""The model of a JSON object, or a function that returns it when the OpenAPI document is made, since most models are
only needed there."""


@dataclass(frozen=True)
class Body:
    """A JSON object that the request carries. `model` describes it, and the operation validates against it. The first
    media type is the one that the document names."""

    model: Model
    media_types: tuple[str, ...] = (JSON,)


@dataclass(frozen=True)
class Answer:
    """The answer of a successful request. `headers` maps names to descriptions."""

    status: int
    description: str
    model: Model | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Beside:
    """A record that a request wrote beside those that it names: its collection, its path, and the effect."""

    collection: str
    place: str
    effect: str


@dataclass(frozen=True)
class Call:
    """A request that fits its operation: path, query and header parameters by name (headers in lower case), and the
    body's JSON object. `time_left_ms` is the time left to answer, None if unknown; `operation` is the operation's name;
    `beside` is called for records that are written beside those that it names."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    time_left_ms: int | None = None
    caller: Caller = field(default_factory=Caller)
    operation: str = ""
    beside: list[Beside] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Operation:
    """One method on one path. `path` is a template (`/v1/users/{key}`) with its parameters at the end, the last of
    which takes the rest of the path; `name` is the operation's id; `also` are other successful answers; `errors` are
    those in addition to the errors of every operation. `audited`: each request gets an entry in the audit trail; the
    default is true unless the method is GET. `counted`: requests count towards the tenant's rate limit. `instead` says
    what to use in place of some query parameters that it does not take. `families` are query parameters that can't be
    listed; the description tells of them. `short_path` is the template without the path parameters in `claims`, whose
    values are those of the caller's claims; then the document has it instead."""

    method: str
    path: str
    name: str
    summary: str
    run: Callable[[Call], Response]
    answer: Answer
    also: tuple[Answer, ...] = ()
    description: str = ""
    tag: str = ""
    path_parameters: tuple[Parameter, ...] = ()
    query_parameters: tuple[Parameter, ...] = ()
    families: tuple[ParameterFamily, ...] = ()
    header_parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    errors: tuple[type[ShardweaveError], ...] = ()
    audited: bool | None = None
    counted: bool = True
    instead: Mapping[str, str] = field(default_factory=dict)
    short_path: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """All templates under which it is reached."""
        return (self.path, self.short_path) if self.short_path else (self.path,)

    @property
    def described_path(self) -> str:
        """The template that the OpenAPI document has."""
        return self.short_path or self.path

    @property
    def full_description(self) -> str:
        """The description, with the parameters that can't be listed."""
        told = [f"`{each.shown}=`: {each.description}" for each in self.families]
        return "\n\n".join(text for text in (self.description, "\n".join(f"- {each}" for each in told)) if text)

    @property
    def is_audited(self) -> bool:
        """Whether each request gets an entry in the audit trail."""
        return self.method != "GET" if self.audited is None else self.audited


def check_distinct(operations: Iterable[Operation]) -> None:
    """Refuse two operations with the same method and path, of which one would never be called, and two with the same
    name. Raises ConfigurationError."""
    by_place: dict[tuple[str, str], Operation] = {}
    by_name: dict[str, Operation] = {}
    for each in operations:
        for path in each.paths:
            other = by_place.setdefault((each.method, _IN_PATH.sub("{}", path)), each)
            if other is not each:
                raise ConfigurationError(
                    f"{other.name!r} has this method and path already",
                    where=f"{each.name}: {each.method} {path}",
                    fix="give the route another path, or remove one of the two",
                )
        other = by_name.setdefault(each.name, each)
        if other is not each:
            raise ConfigurationError(
                f"{other.method} {other.path} is called so already",
                where=f"{each.name}: {each.method} {each.path}",
                fix="give the function of the route another name",
            )


def model_of(model: Model) -> type[BaseModel]:
    """The model itself."""
    return model if isinstance(model, type) else model()
