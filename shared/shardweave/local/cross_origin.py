"""The origins whose pages a browser lets use the local server (CORS), besides the server's own.

Each is named whole, and an answer names the one that asked: never `*`, and never cookies, since a caller is who the
token in `Authorization` says. Every answer to a named origin says so, a refusal too, or its page could not read why.
To others nothing is said, which is what has a browser keep the answer from them.
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
"""What a page may read of an answer's headers, besides those that it always may."""
PREFLIGHT_SECONDS = 600

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_HEADER_NAMES = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")


@dataclass(frozen=True)
class NamedOrigins:
    """Some origins, as browsers write them."""

    origins: frozenset[str] = frozenset()

    def holds(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is of a page of one of them."""
        return headers.get("origin") in self.origins

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of the answer to a request. An answer depends on who asks as soon as any origin is named."""
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
        """The answer to the question whether a page of a named origin may send a request, None for all else."""
        if method != "OPTIONS" or "access-control-request-method" not in headers or not self.holds(headers):
            return None
        allowed = {"access-control-allow-methods": METHODS, "access-control-max-age": str(PREFLIGHT_SECONDS)}
        wanted = headers.get("access-control-request-headers", "")
        if _HEADER_NAMES.fullmatch(wanted):
            allowed["access-control-allow-headers"] = wanted
        return {"statusCode": 204, "headers": allowed, "body": ""}


NO_ORIGINS = NamedOrigins()


def origin_of(text: str) -> str:
    """An origin as browsers write it: scheme and host in lower case, no port that goes without saying. Raises
    ConfigurationError."""
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
