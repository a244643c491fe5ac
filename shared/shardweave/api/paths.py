"""Paths: the templates, and keys in the form of the router.

The router accepts only certain characters in a parameter, but a key may be any text. So before routing every key in a
path is percent-encoded to these characters (`seal`), and decoded afterwards (`unseal`). A template's parameters are at
its end, and the last one takes the rest of the path, so that a `/` in it works however it was encoded. Of two templates
with the same beginning, the one with more parameters takes what has as many segments. How a key is
written in a path: see `wire.key_paths`.
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
            for path in operation.paths:
                self._methods[path].add(operation.method)
        self.fixed = tuple(template for template in self._methods if not _PARAMETER.search(template))
        keyed: dict[str, int] = {}
        for template in self._methods:
            begin = _begin(template)
            keyed[begin] = max(keyed.get(begin, 0), len(_PARAMETER.findall(template)))
        self._keyed = sorted(((begin, keys) for begin, keys in keyed.items() if begin), reverse=True)

    def seal(self, path: str) -> str:
        """A path in the form of the router. A path without a matching template still has none."""
        if path in self.fixed:
            return path
        for begin, keys in self._keyed:
            if path.startswith(begin):
                return begin + "/".join(_encoded(key) for key in path[len(begin) :].split("/", keys - 1))
        return "/" + _encoded(path)

    def near(self, path: str) -> list[str]:
        """The templates that may be meant by a path, at least one: of a key that is given in part, with the same end,
        and those without keys that are most similar."""
        in_part = [template for template in self._methods if path.startswith(_begin(template) or path + "/")]
        same_end = [template for template in self.fixed if template.rpartition("/")[2] == path.rpartition("/")[2]]
        similar = get_close_matches(path, self.fixed, NEAR, cutoff=0.0)
        return list(dict.fromkeys((*in_part, *same_end, *similar)))[:NEAR]

    def methods(self, sealed: str) -> list[str]:
        """The methods of a sealed path, in order; empty if there is no such path."""
        found = {method for template in self._methods if _fits(template, sealed) for method in self._methods[template]}
        return sorted(found | ({"HEAD"} if "GET" in found else set()))


def _begin(template: str) -> str:
    """The fixed beginning of a template with keys, empty of another one."""
    begin, key, _ = template.partition("{")
    return begin if key else ""


def unseal(key: str) -> str:
    """The original key from the router's parameter."""
    return unquote(key, errors="surrogatepass")


def router_rule(template: str) -> str:
    """A template in the syntax of the router: `/v1/users/<key>`."""
    return _PARAMETER.sub(r"<\1>", template)


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _fits(template: str, sealed: str) -> bool:
    return all(
        part == given or (given and part is not None and _PARAMETER.fullmatch(part))
        for part, given in zip_longest(template.split("/"), sealed.split("/"))
    )
