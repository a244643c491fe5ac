"""`POST /graphql`: a document in, its answer out.

    {"query": "{ order(id: \"o1\") { status } }", "variables": {}, "operationName": null}

The answer is 200 with `data`, and `errors` where something went wrong, as GraphQL over HTTP has it; a request that is
none (no JSON, no `query`) is refused as everywhere. What a field's error is called is in `extensions.code`.

graphql-core is imported, and the service's types are made, with the first request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ...access.authorization import ACCESS_ERRORS
from ...errors import ConfigurationError, FieldFault, ValidationFailed
from ..expansion import MAX_RELATED
from ..http import PageFacts, Response
from ..operation import Answer, Body, Call, Operation
from ..parts import Parts
from .names import Names, check_names
from .options import GraphQL

if TYPE_CHECKING:
    from .answering import Answers

PATH = "/graphql"


class GraphQLRoute:
    """The GraphQL of a service. `introspects`: its schema is told unless the service says otherwise."""

    def __init__(
        self, parts: Parts, options: GraphQL, *, max_related: int = MAX_RELATED, introspects: bool = False
    ) -> None:
        if find_spec("graphql") is None:
            raise ConfigurationError(
                "the package graphql-core is not installed", where="graphql", fix="pip install 'shardweave[graphql]'"
            )
        self._parts, self._options, self._max_related = parts, options, max_related
        self._introspects = introspects if options.introspection is None else options.introspection
        visible = (parts.access.visible(each) for each in parts.schema.entities.values())
        check_names(Names(options), visible, (each.name for each in parts.schema.collections))

    def operation(self) -> Operation:
        """The operation."""
        return Operation(
            "POST",
            PATH,
            "graphql",
            "Queries and mutations in GraphQL",
            self.run,
            Answer(200, "The answer; errors of fields are in it.", lambda: _forms()[1]),
            description="Errors have the code of the problem documents of other operations in `extensions.code`.",
            body=Body(lambda: _forms()[0]),
            errors=ACCESS_ERRORS if self._parts.access.restricts else (),
        )

    def run(self, call: Call) -> Response:
        """The answer to a document. Raises ValidationFailed for a body that has none, Unauthenticated and Forbidden for
        a caller who may do nothing here."""
        self._parts.access.check_known(self._parts.schema.entities.values(), call.caller)
        document = call.document
        _check(document)
        told = self._introspects and (call.caller.is_known or not self._parts.access.restricts)
        found = self._answers.of(
            document["query"],
            document.get("variables") or {},
            document.get("operationName"),
            call,
            introspection=told,
        )
        return replace(
            Response.json(200, found.body),
            page=None if found.items is None else PageFacts(found.items, found.fell_short),
            unreadable=found.unreadable,
            failures=found.failures,
            quiet=not found.writes,
        )

    @cached_property
    def _answers(self) -> Answers:
        from .answering import Answers

        return Answers.of_service(self._parts, self._options, self._max_related)


def _forms() -> tuple[type[BaseModel], type[BaseModel]]:
    """The forms of a request and of its answer, for whom the API is described."""
    from .bodies import GraphQLAnswer, GraphQLQuery

    return GraphQLQuery, GraphQLAnswer


def _check(document: Any) -> None:
    kinds: Iterable[tuple[str, type, str]] = (
        ("query", str, "a text"),
        ("variables", dict, "an object"),
        ("operationName", str, "a text"),
        ("extensions", dict, "an object"),
    )
    faults = [
        FieldFault((name,), f"must be {words}", f"{kind.__name__}_type")
        for name, kind, words in kinds
        if document.get(name) is not None and not isinstance(document[name], kind)
    ]
    if document.get("query") is None:
        faults.append(FieldFault(("query",), "is missing", "missing"))
    names = [name for name, _, _ in kinds]
    faults += [
        FieldFault((str(name)[:80],), f"unknown; use some of {', '.join(names)}", "extra_forbidden")
        for name in document
        if name not in names
    ]
    if faults:
        raise ValidationFailed(faults[:100], where="body", more=max(0, len(faults) - 100))
