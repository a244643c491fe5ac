"""The answer to a document: read, planned, carried out, and written as JSON. With it graphql-core is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import ExecutionResult, execute_sync

from ...errors import LimitExceeded, ShardweaveError, Unreadable
from ...values.json_types import json_bytes
from ..operation import Call
from ..parts import Parts
from ..routes.collections import CollectionRoute
from .documents import Document, Reader, Refused
from .entities import EntityRecords
from .field_errors import of_document, of_whole
from .names import VERBS, Names
from .options import GraphQL
from .reading import Answering, Reading
from .types import Types
from .writing import Writing

MAX_ERRORS = 100
"""Errors that one answer lists."""


@dataclass(frozen=True)
class Answered:
    """The JSON of an answer, and what the log should know of it. `items` are the records of its pages, None where it
    has none."""

    body: bytes
    writes: bool = False
    items: int | None = None
    fell_short: bool = False
    failures: tuple[ShardweaveError, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True)
class Answers:
    """Answers documents of one service. Safe for many threads."""

    reader: Reader
    reading: Reading
    writing: Writing

    @classmethod
    def of_service(cls, parts: Parts, options: GraphQL, max_related: int) -> Answers:
        """Those of a service."""
        records = {
            token: EntityRecords.of(entity, parts, max_related) for token, entity in parts.schema.entities.items()
        }
        entities = {token: parts.access.visible(entity) for token, entity in parts.schema.entities.items()}
        several = {
            each.name: CollectionRoute(each, parts.schema, parts.queries, parts.external_keys, parts.access)
            for each in parts.schema.collections
        }
        types = Types(Names(options), {token: each.models for token, each in records.items()}, entities, several)
        reading = Reading(records, parts.store, parts.access, max_related, options.max_cost, several)
        return cls(Reader(types.schema, options, entities), reading, Writing(reading))

    def of(
        self,
        text: str,
        variables: Mapping[str, Any],
        operation_name: str | None,
        call: Call,
        *,
        introspection: bool,
    ) -> Answered:
        """The answer to a document."""
        try:
            document = self.reader.read(text, variables, operation_name, introspection=introspection)
        except Refused as refused:
            return _without_data([of_document(each, refused.code) for each in refused.errors])
        except LimitExceeded as error:
            return _without_data([of_whole(error)])
        answering = self.reading.begin(call)
        try:
            if document.writes:
                self.writing.run(document.roots, answering)
            else:
                self.reading.read(self.reading.plan(document.roots, answering), answering)
        except LimitExceeded as error:
            return _without_data([of_whole(error)], writes=document.writes)
        result = self._executed(document, variables, operation_name, answering)
        return _answered(result, document, answering)

    def _executed(
        self, document: Document, variables: Mapping[str, Any], operation_name: str | None, answering: Answering
    ) -> ExecutionResult:
        return execute_sync(
            self.reader.schema,
            document.parsed,
            answering.found,
            variable_values=dict(variables),
            operation_name=operation_name,
        )


def _without_data(errors: list[dict[str, Any]], *, writes: bool = False) -> Answered:
    return Answered(json_bytes({"errors": errors}), writes)


def _answered(result: ExecutionResult, document: Document, answering: Answering) -> Answered:
    content: dict[str, Any] = {"data": result.data}
    for each in result.errors or ():
        if not (each.extensions and "code" in each.extensions):
            # No error of what was asked for: it is one of this module.
            raise each.original_error or each
    if result.errors:
        content["errors"] = [each.formatted for each in result.errors[:MAX_ERRORS]]
    pages = any(root.kind not in ("one", *VERBS) for root in document.roots)
    return Answered(
        json_bytes(content),
        document.writes,
        answering.items if pages else None,
        answering.fell_short,
        tuple(answering.failures),
        tuple(answering.unreadable),
    )
