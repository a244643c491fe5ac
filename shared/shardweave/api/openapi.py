"""The OpenAPI document without what says nothing: titles that only repeat a name, schemas that nothing refers to.

Pydantic titles a property by its name with other capitals (`Userid`), and Powertools lists its own validation errors,
which this API never answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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

_SCHEMAS = "#/components/schemas/"


def tidied(text: str) -> bytes:
    """The document as it is served."""
    document = json.loads(text)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"].pop("title", None)
    schemas = document.get("components", {}).get("schemas", {})
    for schema in schemas.values():
        for name, each in schema.get("properties", {}).items():
            if _is_a_repetition(each.get("title", ""), name):
                del each["title"]
    _drop_unused(document["paths"], schemas)
    document.setdefault("components", {})["securitySchemes"] = SECURITY_SCHEMES
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


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
