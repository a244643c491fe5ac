"""Errors as GraphQL answers them: the message says what was wrong, `extensions` has the members of the problem document
that the other routes answer, `code` first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from graphql import GraphQLError

from ...errors import ShardweaveError
from ..problems import TYPE_PREFIX, problem


class FieldError(GraphQLError):
    """A field that could not be answered. `problem` is why."""

    def __init__(self, error: ShardweaveError) -> None:
        document = json.loads(problem(error).body)
        super().__init__(document.pop("detail"), extensions=_extensions(document))
        self.problem = error


def of_whole(error: ShardweaveError) -> dict[str, Any]:
    """The error of a whole document."""
    return dict(FieldError(error).formatted)


def of_document(error: GraphQLError, code: str) -> dict[str, Any]:
    """An error of what the document says, without the values that graphql-core quotes."""
    message = error.message
    for quoted, kept in _QUOTED:
        message = quoted.sub(kept, message)
    return {**error.formatted, "message": message, "extensions": {"code": code, "status": 400}}


_QUOTED = (
    (re.compile(r"( represent [^:]*): .*", re.DOTALL), r"\1."),
    (re.compile(r"(Expected value of .*?),? found:? .*", re.DOTALL), r"\1."),
    (re.compile(r"Value .* does not exist in ", re.DOTALL), "The value does not exist in "),
    (re.compile(r"(Syntax Error: .*)\b(String|BlockString|Int|Float) .*", re.DOTALL), r"\1\2."),
)
"""The messages that hold values, and what is said in their place."""


def _extensions(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"code": document["type"].removeprefix(TYPE_PREFIX), **document}
