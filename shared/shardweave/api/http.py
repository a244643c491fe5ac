"""Strict parsing of paths and queries, and the answer of an operation.

A path and a query are percent-encoded UTF-8, in which each % begins a byte; a query's pairs come in the order given,
repetitions kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from ..errors import MalformedRequest, ShardweaveError, Unreadable

MAX_QUERY_PAIRS = 200

JSON = "application/json"
KEPT_PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Headers of every answer: it depends on the caller, so it must not be cached, and browsers must not guess its type."""

_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class PageFacts:
    """The number of records of a list, and whether the service failed to return more: lanes failed, the request's own
    time was over, or stored records can't be read (reported or not). A cut by the caller's choices (budget, time limit,
    shown properties) is no failure."""

    items: int
    fell_short: bool


@dataclass(frozen=True)
class Response:
    """An answer. `headers` are its own, names in lower case; `all_headers` has everything but the length. `page`
    describes a list for observers, `places` are the paths of written records, `unreadable` are the unreadable stored
    records that a query met, also those that the answer does not report; `failures` are the errors in the answer beside
    successful parts. `quiet`: the request wrote nothing, so it has no entry in the audit trail, although its operation
    can write."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    page: PageFacts | None = None
    places: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    failures: tuple[ShardweaveError, ...] = ()
    quiet: bool = False

    @classmethod
    def json(cls, status: int, body: bytes, **headers: str) -> Response:
        """An answer whose body is JSON text. Header names are given with `_` for `-`."""
        return cls(status, body, {"content-type": JSON, **{name.replace("_", "-"): headers[name] for name in headers}})

    @property
    def all_headers(self) -> dict[str, str]:
        """Its headers and those of every answer."""
        return {**KEPT_PRIVATE, **self.headers}

    def as_lambda_answer(self) -> dict[str, Any]:
        """The answer as the return value of a Lambda function."""
        headers = self.all_headers
        return {"statusCode": self.status, "headers": headers, "body": self.body.decode(), "isBase64Encoded": False}


def decode_path(raw: str) -> str:
    """A percent-encoded path, decoded. Raises MalformedRequest."""
    _check_encoding(raw, "path")
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        raise MalformedRequest("it is not UTF-8", where="path", fix="percent-encode the UTF-8 bytes") from None


def decode_query(raw: str) -> tuple[tuple[str, str], ...]:
    """The pairs of a query string. Raises MalformedRequest."""
    _check_encoding(raw, "query")
    try:
        return tuple(parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_PAIRS))
    except UnicodeDecodeError:
        raise MalformedRequest("it is not UTF-8", where="query", fix="percent-encode the UTF-8 bytes") from None
    except ValueError:
        fix = f"give at most {MAX_QUERY_PAIRS}"
        raise MalformedRequest("it has too many parameters", where="query", fix=fix) from None


def _check_encoding(raw: str, where: str) -> None:
    if _LONE_PERCENT.search(raw):
        raise MalformedRequest("a % begins no percent-encoded byte", where=where, fix="write %25 for %")
