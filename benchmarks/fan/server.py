"""`python -m benchmarks.fan.server`: prints its address, then answers queries with the first records of their hash key.

An answer leaves LATENCY seconds after its request came, however many wait. It is prepared once for each hash key and
limit.
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any

from benchmarks.fan.records import HASH_NAME, LATENCY, RANGE_NAME, shards
from benchmarks.lane.server import response
from shardweave.table.values import to_attribute_value

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
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


class Connection(asyncio.Protocol):
    """One kept-open connection, one request at a time."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or length is None or len(body) < int(length[1]):
            return
        self._received = b""
        asked = json.loads(body)
        (hash_key,) = (each["S"] for each in asked["ExpressionAttributeValues"].values() if each["S"] in _SHARDS)
        due = answer(hash_key, asked["Limit"])
        asyncio.get_running_loop().call_later(LATENCY, self._transport.write, due)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
