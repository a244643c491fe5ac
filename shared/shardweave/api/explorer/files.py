"""The files of the Explorer's page, as they are served: no build step, no other host.

Guarantees: a browser loads what is on this page from where the page came from, and runs nothing else
(`content-security-policy`); the page can't be framed. Costs: the files, once read, stay in memory (about 80 KB).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..http import Response

PATH = "/explorer"
FOLDER = Path(__file__).parent / "page"
PAGE = "index.html"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html",
    )
)
"""Nothing but what the page's own host serves; text becomes markup only in the templates of the library."""

HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}


@cache
def page_files() -> dict[str, Response]:
    """The answer for each file, by its path below `PATH`; the page itself is `PAGE`."""
    found: dict[str, Response] = {}
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in _TYPES:
            headers = {"content-type": _TYPES[file.suffix], **HEADERS}
            found[file.relative_to(FOLDER).as_posix()] = Response(200, file.read_bytes(), headers)
    return found
