"""DynamoDB's responses -> the operations' answers.

One function for each client method, and nothing else in the package reads an item out of a response, except the
stream's records (`stream`) and the items that errors carry (`failures`). A response without a member that DynamoDB
always sends, or with an invalid attribute value, raises TableUnavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import TableUnavailable
from ..layout import IndexLayout, KeyAttribute, Projection
from ..operations import (
    WRITES,
    BatchGetAnswer,
    BatchWriteAnswer,
    ItemAnswer,
    Operation,
    PageAnswer,
    TableDescription,
    TransactAnswer,
    TransactGetAnswer,
    WriteAnswer,
)
from .items import native_item

Response = Mapping[str, Any]


def answer(operation: Operation[Any], response: Response, table: str) -> Any:
    """The answer of `operation`, of the type that it is generic over."""
    try:
        return _ANSWERS[operation.method](response, table)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        failure = TableUnavailable(
            "DynamoDB's answer has another form than it always has", where=operation.method, fix="retry"
        )
        failure.maybe_written = isinstance(operation, WRITES)
        raise failure from None


def _get(response: Response, table: str) -> ItemAnswer:
    item = response.get("Item")
    return ItemAnswer(None if item is None else native_item(item), _units(response))


def _batch_get(response: Response, table: str) -> BatchGetAnswer:
    unprocessed = response.get("UnprocessedKeys", {}).get(table, {}).get("Keys", ())
    return BatchGetAnswer(
        items=tuple(map(native_item, response.get("Responses", {}).get(table, ()))),
        unprocessed=tuple(map(native_item, unprocessed)),
        units=_units(response),
    )


def _transact_get(response: Response, table: str) -> TransactGetAnswer:
    found = (entry.get("Item") for entry in response["Responses"])
    items = tuple(native_item(item) if item else None for item in found)
    return TransactGetAnswer(items, _units(response))


def _page(response: Response, table: str) -> PageAnswer:
    last_key = response.get("LastEvaluatedKey")
    return PageAnswer(
        items=tuple(map(native_item, response.get("Items", ()))),
        count=response["Count"],
        scanned=response["ScannedCount"],
        last_key=native_item(last_key) if last_key else None,
        units=_units(response),
    )


def _write(response: Response, table: str) -> WriteAnswer:
    attributes = response.get("Attributes")
    return WriteAnswer(native_item(attributes) if attributes else None, _units(response))


def _transact_write(response: Response, table: str) -> TransactAnswer:
    return TransactAnswer(_units(response))


def _batch_write(response: Response, table: str) -> BatchWriteAnswer:
    unprocessed = response.get("UnprocessedItems", {}).get(table, ())
    return BatchWriteAnswer(
        unprocessed_puts=tuple(
            native_item(write["PutRequest"]["Item"]) for write in unprocessed if "PutRequest" in write
        ),
        unprocessed_deletes=tuple(
            native_item(write["DeleteRequest"]["Key"]) for write in unprocessed if "DeleteRequest" in write
        ),
        units=_units(response),
    )


def _describe(response: Response, table: str) -> TableDescription:
    described = response["Table"]
    types = {each["AttributeName"]: each["AttributeType"] for each in described["AttributeDefinitions"]}
    indexes = described.get("GlobalSecondaryIndexes", ())
    return TableDescription(
        name=described["TableName"],
        status=described["TableStatus"],
        indexes=tuple(_index(index, types) for index in indexes if len(index["KeySchema"]) == 2),
        index_states={index["IndexName"]: index.get("IndexStatus", "ACTIVE") for index in indexes},
        items=described.get("ItemCount", 0),
        bytes=described.get("TableSizeBytes", 0),
    )


_ANSWERS: dict[str, Callable[[Response, str], Any]] = {
    "get_item": _get,
    "batch_get_item": _batch_get,
    "transact_get_items": _transact_get,
    "query": _page,
    "scan": _page,
    "put_item": _write,
    "update_item": _write,
    "delete_item": _write,
    "transact_write_items": _transact_write,
    "batch_write_item": _batch_write,
    "describe_table": _describe,
}


def _index(index: Mapping[str, Any], types: Mapping[str, Any]) -> IndexLayout:
    keys = {
        key["KeyType"]: KeyAttribute(key["AttributeName"], types[key["AttributeName"]]) for key in index["KeySchema"]
    }
    return IndexLayout(index["IndexName"], keys["HASH"], keys["RANGE"], _projection(index["Projection"]))


def _projection(projection: Mapping[str, Any]) -> Projection:
    kind = projection["ProjectionType"]
    if kind == "ALL":
        return "ALL"
    return "KEYS_ONLY" if kind == "KEYS_ONLY" else tuple(projection["NonKeyAttributes"])


def _units(response: Response) -> float:
    consumed = response.get("ConsumedCapacity") or ()
    entries = (consumed,) if isinstance(consumed, Mapping) else consumed
    return float(sum(entry.get("CapacityUnits", 0.0) for entry in entries))
