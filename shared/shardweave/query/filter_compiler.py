"""Compiling the tests of a filter: the operands that each test takes for each type, and its form over stored values.

    eq, ne, in                  a value that the property can have
    lt, le, gt, ge, between     a place in the property's order: any text of a text, any number of a number, a member
                                of an Enum
    begins_with                 the beginning of a text or of bytes
    contains                    a part of a text or of bytes; of a list or set one member
    size                        of a text, of bytes, and of what has members
    exists                      of anything

A test that the type does not support, so that it could never hold, is refused. Order and equality are those of
`value_order`, so that filters, conditions and Python agree. None has no order and is equal only to None. A record
without the property is tested with its default, or None if there is no default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ShardweaveError, UnsupportedQuery, ValueRefused
from ..schema.property import Property
from ..table.conditions import (
    MAX_CHOICES,
    OPERATORS,
    And,
    BeginsWith,
    Between,
    Comparator,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Or,
    Size,
)
from ..table.expression_size import nodes_of
from ..table.values import Value
from ..values.codecs import BinaryCodec, DateTimeCodec, StringCodec, TimestampCodec
from ..values.stored_form import stored_form
from .value_order import (
    OrMade,
    PlacedCompare,
    PlacedContains,
    ValueOrder,
    equality_of,
    has_length,
    has_text,
    kinds_of,
    may_be_none,
    order_of,
    stand_in,
)

WORDS = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def word_of(node: Condition) -> str:
    """The name of a test in the JSON form, for the place of an error."""
    if isinstance(node, Compare):
        return WORDS[node.operator]
    names: dict[type[Condition], str] = {
        Between: "between",
        In: "in",
        BeginsWith: "begins_with",
        Contains: "contains",
        Size: "size",
    }
    return names.get(type(node), "exists")


def compiled_test(each: Property, node: Condition, where: str, *, stored: bool = False) -> Condition:
    """A test over stored values; `stored` says that every record has the property. Raises ValidationFailed,
    ValueRefused or UnsupportedQuery naming the place."""
    place = f"{where}.{word_of(node)}"
    try:
        test = _compiled(each, node)
        for part in nodes_of(test):
            part.check()
        return test if stored else _with_default(each, test)
    except ShardweaveError as error:
        error.where = place
        raise


def _with_default(each: Property, test: Condition) -> Condition:
    """The test of the stored value, or of the default if nothing is stored."""
    name, default = each.stored, each.default
    if default.of_others:
        raise UnsupportedQuery(
            f"where {name} is not stored it is made from the other properties of the record",
            fix="let its default be a value, or a factory that takes nothing",
        )
    if not default.is_constant:
        return OrMade(name, test, default.form)
    form = default.form()
    wanted = test.evaluate({} if form is None else {name: form})
    if wanted == test.evaluate({}):
        return test
    return Or((Missing(name), test)) if wanted else And((Exists(name), test))


def _compiled(each: Property, node: Condition) -> Condition:
    name = each.stored
    if isinstance(node, Compare) and node.operator in ("=", "<>"):
        if node.value is None and may_be_none(each):
            return _existence(each, node.operator == "<>")
        return _equal(each, node.operator, _value(each, node.value))
    if isinstance(node, In):
        return _among(each, node.values)
    if isinstance(node, Compare):
        return _ordered(each, node.operator, node.value)
    if isinstance(node, Between):
        return _between(each, node.low, node.high)
    if isinstance(node, BeginsWith):
        _require(has_text(each), each, "begins_with", "texts and bytes")
        return BeginsWith(name, _piece(each, node.prefix))
    if isinstance(node, Contains):
        return _contains(each, node.value)
    if isinstance(node, Size):
        _require(has_length(each), each, "size", "texts, bytes and what has members")
        return Size(name, node.operator, node.value)
    return _existence(each, isinstance(node, Exists))


def _require(holds: bool, each: Property, test: str, types: str) -> None:
    if not holds:
        raise UnsupportedQuery(f"{test} is for {types}, not for {each.stored}", fix="use another test")


# -- equality and order -----------------------------------------------------------------------------------------------


def _value(each: Property, value: Any) -> Value:
    """A value of the property's type, in stored form. A time in the wrong unit is refused, as in a condition."""
    stored = each.parse(value)
    if isinstance(each.codec, TimestampCodec) and stored is not None:
        each.codec.encode(stored)
    return stored


def _equal(each: Property, operator: Comparator, value: Value) -> Condition:
    place = equality_of(each)
    return (
        Compare(each.stored, operator, value) if place is None else PlacedCompare(each.stored, operator, value, place)
    )


def _among(each: Property, choices: tuple[Any, ...]) -> Condition:
    values = tuple(_value(each, choice) for choice in choices if choice is not None or not may_be_none(each))
    tests: tuple[Condition, ...] = ()
    if equality_of(each) is not None:
        tests = tuple(_equal(each, "=", value) for value in values)
    elif values:
        tests = (In(each.stored, values),)
    return _any((*tests, _existence(each, False)) if len(values) < len(choices) else tests)


def _bound(each: Property, order: ValueOrder, value: Any) -> Value:
    """A bound in the order of a property, in stored form."""
    bound = None if value is None else each.bound(value)
    if bound is None:
        raise ValueRefused("None has no place in an order", fix="use exists, or leave the test out")
    if each.codec is not None and (order.place is not None or isinstance(each.codec, TimestampCodec)):
        each.codec.encode(bound)
    if isinstance(bound, (bool, list, dict, set)) and not order.members:
        raise UnsupportedQuery("true, false, lists, sets and mappings have no order", fix="use another test")
    return bound


def _order(each: Property, test: str) -> ValueOrder:
    order = order_of(each)
    if order is None:
        fix = "use eq, in, contains or size, as its type has them, or declare one type that has an order"
        raise UnsupportedQuery(f"{test} is for what has one order, which the values of {each.stored} have not", fix=fix)
    return order


def _ordered(each: Property, operator: Comparator, value: Any) -> Condition:
    order = _order(each, WORDS[operator])
    bound = _bound(each, order, value)
    if order.members:
        return _ranked(each, order, lambda rank: OPERATORS[operator](rank, _rank(order, bound)))
    if order.place is not None:
        return PlacedCompare(each.stored, operator, bound, order.place)
    return Compare(each.stored, operator, bound)


def _between(each: Property, low: Any, high: Any) -> Condition:
    order = _order(each, "between")
    low, high = _bound(each, order, low), _bound(each, order, high)
    if order.members:
        first, last = _rank(order, low), _rank(order, high)
        if first > last:
            raise ValueRefused("the bounds of a range must be in the order of the members", fix="swap them")
        return _ranked(each, order, lambda rank: first <= rank <= last)
    if order.place is None:
        found = Between(each.stored, low, high)
        found.check()
        return found
    if not stand_in(order.place, low, "<=", high):
        if stand_in(order.place, high, "<", low):
            raise ValueRefused("the lower bound of a range must come first", fix="swap them")
        fix = "give both with a zone, say, or both without"
        raise ValueRefused("the bounds of a range must be of one kind", fix=fix)
    sides: tuple[tuple[Comparator, Value], ...] = ((">=", low), ("<=", high))
    return And(tuple(PlacedCompare(each.stored, operator, bound, order.place) for operator, bound in sides))


def _rank(order: ValueOrder, value: Value) -> int:
    return next(rank for rank, member in enumerate(order.members) if _same(member, value))


def _same(member: Value, value: Value) -> bool:
    return bool(member == value) and isinstance(member, bool) == isinstance(value, bool)


def _ranked(each: Property, order: ValueOrder, chosen: Callable[[int], bool]) -> Condition:
    members = [member for rank, member in enumerate(order.members) if chosen(rank)]
    chunks = [members[start : start + MAX_CHOICES] for start in range(0, len(members), MAX_CHOICES)]
    return _any(tuple(In(each.stored, tuple(chunk)) for chunk in chunks) or (_never(each.stored),))


def _any(tests: tuple[Condition, ...]) -> Condition:
    return tests[0] if len(tests) == 1 else Or(tests)


def _never(name: str) -> Condition:
    return And((Exists(name), Missing(name)))


# -- parts and existence ----------------------------------------------------------------------------------------------


def _contains(each: Property, value: Any) -> Condition:
    _require(has_text(each) or "list" in kinds_of(each), each, "contains", "texts, bytes, lists and sets")
    place = None if each.members is None else equality_of(each.members)
    piece = _piece(each, value)
    return Contains(each.stored, piece) if place is None else PlacedContains(each.stored, piece, place)


def _piece(each: Property, value: Any) -> Any:
    """A part of a value in stored form: a text for a text, bytes for bytes, a member for a list or set."""
    if isinstance(each.codec, StringCodec):
        return each.bound(value)
    if isinstance(each.codec, DateTimeCodec) and isinstance(value, str):
        return each.begin(value)
    if each.codec is None:
        is_part = has_text(each) and isinstance(value, (str, bytes))
        return stored_form(value) if each.members is None or is_part else each.members.parse(value)
    kind = bytes if isinstance(each.codec, BinaryCodec) else str
    if not isinstance(value, kind):
        raise ValueRefused(f"a part of {each.stored} is {'bytes' if kind is bytes else 'text'}", fix="give such a part")
    return stored_form(value)


def _existence(each: Property, wanted: bool) -> Condition:
    if may_be_none(each):
        return has_value(each.stored) if wanted else has_none(each.stored)
    return Exists(each.stored) if wanted else Missing(each.stored)


def has_value(name: str) -> Condition:
    """The test that a property is not None. None is stored as a null, or not at all."""
    return And((Exists(name), Compare(name, "<>", None)))


def has_none(name: str) -> Condition:
    """The opposite of `has_value`."""
    return Or((Missing(name), Compare(name, "=", None)))
