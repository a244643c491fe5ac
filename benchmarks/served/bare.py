"""A server whose one route answers a few bytes of JSON: what uvicorn itself takes for a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import uvicorn

from shardweave.local.server import address_of, listen

ANSWER = b'{"status":"ok"}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]


async def route(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Answer, whatever is asked."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


def main() -> None:
    """Serve until a signal comes, after a line with the address."""
    listening = listen("127.0.0.1", 0)
    print("ready", address_of(listening), flush=True)
    config = uvicorn.Config(route, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
