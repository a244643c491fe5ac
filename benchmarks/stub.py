"""A server that stands for DynamoDB: each request is answered with bytes that are ready, after a while if need be."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"x-amz-target:\s*DynamoDB_20120810\.(\w+)", re.IGNORECASE)

Answer = Callable[[str, dict[str, Any]], bytes]
"""From an operation's name and its request to a whole HTTP answer."""


class Connection(asyncio.Protocol):
    """One kept-open connection, one request at a time."""

    def __init__(self, answer: Answer, latency: float) -> None:
        self._answer = answer
        self._latency = latency
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        begin = self._received.find(b"\r\n\r\n") + 4
        if begin < 4:
            return
        head = bytes(self._received[:begin])
        length, target = _LENGTH.search(head), _TARGET.search(head)
        if length is None or target is None or len(self._received) < begin + int(length[1]):
            return
        due = self._answer(target[1].decode(), json.loads(self._received[begin:]))
        self._received.clear()
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, due)
        else:
            self._transport.write(due)


def serve(answer: Answer, latency: float = 0.0) -> None:
    """Print the server's address, and answer for ever."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Connection(answer, latency), "127.0.0.1", 0)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    asyncio.run(main())
