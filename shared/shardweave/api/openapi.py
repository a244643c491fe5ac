"""Cleaning the OpenAPI document: JSON Schema's keywords, without redundant titles, and each schema once and used.

Pydantic titles a property by its name with other capitals (`Userid`), and uses Python's name of a limit (`ge`) if it
checks it after its own conversion; Powertools lists its own validation errors, which this API never answers, and writes
limits as floats. Limits without a keyword in JSON Schema, such as the minimum of a decimal as text, are added to the
description.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..values.json_types import MAX_WHOLE_FLOAT
from ..wire.record_models import ENTITY, EXPANDED, RELATIONS
from .equal_schemas import merge_equal
from .merge_forms import say_merges

SECURITY_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4, where no issuer of tokens is configured.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
}
"""The ways of authentication; the deployment decides which one is used. A local server takes tokens, or none."""

LIMITS = {
    "ge": ("minimum", "At least {}."),
    "gt": ("exclusiveMinimum", "Greater than {}."),
    "le": ("maximum", "At most {}."),
    "lt": ("exclusiveMaximum", "Less than {}."),
    "multiple_of": ("multipleOf", "A multiple of {}."),
}
"""The limits of a number: pydantic's name, JSON Schema's name, and a text for values that are not JSON numbers."""

DIGITS = {"max_digits": "At most {} digits.", "decimal_places": "At most {} decimals."}

_SCHEMAS = "#/components/schemas/"
_UNREADABLE = "UnreadableRelated"
UNREADABLE_RELATED = {
    "type": "object",
    "description": "A related record that can't be read.",
    "properties": {"unreadable": {"$ref": f"{_SCHEMAS}UnreadableRecord"}},
    "required": ["unreadable"],
}


def tidied(text: str) -> bytes:
    """The cleaned document."""
    document = json.loads(text, parse_float=_number)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"].pop("title", None)
                say_limits(parameter["schema"])
    schemas = document.get("components", {}).get("schemas", {})
    for schema in schemas.values():
        say_limits(schema)
        for name, each in schema.get("properties", {}).items():
            if _is_a_repetition(each.get("title", ""), name):
                del each["title"]
    _say_relations(schemas)
    _drop_unused(document["paths"], schemas)
    merge_equal(document["paths"], schemas)
    say_merges(schemas)
    document.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _say_relations(schemas: dict[str, Any]) -> None:
    """Give `expanded` its type: a schema with each relation of the entity, and the records that it leads to."""
    names: dict[str, str] = {}
    for name in sorted(schemas, key=len):
        if (entity := schemas[name].pop(ENTITY, None)) is not None:
            names.setdefault(entity, name)
    for name, schema in list(schemas.items()):
        expanded = schema.get("properties", {}).get(EXPANDED, {})
        relations = expanded.pop(RELATIONS, None)
        if relations:
            schemas.setdefault(_UNREADABLE, UNREADABLE_RELATED)
            members = {each: _related(names.get(target), many=many) for each, (target, many) in relations.items()}
            description = f"What the relations of {name} lead to, those that were asked for."
            schemas[f"{name}Expanded"] = {"type": "object", "description": description, "properties": members}
            schema["properties"][EXPANDED] = {
                "$ref": f"{_SCHEMAS}{name}Expanded",
                "description": expanded.get("description", ""),
            }


def _related(name: str | None, *, many: bool) -> dict[str, Any]:
    record: dict[str, Any] = {} if name is None else {"$ref": _SCHEMAS + name}
    either = [record, {"$ref": _SCHEMAS + _UNREADABLE}]
    return {"type": "array", "items": {"anyOf": either}} if many else {"anyOf": [*either, {"type": "null"}]}


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= MAX_WHOLE_FLOAT else value


def say_limits(schema: Any) -> None:
    """Convert the limits of a schema, and of all nested ones, to JSON Schema's keywords."""
    branches = [each for name in ("anyOf", "oneOf", "allOf", "prefixItems") for each in schema.get(name, ())]
    inner = [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for each in (*branches, *inner, *schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
        say_limits(each)
    given = {name: schema.pop(name) for name in (*LIMITS, *DIGITS) if name in schema}
    numbers = [each for each in (schema, *branches) if each.get("type") in ("integer", "number")]
    for each in numbers:
        each.update({LIMITS[name][0]: value for name, value in given.items() if name in LIMITS})
    is_number = len(numbers) == 1 and numbers[0] is schema
    said = [words.format(given[name]) for name, (_, words) in LIMITS.items() if name in given and not is_number]
    said += [words.format(given[name]) for name, words in DIGITS.items() if name in given]
    if said:
        schema["description"] = " ".join(each for each in (schema.get("description"), *said) if each)


def _is_a_repetition(title: str, name: str) -> bool:
    return bool(title) and title.replace(" ", "").lower() == name.replace("_", "").lower()


def _drop_unused(paths: Any, schemas: dict[str, Any]) -> None:
    used: set[str] = set()
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += _references(schemas[name])
    for name in set(schemas) - used:
        del schemas[name]


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        found = node.get("$ref")
        if isinstance(found, str):
            yield found.removeprefix(_SCHEMAS)
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for each in inner:
        yield from _references(each)
