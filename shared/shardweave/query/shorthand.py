"""Shorthand for conditions and filters in Python programs.

    db.query(Order, customer_id="c3", state=prefix("op"))       conditions: what an index finds
    db.query(Order, state=one_of("open", "paid"))
    db.query(Order, total=between(100, None))
    db.query(Order, branches=[branch(state="open"), branch(index="created")])
    db.query(Order, index="created", filter=where("total") > 100)      a filter: what is read, and then left out

A plain value in a condition is equality, a list is any of its values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ..errors import InputError
from ..table.conditions import (
    BeginsWith,
    Between,
    Comparator,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Size,
    Undecided,
)
from .spec import BranchSpec, Constraint, Equal, OneOf, Prefix, Range

_CONSTRAINTS = (*get_args(Constraint), OneOf)


def prefix(text: str) -> Prefix:
    """The condition that a property's text begins with `text`."""
    return Prefix(text)


def one_of(*values: Any) -> OneOf:
    """The condition that a property equals one of these values."""
    return OneOf(values)


def between(low: Any = None, high: Any = None) -> Range:
    """The condition that a property lies between two values, both included; None leaves a side open."""
    return Range(low, high)


def branch(
    conditions: Mapping[str, Any] | None = None,
    /,
    *,
    index: str | None = None,
    filter: Condition | None = None,
    **equal: Any,
) -> BranchSpec:
    """A branch of a query, with conditions as `Database.query` takes them."""
    return BranchSpec(constraints(conditions, equal, "branch"), index, filter)


def constraints(
    conditions: Mapping[str, Any] | None, named: Mapping[str, Any], where: str = ""
) -> dict[str, Constraint | OneOf]:
    """The constraints of conditions that are given as a mapping and as keyword arguments. Raises InputError for a
    property that is in both, and if the mapping is none."""
    given: Any = {} if conditions is None else conditions
    if not isinstance(given, Mapping):
        raise InputError(
            f"conditions must be a mapping of properties, got {type(given).__name__}",
            where=f"{where}.conditions".lstrip("."),
            fix='give {"customer_id": "c3"}, or customer_id="c3"; keys of records are for get',
        )
    twice = sorted(set(given) & set(named), key=str)
    if twice:
        raise InputError("the property has two conditions", where=str(twice[0])[:80], fix="give one")
    return {name: constraint(name, value) for name, value in (*given.items(), *named.items())}


def constraint(name: str, value: Any) -> Constraint | OneOf:
    """The constraint of a value: itself, equality with a plain value, or any of a list."""
    if isinstance(value, _CONSTRAINTS):
        return value  # type: ignore[no-any-return]  # it is one of the classes of the union
    if isinstance(value, (list, tuple)):
        return OneOf(tuple(value))
    if isinstance(value, (Mapping, set, frozenset, Condition, Where)):
        raise InputError(
            f"a condition must be a value, a list of values, prefix, one_of or between, got {type(value).__name__}",
            where=str(name)[:80],
            fix="give one of them; other tests go into filter=where(...)",
        )
    return Equal(value)


@dataclass(frozen=True, eq=False)
class Where(Undecided):
    """A property that a filter tests: each comparison and method gives a condition, joined by `&`, `|` and `~`."""

    property: str

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compared("=", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compared("<>", value)

    def __lt__(self, value: Any) -> Condition:
        return self._compared("<", value)

    def __le__(self, value: Any) -> Condition:
        return self._compared("<=", value)

    def __gt__(self, value: Any) -> Condition:
        return self._compared(">", value)

    def __ge__(self, value: Any) -> Condition:
        return self._compared(">=", value)

    __hash__ = None  # type: ignore[assignment]  # no two are equal, or different

    def between(self, low: Any, high: Any) -> Condition:
        """Whether the value lies between two others, both included."""
        return Between(self.property, low, high)

    def one_of(self, *values: Any) -> Condition:
        """Whether the value is one of some."""
        return In(self.property, values)

    def begins_with(self, begin: str | bytes) -> Condition:
        """Whether a text begins with a text, or bytes with bytes."""
        return BeginsWith(self.property, begin)

    def contains(self, part: Any) -> Condition:
        """Whether a text holds a text, or a list or set a member."""
        return Contains(self.property, part)

    def exists(self) -> Condition:
        """Whether the record has a value."""
        return Exists(self.property)

    def missing(self) -> Condition:
        """Whether the record has no value."""
        return Missing(self.property)

    def size(self, operator: Comparator, size: int) -> Condition:
        """How the size compares, as in `size(">", 3)`: of a text in UTF-16 code units, of bytes, of a list, set or
        mapping in members. Raises InputError."""
        return Size(self.property, operator, size)

    def _compared(self, operator: Comparator, value: Any) -> Condition:
        return Compare(self.property, operator, value)


def where(property: str) -> Where:
    """A property, by its stored or Python name, for a filter: `where("total") > 100`."""
    if not isinstance(property, str):
        raise InputError(
            f"a property must be named by text, got {type(property).__name__}", where="where", fix='give where("total")'
        )
    return Where(property)
