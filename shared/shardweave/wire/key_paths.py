"""Keys as parts of paths.

Clients, proxies and gateways change paths on the way: `.` and `..` are resolved however they are encoded, slashes are
merged, and a path that was decoded once too often ends at a `?`. So a key that would not arrive is written as `=` and
the key, percent-encoded, dots and all (`key_part`), which the path then encodes once more: the key `..` is
`/v1/users/%3D%252E%252E`. What begins with `=` and is not what `key_part` writes is the key as it stands; what it
writes holds a `%`, and so is never the text of a key that is written as it stands.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_UNSAFE = re.compile(r"[?#%\\\x00-\x1f\x7f]|(^|/)(\.{0,2})(/|$)")
"""What does not arrive: characters that end a path or that somebody decodes once more, and empty and dot segments."""


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
    """The key that was written in quotes, None when this is none."""
    if not part.startswith("="):
        return None
    key = unquote(part[1:], errors="surrogatepass")
    needed = key and ("/" in key or _UNSAFE.search(key))
    return key if needed and _quoted(key) == part else None
