"""The origins whose pages may use the local server from a browser (CORS), besides the server's own.

Each origin is named in full, and an answer names the origin of its request: never `*`, and cookies are never allowed,
since the token in `Authorization` identifies the caller. Every answer to a named origin has the headers, also a
refusal, since otherwise the page could not read the reason. Answers to other origins have none, so the browser does not
show them to the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigurationError

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
EXPOSED = "ETag, Location, Retry-After, X-Request-Id"
"""The headers of an answer that a page may read, besides those that it always may."""
PREFLIGHT_SECONDS = 600

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_HEADER_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")


@dataclass(frozen=True)
class NamedOrigins:
    """A set of origins, in the form in which browsers write them."""

    origins: frozenset[str] = frozenset()

    def holds(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is from a page of one of the origins."""
        return headers.get("origin") in self.origins

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers to add to the answer to a request. If any origin is named, answers vary with the request's
        origin."""
        if not self.origins:
            return {}
        if not self.holds(headers):
            return {"vary": "Origin"}
        return {
            "vary": "Origin",
            "access-control-allow-origin": headers["origin"],
            "access-control-expose-headers": EXPOSED,
        }

    def preflight(self, method: str, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """The answer to a preflight request of a named origin; None for other requests."""
        if method != "OPTIONS" or "access-control-request-method" not in headers or not self.holds(headers):
            return None
        allowed = {"access-control-allow-methods": METHODS, "access-control-max-age": str(PREFLIGHT_SECONDS)}
        wanted = headers.get("access-control-request-headers", "")
        if _HEADER_NAMES.fullmatch(wanted):
            allowed["access-control-allow-headers"] = wanted
        return {"statusCode": 204, "headers": allowed, "body": ""}


NO_ORIGINS = NamedOrigins()


def origin_of(text: str) -> str:
    """An origin in the form in which browsers write it: scheme and host in lower case, without the scheme's default
    port. Raises ConfigurationError."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _no_origin(text) from None
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    rest = text.partition("://")[2].removeprefix(parts.netloc)
    if parts.scheme not in _DEFAULT_PORTS or rest or not _HOST.fullmatch(host):
        raise _no_origin(text)
    shown = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host.lower()}{shown}"


def _no_origin(text: str) -> ConfigurationError:
    return ConfigurationError(
        f"{text[:80]!r} is no origin", fix="give scheme, host and port alone, such as http://localhost:3000"
    )
