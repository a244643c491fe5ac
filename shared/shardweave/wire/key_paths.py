"""Keys as segments of paths.

Clients, proxies and gateways change paths on the way: `.` and `..` are resolved however they are encoded, slashes are
merged, and a path that was decoded once too often ends at a `?`. So a key that would be changed on the way is written
as `=` and the percent-encoded key, including its dots (`key_part`), which the path then encodes once more: the key `..`
is `/v1/users/%3D%252E%252E`. A segment that begins with `=` and is not a result of `key_part` is the key itself;
results of `key_part` contain a `%`, and so are never such a key.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_UNSAFE = re.compile(r"[?#%\\\x00-\x1f\x7f]|(^|/)(\.{0,2})(/|$)")
"""Texts that are changed on the way: characters that end a path or may be decoded twice, and empty and dot segments."""


def key_part(key: str, *, last: bool = True) -> str:
    """A key as a part of a path, before the path is percent-encoded; `last`: the rest of the path is its."""
    return _quoted(key) if _UNSAFE.search(key) or (not last and "/" in key) else key


def key_of_part(part: str) -> str:
    """The inverse of `key_part`."""
    key = _unquoted(part)
    return part if key is None else key


def _quoted(key: str) -> str:
    return "=" + quote(key, safe="", errors="surrogatepass").replace(".", "%2E")


def _unquoted(part: str) -> str | None:
    """The key in the encoded form, None if the text does not have this form."""
    if not part.startswith("="):
        return None
    key = unquote(part[1:], errors="surrogatepass")
    needed = key and ("/" in key or _UNSAFE.search(key))
    return key if needed and _quoted(key) == part else None
