"""What was read for an answer, where the fields of GraphQL find it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphql import GraphQLResolveInfo

    from ...schema.entity import Entity


@dataclass
class Node:
    """A record, or a page of records, as it is answered: `values` by the names of fields. `record` is what relations
    lead from; `related` is what they led to, by the names that the document gives them, an error where it can't be
    read; `token` is a record's entity."""

    values: Mapping[str, Any]
    rev: str | None = None
    record: Entity | None = None
    related: dict[str, Any] = field(default_factory=dict)
    token: str = ""


def related(node: Node, info: GraphQLResolveInfo[Any]) -> Any:
    """What a relation led to."""
    return node.related.get(str(info.path.key))


def root(found: Mapping[str, Any], info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
    """What a field of `Query` or `Mutation` gives: a Node, true, None, or an error, which is raised. What its arguments
    ask for was read before."""
    del arguments
    return found[str(info.path.key)]
