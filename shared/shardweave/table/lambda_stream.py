"""Conversion between the records of Lambda's stream events and StreamRecord.

The images are DynamoDB's typed JSON with binary as base64 text, times are seconds, and a removal by TTL is marked by
the identity of the service. `decode_change(encode_change(change))` is the change.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..errors import MalformedRequest, ValueRefused
from .stream_operations import StreamRecord
from .values import AttributeValue, Item, from_attribute_values, to_attribute_values

Json = Mapping[str, Any]

_KINDS = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})
_SERVICE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
_EVENTS: Mapping[str, Literal["INSERT", "MODIFY", "REMOVE"]] = {
    "INSERT": "INSERT",
    "MODIFY": "MODIFY",
    "REMOVE": "REMOVE",
}


def decode_change(record: Json) -> StreamRecord:
    """The change in a record of an event. Raises MalformedRequest."""
    try:
        change = record["dynamodb"]
        return StreamRecord(
            event=_EVENTS[record["eventName"]],
            key=_item(change["Keys"]),
            old=_item(change["OldImage"]) if "OldImage" in change else None,
            new=_item(change["NewImage"]) if "NewImage" in change else None,
            sequence=str(change["SequenceNumber"]),
            event_id=str(record["eventID"]),
            created=float(change.get("ApproximateCreationDateTime", 0)),
            by_service=(record.get("userIdentity") or {}).get("type") == _SERVICE["type"],
        )
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, ValueRefused):
        # The content is not shown, since it may be a record's values.
        raise MalformedRequest(
            "this is not a change of a table", where="Records", fix="map a stream with new and old images"
        ) from None


def encode_change(change: StreamRecord) -> dict[str, Any]:
    """The record of an event for a change."""
    images = {"OldImage": change.old, "NewImage": change.new}
    record: dict[str, Any] = {
        "eventID": change.event_id,
        "eventName": change.event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": change.created,
            "Keys": _typed(change.key),
            **{name: _typed(image) for name, image in images.items() if image is not None},
            "SequenceNumber": change.sequence,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }
    return record | ({"userIdentity": dict(_SERVICE)} if change.by_service else {})


def _item(typed: Mapping[str, AttributeValue]) -> Item:
    return from_attribute_values({name: _binary(value, _bytes) for name, value in typed.items()})


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _typed(item: Item) -> dict[str, AttributeValue]:
    return {
        name: _binary(value, lambda content: base64.b64encode(content).decode())
        for name, value in to_attribute_values(item).items()
    }


def _binary(typed: AttributeValue, convert: Callable[[Any], Any]) -> AttributeValue:
    """The typed value with its binary parts converted."""
    ((kind, content),) = typed.items()
    if kind not in _KINDS:
        raise KeyError
    if kind == "B":
        return {kind: convert(content)}
    if kind == "BS":
        return {kind: [convert(element) for element in content]}
    if kind == "M":
        return {kind: {name: _binary(element, convert) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_binary(element, convert) for element in content]}
    return typed
