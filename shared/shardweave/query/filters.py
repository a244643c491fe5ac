"""Filters: predicates over properties, compiled to conditions over stored attributes.

A filter is a tree of the nodes of `table.conditions` whose names are properties (stored or Python names) and whose
values are given in the property's own type. Compiling checks names and types and gives the tree over stored values.
DynamoDB evaluates as much as it can. It refuses filters on the keys of the table or index that it reads, does not have
the order of every type (see `value_order`), and limits the size of expressions; the library evaluates these parts.

A comparison with a property that has no value is false, except `ne`, which is true. `filter_compiler` lists the
operands of each test for each type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..errors import InputError, LimitExceeded, UnsupportedQuery, ValidationFailed, ValueRefused
from ..schema.entity_type import EntityType, IndexView
from ..table.conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Not,
    OnAttribute,
    Or,
    Size,
)
from ..table.expression_size import fits, nodes_of, operands_of
from ..table.values import Item, to_attribute_value
from ..values.json_types import json_value
from ..values.stored_form import stored_form
from .filter_compiler import WORDS, has_none, has_value, word_of
from .filter_paths import AtPath, test_at
from .key_attributes import attributes_for, hidden_in, is_unclear, values_in_keys
from .value_order import AFTER_READING, OrMade

MAX_DEPTH = 8
MAX_NODES = 100
SPARE_OPERATORS, SPARE_BYTES = 10, 200
"""Operators and bytes reserved in the table's part of the filter for a count and a key condition."""

_COMPARATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LEAVES = (*_COMPARATORS, "between", "in", "begins_with", "contains", "exists", "size")


@dataclass(frozen=True)
class SplitFilter:
    """A compiled filter in two parts that must both hold: one that DynamoDB evaluates and one that the library
    evaluates. `in_keys` are the properties that the library's part reads from keys of a record, `keys` the attributes
    of those keys, and `decoded` decodes them. `current` gives the current form of an item that may have an earlier
    one, on which the library's part is evaluated."""

    by_table: Condition | None = None
    here: Condition | None = None
    in_keys: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    decoded: Callable[[Item], Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)
    current: Callable[[Item], Item] | None = field(default=None, repr=False, compare=False)

    def attributes(self) -> frozenset[str]:
        """The attributes that the filter tests."""
        return self.attributes_here() | frozenset(() if self.by_table is None else self.by_table.attributes())

    def attributes_here(self) -> frozenset[str]:
        """The attributes that the library's part tests."""
        return frozenset(() if self.here is None else self.here.attributes()) - self.in_keys | self.keys

    def holds_here(self, item: Item) -> bool:
        """Whether the library's part holds for an item that has the keys of its view."""
        if self.here is None:
            return True
        if self.current is not None:
            item = self.current(item)
        return self.here.evaluate({**self.decoded(item), **item} if self.decoded else item)

    def evaluate(self, item: Mapping[str, Any]) -> bool:
        """Whether the whole filter holds for an item that has every attribute that the filter tests."""
        return (self.by_table is None or self.by_table.evaluate(item)) and self.holds_here(item)


NO_FILTER = SplitFilter()


def signature(condition: Condition | None) -> Any:
    """JSON that identifies a compiled filter and is the same in every process: sets have a fixed order in it."""
    if condition is None:
        return None
    if isinstance(condition, OrMade):
        return ["OrMade", signature(condition.test)]
    if isinstance(condition, AtPath):
        return ["AtPath", condition.attribute, *condition.steps, signature(condition.test)]
    if isinstance(condition, Not):
        return ["Not", signature(condition.condition)]
    if isinstance(condition, (And, Or)):
        return [type(condition).__name__, *map(signature, condition.conditions)]
    assert isinstance(condition, OnAttribute)
    operands = [repr(to_attribute_value(value)) for value in operands_of(condition)]
    return [type(condition).__name__, condition.attribute, getattr(condition, "operator", ""), operands]


Placed = tuple[Condition, str]
"""A filter and its place in the query."""


def compile_filter(entity: EntityType[Any], view: IndexView, filters: Sequence[Placed]) -> SplitFilter:
    """Filters that must all hold, for one view. Raises UnknownName, ValidationFailed, ValueRefused, UnsupportedQuery or
    LimitExceeded, each naming the place."""
    for condition, where in filters:
        _check_size(condition, where)
    compiled = [(_compiled(entity, condition, where), where) for condition, where in filters]
    for condition, where in compiled:
        _check_projected(entity, view, condition, where)
    looked_at = {name for condition, _ in compiled for name in condition.attributes()}
    in_keys = frozenset() if view.projected is None else frozenset(looked_at - view.projected)
    keys = {view.hash_name, view.range_name} | in_keys
    by_table: list[Condition] = []
    here: list[Condition] = []
    for part in [part for each, _ in compiled for part in (each.conditions if isinstance(each, And) else (each,))]:
        evaluable = not (keys | _upgraded(entity, part)) & set(part.attributes()) and not any(
            isinstance(node, (*AFTER_READING, AtPath)) for node in nodes_of(part)
        )
        fitting = evaluable and fits(And((*by_table, part)), spare_operators=SPARE_OPERATORS, spare_bytes=SPARE_BYTES)
        (by_table if fitting else here).append(part)
    sources = frozenset(attributes_for(entity, view, in_keys))
    decoded = partial(values_in_keys, entity, names=in_keys) if in_keys else None
    current = entity.current if entity.upgrades.functions and view.projected is None else None
    return SplitFilter(_all(tuple(by_table)), _all(tuple(here)), in_keys, sources, decoded, current)


def _upgraded(entity: EntityType[Any], condition: Condition) -> set[str]:
    """The properties in a condition that upgrades may change, so that what is stored may be of an earlier form."""
    return set(condition.attributes()) - entity.upgrades.placing if entity.upgrades.functions else set()


def _check_projected(entity: EntityType[Any], view: IndexView, condition: Condition, where: str) -> None:
    upgraded = _upgraded(entity, condition) - entity.upgrades.relied_on if view.projected is not None else set()
    if upgraded:
        raise UnsupportedQuery(
            f"the index {view.index!r} has only a part of each record, which can't be upgraded, and so not "
            f"{', '.join(sorted(upgraded))}",
            where=where,
            fix="use an index that projects ALL",
        )
    hidden = hidden_in(entity, view, condition.attributes())
    hidden += sorted(name for name in set(condition.attributes()) if is_unclear(entity, view, name))
    if hidden:
        raise UnsupportedQuery(
            f"the index {view.index!r} does not project {', '.join(hidden)}",
            where=where,
            fix="project it, use another index, or filter after reading (records are hydrated after they are filtered)",
        )


def _all(parts: tuple[Condition, ...]) -> Condition | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    return And(parts)


def _check_size(condition: Condition, where: str) -> None:
    nodes, deepest, open_nodes = 0, 0, [(condition, 1)]
    while open_nodes:
        node, depth = open_nodes.pop()
        nodes, deepest = nodes + 1, max(deepest, depth)
        if nodes > MAX_NODES or deepest > MAX_DEPTH:
            raise LimitExceeded(
                f"a filter has at most {MAX_NODES} nodes in {MAX_DEPTH} levels", where=where, fix="simplify it"
            )
        if isinstance(node, (And, Or)):
            open_nodes += [(each, depth + 1) for each in node.conditions]
        elif isinstance(node, Not):
            open_nodes.append((node.condition, depth + 1))


def _compiled(entity: EntityType[Any], node: Condition, where: str) -> Condition:
    if isinstance(node, (And, Or)):
        word = "and" if isinstance(node, And) else "or"
        places = (f"{where}.{word}[{number}]" for number in range(len(node.conditions)))
        return type(node)(tuple(map(partial(_compiled, entity), node.conditions, places)))
    if isinstance(node, Not):
        return Not(_compiled(entity, node.condition, f"{where}.not"))
    if not isinstance(node, OnAttribute) or not isinstance(node.attribute, str):
        raise InputError(
            "a filter must be a condition",
            where=where,
            fix='give Compare("name", "=", 1), say',
        )
    return test_at(entity, node.attribute, node, where)


# -- the JSON form ----------------------------------------------------------------------------------------------------


Read = Callable[[str, str, Any, str], Any]
"""The stored form of a JSON value, by the property's name, the test, the value and its place."""


def as_given(name: str, test: str, value: Any, where: str) -> Any:
    """Returns a JSON value unchanged."""
    return stored_form(value)


def filter_from_json(content: Any, read: Read = as_given, where: str = "filter") -> Condition:
    """The filter of its JSON form: `{"and": [...]}`, `{"or": [...]}`, `{"not": {...}}`, or a property with one
    test: `{"property": "phone", "begins_with": "177"}`. Tests: eq, ne, lt, le, gt, ge, between [low, high],
    in [...], begins_with, contains, exists true or false, size {"gt": 3}. Raises InputError naming the place."""
    return _node(content, read, where, 1)


def filter_as_json(condition: Condition) -> dict[str, Any]:
    """The JSON form of a filter. For a compiled filter, the values are stored values, and tests for a stored null are
    shown with `exists`."""
    if isinstance(condition, (OrMade, AtPath)):
        return filter_as_json(condition.test)
    if isinstance(condition, (And, Or)):
        first = next(condition.attributes())
        if condition in (has_value(first), has_none(first)):
            return {"property": first, "exists": isinstance(condition, And)}
        word = "and" if isinstance(condition, And) else "or"
        return {word: [filter_as_json(part) for part in condition.conditions]}
    if isinstance(condition, Not):
        return {"not": filter_as_json(condition.condition)}
    assert isinstance(condition, OnAttribute)
    return {"property": condition.attribute} | _test_as_json(condition)


def _test_as_json(node: OnAttribute) -> dict[str, Any]:
    if isinstance(node, Compare) and node.value is None:
        return {"exists": node.operator == "<>"}
    if isinstance(node, (Exists, Missing)):
        return {"exists": isinstance(node, Exists)}
    if isinstance(node, Size):
        return {"size": {WORDS[node.operator]: node.value}}
    operand: Any = None
    if isinstance(node, (Compare, Contains)):
        operand = json_value(node.value)
    elif isinstance(node, Between):
        operand = [json_value(node.low), json_value(node.high)]
    elif isinstance(node, In):
        operand = [json_value(value) for value in node.values]
    elif isinstance(node, BeginsWith):
        operand = json_value(node.prefix)
    return {word_of(node): operand}


def _node(content: Any, read: Read, where: str, depth: int) -> Condition:
    if depth > MAX_DEPTH:
        raise LimitExceeded(f"a filter has at most {MAX_DEPTH} levels", where=where, fix="simplify it")
    if not isinstance(content, Mapping):
        raise InputError("a filter must be an object", where=where, fix='give {"property": ..., "eq": ...}')
    for word, kind in (("and", And), ("or", Or)):
        if word in content:
            _only(content, {word}, where)
            parts = content[word]
            if not isinstance(parts, list) or not 1 <= len(parts) <= MAX_NODES:
                raise InputError(
                    f"{word!r} takes a list of 1 to {MAX_NODES} filters",
                    where=f"{where}.{word}",
                    fix='give such a list, like [{"property": ..., "eq": ...}]',
                )
            return kind(tuple(_node(part, read, f"{where}.{word}[{n}]", depth + 1) for n, part in enumerate(parts)))
    if "not" in content:
        _only(content, {"not"}, where)
        return Not(_node(content["not"], read, f"{where}.not", depth + 1))
    return _leaf(content, read, where)


def _only(content: Mapping[str, Any], names: set[str], where: str) -> None:
    unknown = sorted(set(content) - names)
    if unknown:
        allowed = ", ".join(sorted(names))
        raise InputError(
            f"{', '.join(map(str, unknown))[:80]!r} can't stand beside {allowed}",
            where=where,
            fix="remove it, or make it a filter of its own and join both by and",
        )


def _leaf(content: Mapping[str, Any], read: Read, where: str) -> Condition:
    tests = [word for word in _LEAVES if word in content]
    name = content.get("property")
    if not isinstance(name, str) or len(tests) != 1:
        raise InputError(
            "a filter names one property and one test",
            where=where,
            fix=f"give property and one of {', '.join(_LEAVES)}",
        )
    (test,) = tests
    _only(content, {"property", test}, where)
    value = content[test]
    place = f"{where}.{test}"
    try:
        return _test(name, test, value, partial(_scalar, name, test, read), place)
    except ValueRefused as error:
        if not error.where.startswith(place):
            error.where = place
        raise


def _test(name: str, test: str, value: Any, scalar: Callable[[Any, str], Any], where: str) -> Condition:
    if test in _COMPARATORS:
        return Compare(name, _COMPARATORS[test], scalar(value, where))  # type: ignore[arg-type]
    if test == "between":
        return Between(name, *(scalar(each, where) for each in _list(value, where, 2, 2)))
    if test == "in":
        return In(name, tuple(scalar(each, where) for each in _list(value, where, 1, 100)))
    if test == "begins_with":
        if not isinstance(value, str):
            raise InputError("a beginning is text (of bytes, base64url)", where=where, fix="give a string")
        return BeginsWith(name, scalar(value, where))
    if test == "contains":
        return Contains(name, scalar(value, where))
    if test == "exists":
        if not isinstance(value, bool):
            raise InputError("exists must be true or false", where=where, fix="give true or false")
        return Exists(name) if value else Missing(name)
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _COMPARATORS:
        raise InputError("size takes one comparison", where=where, fix='give {"gt": 3}')
    ((comparator, count),) = value.items()
    if isinstance(count, bool) or not isinstance(count, int):
        raise InputError("a size must be a whole number", where=where, fix="give an integer")
    return Size(name, _COMPARATORS[comparator], count)  # type: ignore[arg-type]


_OF_MANY = "use contains for a member, or size; whole lists, sets and objects are compared in Python only"
_MANY = frozenset({"list_type", "tuple_type", "set_type", "frozen_set_type", "dict_type", "model_type"})
"""The faults of one value where a property has many."""


def _scalar(name: str, test: str, read: Read, value: Any, where: str) -> Any:
    if isinstance(value, (list, dict)):
        raise InputError("a test takes one value, no list or object", where=where, fix=_OF_MANY)
    if value is None:
        raise InputError("a test takes one value that is not null", where=where, fix="use exists for absence")
    try:
        return read(name, test, value, where)
    except ValidationFailed as error:
        if all(fault.type in _MANY for fault in error.fields):
            message = "the property has a list, a set or an object, of which a test takes no whole one"
            raise InputError(message, where=where, fix=_OF_MANY) from None
        raise


def _list(value: Any, where: str, least: int, most: int) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        raise InputError(f"it takes a list of {count} values", where=where, fix="correct the list")
    return value
