"""Operations -> calls: the request's JSON, rendered once, and the parser of its answer.

The JSON has the same bytes as with botocore's serializer. A transaction without a token gets one, as in botocore.

DynamoDB's answers do not identify their request. So the keys are compared: the key of an item with the requested key,
the items of a batch with the batch, those of a page with the page's hash key. An answer that does not fit belongs to
another request and is refused.
"""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from ....errors import TableUnavailable
from ... import Guard
from ...operations import (
    BatchGet,
    BatchGetAnswer,
    BatchWrite,
    BatchWriteAnswer,
    DeleteItem,
    GetItem,
    ItemAnswer,
    Operation,
    PageAnswer,
    PutItem,
    Query,
    TransactGet,
    TransactGetAnswer,
    TransactWrite,
    UpdateItem,
    WriteAnswer,
)
from ...values import Item
from ..answers import answer
from ..attempts import Attempts
from .exchange import Call

R = TypeVar("R")

OPERATIONS = {
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "transact_get_items": "TransactGetItems",
    "query": "Query",
    "scan": "Scan",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "transact_write_items": "TransactWriteItems",
    "batch_write_item": "BatchWriteItem",
}
"""The service's name of each method."""


def call_of(operation: Operation[R], table: str, key_names: tuple[str, str], guard: Guard | None = None) -> Call[R]:
    """The call of an operation on a table with these key attributes."""
    request = operation.request(table)
    if isinstance(operation, TransactWrite) and "ClientRequestToken" not in request:
        request["ClientRequestToken"] = str(uuid.uuid4())
    return Call(
        operation.method,
        OPERATIONS[operation.method],
        _encode(request).encode(),
        partial(_answer, operation, table, key_names),
        Attempts.at(operation, guard),
        table,
    )


def _answer(operation: Operation[Any], table: str, key_names: tuple[str, str], body: Mapping[str, Any]) -> Any:
    given = answer(operation, body, table)
    fits = _FITS.get(type(operation))
    if fits is not None and not fits(operation, given, key_names):
        raise TableUnavailable("DynamoDB's answer is one to another request", where=operation.method, fix="retry")
    return given


def _binary(value: object) -> str:
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    raise TypeError(f"a request holds a value of type {type(value).__name__}")


_encode = json.JSONEncoder(default=_binary).encode


# -- does an answer fit? ----------------------------------------------------------------------------------------------


def _has(item: Item | None, key: Item, names: Iterable[str]) -> bool:
    """Whether an item has a key, as far as the item contains the key's attributes."""
    return item is None or all(name not in item or item[name] == key.get(name) for name in names)


def _item(operation: GetItem, given: ItemAnswer, names: tuple[str, str]) -> bool:
    return _has(given.item, operation.key, names)


def _items(operation: TransactGet, given: TransactGetAnswer, names: tuple[str, str]) -> bool:
    return len(given.items) == len(operation.keys) and all(
        _has(item, key, names) for item, key in zip(given.items, operation.keys, strict=True)
    )


def _among(found: Iterable[Item], asked: Iterable[Item], names: tuple[str, str]) -> bool:
    keys = {tuple(item.get(name) for name in names) for item in asked}
    return all(tuple(item[name] for name in names) in keys for item in found if all(name in item for name in names))


def _batch(operation: BatchGet, given: BatchGetAnswer, names: tuple[str, str]) -> bool:
    found = (*given.items, *given.unprocessed)
    return len(found) <= len(operation.keys) and _among(found, operation.keys, names)


def _page(operation: Query, given: PageAnswer, names: tuple[str, str]) -> bool:
    name, value = operation.hash_name, operation.hash_value
    last = given.last_key
    return all(item.get(name, value) == value for item in given.items) and (last is None or last.get(name) == value)


def _written(operation: PutItem | UpdateItem | DeleteItem, given: WriteAnswer, names: tuple[str, str]) -> bool:
    return _has(given.attributes, operation.item if isinstance(operation, PutItem) else operation.key, names)


def _left(operation: BatchWrite, given: BatchWriteAnswer, names: tuple[str, str]) -> bool:
    return _among(given.unprocessed_puts, operation.puts, names) and _among(
        given.unprocessed_deletes, operation.deletes, names
    )


_FITS: dict[type[Any], Callable[[Any, Any, tuple[str, str]], bool]] = {
    GetItem: _item,
    TransactGet: _items,
    BatchGet: _batch,
    Query: _page,
    PutItem: _written,
    UpdateItem: _written,
    DeleteItem: _written,
    BatchWrite: _left,
}
