"""What the direct transport does with its connections, against a server that misbehaves on purpose."""

from __future__ import annotations

import socket
import ssl
import threading
import time

import pytest

from shardweave.errors import ShardweaveError, TableUnavailable
from shardweave.errors.outcomes import maybe_written
from shardweave.table.dynamodb.transport.connection import MAX_IDLE, Clocks
from shardweave.table.operations import PutItem
from tests.integration.local_server import START_SECONDS
from tests.integration.raw_server import (
    Peer,
    Request,
    Turn,
    answer,
    item,
    says,
    whole,
)
from tests.integration.transport_world import World, name_read, read, until

# -- kept connections -------------------------------------------------------------------------------------------------


def test_a_connection_is_used_again(world: World) -> None:
    """A10: with TLS 1.3 it is readable all the time, since tickets wait to be read."""
    server = world.server()
    transport = world.transport(server)
    for number in range(5):
        assert name_read(transport, f"n{number}") == f"of n{number}"
    assert server.connections == 1


LATE = pytest.mark.parametrize("late", [whole(item("late")), b"H", b"\r\n"])


@LATE
def test_what_comes_after_a_reply_is_never_taken_for_the_next(world: World, late: bytes) -> None:
    """A10: the connection is not used again, so that not even an attempt is lost."""
    is_read, behind = threading.Event(), threading.Event()

    def with_more(peer: Peer, request: Request) -> None:
        answer(peer, request)
        is_read.wait(START_SECONDS)
        peer.send(late)
        until(peer.has_arrived)
        behind.set()

    server = world.server(with_more, answer)
    transport = world.transport(server, max_attempts=1)
    assert name_read(transport, "a") == "of a"
    is_read.set()
    assert behind.wait(START_SECONDS)
    assert name_read(transport, "b") == "of b"
    assert name_read(transport, "c") == "of c"
    assert (len(server.requests), server.connections) == (3, 2)


@LATE
def test_what_comes_with_a_reply_makes_it_none(world: World, late: bytes) -> None:
    """A11."""
    server = world.server(lambda peer, request: peer.send(whole(item(request.name)) + late), answer)
    transport = world.transport(server, max_attempts=2)
    assert name_read(transport, "a") == "of a"
    assert name_read(transport, "b") == "of b"
    assert (len(server.requests), server.connections) == (3, 2)


def test_a_connection_that_was_closed_is_replaced(world: World) -> None:
    """A10: without an attempt being lost."""
    server = world.server()
    transport = world.transport(server)
    name_read(transport, "a")
    server.peers[0].close()
    until(lambda: not transport.pool._idle[0].is_usable())
    assert name_read(transport, "b") == "of b"
    assert server.connections == 2


@pytest.mark.parametrize("clock", ["wall", "boot"])
@pytest.mark.parametrize(("seconds", "connections"), [(MAX_IDLE - 1, 1), (MAX_IDLE, 2), (100 * MAX_IDLE, 2)])
def test_a_connection_that_was_idle_for_long_by_either_clock_is_not_used(
    plain: World, clock: str, seconds: float, connections: int
) -> None:
    """A23."""
    now = {"wall": time.time(), "boot": 0.0}
    clocks = Clocks(wall=lambda: now["wall"], boot=lambda: now["boot"])
    server = plain.server()
    transport = plain.transport(server, clocks=clocks)
    name_read(transport, "a")
    now[clock] += seconds
    name_read(transport, "b")
    assert server.connections == connections


def test_a_connection_is_not_used_when_the_time_went_back(plain: World) -> None:
    """A23: nobody knows then how old it is."""
    now = [time.time()]
    server = plain.server()
    transport = plain.transport(server, clocks=Clocks(wall=lambda: now[0]))
    name_read(transport, "a")
    now[0] -= 5
    name_read(transport, "b")
    assert server.connections == 2


def test_connections_are_kept_alive_and_send_at_once(world: World) -> None:
    """A24."""
    server = world.server()
    transport = world.transport(server, read_timeout=5.0, max_attempts=9)
    name_read(transport, "a")
    (connection,) = transport.pool._idle
    sock = connection.socket
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000
    assert sock.gettimeout() == 0


# -- requests and replies ---------------------------------------------------------------------------------------------


def test_a_body_that_is_larger_than_all_buffers_is_sent_and_read(world: World) -> None:
    """A27."""
    text = "é" * 1_000_000

    def echo(peer: Peer, request: Request) -> None:
        answered = {"Attributes": request.parameters["Item"]}
        peer.send(whole(answered))

    server = world.server(echo)
    transport = world.transport(server)
    big = PutItem({"hashKey": "h", "rangeKey": "r", "text": text}, return_values="ALL_OLD")
    for _ in range(2):
        assert transport.run(big).attributes["text"] == text
    assert server.connections == 1


def test_a_reply_that_comes_byte_by_byte_is_read(world: World) -> None:
    """A27."""

    def slowly(peer: Peer, request: Request) -> None:
        for byte in whole(item(request.name)):
            peer.send(bytes([byte]))

    transport = world.transport(world.server(slowly))
    assert name_read(transport, "a") == "of a"


def test_a_reply_before_the_request_is_sent_is_read_and_the_connection_not_used_again(world: World) -> None:
    """A6, A7: the rest of the request would be taken for the next one."""
    refusal = whole(
        {"__type": "ValidationException", "message": "Item size has exceeded the maximum allowed size"}, 400
    )

    def refuse(peer: Peer, request: Request) -> None:
        peer.send(refusal)
        peer.wait()

    server = world.server(refuse, heads_only=True)
    transport = world.transport(server)
    big = PutItem({"hashKey": "h", "rangeKey": "r", "text": "x" * 8_000_000})
    with pytest.raises(ShardweaveError) as raised:
        transport.run(big)
    assert raised.value.code == "record_too_large"
    assert not maybe_written(raised.value)
    assert transport.pool.idle == 0


def test_what_was_said_before_the_connection_broke_counts(plain: World) -> None:
    """A7."""

    def refuse(peer: Peer, request: Request) -> None:
        peer.send(b"HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n")
        peer.close()

    transport = plain.transport(plain.server(refuse, heads_only=True))
    with pytest.raises(ShardweaveError) as raised:
        transport.run(PutItem({"hashKey": "h", "rangeKey": "r", "text": "x" * 8_000_000}))
    assert raised.value.code in {"invalid_request", "table_unavailable"}
    assert not maybe_written(raised.value)


def says_and_closes(data: bytes) -> Turn:
    def turn(peer: Peer, request: Request) -> None:
        peer.send(data)
        peer.close()

    return turn


CUTS: dict[str, Turn] = {
    "closed at once": lambda peer, _: peer.close(),
    "reset": lambda peer, _: peer.reset(),
    "a part of the head": says_and_closes(b"HTTP/1.1 200 OK\r\nCont"),
    "a part of the body": says_and_closes(whole(item("a"))[:-1]),
    "a part of the chunks": says_and_closes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    "no HTTP": says(b"SSH-2.0-x\r\n\r\n"),
    "another length": says(b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}"),
    "too much": says(whole(item("a")) + b"x"),
    "another checksum": says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-amz-crc32: 1\r\n\r\n{}"),
    "no checksum": says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
    "another's answer": says(whole(item("z"))),
}


@pytest.mark.parametrize("case", CUTS)
def test_no_broken_reply_is_an_answer_and_its_connection_is_closed(world: World, case: str) -> None:
    """A9, A12, A14, A15, A16, A27."""
    server = world.server(CUTS[case], CUTS[case], answer)
    transport = world.transport(server)
    with pytest.raises(TableUnavailable):
        transport.run(read("a"))
    assert transport.pool.idle == 0
    again = world.transport(server, max_attempts=2)
    assert name_read(again, "a") == "of a"
    assert len(server.requests) == 3


def test_a_body_that_ends_with_a_connection_that_broke_is_none(secure: World) -> None:
    """A27: TLS says whether the end was meant."""
    head = b"HTTP/1.1 200 OK\r\nx-amz-crc32: 2745614147\r\n\r\n"

    def meant(peer: Peer, request: Request) -> None:
        peer.send(head + b"{}")
        assert isinstance(peer.socket, ssl.SSLSocket)
        peer.socket.unwrap()

    def broken(peer: Peer, request: Request) -> None:
        peer.send(head + b"{}")
        peer.close()

    server = secure.server(broken, meant)
    transport = secure.transport(server)
    with pytest.raises(TableUnavailable):
        transport.run(read("a"))
    assert transport.run(read("a")).item is None
