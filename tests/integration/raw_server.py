"""A server of bare sockets that answers in ways in which no HTTP library would, with or without TLS."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import fcntl
import ipaddress
import json
import re
import socket
import ssl
import struct
import termios
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shardweave.database.event_loop import on_loop
from shardweave.table import Guard, Table
from shardweave.table.dynamodb.transport.connection import Clocks
from shardweave.table.dynamodb.transport.direct import DirectTransport
from shardweave.table.dynamodb.transport.endpoint import HostEndpoint, place_of
from shardweave.table.dynamodb.transport.exchange import Call
from shardweave.table.dynamodb.transport.signing import Credentials, Signer
from shardweave.table.layout import TableLayout
from shardweave.table.many import Lanes, Outcome, RunMany, run_many_of
from shardweave.table.operations import Operation
from shardweave.table.waiting import loop_work
from tests.integration.scripted_server import UNHURRIED

R = TypeVar("R")

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_DATE = re.compile(rb"x-amz-date: (\d{8}T\d{6})Z", re.IGNORECASE)
_TARGET = re.compile(rb"x-amz-target: DynamoDB_20120810\.(\w+)", re.IGNORECASE)


def whole(body: Any, status: int = 200, *lines: str) -> bytes:
    """A reply as DynamoDB sends it."""
    content = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} x", f"Content-Length: {len(content)}", f"x-amz-crc32: {zlib.crc32(content)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + content


def item(name: str) -> dict[str, Any]:
    """The answer to a read of the item whose hash key has the name."""
    return {"Item": {"hashKey": {"S": name}, "rangeKey": {"S": "r"}, "note": {"S": f"of {name}"}}}


@dataclass
class Request:
    """What arrived."""

    operation: str
    parameters: dict[str, Any]
    signed: float = 0.0
    """Epoch seconds of its signature."""

    @property
    def name(self) -> str:
        """The hash key that is asked for."""
        found = self.parameters.get("Key") or self.parameters.get("Item")
        if found is None:
            found = {"hashKey": next(iter(self.parameters["ExpressionAttributeValues"].values()))}
        return str(found["hashKey"]["S"])


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket, closing: threading.Event) -> None:
        self.socket = sock
        self._closing = closing
        self.received = b""
        self.is_open = True
        """Until it is closed: by this side, which says so first, or since the other side has closed it."""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def has_arrived(self) -> bool:
        """Whether all that was sent is there for the other side to read."""
        left = struct.unpack("i", fcntl.ioctl(self.socket, termios.TIOCOUTQ, b"    "))[0]
        return bool(left == 0)

    def reset(self) -> None:
        """Close so that the other side gets an error."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self.is_open = False
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def wait(self) -> None:
        """Say nothing until the server is closed."""
        self._closing.wait()

    def head(self) -> bytes | None:
        while b"\r\n\r\n" not in self.received:
            data = self.socket.recv(65536)
            if not data:
                return None
            self.received += data
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        return head

    def body(self, head: bytes) -> bytes | None:
        length = _LENGTH.search(head)
        assert length is not None
        count = int(length[1])
        while len(self.received) < count:
            data = self.socket.recv(1 << 20)
            if not data:
                return None
            self.received += data
        body, self.received = self.received[:count], self.received[count:]
        return body


Turn = Callable[[Peer, Request], object]
"""What is done about a request."""


def answer(peer: Peer, request: Request) -> None:
    """As DynamoDB would."""
    peer.send(whole(answered(request)))


def answered(request: Request) -> Any:
    if request.operation == "GetItem":
        return item(request.name)
    if request.operation == "Query":
        items = [{"hashKey": {"S": request.name}, "rangeKey": {"S": str(number)}} for number in range(3)]
        return {"Items": items, "Count": 3, "ScannedCount": 3}
    return {}


def says(data: bytes) -> Turn:
    """Sends these bytes, whatever is asked."""
    return lambda peer, _: peer.send(data)


class RawServer:
    """The n-th request has the n-th turn; those that follow have the last. With `heads_only`, a turn comes as soon as
    the head of a request has arrived; a `mute` server says nothing at all."""

    def __init__(
        self, *turns: Turn, context: ssl.SSLContext | None = None, heads_only: bool = False, mute: bool = False
    ) -> None:
        self.requests: list[Request] = []
        self.peers: list[Peer] = []
        self._turns = list(turns) or [answer]
        self._context = context
        self._heads_only = heads_only
        self._mute = mute
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"{'http' if self._context is None else 'https'}://localhost:{self.port}"

    @property
    def connections(self) -> int:
        return len(self.peers)

    def then(self, *turns: Turn) -> None:
        """From now on."""
        with self._lock:
            self._turns = list(turns)

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self.peers:
            peer.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        peer = Peer(sock, self._closing)
        with self._lock:
            self.peers.append(peer)
        try:
            if self._mute:
                peer.wait()
                return
            if self._context is not None:
                peer.socket = self._context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=True)
            while self._serve_one(peer):
                pass
        except OSError:
            pass
        finally:
            peer.is_open = False
            peer.socket.close()

    def _serve_one(self, peer: Peer) -> bool:
        head = peer.head()
        if head is None:
            return False
        target = _TARGET.search(head)
        assert target is not None
        body = b"{}" if self._heads_only else peer.body(head)
        if body is None:
            return False
        date = _DATE.search(head)
        assert date is not None
        signed = dt.datetime.strptime(date[1].decode(), "%Y%m%dT%H%M%S").replace(tzinfo=dt.UTC).timestamp()
        request = Request(target[1].decode(), json.loads(body), signed)
        with self._lock:
            self.requests.append(request)
            turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        turn(peer, request)
        return peer.is_open


class LoopTransport(DirectTransport):
    """Carries each call out as work of an event loop, which lasts as long as the call; what a guard asks for belongs to
    the call that asks the guard."""

    def call(self, call: Call[R]) -> R:
        return in_a_loop(partial(super().call, call))

    def run_many(self, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        return in_a_loop(partial(super().run_many, lanes))


@dataclass(frozen=True)
class LoopTable:
    """A table, each operation of which is work of an event loop."""

    table: Table

    @property
    def layout(self) -> TableLayout:
        return self.table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self.table.guards_inside_writes

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        return in_a_loop(partial(self.table.run, operation, guard=guard))

    @property
    def run_many(self) -> RunMany | None:
        run_many = run_many_of(self.table)
        return None if run_many is None else lambda lanes: in_a_loop(partial(run_many, lanes))

    def close(self) -> None:
        self.table.close()


def in_a_loop(call: Callable[[], R]) -> R:
    """What a call gives as work of an event loop."""
    return call() if loop_work() is not None else asyncio.run(on_loop(call))


def transport_to(server: RawServer, trusted: Path | None = None, **settings: Any) -> DirectTransport:
    """A direct transport to the server."""
    place = place_of(settings.pop("url", server.url))
    assert place is not None
    endpoint = settings.pop("endpoint", None) or HostEndpoint(place, None if trusted is None else str(trusted))
    made = LoopTransport if settings.pop("on_loop", False) else DirectTransport
    chosen = {"connections": 8, **UNHURRIED, "max_attempts": 1, "needs_checksum": True}
    return made(
        "orders",
        ("hashKey", "rangeKey"),
        endpoint,
        Signer(Credentials("key", "secret"), "us-east-1", place.header),
        clocks=settings.pop("clocks", None) or Clocks(),
        **{**chosen, **settings},
    )


def make_certificates(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A file with an authority of our own, and a server's context that it vouches for, as localhost and 127.0.0.1."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now = dt.datetime.now(dt.UTC)
    authority = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    own = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))
        .issuer_name(name)
        .public_key(own.public_key())
        .serial_number(2)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    trusted, served = folder / "authority.pem", folder / "server.pem"
    trusted.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    served.write_bytes(
        own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    return trusted, context


def open_files() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@contextlib.contextmanager
def closing(*things: Any) -> Iterator[None]:
    """Close all of these at the end."""
    try:
        yield
    finally:
        for thing in things:
            thing.close()
