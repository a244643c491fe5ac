"""Filters of lists as parameters: `filter.status=open` tests a property after reading, also one that no index has.

The forms are those of conditions, after `filter.`: `filter.p=` for equality, `filter.p.prefix=`, `filter.p.from=` and
`filter.p.to=` (both included). All that are given must hold. What else a filter can say goes by POST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..query.value_order import has_text, order_of
from ..schema.entity_type import EntityType
from ..schema.property import Property
from ..table.conditions import And, BeginsWith, Compare, Condition
from .parameter import Parameter

FILTER = "filter"

Read = Callable[..., Any]
"""The value of a text, by its property, the text, the parameter's name, and `bound`: whether it is a place in the
order."""


@dataclass(frozen=True)
class FilterParameter:
    """One parameter: the property that it tests, and how."""

    each: Property
    form: str
    parameter: Parameter


class ListFilters:
    """The filters that lists of one entity take as parameters, but for the names that are `taken`. `annotation` gives
    the type that describes a value."""

    def __init__(
        self, entity: EntityType[Any], annotation: Callable[[Property], Any], taken: Mapping[str, Any]
    ) -> None:
        found = (each for prop in entity.properties.values() for each in _parameters_of(prop, annotation))
        self._parameters = {each.parameter.name: each for each in found if each.parameter.name not in taken}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(each.parameter for each in self._parameters.values())

    def condition(self, given: Mapping[str, str], read: Read) -> Condition | None:
        """The filter of those parameters that are given. Raises what `read` raises."""
        tests = [
            self._test(self._parameters[name], text, read) for name, text in given.items() if name in self._parameters
        ]
        return And(tuple(tests)) if len(tests) > 1 else next(iter(tests), None)

    def _test(self, asked: FilterParameter, text: str, read: Read) -> Condition:
        each, name = asked.each, asked.parameter.name
        if asked.form == "prefix":
            return BeginsWith(each.stored, text)
        value = read(each, text, name, bound=bool(asked.form))
        if not asked.form:
            return Compare(each.stored, "=", value)
        return Compare(each.stored, ">=" if asked.form == "from" else "<=", value)


def _parameters_of(each: Property, annotation: Callable[[Property], Any]) -> list[FilterParameter]:
    if each.private or each.codec is None:
        return []
    plain = f"{FILTER}.{each.stored}"
    forms: list[tuple[str, str, Any]] = [("", "equal to this", annotation(each))]
    if has_text(each) and each.codec.is_text:
        forms.append(("prefix", "that begins with this text", str))
    if order_of(each) is not None:
        forms += [("from", "at or after this", annotation(each)), ("to", "at or before this", annotation(each))]
    return [
        FilterParameter(
            each, form, Parameter(f"{plain}.{form}" if form else plain, f"Keeps records with one {words}.", kind)
        )
        for form, words, kind in forms
    ]
