"""The parts of a DynamoDB request that several operations share. Pure; used by `operations` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .conditions import Condition, Names
from .values import to_attribute_values

if TYPE_CHECKING:
    from .operations import Query, Scan


def projected(projection: Sequence[str] | None, names: Names) -> dict[str, str]:
    """The requested attributes, each once; None means all."""
    if projection is None:
        return {}
    return {"ProjectionExpression": ", ".join(names.name(name) for name in dict.fromkeys(projection))}


def page_parts(page: Query | Scan, names: Names) -> dict[str, Any]:
    """The common parts of queries and scans."""
    parts: dict[str, Any] = {"Select": "COUNT"} if page.count_only else projected(page.projection, names)
    if page.index is not None:
        parts["IndexName"] = page.index
    if page.limit is not None:
        parts["Limit"] = page.limit
    if page.start_key is not None:
        parts["ExclusiveStartKey"] = to_attribute_values(page.start_key)
    if page.filter is not None:
        parts["FilterExpression"] = page.filter.render(names)
    if page.consistent:
        parts["ConsistentRead"] = True
    return parts


def write_parts(
    table: str,
    parts: dict[str, Any],
    condition: Condition | None,
    return_on_failure: bool,
    names: Names | None = None,
) -> dict[str, Any]:
    """A write as an action of a transaction: `parts` are its expressions, with the placeholders in `names`."""
    names = names or Names()
    write = {"TableName": table, **parts}
    if condition is not None:
        write["ConditionExpression"] = condition.render(names)
    if return_on_failure:
        write["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return write | names.request_parts()


def single_write(write: dict[str, Any], return_values: str) -> dict[str, Any]:
    """A write as a single request: the action, and the requested return values."""
    return {**write, "ReturnValues": return_values, "ReturnConsumedCapacity": "TOTAL"}
