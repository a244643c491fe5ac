"""How long the direct transport waits, where it connects to, and whom it trusts."""

from __future__ import annotations

import socket
import ssl
import time
import weakref
from collections.abc import Iterator

import pytest

from shardweave.errors import TableUnavailable
from shardweave.errors.outcomes import maybe_written
from shardweave.table.dynamodb.transport.connection import Address
from shardweave.table.dynamodb.transport.endpoint import HostEndpoint, ca_file, place_of
from shardweave.table.many import Lanes
from shardweave.table.operations import PutItem
from tests.integration.held_port import held_port
from tests.integration.raw_server import (
    Peer,
    Request,
    Turn,
    item,
    open_files,
    whole,
)
from tests.integration.transport_world import PUT, World, name_read, never, read, until

# -- limits of time ---------------------------------------------------------------------------------------------------


def drip(peer: Peer, request: Request) -> None:
    data = whole(item(request.name), 200, *[f"a{number}: b" for number in range(1000)])
    for byte in data:
        peer.send(bytes([byte]))
        time.sleep(0.05)


@pytest.mark.parametrize("turn", [lambda peer, _: peer.wait(), drip], ids=["silence", "a drip"])
def test_an_attempt_ends(world: World, turn: Turn) -> None:
    """A25: also one in which something always happens."""
    transport = world.transport(world.server(turn), read_timeout=0.3)
    with pytest.raises(TableUnavailable, match="Timeout") as raised:
        transport.run(PUT)
    assert maybe_written(raised.value)
    assert transport.pool.idle == 0


def test_a_request_that_is_not_taken_ends(plain: World) -> None:
    """A25."""
    server = plain.server(lambda peer, _: peer.wait(), heads_only=True)
    transport = plain.transport(server, read_timeout=0.3)
    with pytest.raises(TableUnavailable) as raised:
        transport.run(PutItem({"hashKey": "h", "rangeKey": "r", "text": "x" * 20_000_000}))
    assert not maybe_written(raised.value)


def test_a_handshake_ends(secure: World) -> None:
    """A25."""
    transport = secure.transport(secure.server(mute=True), connect_timeout=0.3)
    with pytest.raises(TableUnavailable, match="ConnectTimeout") as raised:
        transport.run(PUT)
    assert not maybe_written(raised.value)


class Addresses(HostEndpoint):
    """A host with these addresses."""

    def __init__(self, url: str, *ports: int) -> None:
        place = place_of(url)
        assert place is not None
        super().__init__(place)
        self.ports = ports
        self.asked: list[bool] = []

    def addresses(self, *, anew: bool = False) -> list[Address]:
        self.asked.append(anew)
        return [(socket.AF_INET, ("127.0.0.1", port)) for port in self.ports]


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port at which nobody ever answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.create_connection(("127.0.0.1", port))]  # It fills the queue, whoever comes first.
        for _ in range(3):
            each = socket.socket()
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
            waiting.append(each)
        yield port
        for each in waiting:
            each.close()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nobody listens."""
    with held_port() as port:
        yield port


def test_every_address_is_tried(plain: World, black_hole: int, closed_port: int) -> None:
    """A26: one that leads nowhere costs a quarter of a second, and one that refuses nothing."""
    server = plain.server()
    endpoint = Addresses(server.url, closed_port, black_hole, server.port)
    before = open_files()
    transport = plain.transport(server, endpoint=endpoint)
    assert name_read(transport, "a") == "of a"
    transport.close()
    until(lambda: open_files() <= before + 1)


def test_no_address_that_answers_is_no_connection(plain: World, black_hole: int, closed_port: int) -> None:
    """A25, A26: addresses are asked for anew after that."""
    server = plain.server()
    for ports in ((), (closed_port,), (black_hole, closed_port)):
        endpoint = Addresses(server.url, *ports)
        transport = plain.transport(server, endpoint=endpoint, connect_timeout=0.5, max_attempts=2)
        with pytest.raises(TableUnavailable) as raised:
            transport.run(PUT)
        assert not maybe_written(raised.value)
        assert endpoint.asked == [False, True]


def test_a_name_that_is_not_known_is_no_connection(plain: World) -> None:
    """A26."""
    transport = plain.transport(plain.server(), url="http://no-such-host.invalid")
    with pytest.raises(TableUnavailable, match="gaierror"):
        transport.run(PUT)
    outcomes = transport.run_many(Lanes([read("a")], 1, never))
    assert isinstance(outcomes[0].error, TableUnavailable)


def test_addresses_are_kept_for_a_few_seconds() -> None:
    """A26, A40: and nothing is asked before the first request."""
    place = place_of("http://localhost:8000")
    assert place is not None
    now = [0.0]
    endpoint = HostEndpoint(place, monotonic=lambda: now[0])
    assert endpoint._known is None
    first = endpoint.addresses()
    now[0] = 4.9
    assert endpoint.addresses() is first
    assert endpoint.addresses(anew=True) is not first
    now[0] = 20
    assert endpoint.addresses() is not first


# -- TLS --------------------------------------------------------------------------------------------------------------


def test_only_a_server_that_is_vouched_for_is_talked_to(secure: World) -> None:
    """A39."""
    server = secure.server()
    by_address = secure.transport(server, url=f"https://127.0.0.1:{server.port}")
    assert name_read(by_address, "a") == "of a"
    place = place_of(server.url)
    assert place is not None
    strangers = secure.transport(server, endpoint=HostEndpoint(place, ca_file()))
    with pytest.raises(TableUnavailable, match="SSL"):
        strangers.run(PUT)
    for other in ("127.0.0.2", "127.1"):
        transport = secure.transport(server, url=f"https://{other}:{server.port}")
        with pytest.raises(TableUnavailable):
            transport.run(PUT)
    assert len(server.requests) == 1


def test_a_forked_process_has_a_context_of_its_own_and_keeps_that_of_its_parent() -> None:
    """A13: a lock of OpenSSL in it may be held by a thread that the child does not have."""
    place = place_of("https://localhost")
    assert place is not None
    endpoint = HostEndpoint(place)

    def context() -> ssl.SSLContext:
        with endpoint.secured(socket.socket()) as secured:
            assert isinstance(secured, ssl.SSLSocket)
            return secured.context

    of_parent = weakref.ref(context())
    assert context() is of_parent()
    endpoint.unlock()
    assert of_parent() is not None
    assert context() is not of_parent()


def test_what_is_trusted_by_default_is_what_botocore_trusts() -> None:
    """A39."""
    from botocore.httpsession import where

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(where())
    place = place_of("https://localhost")
    assert place is not None
    ours = HostEndpoint(place)._new_context()
    assert ours.minimum_version is ssl.TLSVersion.TLSv1_2
    assert ours.verify_mode is ssl.CERT_REQUIRED
    assert ours.check_hostname
    assert ours.cert_store_stats() == context.cert_store_stats()
    assert ours.cert_store_stats()["x509_ca"] > 50
