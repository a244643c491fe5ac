"""`python -m benchmarks.lane.server`: prints its address, then answers every request with its table's page.

It speaks as much HTTP as the sides need, with the headers that DynamoDB sends, and keeps connections open.
"""

from __future__ import annotations

import json
import re
import socketserver
import sys
import time
import zlib

from benchmarks.lane.records import TABLES, page

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)


def response(body: bytes) -> bytes:
    """A whole answer, head and body."""
    lines = [
        "HTTP/1.1 200 OK",
        "Server: Server",
        time.strftime("Date: %a, %d %b %Y %H:%M:%S GMT", time.gmtime()),
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body)}",
        "Connection: keep-alive",
        "x-amzn-RequestId: 4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG",
        f"x-amz-crc32: {zlib.crc32(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


ANSWERS = {table: response(page(records)) for table, records in TABLES.items()}


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        while head := self._head():
            length = _LENGTH.search(head)
            asked = json.loads(self.rfile.read(int(length.group(1)) if length else 0))
            self.connection.sendall(ANSWERS[asked["TableName"]])

    def _head(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            lines.append(line)
        return b"".join(lines)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(0)
