"""How large the expression of a condition is, and how large DynamoDB lets it be."""

from __future__ import annotations

from collections.abc import Iterator

from .conditions import And, BeginsWith, Between, Compare, Condition, Contains, In, Names, Not, Or, Size
from .values import Value, value_bytes

MAX_OPERATORS = 300
MAX_TEXT_BYTES = 4096
MAX_OPERAND_BYTES = 2 * 1024 * 1024


def fits(condition: Condition, *, spare_operators: int = 0, spare_bytes: int = 0) -> bool:
    """Whether DynamoDB takes a condition of this size, with so much to spare."""
    operands = [operands_of(node) for node in nodes_of(condition)]
    return (
        sum(max(1, len(each)) for each in operands) + spare_operators <= MAX_OPERATORS
        and sum(value_bytes(value) for each in operands for value in each) <= MAX_OPERAND_BYTES
        and len(condition.render(Names())) + spare_bytes <= MAX_TEXT_BYTES
    )


def nodes_of(condition: Condition) -> Iterator[Condition]:
    """A condition and all that it is made of."""
    yield condition
    if isinstance(condition, Not):
        yield from nodes_of(condition.condition)
    elif isinstance(condition, And | Or):
        for part in condition.conditions:
            yield from nodes_of(part)


def operands_of(node: Condition) -> tuple[Value, ...]:
    """The values that a node by itself compares with."""
    if isinstance(node, Compare | Contains | Size):
        return (node.value,)
    if isinstance(node, Between):
        return node.low, node.high
    if isinstance(node, In):
        return node.values
    return (node.prefix,) if isinstance(node, BeginsWith) else ()
