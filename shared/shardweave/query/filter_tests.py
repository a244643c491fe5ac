"""The tests of a filter, compiled: what each takes of which type, and what it is over stored values.

    eq, ne, in                  a value that the property can have
    lt, le, gt, ge, between     a place in the property's order: any text of a text, any number of a number, a member
                                of an Enum
    begins_with                 the beginning of a text or of bytes
    contains                    a part of a text or of bytes; of a list or set one member
    size                        of a text, of bytes, and of what has members
    exists                      of anything

A test that could never hold, since the type has no such thing, is refused. Order is the order of keys, so that a filter
and a condition mean the same: Enums are ordered as they are declared, and their order tests become choices of members.
A set that reads back empty where nothing is stored exists and has size 0.
"""

from __future__ import annotations

from typing import Any

from ..codecs import BinaryCodec, DateTimeCodec, EnumCodec, StringCodec, TimestampCodec
from ..entity_property import Property
from ..errors import ShardweaveError, UnsupportedQuery, ValueRefused
from ..stored_form import stored_form
from ..table.conditions import (
    MAX_CHOICES,
    OPERATORS,
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Or,
    Size,
)
from ..table.values import Value

WORDS = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Span(Between):
    """A range whose bounds have yet to be compared in the property's own order."""

    def __post_init__(self) -> None:
        """Compiling makes the checks of a Between, when the order is known."""

    @classmethod
    def of(cls, name: str, low: Value, high: Value) -> Between:
        """A Between where the bounds have that order as they are, a Span of two texts where they have not."""
        swapped = isinstance(low, str) and isinstance(high, str) and low > high
        return cls(name, low, high) if swapped else Between(name, low, high)


def word_of(node: Condition) -> str:
    """What a test is called in the JSON form, for the place of what is wrong with it."""
    if isinstance(node, Compare):
        return WORDS[node.operator]
    names: dict[type[Condition], str] = {
        Between: "between",
        Span: "between",
        In: "in",
        BeginsWith: "begins_with",
        Contains: "contains",
        Size: "size",
    }
    return names.get(type(node), "exists")


def compiled_test(each: Property, node: Condition, where: str) -> Condition:
    """A test over stored values. Raises ValidationFailed, ValueRefused or UnsupportedQuery naming the place."""
    place = f"{where}.{word_of(node)}"
    try:
        return _compiled(each, node)
    except ShardweaveError as error:
        error.where = place
        raise


def _compiled(each: Property, node: Condition) -> Condition:
    name = each.stored
    if isinstance(node, Compare) and node.operator in ("=", "<>"):
        return _equality(each, Compare(name, node.operator, _checked(each, each.parse(node.value))))
    if isinstance(node, Compare):
        bounds = {"<": (None, node.value), "<=": (None, node.value), ">": (node.value, None), ">=": (node.value, None)}
        return _ordered(each, node, *bounds[node.operator])
    if isinstance(node, Between):
        return _ordered(each, node, node.low, node.high)
    if isinstance(node, In):
        return _choice(each, In(name, tuple(_checked(each, each.parse(value)) for value in node.values)))
    if isinstance(node, BeginsWith):
        _require(each.has_beginning, each, "begins_with", "texts and bytes")
        return BeginsWith(name, _piece(each, node.prefix))
    if isinstance(node, Contains):
        _require(each.has_beginning or each.has_members, each, "contains", "texts, bytes, lists and sets")
        return Contains(name, _piece(each, node.value))
    if isinstance(node, Size):
        _require(each.has_beginning or each.has_members, each, "size", "texts, bytes and what has members")
        size = Size(name, node.operator, node.value)
        if each.empty_when_missing and OPERATORS[node.operator](0, node.value):
            return Or((Missing(name), size))
        return size if not each.empty_when_missing else And((Exists(name), size))
    return _existence(each, isinstance(node, Exists))


def _equality(each: Property, test: Compare) -> Condition:
    """Where nothing is stored, such a set is the empty one."""
    if not each.empty_when_missing:
        return test
    if test.operator == "=":
        return Or((Missing(each.stored), test)) if test.value == [] else test
    return And((Exists(each.stored), test)) if test.value == [] else test


def _choice(each: Property, test: In) -> Condition:
    return Or((Missing(each.stored), test)) if each.empty_when_missing and [] in test.values else test


def _require(holds: bool, each: Property, test: str, types: str) -> None:
    if not holds:
        raise UnsupportedQuery(f"{test} is for {types}, not for {each.stored}", fix="use another test")


def _checked(each: Property, value: Value) -> Value:
    """A time of the wrong unit is refused, as it is in a condition."""
    if isinstance(each.codec, TimestampCodec) and value is not None:
        each.codec.encode(value)
    return value


def _ordered(each: Property, node: Compare | Between, low: Any, high: Any) -> Condition:
    low, high = (None if value is None else _checked(each, each.bound(value)) for value in (low, high))
    if isinstance(each.codec, EnumCodec) and not each.codec.by_value:
        return _among_members(each, each.codec, node, low, high)
    if isinstance(node, Between):
        return Between(each.stored, low, high)
    return Compare(each.stored, node.operator, high if low is None else low)


def _among_members(each: Property, codec: EnumCodec, node: Compare | Between, low: Value, high: Value) -> Condition:
    ranks = [None if value is None else codec.encode(value) for value in (low, high)]
    if isinstance(node, Between):
        if ranks[0] is not None and ranks[1] is not None and ranks[0] > ranks[1]:
            raise ValueRefused("the bounds of a range must be in the order of the members", fix="swap them")
        tests = [(">=", ranks[0]), ("<=", ranks[1])]
    else:
        tests = [(node.operator, ranks[0] if high is None else ranks[1])]
    members = [
        value for value in codec.values if all(OPERATORS[sign](codec.encode(value), rank) for sign, rank in tests)
    ]
    chunks = [members[start : start + MAX_CHOICES] for start in range(0, len(members), MAX_CHOICES)]
    choices = tuple(In(each.stored, tuple(chunk)) for chunk in chunks)
    if len(choices) <= 1:
        return choices[0] if choices else _never(each.stored)
    return Or(choices)


def _never(name: str) -> Condition:
    return And((Exists(name), Missing(name)))


def _piece(each: Property, value: Any) -> Any:
    """A part of a value: of a text any text, as it is stored; of bytes bytes; of what has members one of them."""
    if isinstance(each.codec, StringCodec):
        return each.bound(value)
    if isinstance(each.codec, DateTimeCodec) and isinstance(value, str):
        return each.begin(value)
    if each.codec is None:
        return stored_form(value) if each.members is None or each.members.codec is None else each.members.parse(value)
    kind = bytes if isinstance(each.codec, BinaryCodec) else str
    if not isinstance(value, kind):
        raise ValueRefused(f"a part of {each.stored} is {'bytes' if kind is bytes else 'text'}", fix="give such a part")
    return stored_form(value)


def _existence(each: Property, wanted: bool) -> Condition:
    name = each.stored
    if each.empty_when_missing:
        return Or((Exists(name), Missing(name))) if wanted else _never(name)
    if each.null_stored:
        if wanted:
            return And((Exists(name), Compare(name, "<>", None)))
        return Or((Missing(name), Compare(name, "=", None)))
    return Exists(name) if wanted else Missing(name)
