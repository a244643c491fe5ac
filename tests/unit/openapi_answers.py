"""Every answer of an API against its own OpenAPI document.

The clients of the tests ask here about each answer: its path, method, status and media type must be described, and its
body valid by the schema that is given for them. A path that the document does not have is answered with a problem.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import jsonschema_rs

from shardweave.api.app import Api

MEDIA_TYPE = "content-type"
PROBLEM = {"$ref": "#/components/schemas/Problem"}


@dataclass
class Document:
    """An OpenAPI document. `met` counts the answers of each operation and status that were checked."""

    content: Mapping[str, Any]
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    _validators: dict[str, jsonschema_rs.Draft202012Validator] = field(default_factory=dict)

    def check(self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Raises AssertionError for an answer that is not as it is described."""
        operation = self._operation(method, path)
        if method == "HEAD" or (operation is None and status < 400):
            return
        media_type = headers.get(MEDIA_TYPE, "").partition(";")[0]
        where = f"{method} {path}: {status} {media_type}"
        if operation is None:
            self._check_body(where, PROBLEM, body)
            return
        described = operation["responses"].get(str(status))
        assert described is not None, f"{where}: the status is not described"
        self.met[operation["operationId"], str(status)] += 1
        content = described.get("content", {})
        if not content:
            assert not body or operation["operationId"] == "getOpenApi", f"{where}: there is a body"
            return
        assert media_type in content, f"{where}: the media type is not described"
        self._check_body(where, content[media_type]["schema"], body)

    def _check_body(self, where: str, schema: Mapping[str, Any], body: bytes) -> None:
        fault = next(self._validator(schema).iter_errors(json.loads(body)), None)
        assert fault is None, f"{where}: {fault.instance_path}: {fault.message}"

    def _validator(self, schema: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
        name = json.dumps(schema, sort_keys=True)
        if name not in self._validators:
            whole = {**schema, "components": self.content["components"]}
            self._validators[name] = jsonschema_rs.Draft202012Validator(whole)
        return self._validators[name]

    def _operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        for pattern, methods in self._paths:
            if pattern.fullmatch(path) and (found := methods.get(method.lower())) is not None:
                operation: Mapping[str, Any] = found
                return operation
        return None

    @cached_property
    def _paths(self) -> list[tuple[re.Pattern[str], Mapping[str, Any]]]:
        """Those that name more of the path come first; the last part of a key may hold slashes."""
        paths = sorted(self.content["paths"].items(), key=lambda each: (each[0].count("{"), -len(each[0])))
        return [(re.compile(_pattern(path), re.DOTALL), methods) for path, methods in paths]


def _pattern(path: str) -> str:
    parts = [re.escape(part) if not part.startswith("{") else "[^/]+" for part in path.split("/")]
    return "/".join([*parts[:-1], ".+"] if path.endswith("}") else parts)


_documents: WeakKeyDictionary[Api, Document | None] = WeakKeyDictionary()
_of_what: dict[Any, Document] = {}


def described_by(api: Api, made_of: Any) -> Api:
    """The API, whose document is that of all APIs that are made of the same: a schema, or a service's name."""
    if made_of not in _of_what:
        _of_what[made_of] = Document(_Later(api))
    _documents[api] = _of_what[made_of]
    return api


class _Later(dict[str, Any]):
    """A document that is made when it is first asked for."""

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api: Api | None = api

    def __missing__(self, name: str) -> Any:
        assert self._api is not None, f"the document has no {name}"
        self.update(json.loads(self._api.openapi))
        self._api = None
        return self[name]


def undescribed(api: Api) -> Api:
    """The API, whose answers are not compared: those of others of its kind are."""
    _documents[api] = None
    return api


def document_of(api: Api) -> Document | None:
    """The document of an API, None of one that is `undescribed`."""
    if api not in _documents:
        _documents[api] = Document(json.loads(api.openapi))
    return _documents[api]
