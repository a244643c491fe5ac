"""Requests made of an OpenAPI document: for every operation one that fits its description, from values by name.

A route that is added is in the document, and so under attack, by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

JSON = "application/json"
DEEPEST = 6


@dataclass(frozen=True)
class Request:
    """What is sent. `operation` is the operation's id, `kind` what attack it is."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    operation: str = ""
    kind: str = ""

    def with_query(self, name: str, text: str) -> Request:
        """The same with one parameter more."""
        one = f"{quote(name, safe='')}={quote(text, safe='', errors='surrogatepass')}"
        return replace(self, query=f"{self.query}&{one}" if self.query else one)

    def with_json(self, document: Any) -> Request:
        return replace(self, body=json.dumps(document).encode())


@dataclass(frozen=True)
class Described:
    """One operation of a document."""

    method: str
    path: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.content["operationId"])

    @property
    def collection(self) -> str:
        """The part of the path behind the version, empty without one."""
        return [*self.path.split("/"), "", ""][2]

    @property
    def is_open(self) -> bool:
        """Whether the document says that nobody need be known for it."""
        return self.name == "getOpenApi"

    @property
    def media_type(self) -> str:
        return next(iter(self.content.get("requestBody", {}).get("content", {})), "")

    @property
    def body(self) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = self.content["requestBody"]["content"][self.media_type]["schema"]
        return schema

    def parameters(self, place: str) -> list[Mapping[str, Any]]:
        return [each for each in self.content.get("parameters", []) if each["in"] == place]


class Document:
    """An OpenAPI document."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._schemas = content.get("components", {}).get("schemas", {})
        self.operations = tuple(
            Described(method.upper(), path, each)
            for path, methods in content["paths"].items()
            for method, each in methods.items()
        )

    def request(self, each: Described, values: Mapping[str, Any], kind: str, *, path_values: Any = None) -> Request:
        """One that fits, from the values of properties; `path_values` are those of the path's parameters."""
        path = each.path
        for parameter in each.parameters("path"):
            value = {**values, **(path_values or {})}.get(parameter["name"])
            text = str(value if value is not None else self.example(parameter["schema"], values))
            path = path.replace(f"{{{parameter['name']}}}", quote(text, safe=""))
        request = Request(each.method, path, operation=each.name, kind=kind)
        for parameter in each.parameters("query"):
            if parameter.get("required"):
                value = values.get(parameter["name"], self.example(parameter["schema"], values))
                request = request.with_query(parameter["name"], str(value))
        if each.media_type:
            request = replace(request, headers={"content-type": each.media_type})
            request = request.with_json(self.example(each.body, values))
        return request

    def members(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The properties of an object's schema."""
        found: Mapping[str, Any] = self._resolved(schema).get("properties", {})
        return found

    def example(self, schema: Mapping[str, Any], values: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
        """A value that fits a schema: of a property what `values` says, where it says anything."""
        schema = self._resolved(schema)
        if name in values:
            return values[name]
        if "const" in schema or "enum" in schema:
            return schema.get("const", (schema.get("enum") or [None])[0])
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                others = [each for each in schema[choice] if each.get("type") != "null"]
                return self.example(others[0], values, name, depth + 1)
        kind = schema.get("type", "object")
        if kind == "object":
            members, required = schema.get("properties", {}), schema.get("required", [])
            wanted = [each for each in members if each in required or (each in values and depth < DEEPEST)]
            return {each: self.example(members[each], values, each, depth + 1) for each in wanted}
        if kind == "array":
            fits = depth < DEEPEST and schema.get("minItems", 0) > 0
            return [self.example(schema.get("items", {}), values, "", depth + 1)] if fits else []
        return {"integer": schema.get("minimum", 1), "number": 1, "boolean": True, "null": None}.get(
            kind, _text(schema.get("format", ""))
        )

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema


def _text(form: str) -> str:
    return {
        "date": "2024-01-01",
        "date-time": "2024-01-01T00:00:00Z",
        "uuid": "00000000-0000-4000-8000-000000000000",
    }.get(form, "text")
