"""An operation of the API: one method on one path, with all that it takes and answers, as a frozen value.

The same value routes a request, checks it (parameters, media type, JSON) and describes it in the OpenAPI document, so
that what is documented is what is accepted. An operation runs only on a `Call`: a request that passed those checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ..errors import ShardweaveError
from .messages import JSON, Request, Response


@dataclass(frozen=True)
class Parameter:
    """A query or path parameter. `schema` is the JSON schema of its value."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True)
class Body:
    """A JSON object that the request carries. `model` describes it, and the operation validates against it."""

    model: type[BaseModel]
    media_types: tuple[str, ...] = (JSON,)


@dataclass(frozen=True)
class Answer:
    """The answer when all is well. `headers` maps names to descriptions."""

    status: int
    description: str
    model: type[BaseModel] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A request that fits its operation: path and query parameters by name, and the body's JSON object."""

    request: Request
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One method on one path. `path` is a template (`/v1/users/{key}`) whose last parameter takes the rest of the
    path; `name` is the operation's id; `errors` are those that a caller can meet beside those of every operation."""

    method: str
    path: str
    name: str
    summary: str
    run: Callable[[Call], Response]
    answer: Answer
    description: str = ""
    tag: str = ""
    path_parameters: tuple[Parameter, ...] = ()
    query_parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    errors: tuple[type[ShardweaveError], ...] = ()
