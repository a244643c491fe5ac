"""Paths: which templates there are, and what keys look like to the router.

The router takes a parameter for a run of certain characters, and a key may be any text. So before a path is routed
every key in it is percent-encoded (`seal`), which leaves ASCII that the router takes whole, and whoever gets a key
decodes it (`unseal`). A template's parameters stand at its end, and the last of them takes the rest of the path, so
that a `/` in it needs no agreement on who decodes it.

Clients, proxies and gateways change paths on the way: `.` and `..` are resolved however they are encoded, slashes are
merged, and a path that was decoded once too often ends at a `?`. So a key that would not arrive is written as `=` and
the key, percent-encoded, dots and all (`key_part`), which the path then encodes once more: the key `..` is
`/v1/users/%3D%252E%252E`. What begins with `=` and is not what `key_part` writes is the key as it stands; what it
writes holds a `%`, and so is never the text of a key that is written as it stands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import zip_longest
from urllib.parse import quote, unquote

from .operation import Operation

NEAR = 3
_PARAMETER = re.compile(r"\{(\w+)\}")


class Paths:
    """The templates of some operations."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._methods: dict[str, set[str]] = defaultdict(set)
        for operation in operations:
            self._methods[operation.path].add(operation.method)
        self.fixed = tuple(template for template in self._methods if not _PARAMETER.search(template))
        keyed = {template.partition("{")[0]: len(_PARAMETER.findall(template)) for template in self._methods}
        self._keyed = sorted(((begin, keys) for begin, keys in keyed.items() if keys), reverse=True)

    def seal(self, path: str) -> str:
        """A path as the router takes it. One that fits no template stays one that fits none."""
        if path in self.fixed:
            return path
        for begin, keys in self._keyed:
            if path.startswith(begin):
                return begin + "/".join(_encoded(key) for key in path[len(begin) :].split("/", keys - 1))
        return "/" + _encoded(path)

    def near(self, path: str) -> list[str]:
        """The templates without keys that a path is most like, at least one."""
        return get_close_matches(path, self.fixed, NEAR, cutoff=0.0)

    def methods(self, sealed: str) -> list[str]:
        """The methods that a sealed path takes, in order; none when there is no such path."""
        found = {method for template in self._methods if _fits(template, sealed) for method in self._methods[template]}
        return sorted(found | ({"HEAD"} if "GET" in found else set()))


def unseal(key: str) -> str:
    """A key that the router gave, as it is."""
    return unquote(key, errors="surrogatepass")


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


_UNSAFE = re.compile(r"[?#%\\\x00-\x1f\x7f]|(^|/)(\.{0,2})(/|$)")
"""What does not arrive: characters that end a path or that somebody decodes once more, and empty and dot segments."""


def router_rule(template: str) -> str:
    """A template as the router writes it: `/v1/users/<key>`."""
    return _PARAMETER.sub(r"<\1>", template)


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _fits(template: str, sealed: str) -> bool:
    return all(
        part == given or (given and part is not None and _PARAMETER.fullmatch(part))
        for part, given in zip_longest(template.split("/"), sealed.split("/"))
    )
