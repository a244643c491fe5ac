"""The OpenAPI document in JSON Schema's own words, and without what says nothing: titles that only repeat a name,
schemas that nothing refers to.

Pydantic titles a property by its name with other capitals (`Userid`), and names a limit as Python does (`ge`) where it
checks it after a reading of its own; Powertools lists its own validation errors, which this API never answers, and
writes limits as floats. What JSON Schema has no word for, such as the least of a decimal that is text, is said in the
description.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..values.json_types import MAX_WHOLE_FLOAT

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
"""Who asks is said in one of these ways; which one, the deployment decides. A local server takes tokens, or nothing."""

LIMITS = {
    "ge": ("minimum", "At least {}."),
    "gt": ("exclusiveMinimum", "Greater than {}."),
    "le": ("maximum", "At most {}."),
    "lt": ("exclusiveMaximum", "Less than {}."),
    "multiple_of": ("multipleOf", "A multiple of {}."),
}
"""The limits of a number: pydantic's name, JSON Schema's, and words where the value is no JSON number."""

DIGITS = {"max_digits": "At most {} digits.", "decimal_places": "At most {} decimals."}

_SCHEMAS = "#/components/schemas/"


def tidied(text: str) -> bytes:
    """The document as it is served."""
    document = json.loads(text, parse_float=_number)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"].pop("title", None)
                _say_limits(parameter["schema"])
    schemas = document.get("components", {}).get("schemas", {})
    for schema in schemas.values():
        _say_limits(schema)
        for name, each in schema.get("properties", {}).items():
            if _is_a_repetition(each.get("title", ""), name):
                del each["title"]
    _drop_unused(document["paths"], schemas)
    document.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= MAX_WHOLE_FLOAT else value


def _say_limits(schema: Any) -> None:
    """Say the limits of a schema, and of all within it, in JSON Schema's words."""
    branches = [each for name in ("anyOf", "oneOf", "allOf", "prefixItems") for each in schema.get(name, ())]
    inner = [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for each in (*branches, *inner, *schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
        _say_limits(each)
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
