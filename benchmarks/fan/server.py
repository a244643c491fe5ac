"""`python -m benchmarks.fan.server`: prints its address, then answers queries with the first records of their hash key.

An answer leaves LATENCY seconds after its request came, however many wait. It is prepared once for each hash key and
limit.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from benchmarks.fan.records import HASH_NAME, LATENCY, RANGE_NAME, shards
from benchmarks.lane.server import response
from benchmarks.stub import serve
from shardweave.table.values import to_attribute_value

_SHARDS = shards()


@cache
def answer(hash_key: str, limit: int) -> bytes:
    """The first page of a hash key."""
    every = _SHARDS[hash_key]
    items = [{name: to_attribute_value(value) for name, value in item.items()} for item in every[:limit]]
    body: dict[str, Any] = {
        "ConsumedCapacity": {"CapacityUnits": 0.5, "TableName": "people"},
        "Count": len(items),
        "Items": items,
        "ScannedCount": len(items),
    }
    if limit < len(every):
        body["LastEvaluatedKey"] = {name: items[-1][name] for name in (HASH_NAME, "rangeKey", RANGE_NAME)}
    return response(json.dumps(body, separators=(",", ":")).encode())


def asked_page(operation: str, request: dict[str, Any]) -> bytes:
    """The answer to a query, and to a read of one item, of which there is none."""
    if operation == "GetItem":
        return response(b"{}")
    (hash_key,) = (each["S"] for each in request["ExpressionAttributeValues"].values() if each["S"] in _SHARDS)
    return answer(hash_key, request["Limit"])


if __name__ == "__main__":
    serve(asked_page, LATENCY)
