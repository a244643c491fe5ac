"""Lists: from query parameters to a QuerySpec.

A condition is a parameter named after a property: `p=` or `p.eq=` for equality (`p.eq=` alone for a property that is
named like one of the parameters below), `p.prefix=`, `p.from=` and `p.to=` (both included). The three groups exclude
one another. Every property of one of the entity's indexes has its parameters; a prefix only text that an index has in
ascending order. A time may be given in the property's own unit or as an ISO 8601 date or date and time: a bare date is
its midnight in UTC, a time without a zone is refused. A key of several properties may be given as one value (see
`composite_keys`). The rest of the query:

    index       the index to use; without it the one that uses the conditions best
    consistent  true for a consistent read, where the table itself answers
    properties  the properties to answer, separated by commas, in place of all that the index holds
    hydrate     true for whole records, where the index has less
    filter.p    a test after reading, also of a property that no index has (see `list_filters`)
    filter.p.x  the same for what stands at a path in a map, a list or a nested model

and the parameters of every page (see `pages`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ..errors import UnsupportedQuery
from ..query.spec import Constraint, Equal, Prefix, QuerySpec, Range
from ..schema.entity_type import EntityType, IndexView
from ..schema.property import Property
from ..table.conditions import Condition
from ..values.codecs import BinaryCodec, DateTimeCodec, StringCodec, TimestampCodec
from ..values.times import parse_instant, parse_time
from .composite_keys import composites
from .list_filters import ListFilters
from .paging import EXPAND, PAGING, flag, paging
from .parameter import Parameter


@dataclass(frozen=True)
class ConditionParameter:
    """One condition parameter: its group of the property's conditions, and its side in a range."""

    each: Property
    group: str
    side: str = ""


class ListQuery:
    """The list parameters of one entity: `parameters`, and those of `families`. With `several` the entity is what
    several have in common: then there are only conditions on properties, filters, and the parameters of pages."""

    def __init__(self, entity: EntityType[Any], *, several: bool = False) -> None:
        self._entity = entity
        self._conditions: dict[str, ConditionParameter] = {}
        described: list[Parameter] = []
        for each in indexed_properties(entity):
            described += self._parameters_of(each)
        self._composites = () if several else composites(entity)
        for composite in self._composites:
            described += composite.parameters()
        own = PAGING if several else _own_parameters(entity)
        self._filters = ListFilters(entity, _annotation, {each.name: each for each in (*own, *described)})
        self.parameters: tuple[Parameter, ...] = (*own, *described, *self._filters.parameters)
        self.families = self._filters.families

    def spec(self, given: Mapping[str, str]) -> QuerySpec:
        """The query of parameters that are all in `parameters` or of `families`. Raises InputError's kinds."""
        return QuerySpec(
            entity=self._entity.token,
            conditions=self._conditions_of(given),
            index=given.get("index"),
            consistent=flag(given, "consistent"),
            properties=self._properties_of(given),
            hydrate=flag(given, "hydrate"),
            filter=self.filter_of(given),
            **paging(given),
        )

    def is_filter(self, name: str) -> bool:
        """Whether a parameter is a filter."""
        return self._filters.has(name)

    def filter_of(self, given: Mapping[str, str]) -> Condition | None:
        """The filter of those parameters that are filters. Raises InputError's kinds."""
        return self._filters.condition(given, self._value)

    def _properties_of(self, given: Mapping[str, str]) -> tuple[str, ...] | None:
        if "properties" not in given:
            return None
        names = given["properties"].split(",")
        return tuple(dict.fromkeys(self._entity.property_of(name, "properties").stored for name in names))

    def _conditions_of(self, given: Mapping[str, str]) -> dict[str, Constraint]:
        groups: dict[str, str] = {}
        found: dict[str, Constraint] = {}
        for name, text in given.items():
            meant = self._conditions.get(name)
            if meant is None:
                continue
            stored = meant.each.stored
            if groups.setdefault(stored, meant.group) != meant.group or (stored in found and not meant.side):
                raise UnsupportedQuery(
                    "equality, prefix and from/to exclude one another", where=stored, fix="keep one of them"
                )
            found[stored] = self._constraint(meant, text, name, found.get(stored))
        for composite in self._composites:
            parts = composite.conditions(given, self._value)
            for stored in parts.keys() & found.keys():
                raise UnsupportedQuery(
                    f"{composite.name} says what it is already", where=stored, fix="keep one of them"
                )
            found |= parts
        return found

    def _constraint(self, meant: ConditionParameter, text: str, name: str, before: Constraint | None) -> Constraint:
        if meant.group == "prefix":
            return Prefix(text)
        value = self._value(meant.each, text, name, bound=meant.group == "range")
        if meant.group == "eq":
            return Equal(value)
        low, high = (before.low, before.high) if isinstance(before, Range) else (None, None)
        return Range(value, high) if meant.side == "from" else Range(low, value)

    def _value(self, each: Property, text: str, name: str, *, bound: bool = False) -> Any:
        return condition_value(each, text, name, bound=bound)

    def _parameters_of(self, each: Property) -> list[Parameter]:
        name = each.stored
        hashed, ranged = _users(self._entity, name)
        used = "; ".join(
            text
            for text in (
                f"fixes the hash key of {', '.join(hashed)}" if hashed else "",
                f"narrows {', '.join(ranged)}" if ranged else "",
            )
            if text
        )
        annotation, notation = _annotation(each), _notation(each)
        found = []
        for plain in equality_names(name):
            self._conditions[plain] = ConditionParameter(each, "eq")
            found.append(Parameter(plain, f"Equal to this; {used}.{notation}", annotation))
        if not ranged:
            return found
        begun = [view.title for view in self._entity.views.values() if view.begins(name)]
        if begun:
            self._conditions[f"{name}.prefix"] = ConditionParameter(each, "prefix")
            found.append(Parameter(f"{name}.prefix", f"Begins with this text; narrows {', '.join(begun)}."))
        for side, words in (("from", "At or after this"), ("to", "At or before this")):
            self._conditions[f"{name}.{side}"] = ConditionParameter(each, "range", side)
            described = f"{words}; narrows {', '.join(ranged)}.{notation}"
            found.append(Parameter(f"{name}.{side}", described, annotation))
        return found


def condition_value(each: Property, text: str, name: str, *, bound: bool = False) -> Any:
    """The value of a parameter that is a condition on a property; a `bound` need not be a value that it can have.
    Raises ValidationFailed."""
    if isinstance(each.codec, TimestampCodec):
        return parse_time(text, each.codec, name)
    if isinstance(each.codec, DateTimeCodec):
        return parse_instant(text, name)
    if bound and isinstance(each.codec, StringCodec):
        return text
    return (each.read_bound_text if bound else each.read_text)(text, (name,))


def _annotation(each: Property) -> Any:
    if isinstance(each.codec, TimestampCodec):
        return int | dt.date | dt.datetime
    if isinstance(each.codec, DateTimeCodec):
        return dt.date | dt.datetime
    if isinstance(each.codec, BinaryCodec):
        return Annotated[str, Field(json_schema_extra={"format": "base64url"})]
    return str if isinstance(each.codec, StringCodec) else each.annotation


def _notation(each: Property) -> str:
    if isinstance(each.codec, DateTimeCodec):
        return " A date is its midnight in UTC."
    if not isinstance(each.codec, TimestampCodec):
        return ""
    unit = "milliseconds" if each.codec.unit == "ms" else "seconds"
    return f" A number is epoch {unit}, a date its midnight in UTC."


def indexed_properties(entity: EntityType[Any]) -> list[Property]:
    """The properties that a condition can be about, in the order of their declaration."""
    names = {element.name for view in entity.views.values() for element in (*view.hash_elements, *view.range_elements)}
    every = {**entity.properties, **entity.nested}
    return [each for name, each in every.items() if name in names and each.codec is not None]


def _users(entity: EntityType[Any], name: str) -> tuple[list[str], list[str]]:
    """The titles of the indexes whose hash key, and whose range key, has the property."""

    def titles(key: str) -> list[str]:
        return [
            view.title for view in entity.views.values() if any(element.name == name for element in getattr(view, key))
        ]

    return titles("hash_elements"), titles("range_elements")


RESERVED = frozenset(
    {"index", "consistent", "properties", "hydrate", EXPAND, "lookup", *(parameter.name for parameter in PAGING)}
)
"""Parameters that are not conditions."""


def equality_names(stored: str) -> tuple[str, ...]:
    """The parameter names of a property's equality: its own name, unless another parameter has this name, and
    `p.eq`."""
    return (f"{stored}.eq",) if stored in RESERVED else (stored, f"{stored}.eq")


def _own_parameters(entity: EntityType[Any]) -> tuple[Parameter, ...]:
    indexes = index_names(entity)
    named = ",".join([name for name, each in entity.properties.items() if not each.private][:2])
    return (
        Parameter(
            "index",
            "The index to use. Without it, the one that uses the conditions best.",
            Literal[tuple(indexes)] if indexes else str,
        ),
        *PAGING,
        Parameter("consistent", "True for a consistent read, where the table itself answers.", bool, default=False),
        Parameter("properties", "Only these properties, separated by commas, such as `" + named + "`."),
        Parameter("hydrate", "True for whole records, where the index has less.", bool, default=False),
    )


def index_names(entity: EntityType[Any]) -> list[str]:
    """The entity's indexes."""
    return [name for name in entity.views if name]


def index_table(entity: EntityType[Any]) -> str:
    """A Markdown table of the conditions and the order of each index. What claims say is not asked for."""
    rows = [
        "| index | needs | then, from the left | order |",
        "| --- | --- | --- | --- |",
        *(_index_row(view, entity.claims) for view in entity.views.values()),
    ]
    return "\n".join(rows)


def _index_row(view: IndexView, claims: Collection[str]) -> str:
    needs = ", ".join(f"`{element.name}`" for element in view.hash_elements if element.name not in claims)
    then = ", ".join(f"`{element.name}`" for element in view.range_elements)
    order = ", ".join(
        f"`{element.name}`" + (" descending" if element.descending != view.reversed else "")
        for element in view.range_elements
    )
    return f"| {view.index or '(none: the table)'} | {needs} | {then} | {order} |"
