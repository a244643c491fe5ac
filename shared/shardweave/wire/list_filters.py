"""Filters of lists as parameters: `filter.status=open` tests a property after reading, also one that no index has.

The forms are those of conditions, after `filter.`: `filter.p=` for equality, `filter.p.prefix=`, `filter.p.from=` and
`filter.p.to=` (both included). All that are given must hold. What else a filter can say goes by POST.

In a map, a list or a nested model, a path leads to the value that is tested: `filter.meta.color=`,
`filter.lines.0.price.from=` (see `filter_paths`). After the first step, a last step `eq`, `prefix`, `from` or `to` is
the form; a key of that name is tested with `.eq` after it. Where no type is declared, a text that is a number, `true`
or `false` in JSON is that, and one in quotes is text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..query.filter_paths import path_of, property_at, steps_of, test_at
from ..query.value_order import has_text, order_of
from ..schema.entity_type import EntityType
from ..schema.property import Property
from ..table.conditions import And, BeginsWith, Compare, Condition
from ..values.json_types import is_untyped, untyped_of_text
from .parameter import Parameter, ParameterFamily

FILTER = "filter"
FORMS = ("eq", "prefix", "from", "to")

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
        self._entity = entity
        found = (each for prop in entity.properties.values() for each in _parameters_of(prop, annotation))
        self._parameters = {each.parameter.name: each for each in found if each.parameter.name not in taken}
        self.families = tuple(
            ParameterFamily(f"{FILTER}.{each.stored}.", "PATH", f"Keeps records by what stands there in {each.stored}.")
            for each in entity.properties.values()
            if has_steps(each)
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(each.parameter for each in self._parameters.values())

    def has(self, name: str) -> bool:
        """Whether a parameter is one of these filters."""
        return name in self._parameters or any(each.has(name) for each in self.families)

    def condition(self, given: Mapping[str, str], read: Read) -> Condition | None:
        """The filter of those parameters that are given. Raises what `read` raises."""
        tests = []
        for name, text in given.items():
            if name in self._parameters:
                tests.append(self._test(self._parameters[name], text, read))
            elif any(each.has(name) for each in self.families):
                tests.append(self._test_at(name, text, read))
        return And(tuple(tests)) if len(tests) > 1 else next(iter(tests), None)

    def _test_at(self, name: str, text: str, read: Read) -> Condition:
        """The test of a path. What is wrong with it is wrong with its parameter."""
        try:
            path, form = _path_and_form(name.removeprefix(f"{FILTER}."), name)
            each = property_at(self._entity, path, name)
            test = self._test(FilterParameter(each, form, Parameter(name, "")), text, read)
            test_at(self._entity, path, test, name)
        except InputError as error:
            error.where = name
            raise
        return test

    def _test(self, asked: FilterParameter, text: str, read: Read) -> Condition:
        each, name = asked.each, asked.parameter.name
        if asked.form == "prefix":
            return BeginsWith(each.stored, text)
        untyped = is_untyped(each.annotation)
        value = untyped_of_text(text) if untyped else read(each, text, name, bound=bool(asked.form))
        if not asked.form:
            return Compare(each.stored, "=", value)
        return Compare(each.stored, ">=" if asked.form == "from" else "<=", value)


def has_steps(each: Property) -> bool:
    """Whether paths may lead into a property: it is a map, a list or a nested model, or may be one."""
    return not each.private and each.codec is None and not each.is_set


def _path_and_form(path: str, where: str) -> tuple[str, str]:
    steps = steps_of(path, where)
    if len(steps) > 2 and steps[-1] in FORMS:
        form = steps.pop()
        return path_of(steps), "" if form == "eq" else form
    return path_of(steps), ""


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
