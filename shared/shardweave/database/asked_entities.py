"""The entities of a query: one, or several whose records are read in one order.

    db.query(Order, ...)               one
    db.query((Order, Invoice), ...)    several
    db.query(HISTORY, ...)             those of a `Collection`, by its index

Conditions, branches and filters hold for each of several entities, by names that each of them has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from typing_extensions import TypeVar

from ..errors import InputError, UnsupportedQuery
from ..query.spec import BranchSpec, QuerySpec, joined
from ..schema.collection import Collection
from ..schema.entity import Entity
from ..schema.schema import Schema

E = TypeVar("E", bound=Entity, default=Any)

Asked: TypeAlias = type[E] | Collection[E] | Sequence[type[E]] | str
"""What a query can be of: an entity, by its class or its token, or several."""


def query_spec(
    schema: Schema,
    asked: Any,
    conditions: Mapping[str, Any],
    branches: tuple[BranchSpec, ...] | None,
    **options: Any,
) -> QuerySpec:
    """The query of an entity, or of several. Raises UnknownName, and InputError where no entity is given."""
    if isinstance(asked, Collection):
        if branches is None:
            options["index"] = options["index"] or asked.index
        else:
            branches = tuple(replace(each, index=each.index or asked.index) for each in branches)
        asked = tuple(asked.entities)
    if not isinstance(asked, (list, tuple)):
        return QuerySpec(schema[asked].token, conditions, branches=branches, **options)
    if not asked:
        raise InputError("it has no entity", where="entity", fix="give a class of the schema, or several")
    parts = [QuerySpec(schema[each].token, conditions, branches=branches, **options) for each in asked]
    _check_window(schema, parts)
    return joined(parts)


def _check_window(schema: Schema, parts: Sequence[QuerySpec]) -> None:
    """Refuse one time window for timestamps of different units."""
    first = parts[0]
    units = {schema.entity(part.entity).time_unit for part in parts}
    if (first.earliest, first.latest) != (None, None) and len(units) > 1:
        raise UnsupportedQuery(
            "the entities' timestamps have different units",
            where="earliest" if first.earliest is not None else "latest",
            fix="leave it out, and fix a range of the index instead",
        )
