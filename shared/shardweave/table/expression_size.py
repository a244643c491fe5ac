"""The size of a condition's expression, and DynamoDB's limits."""

from __future__ import annotations

from collections.abc import Iterator

from .conditions import And, BeginsWith, Between, Compare, Condition, Contains, In, Names, Not, Or, Size
from .values import Value, value_bytes

MAX_OPERATORS = 300
MAX_TEXT_BYTES = 4096
MAX_OPERAND_BYTES = 2 * 1024 * 1024


def fits(condition: Condition, *, spare_operators: int = 0, spare_bytes: int = 0) -> bool:
    """Whether DynamoDB accepts a condition of this size, with a given reserve."""
    operands = [operands_of(node) for node in nodes_of(condition)]
    return (
        sum(max(1, len(each)) for each in operands) + spare_operators <= MAX_OPERATORS
        and sum(value_bytes(value) for each in operands for value in each) <= MAX_OPERAND_BYTES
        and len(condition.render(Names())) + spare_bytes <= MAX_TEXT_BYTES
    )


def nodes_of(condition: Condition) -> Iterator[Condition]:
    """A condition and all its nested conditions."""
    yield condition
    if isinstance(condition, Not):
        yield from nodes_of(condition.condition)
    elif isinstance(condition, And | Or):
        for part in condition.conditions:
            yield from nodes_of(part)


def operands_of(node: Condition) -> tuple[Value, ...]:
    """The operands of a single node."""
    if isinstance(node, Compare | Contains | Size):
        return (node.value,)
    if isinstance(node, Between):
        return node.low, node.high
    if isinstance(node, In):
        return node.values
    return (node.prefix,) if isinstance(node, BeginsWith) else ()
