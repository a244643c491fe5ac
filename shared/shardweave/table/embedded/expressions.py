"""Checks of conditions, filters and updates that DynamoDB would refuse: too large, or on a key.

Cost: one walk; only a large expression is rendered, to measure its text.
"""

from __future__ import annotations

from collections.abc import Collection

from ...errors import InvalidRequest
from ..conditions import Condition, Names
from ..expression_size import MAX_OPERAND_BYTES, MAX_OPERATORS, MAX_TEXT_BYTES, nodes_of, operands_of
from ..values import value_bytes

_CERTAINLY_SHORT = 30


def check_condition(condition: Condition) -> None:
    """Refuse a condition that is too large, or names no attribute. Raises InvalidRequest, or ValueRefused for what is
    wrong with a node by itself."""
    if not all(condition.attributes()):
        raise InvalidRequest("A condition names no attribute.", fix="name the attribute")
    nodes = tuple(nodes_of(condition))
    for node in nodes:
        node.check()
    operands = [operands_of(node) for node in nodes]
    operators = sum(max(1, len(each)) for each in operands)
    size = sum(value_bytes(value) for each in operands for value in each)
    if operators > MAX_OPERATORS:
        raise InvalidRequest(f"The condition has {operators} operators.", fix=f"keep it within {MAX_OPERATORS}")
    if size > MAX_OPERAND_BYTES:
        raise InvalidRequest("The condition's values are larger than 2 MB together.", fix="compare with less")
    if operators > _CERTAINLY_SHORT:
        check_text(condition.render(Names()))


def check_filter(condition: Condition, keys: Collection[str]) -> None:
    """Refuse a query's filter that is too large, or tests the keys of the queried table or index. Raises
    InvalidRequest."""
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
