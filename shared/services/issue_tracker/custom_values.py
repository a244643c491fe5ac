"""The values of custom fields: how they are read, where an issue has them, and what a grid asks of them.

    custom.depth=25.4           equal to this
    custom.depth.from=10        at or after this; `.to`: at or before; both are included
    custom.section.prefix=Sh    begins with this text

Pure.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from shardweave import between, errors, prefix, where
from shardweave.routing import JsonType

from .records import VALUES, FieldKind, Issue, Number, Text, kind_of

TYPES = {FieldKind.TEXT: JsonType(Text), FieldKind.NUMBER: JsonType(Number), FieldKind.DATE: JsonType(dt.date)}
"""What values of custom fields of each kind are."""

SIDES = ("from", "to", "prefix")


@dataclass(frozen=True)
class FieldTest:
    """What a grid asks of the values of a place: equality, a prefix, or bounds, which are included."""

    place: str
    equal: Any = None
    low: Any = None
    high: Any = None
    prefix: str | None = None

    @property
    def asked(self) -> Any:
        """The same as an ordered lookup takes it."""
        if self.equal is not None:
            return self.equal
        return between(self.low, self.high) if self.prefix is None else prefix(self.prefix)

    @property
    def filter(self) -> Any:
        """The same as a filter."""
        value = where(f"{property_of(self.place)}.{self.place}")
        if self.equal is not None:
            return value == self.equal
        if self.prefix is not None:
            return value.begins_with(self.prefix)
        bounds = [value >= self.low] if self.low is not None else []
        return reduce(and_, [*bounds, value <= self.high] if self.high is not None else bounds)


def property_of(place: str) -> str:
    """The property of issues with the values of a place."""
    return VALUES[kind_of(place)]


def read_value(place: str, value: Any, *where: str) -> Any:
    """A value of a place, None for none. Raises ValidationFailed."""
    return None if value is None else TYPES[kind_of(place)].read(value, *where)


def changed_values(issue: Issue, values: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that give an issue these values by place, where None removes one."""
    changes: dict[str, Any] = {}
    for place, value in values.items():
        name = property_of(place)
        kept = changes.setdefault(name, dict(getattr(issue, name)))
        kept.pop(place, None)
        kept.update({} if value is None else {place: value})
    return changes


def values_by_name(issue: Issue, fields: Mapping[str, str]) -> dict[str, str]:
    """An issue's custom values as texts, by the names of the fields."""
    names = set(VALUES.values())
    found = {
        place: text for each in issue.model_dump(mode="json", include=names).values() for place, text in each.items()
    }
    return {name: found[place] for name, place in fields.items() if place in found}


def tests_of(given: Mapping[str, str], fields: Mapping[str, str]) -> tuple[FieldTest, ...]:
    """What parameters `custom.NAME` ask, a test for each field. Raises UnknownName, ValidationFailed,
    UnsupportedQuery."""
    sides: dict[str, dict[str, Any]] = {}
    for parameter, text in given.items():
        name, _, side = parameter.partition(".")
        if name not in fields or side not in ("", *SIDES):
            listed = ", ".join(fields) or "(it has none)"
            fix = f"use some of {listed}; alone, or with .from, .to or .prefix"
            message = "the project has no such custom field, or no such test of it"
            raise errors.UnknownName(message, where=f"custom.{parameter[:40]}", fix=fix)
        place = fields[name]
        if side == "prefix" and kind_of(place) is not FieldKind.TEXT:
            message = f"a field of the kind {kind_of(place).value} has no prefix"
            raise errors.UnsupportedQuery(message, where=f"custom.{parameter[:40]}", fix="give .from and .to")
        read = text if side == "prefix" else read_value(place, text, "custom", *parameter.split("."))
        sides.setdefault(name, {})[side or "equal"] = read
    return tuple(_test(name, fields[name], found) for name, found in sides.items())


def _test(name: str, place: str, sides: Mapping[str, Any]) -> FieldTest:
    if len(sides) > 1 and sides.keys() != {"from", "to"}:
        fix = "keep one of them"
        raise errors.UnsupportedQuery(
            "equality, prefix and from/to exclude one another", where=f"custom.{name}", fix=fix
        )
    low, high = sides.get("from"), sides.get("to")
    if low is not None and high is not None and low > high:
        raise errors.InputError("the lower bound lies above the upper one", where=f"custom.{name}", fix="turn them")
    return FieldTest(place, sides.get("equal"), low, high, sides.get("prefix"))
