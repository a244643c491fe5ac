"""Equal schemas of the OpenAPI document as one, by the name of their class.

Pydantic makes one schema of two that are written the same. Those of a model inside itself refer to themselves, each by
its own name, so each use of such a model had a schema of its own (`orders__Node-Input__1`, `orders__Node__7`). Here two
are equal if all that they say is equal, and what they refer to is: they are told apart step by step, as the states of
an automaton are, until nothing more tells them apart.

Pure.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_SCHEMAS = "#/components/schemas/"
_NUMBERED = re.compile(r"__[0-9]+$")


def merge_equal(paths: Any, schemas: dict[str, Any]) -> None:
    """Replace equal schemas by one, in the schemas and in what refers to them."""
    groups = _groups(schemas)
    kept = {name: group for group in groups for name in group if len(group) > 1 or _NUMBERED.search(name)}
    if not kept:
        return
    wanted = Counter(_class_name(schemas, group) for group in groups)
    names: dict[str, str] = {}
    for group in {id(group): group for group in kept.values()}.values():
        name = _class_name(schemas, group)
        is_free = wanted[name] == 1 and (name in group or name not in schemas)
        names |= dict.fromkeys(group, name if is_free else min(group, key=lambda each: (len(each), each)))
    merged = {names.get(name, name): _renamed(schema, names) for name, schema in schemas.items()}
    schemas.clear()
    schemas.update(merged)
    for name, path in paths.items():
        paths[name] = _renamed(path, names)


def _groups(schemas: Mapping[str, Any]) -> list[list[str]]:
    """The names of equal schemas."""
    own = {
        name: json.dumps(_renamed(schema, dict.fromkeys(schemas, "")), sort_keys=True)
        for name, schema in schemas.items()
    }
    kinds, count = own, 0
    references = {name: list(_references(schema)) for name, schema in schemas.items()}
    while count < len(set(kinds.values())):
        count = len(set(kinds.values()))
        told = {name: (kinds[name], *(kinds.get(each, each) for each in references[name])) for name in schemas}
        numbers = {each: str(number) for number, each in enumerate(dict.fromkeys(told.values()))}
        kinds = {name: numbers[told[name]] for name in schemas}
    found: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        found.setdefault(kind, []).append(name)
    return list(found.values())


def _class_name(schemas: Mapping[str, Any], group: list[str]) -> str:
    """The name of the class of a group's schemas, as far as it is known."""
    shortest = min(group, key=lambda each: (len(each), each))
    title = schemas[shortest].get("title", "")
    return title if title and title in shortest else shortest


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A part of the document with other names of schemas."""
    if isinstance(node, dict):
        return {name: _renamed(each, names) for name, each in node.items()}
    if isinstance(node, list):
        return [_renamed(each, names) for each in node]
    if isinstance(node, str) and node.startswith(_SCHEMAS):
        name = node.removeprefix(_SCHEMAS)
        return _SCHEMAS + names.get(name, name)
    return node


def _references(node: Any) -> Iterator[str]:
    """The names of the schemas in a part of the document, by the order of its members."""
    if isinstance(node, dict):
        for name in sorted(node):
            yield from _references(node[name])
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)
    elif isinstance(node, str) and node.startswith(_SCHEMAS):
        yield node.removeprefix(_SCHEMAS)
