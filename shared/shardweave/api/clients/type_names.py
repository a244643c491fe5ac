"""The names of a client's types: those of the schemas, save where the client's own code has the name already.

An entity may be called `Page` or `Client`, as the client's own types are. Its type then has an underscore at its end.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

RUNTIMES = Path(__file__).parent
REFERENCE = "#/components/schemas/"
_NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_WRITTEN = (
    *("Client", "Condition", "ListOptions", "Literal", "NotRequired", "Partial", "Pick", "ReadonlyArray", "Required"),
    *("TypedDict", "overload", "Any", "Callable", "Mapping", "bool", "dict", "float", "int", "list", "str", "type"),
)
"""What the generators write themselves, beside what the runtimes have."""
_MADE = ("Collection", "Filter", "Key")
"""Ends of the names of types that are made for each entity."""


def renamed(
    document: Mapping[str, Any], lists: Mapping[str, Collection[str]], collections: Collection[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """An OpenAPI document whose schemas have no name that a client has for something else, and the new names by the
    old ones. `lists` are the names of each entity's lists, `collections` those of collections of several entities."""
    schemas = document["components"]["schemas"]
    taken = {*_own_words(), *(each + end for each in collections for end in ("Conditions", "Filter"))}
    for entity, names in lists.items():
        taken |= {entity + end for end in _MADE}
        for each in names:
            part = f"{entity}{each[:1].upper()}{each[1:]}"
            taken |= {part, f"{part}Filter", f"{part}Conditions"}
    found: dict[str, str] = {}
    for name in schemas:
        free = name
        while free in taken or (free != name and free in schemas):
            free += "_"
        found[name] = free
    references = {REFERENCE + name: REFERENCE + free for name, free in found.items()}
    changed: dict[str, Any] = _with_names(document, references)
    changed["components"]["schemas"] = {
        found[name]: schema for name, schema in changed["components"]["schemas"].items()
    }
    return changed, found


def _with_names(part: Any, references: Mapping[str, str]) -> Any:
    if isinstance(part, Mapping):
        named = part.get("$ref")
        changed = {name: _with_names(each, references) for name, each in part.items()}
        return {**changed, "$ref": references.get(named, named)} if isinstance(named, str) else changed
    return [_with_names(each, references) for each in part] if isinstance(part, list) else part


@cache
def _own_words() -> frozenset[str]:
    """All names in the code that clients begin with."""
    script = _NO_CODE.sub("", (RUNTIMES / "runtime.ts").read_text(encoding="utf-8"))
    words = set(re.findall(r"\b[A-Za-z_]\w*", script)) | set(_WRITTEN)
    for node in ast.walk(ast.parse((RUNTIMES / "python_runtime.py").read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.alias(name=name):
                words.add(name)
    return frozenset(words)
