"""The entities of a query: one, or several whose records are read in one order.

    db.query(Order, ...)               one
    db.query((Order, Invoice), ...)    several
    db.query(HISTORY, ...)             those of a `Collection`, by its index

Conditions, branches and filters hold for each of several entities, by names that each of them has. So does a time
window, as epoch numbers only where their timestamps have one unit.
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
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..values.times import Moment, epoch_of

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
        return _part(schema[asked], conditions, branches, options)
    if not asked:
        raise InputError("it has no entity", where="entity", fix="give a class of the schema, or several")
    entities = [schema[each] for each in asked]
    _check_window(entities, options)
    return joined([_part(entity, conditions, branches, options) for entity in entities])


def time_window(entity: EntityType[Any], earliest: Moment | None, latest: Moment | None) -> dict[str, Any]:
    """The bounds of the timestamp property in its unit, as a QuerySpec has them. Raises ValueRefused for a datetime
    without a zone."""
    unit = entity.time_unit
    return {"earliest": epoch_of(earliest, unit, "earliest"), "latest": epoch_of(latest, unit, "latest")}


def _part(
    entity: EntityType[Any], conditions: Mapping[str, Any], branches: Any, options: Mapping[str, Any]
) -> QuerySpec:
    window = time_window(entity, options.get("earliest"), options.get("latest"))
    return QuerySpec(entity.token, conditions, branches=branches, **{**options, **window})


def _check_window(entities: Sequence[EntityType[Any]], options: Mapping[str, Any]) -> None:
    """Refuse epoch numbers for timestamps of different units."""
    for name in ("earliest", "latest"):
        bound = options.get(name)
        if isinstance(bound, int) and len({each.time_unit for each in entities}) > 1:
            raise UnsupportedQuery(
                "the entities' timestamps have different units",
                where=name,
                fix="give a datetime",
            )
