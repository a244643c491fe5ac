"""An incremental parser of one HTTP/1.1 reply, with a strict grammar.

Everything that is not exactly one complete reply is refused, and its connection can't be reused: another protocol or
version; a length that is not plain digits, is given twice, or beside another framing; compressed content; line ends,
folding or characters that the standard does not allow; a head or body that is too long; and bytes behind the reply's
end, which would be taken for the beginning of the next.

Knows nothing of sockets. A body of a known length that has not arrived with its head is received into one buffer of its
size and one byte, so that a byte too many shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
"""The items of a batch of 16 MB may be six times as long where the JSON escapes every character."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
_HEAD = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: " + _TEXT + rb")?\r\n((?:" + _TOKEN + rb":" + _TEXT + rb"\r\n)*)\r\n"
)
_FIELD = re.compile(rb"([^:\r\n]+):[ \t]*([^\r\n]*?)[ \t]*\r\n")
_LENGTH = re.compile(r"[0-9]{1,9}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_ONCE = frozenset({"content-length", "transfer-encoding", "content-encoding", "connection", "x-amz-crc32"})
_KNOWN = {
    name.encode(): name.lower()
    for name in ("Server", "Date", "Content-Type", "Content-Length", "Connection", "x-amzn-RequestId", "x-amz-crc32")
}
"""The headers of DynamoDB's replies, in DynamoDB's spelling."""
_END = b"\r\n\r\n"


class Malformed(Exception):
    """The received bytes are not exactly one complete reply."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """A complete reply. The names of headers are in lower case. `keeps_open`: its connection can be reused."""

    status: int
    headers: dict[str, str]
    body: bytes
    keeps_open: bool


class ReplyParser:
    """Parses the bytes of one connection until they are one reply. Each method returns the reply when it is complete,
    None before that, or raises Malformed; after that the parser can't be used further."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._status = 0
        self._headers: dict[str, str] | None = None
        self._open = False
        self._length: int | None = None
        self._sized: bytearray | None = None
        self._filled = 0
        self._chunks: list[bytes] | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything of the reply has arrived."""
        return self._headers is not None or bool(self._received)

    def space(self) -> memoryview | None:
        """The buffer for the next bytes, if the length is known; `filled` then gets their number."""
        return None if self._sized is None else memoryview(self._sized)[self._filled :]

    def filled(self, count: int) -> WireReply | None:
        """Process bytes that were received into `space`."""
        assert self._sized is not None
        self._filled += count
        length = len(self._sized) - 1
        if self._filled > length:
            raise Malformed("bytes behind the reply's end")
        if self._filled < length:
            return None
        return self._reply(bytes(memoryview(self._sized)[:length]))

    def receive(self, data: bytes) -> WireReply | None:
        """Process received bytes."""
        if self._headers is not None:
            self._received += data
            return self._of_chunks() if self._chunks is not None else self._of_all()
        if self._received:
            self._received += data
            data = bytes(self._received)
        end = data.find(_END)
        if end < 0 or end > MAX_HEAD:
            if len(data) > MAX_HEAD:
                raise Malformed("a head that is too long")
            self._received[:] = data
            return None
        return self._begin(data, end + len(_END))

    def ended(self) -> WireReply | None:
        """Process the end of the connection, which was proper as far as its protocol can tell."""
        if self._headers is None or self._length is not None or self._chunks is not None:
            raise Malformed("a reply that was cut off" if self.has_begun else "no reply")
        return self._reply(bytes(self._received))

    # -- parts

    def _begin(self, data: bytes, begin: int) -> WireReply | None:
        """Process the complete head, and the bytes after it."""
        head = _HEAD.fullmatch(data, 0, begin)
        if head is None:
            raise Malformed("no head of an HTTP/1.1 reply")
        self._status = int(head[2])
        self._headers = headers = _headers(head[3])
        connection = headers.get("connection", "").lower()
        self._open = head[1] == b"1" and connection in ("", "keep-alive")
        length = headers.get("content-length")
        if self._status < 200:
            raise Malformed("an interim reply that was not asked for")
        if "transfer-encoding" in headers:
            if length is not None or headers["transfer-encoding"].lower() != "chunked" or head[1] == b"0":
                raise Malformed("a framing that is not certain")
            self._chunks = []
            self._received[:] = data[begin:]
            return self._of_chunks()
        if length is None:
            if self._status in (204, 304):
                raise Malformed("a reply that has no body")
            self._open = False
            self._received[:] = data[begin:]
            return self._of_all()
        return self._of_length(data, begin, length)

    def _of_length(self, data: bytes, begin: int, length: str) -> WireReply | None:
        if not _LENGTH.fullmatch(length) or int(length) > MAX_BODY:
            raise Malformed("a length that is not plain digits, or too long")
        self._length = int(length)
        arrived = len(data) - begin
        if arrived == self._length:
            return self._reply(data[begin:])
        if arrived > self._length:
            raise Malformed("bytes behind the reply's end")
        self._received.clear()
        self._sized = bytearray(self._length + 1)
        self._sized[:arrived] = data[begin:]
        self._filled = arrived
        return None

    def _of_all(self) -> WireReply | None:
        """The reply with a body that ends with its connection."""
        if len(self._received) > MAX_BODY:
            raise Malformed("a body that is too long")
        return None

    def _of_chunks(self) -> WireReply | None:
        assert self._chunks is not None
        received = self._received
        while True:
            size = _CHUNK.match(received)
            if size is None:
                if len(received) > 9 or b"\n" in received:
                    raise Malformed("a chunk without its size")
                return None
            begin, count = size.end(), int(size[1], 16)
            self._filled += count
            if self._filled > MAX_BODY:
                raise Malformed("a body that is too long")
            if len(received) < begin + count + 2:
                self._filled -= count
                return None
            if received[begin + count : begin + count + 2] != b"\r\n":
                raise Malformed("a chunk of another size")
            if count == 0:
                if len(received) > begin + 2:
                    raise Malformed("bytes behind the reply's end")
                return self._reply(b"".join(self._chunks))
            self._chunks.append(bytes(received[begin : begin + count]))
            del received[: begin + count + 2]

    def _reply(self, body: bytes) -> WireReply:
        assert self._headers is not None
        return WireReply(self._status, self._headers, body, self._open)


def _headers(lines: bytes) -> dict[str, str]:
    """The headers by name; headers that affect parsing may not occur twice."""
    headers: dict[str, str] = {}
    for name, value in _FIELD.findall(lines):
        key = _KNOWN.get(name) or name.decode("ascii").lower()
        if key not in headers:
            headers[key] = value.decode("latin-1")
        elif key in _ONCE:
            raise Malformed("a header that may stand only once")
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise Malformed("a body that is encoded")
    return headers
