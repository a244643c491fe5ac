"""Conditions and filters as values.

One small closed tree serves write conditions and query filters. Each node has two pure sides that must agree:
`evaluate(item)`, which returns the same result as DynamoDB, and `render(names)`, which writes DynamoDB's expression.
The embedded table and the query's own filtering use the first, the dynamodb table the second. No strings are parsed.

These surprising semantics of DynamoDB are reproduced: values of different types are never equal nor ordered; a
comparison with a missing attribute is false, except `<>`, which is true; `Not` of a false comparison is true; the size
of a text is counted in UTF-16 code units.

Conditions that DynamoDB would refuse are not sent (`check`): an operand that it can't store, comparisons of anything
but texts, numbers and binaries, reversed bounds. Conditions that are invalid for every type can't be built: `In` with
no value or more than 100, a prefix that is neither text nor binary, a size that is not a number. Both raise
ValueRefused. In a filter the operands are values of the property's own type, in that type's order, until it is
compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NoReturn, get_args

from ..errors import InputError, ValueRefused
from .values import AttributeValue, Item, Value, to_attribute_value

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]

MAX_CHOICES = 100
_ORDERED = ("S", "N", "B")


class Names:
    """Collects the `#name` and `:value` placeholders of one request's expressions, each name once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.values: dict[str, AttributeValue] = {}

    def name(self, attribute: str) -> str:
        placeholder = self._names.get(attribute)
        if placeholder is None:
            placeholder = self._names[attribute] = f"#n{len(self._names)}"
        return placeholder

    def value(self, value: Value) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = to_attribute_value(value)
        return placeholder

    def request_parts(self) -> dict[str, Any]:
        """`ExpressionAttributeNames` and `ExpressionAttributeValues`, each only when it is not empty."""
        parts: dict[str, Any] = {}
        if self._names:
            parts["ExpressionAttributeNames"] = {placeholder: name for name, placeholder in self._names.items()}
        if self.values:
            parts["ExpressionAttributeValues"] = dict(self.values)
        return parts


class Undecided:
    """An object without a truth value, so that `and`, `or`, `not`, `in` and chained comparisons, which would each
    silently drop a part of a condition, are refused. Raises InputError."""

    def __bool__(self) -> NoReturn:
        raise InputError(
            "a test is neither true nor false before a record is given to it",
            where="filter",
            fix='join tests with &, | and ~, each in parentheses: (where("total") > 2) & (where("total") < 8); '
            "`and`, `or`, `not`, `in` and 2 < x < 8 would drop a part",
        )

    def __contains__(self, value: object) -> NoReturn:
        raise InputError(
            "a test holds no values",
            where="filter",
            fix='use where("tags").contains(...) or where("state").one_of(...)',
        )

    def __iter__(self) -> NoReturn:
        raise InputError("a test holds no values", where="filter", fix="give the test itself")


class Condition(Undecided):
    """A predicate over one item."""

    def evaluate(self, item: Item) -> bool:
        raise NotImplementedError

    def render(self, names: Names) -> str:
        raise NotImplementedError

    def attributes(self) -> Iterator[str]:
        """Every attribute that the condition tests, with repetitions."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise an error if DynamoDB would refuse this node. Raises ValueRefused naming the attribute."""

    def __and__(self, other: Condition) -> Condition:
        return And((self, other))

    def __or__(self, other: Condition) -> Condition:
        return Or((self, other))

    def __invert__(self) -> Condition:
        return Not(self)


@dataclass(frozen=True)
class OnAttribute(Condition):
    """A predicate over one attribute."""

    attribute: str

    def attributes(self) -> Iterator[str]:
        yield self.attribute


@dataclass(frozen=True)
class Compare(OnAttribute):
    """`attribute operator value`."""

    operator: Comparator
    value: Value

    def check(self) -> None:
        _check_comparator(self.attribute, self.operator)
        kind = _checked_kind(self.attribute, self.value)
        if self.operator not in ("=", "<>") and kind not in _ORDERED:
            raise _not_ordered(self.attribute)

    def evaluate(self, item: Item) -> bool:
        if self.attribute not in item:
            return self.operator == "<>"
        return compare(item[self.attribute], self.operator, self.value)

    def render(self, names: Names) -> str:
        self.check()
        return f"{names.name(self.attribute)} {self.operator} {names.value(self.value)}"


@dataclass(frozen=True)
class Between(OnAttribute):
    """`low <= attribute <= high`; both bounds of one type, `low` not above `high`."""

    low: Value
    high: Value

    def check(self) -> None:
        kinds = {_checked_kind(self.attribute, bound) for bound in (self.low, self.high)}
        if not kinds <= set(_ORDERED):
            raise _not_ordered(self.attribute)
        if len(kinds) > 1:
            fix = "give two numbers, say, or two texts"
            raise ValueRefused("the bounds of a range must be of one type", where=self.attribute, fix=fix)
        if self.low > self.high:
            raise ValueRefused("the lower bound of a range must come first", where=self.attribute, fix="swap them")

    def evaluate(self, item: Item) -> bool:
        if self.attribute not in item:
            return False
        value = item[self.attribute]
        return compare(value, ">=", self.low) and compare(value, "<=", self.high)

    def render(self, names: Names) -> str:
        self.check()
        return f"{names.name(self.attribute)} BETWEEN {names.value(self.low)} AND {names.value(self.high)}"


@dataclass(frozen=True)
class In(OnAttribute):
    """`attribute` equals one of at most 100 values."""

    values: tuple[Value, ...]

    def check(self) -> None:
        for value in self.values:
            _checked_kind(self.attribute, value)

    def __post_init__(self) -> None:
        given: object = self.values
        if isinstance(given, list):
            object.__setattr__(self, "values", tuple(given))
        elif not isinstance(given, tuple):
            fix = "give a tuple, such as (1, 2)"
            raise ValueRefused("the values to choose from must be a tuple", where=self.attribute, fix=fix)
        if not 1 <= len(self.values) <= MAX_CHOICES:
            raise ValueRefused(
                f"there must be 1 to {MAX_CHOICES} values to choose from",
                where=self.attribute,
                fix="split the condition",
            )

    def evaluate(self, item: Item) -> bool:
        return self.attribute in item and any(compare(item[self.attribute], "=", value) for value in self.values)

    def render(self, names: Names) -> str:
        self.check()
        return f"{names.name(self.attribute)} IN ({', '.join(names.value(value) for value in self.values)})"


@dataclass(frozen=True)
class BeginsWith(OnAttribute):
    """A string or binary attribute starts with `prefix`."""

    prefix: str | bytes

    def __post_init__(self) -> None:
        if not isinstance(self.prefix, (str, bytes, bytearray)):
            raise ValueRefused("a prefix must be a text or binary", where=self.attribute, fix="use a comparison")

    def check(self) -> None:
        _checked_kind(self.attribute, self.prefix)

    def evaluate(self, item: Item) -> bool:
        value = item.get(self.attribute)
        if isinstance(value, str) and isinstance(self.prefix, str):
            return value.startswith(self.prefix)
        return isinstance(value, bytes) and isinstance(self.prefix, bytes) and value.startswith(self.prefix)

    def render(self, names: Names) -> str:
        self.check()
        return f"begins_with({names.name(self.attribute)}, {names.value(self.prefix)})"


@dataclass(frozen=True)
class Contains(OnAttribute):
    """A string or binary holds a part, or a set or list holds an element."""

    value: Value

    def check(self) -> None:
        _checked_kind(self.attribute, self.value)

    def evaluate(self, item: Item) -> bool:
        stored = item.get(self.attribute)
        if isinstance(stored, str):
            return isinstance(self.value, str) and self.value in stored
        if isinstance(stored, bytes):
            return isinstance(self.value, bytes) and self.value in stored
        if isinstance(stored, (list, tuple, Set)):
            return any(compare(element, "=", self.value) for element in stored)
        return False

    def render(self, names: Names) -> str:
        self.check()
        return f"contains({names.name(self.attribute)}, {names.value(self.value)})"


@dataclass(frozen=True)
class Exists(OnAttribute):
    """The attribute is present (a null counts as present)."""

    def evaluate(self, item: Item) -> bool:
        return self.attribute in item

    def render(self, names: Names) -> str:
        return f"attribute_exists({names.name(self.attribute)})"


@dataclass(frozen=True)
class Missing(OnAttribute):
    """The attribute is absent."""

    def evaluate(self, item: Item) -> bool:
        return self.attribute not in item

    def render(self, names: Names) -> str:
        return f"attribute_not_exists({names.name(self.attribute)})"


@dataclass(frozen=True)
class Size(OnAttribute):
    """`size(attribute) operator value`: UTF-16 code units of a string, bytes of a binary, elements of a collection. A
    value without a size is treated like a missing attribute."""

    operator: Comparator
    value: int

    def __post_init__(self) -> None:
        _check_comparator(self.attribute, self.operator)
        if _checked_kind(self.attribute, self.value) != "N":
            raise ValueRefused("a size must be compared with a number", where=self.attribute, fix="give a number")

    def evaluate(self, item: Item) -> bool:
        stored = item.get(self.attribute)
        if isinstance(stored, str):
            return compare(len(stored.encode("utf-16-le")) // 2, self.operator, self.value)
        if isinstance(stored, (bytes, list, tuple, Set, Mapping)):
            return compare(len(stored), self.operator, self.value)
        return self.operator == "<>"

    def render(self, names: Names) -> str:
        size = f"size({names.name(self.attribute)})"
        if self.operator == "<>":
            # The result of `<>` for an attribute without a size is not documented; that of `=` is.
            return f"NOT {size} = {names.value(self.value)}"
        return f"{size} {self.operator} {names.value(self.value)}"


@dataclass(frozen=True)
class _OnConditions(Condition):
    conditions: tuple[Condition, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.conditions:
            fix = f"leave {type(self).__name__} out where nothing is asked"
            raise ValueRefused(f"{type(self).__name__} needs at least one condition", fix=fix)

    def attributes(self) -> Iterator[str]:
        for condition in self.conditions:
            yield from condition.attributes()


@dataclass(frozen=True)
class And(_OnConditions):
    """All of the conditions hold."""

    def evaluate(self, item: Item) -> bool:
        return all(condition.evaluate(item) for condition in self.conditions)

    def render(self, names: Names) -> str:
        return _joined(" AND ", self.conditions, names)


@dataclass(frozen=True)
class Or(_OnConditions):
    """At least one of the conditions holds."""

    def evaluate(self, item: Item) -> bool:
        return any(condition.evaluate(item) for condition in self.conditions)

    def render(self, names: Names) -> str:
        return _joined(" OR ", self.conditions, names)


@dataclass(frozen=True)
class Not(Condition):
    """The condition does not hold."""

    condition: Condition

    def evaluate(self, item: Item) -> bool:
        return not self.condition.evaluate(item)

    def render(self, names: Names) -> str:
        return f"NOT ({self.condition.render(names)})"

    def attributes(self) -> Iterator[str]:
        yield from self.condition.attributes()


def _joined(word: str, conditions: tuple[Condition, ...], names: Names) -> str:
    """Parentheses are written only where they are needed, since DynamoDB refuses redundant ones."""
    if len(conditions) == 1:
        return conditions[0].render(names)
    return word.join(
        f"({condition.render(names)})" if _is_joined(condition) else condition.render(names) for condition in conditions
    )


def _is_joined(condition: Condition) -> bool:
    """Whether the expression of a condition has an AND or OR outside of parentheses."""
    if not isinstance(condition, _OnConditions):
        return False
    return len(condition.conditions) > 1 or _is_joined(condition.conditions[0])


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(left: Value, comparator: Comparator, right: Value) -> bool:
    """DynamoDB's comparison of two present values. Text is ordered by code point, which is UTF-8 byte order."""
    kind = _kind(left)
    if kind != _kind(right):
        return comparator == "<>"
    if comparator in ("=", "<>"):
        return bool(_comparable(left) == _comparable(right)) == (comparator == "=")
    return kind in _ORDERED and bool(OPERATORS[comparator](left, right))


def _check_comparator(attribute: str, operator: object) -> None:
    """Raises ValueRefused for an unknown comparison operator."""
    if operator not in get_args(Comparator):
        fix = f"use one of {' '.join(get_args(Comparator))}"
        raise ValueRefused("there is no such comparison", where=attribute, fix=fix)


def _checked_kind(attribute: str, operand: Value) -> str:
    """The operand's type. Raises ValueRefused for what DynamoDB can't hold."""
    try:
        ((kind, _),) = to_attribute_value(operand).items()
    except ValueRefused as refused:
        raise ValueRefused(refused.message, where=attribute, fix=refused.fix) from None
    return kind


def _not_ordered(attribute: str) -> ValueRefused:
    return ValueRefused("only texts, numbers and binaries have an order", where=attribute, fix="use = or <>")


def _kind(value: Value) -> str:
    if isinstance(value, str):
        return "S"
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, (int, Decimal)):
        return "N"
    if isinstance(value, bytes):
        return "B"
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        return "M"
    if isinstance(value, (list, tuple)):
        return "L"
    return "SET:" + (_kind(next(iter(value))) if value else "")


def _comparable(value: Value) -> Any:
    """A form whose equality is DynamoDB's: Python alone would take `True` for `1` inside lists and maps."""
    kind = _kind(value)
    if isinstance(value, Mapping):
        return kind, {name: _comparable(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return kind, [_comparable(element) for element in value]
    if isinstance(value, Set):
        return kind, set(value)
    return kind, value
