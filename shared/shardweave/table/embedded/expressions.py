"""What DynamoDB refuses in a condition or a filter, whatever the item: operands, bounds, sizes.

Guarantees: a condition that passes can be evaluated on any item and be rendered for DynamoDB. Cost: one walk; only a
large condition is rendered, to measure its text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...errors import InvalidRequest
from ..conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    In,
    Names,
    Not,
    Or,
    Size,
    compare,
)
from ..values import Value, to_attribute_value, value_bytes

MAX_OPERATORS = 300
MAX_TEXT_BYTES = 4096
MAX_OPERAND_BYTES = 2 * 1024 * 1024
MAX_CHOICES = 100

_ORDERED_TYPES = ("S", "N", "B")
_CERTAINLY_SHORT = 30


def check_condition(condition: Condition) -> None:
    """Refuse a condition that DynamoDB would. Raises InvalidRequest, or ValueRefused for an operand."""
    leaves = list(_leaves(condition))
    operands = 0
    size = 0
    for leaf in leaves:
        if isinstance(leaf, Not | And | Or):
            operands += 1
            continue
        values = _operands(leaf)
        _check_leaf(leaf, values)
        operands += max(1, len(values))
        size += sum(map(value_bytes, values))
    if operands > _CERTAINLY_SHORT:
        _check_length(condition, operands)
    if size > MAX_OPERAND_BYTES:
        raise InvalidRequest("The condition's values are larger than 2 MB together.", fix="compare with less")


def check_filter(condition: Condition, keys: Collection[str]) -> None:
    """Refuse a query's filter that DynamoDB would: a condition at fault, or one on the keys of what is queried."""
    check_condition(condition)
    for attribute in condition.attributes():
        if attribute in keys:
            raise InvalidRequest(
                "A query's filter looks at a key of the table or index that it reads.",
                where=attribute,
                fix="use the key condition, or filter the answer",
            )


def check_text(text: str) -> None:
    """Refuse an expression whose text is too long for DynamoDB."""
    if len(text) > MAX_TEXT_BYTES:
        raise InvalidRequest(
            f"The expression is {len(text):,} bytes long as text.", fix=f"keep it within {MAX_TEXT_BYTES:,} bytes"
        )


def _leaves(condition: Condition) -> Iterator[Condition]:
    yield condition
    if isinstance(condition, Not):
        yield from _leaves(condition.condition)
    elif isinstance(condition, And | Or):
        for part in condition.conditions:
            yield from _leaves(part)


def _operands(leaf: Condition) -> tuple[Value, ...]:
    if isinstance(leaf, Between):
        return leaf.low, leaf.high
    if isinstance(leaf, In):
        return leaf.values
    if isinstance(leaf, BeginsWith):
        return (leaf.prefix,)
    if isinstance(leaf, Compare | Contains | Size):
        return (leaf.value,)
    return ()


def _check_leaf(leaf: Condition, values: tuple[Value, ...]) -> None:
    (attribute,) = leaf.attributes()
    if not attribute:
        raise InvalidRequest("A condition names no attribute.", fix="name the attribute")
    kinds = [next(iter(to_attribute_value(value))) for value in values]
    if isinstance(leaf, In) and not 1 <= len(values) <= MAX_CHOICES:
        raise _refusal(attribute, f"`in` has {len(values)} values", f"give 1 to {MAX_CHOICES}")
    if isinstance(leaf, BeginsWith) and kinds[0] not in ("S", "B"):
        raise _refusal(attribute, "`begins_with` has a prefix that is not text or binary", "give text or binary")
    if isinstance(leaf, Between):
        if kinds[0] != kinds[1] or kinds[0] not in _ORDERED_TYPES:
            raise _refusal(attribute, "`between` has bounds of types that have no order", "give two of one scalar type")
        if not compare(leaf.low, "<=", leaf.high):
            raise _refusal(attribute, "`between` has its lower bound above its upper", "swap the bounds")
    if isinstance(leaf, Compare | Size) and leaf.operator not in ("=", "<>") and kinds[0] not in _ORDERED_TYPES:
        raise _refusal(
            attribute, f"`{leaf.operator}` has an operand that has no order", "give text, a number or binary"
        )


def _check_length(condition: Condition, operands: int) -> None:
    if operands > MAX_OPERATORS:
        raise InvalidRequest(
            f"The condition has {operands} operators and operands.", fix=f"keep it within {MAX_OPERATORS}"
        )
    check_text(condition.render(Names()))


def _refusal(attribute: str, message: str, fix: str) -> InvalidRequest:
    return InvalidRequest(f"{message[0].upper()}{message[1:]}.", where=attribute, fix=fix)
