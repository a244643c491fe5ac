"""An HTTP request and its answer, as values: what every adapter (Lambda, the local server, a test) makes and takes.

A request's path is decoded once and whole, so a `/` that was percent-encoded in it is a `/`; its query is decoded
pairs in the order given, repetitions kept; its header names are in lower case. Nothing here knows routes or records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from ..errors import MalformedRequest

MAX_QUERY_PAIRS = 200

JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """What it gets. `headers` has everything but the length."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, status: int, body: bytes, **headers: str) -> Response:
        """An answer whose body is JSON text. Header names are given with `_` for `-`."""
        return cls(status, body, {"content-type": JSON, **{name.replace("_", "-"): headers[name] for name in headers}})


def decode_path(raw: str) -> str:
    """A percent-encoded path, decoded. Raises MalformedRequest."""
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        raise MalformedRequest("it is not UTF-8", where="path", fix="percent-encode the UTF-8 bytes") from None


def decode_query(raw: str) -> tuple[tuple[str, str], ...]:
    """The pairs of a query string. Raises MalformedRequest."""
    try:
        return tuple(parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_PAIRS))
    except UnicodeDecodeError:
        raise MalformedRequest("it is not UTF-8", where="query", fix="percent-encode the UTF-8 bytes") from None
    except ValueError:
        fix = f"give at most {MAX_QUERY_PAIRS}"
        raise MalformedRequest("it has too many parameters", where="query", fix=fix) from None
