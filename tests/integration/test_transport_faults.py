"""Random faults at every request, against a ledger of what the server carried out: threads or work of an event loop,
TLS, deadlines and forks together. What the store reports as done was done once, what it reports as refused was not
done, a read gives the record that was asked for as it was last written, and no connection leaks.

`--faults 10000` makes more of them.
"""

from __future__ import annotations

import asyncio
import faulthandler
import itertools
import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pytest

from shardweave.database.event_loop import on_loop
from shardweave.errors import (
    AccessDenied,
    NotFound,
    OutcomeUnknown,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionConflict,
)
from shardweave.query.fanout import FanOut
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Put, Store
from shardweave.table import Guard
from shardweave.table.dynamodb.transport.direct import DirectTransport
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from shardweave.table.many import Lanes, Outcome
from shardweave.table.operations import GetItem, Operation, key_of
from tests.integration.ledger import as_reply
from tests.integration.raw_server import Peer, RawServer, Request, open_files, whole
from tests.integration.transport_world import World, until
from tests.unit.store_world import SCHEMA, SECOND_BUMP, Clock, Note, NoWaiting
from tests.unit.write_ledger import Ledger

R = TypeVar("R")

THREADS = 8

Reply = Callable[[Peer, bytes], object]


def cut(peer: Peer, reply: bytes) -> None:
    peer.send(reply[: len(reply) // 2])
    peer.close()


LOSSES: dict[str, Reply] = {
    "closed": lambda peer, _: peer.close(),
    "reset": lambda peer, _: peer.reset(),
    "cut": cut,
    "500": lambda peer, _: peer.send(whole({"__type": "InternalServerError"}, 500)),
    "503": lambda peer, _: peer.send(b"HTTP/1.1 503 x\r\nContent-Length: 3\r\n\r\nno!"),
    "no HTTP": lambda peer, _: peer.send(b"220 smtp\r\n\r\n"),
    "a wrong checksum": lambda peer, _: peer.send(b"HTTP/1.1 200 x\r\nContent-Length: 2\r\nx-amz-crc32: 7\r\n\r\n{}"),
    "two replies": lambda peer, reply: peer.send(reply + reply),
    "silence": lambda peer, _: peer.wait(),
}
"""The ways in which an answer is lost."""

REFUSALS = ("ThrottlingException", "TransactionConflictException", "AccessDeniedException")
RARE = {"silence"}


@dataclass
class FaultyServer:
    """Carries requests out on a ledger, and answers as the dice fall."""

    seed: int
    ledger: Ledger
    expected: dict[str, Operation[Any]] = field(default_factory=dict)
    met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._draw = random.Random(self.seed)

    def turn(self, peer: Peer, request: Request) -> None:
        with self._lock:
            parameters = dict(request.parameters)
            # What a forked child reads is not known here, and not there.
            operation = self.expected.get(_known(parameters))
            fate, arrives = self._fate()
            self.met[fate] += 1
            reply = whole({})
            if fate in REFUSALS:
                reply = whole({"__type": fate}, 400)
            elif operation is not None and (fate == "" or arrives):
                made = as_reply(self.ledger, operation)
                reply = whole(made.body, made.status)
        if fate in LOSSES:
            LOSSES[fate](peer, reply)
            return
        peer.send(reply)

    def _fate(self) -> tuple[str, bool]:
        drawn = self._draw.random()
        if drawn < 0.5:
            return "", True
        if drawn < 0.6:
            return self._draw.choice(REFUSALS), False
        fate = self._draw.choice(sorted(LOSSES))
        if fate in RARE and self._draw.random() < 0.95:
            fate = "closed"
        return fate, self._draw.random() < 0.5


def _known(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


@dataclass(frozen=True)
class DirectTable:
    """A table over a direct transport, which tells the server what its requests mean."""

    layout: TableLayout
    transport: DirectTransport
    server: FaultyServer
    guards_inside_writes: bool = False

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        self._expect(operation)
        found: R = self.transport.run(operation, guard)
        return found

    def run_many(self, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        for operation in lanes.operations:
            self._expect(operation)
        return self.transport.run_many(lanes)

    def close(self) -> None:
        self.transport.close()

    def _expect(self, operation: Operation[Any]) -> None:
        self.server.expected[_known(operation.request("orders"))] = operation


class Writer:
    """Writes notes of its own, one after the other, and knows what each of them may be now."""

    def __init__(self, name: int, seed: int, store: Store, table: DirectTable, ledger: Ledger) -> None:
        self._draw = random.Random(seed)
        self._store = store
        self._table = table
        self._ledger = ledger
        self._texts = (f"{name}.{number}" for number in itertools.count())
        self._fanout = FanOut(table, 4, sleep=lambda _: None, jitter=lambda: 0.0)
        self._may_be: dict[str, set[str | None]] = {}
        self.told: list[tuple[str, str]] = []

    def step(self) -> None:
        """One more piece of work."""
        known = [note for note, texts in self._may_be.items() if texts != {None}]
        drawn = self._draw.random()
        if not known or drawn < 0.2:
            self._create()
        elif drawn < 0.45:
            self._write(self._draw.choice(known))
        elif drawn < 0.5:
            self._delete(self._draw.choice(known))
        elif drawn < 0.6:
            self._batch()
        elif drawn < 0.8:
            self._get(self._draw.choice(known))
        else:
            self._page(self._draw.sample(known, min(6, len(known))))

    def check(self) -> None:
        """Compare everything that was told with what was done."""
        for text, said in self.told:
            times = sum(item.get("text") == text for item in self._ledger.written)
            if said == "done":
                assert times == 1, f"{text} was reported as done, and done {times} times"
            elif said == "written":
                assert times >= 1
            elif said == "refused":
                assert times == 0, f"{text} was reported as refused, and done"
            else:
                assert times <= 1

    def _tell(self, text: str, write: Callable[[], object]) -> str:
        try:
            write()
        except OutcomeUnknown:
            said = "unknown"
        except ShardweaveError:
            said = "refused"
        else:
            said = "done"
        self.told.append((text, said))
        return said

    def _create(self) -> None:
        text = next(self._texts)
        note = f"note-{text}"
        said = self._tell(text, lambda: self._store.create({"noteId": note, "text": text}, Note))
        if said != "refused":
            self._may_be[note] = {text} if said == "done" else {text, None}

    def _write(self, note: str) -> None:
        text = next(self._texts)
        if self._draw.random() < 0.5:
            said = self._tell(text, lambda: self._store.update(Note, note, {"text": text}))
        else:
            said = self._tell(text, lambda: self._store.put({"noteId": note, "text": text}, Note))
        if said == "done":
            self._may_be[note] = {text}
        elif said == "unknown":
            self._may_be[note] = self._may_be[note] | {text}

    def _delete(self, note: str) -> None:
        try:
            self._store.delete(Note, note)
        except OutcomeUnknown:
            self._may_be[note] = self._may_be[note] | {None}
        except ShardweaveError:
            return
        else:
            self._may_be[note] = {None}

    def _batch(self) -> None:
        texts = [next(self._texts) for _ in range(3)]
        result = self._store.batch_write([Put({"text": text}, Note) for text in texts])
        for text, each in zip(texts, result.puts, strict=True):
            said = "unknown" if isinstance(each.error, OutcomeUnknown) else each.status
            self.told.append((text, "refused" if said == "failed" else said))

    def _get(self, note: str) -> None:
        try:
            found = self._store.get(Note, note)
        except NotFound:
            assert None in self._may_be[note]
        except (AccessDenied, TableUnavailable, Throttled, TransactionConflict):
            return
        else:
            text = None if found is None else found.text
            assert text in self._may_be[note], "another record, or an older one"

    def _page(self, notes: Sequence[str]) -> None:
        """Several reads at once, some with a deadline that is short."""
        places = {item.get("noteId"): item for item in self._ledger.written}
        notes = [note for note in notes if note in places]
        keys = [key_of(SCHEMA.layout.key_names, places[note]) for note in notes]
        deadline = None if self._draw.random() < 0.5 else self._fanout.monotonic() + self._draw.random() * 0.02
        outcomes = self._fanout.read([GetItem(key, consistent=True) for key in keys], deadline)
        for note, outcome in zip(notes, outcomes, strict=True):
            if outcome.answer is not None:
                item = outcome.answer.item
                assert (None if item is None else item["text"]) in self._may_be[note]


@pytest.fixture
def faulty(world: World) -> Iterator[tuple[FaultyServer, RawServer, DirectTable]]:
    clock = Clock(SECOND_BUMP)
    inner = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
    server = FaultyServer(18, Ledger(inner))
    raw = world.server(server.turn)
    # By its address, since a child of a process whose threads look names up can't do so: the system's lock stays held.
    url = raw.url.replace("localhost", "127.0.0.1")
    transport = world.transport(raw, url=url, connections=6, max_attempts=3, read_timeout=2.0, draw=lambda: 0.0)
    yield server, raw, DirectTable(SCHEMA.layout, transport, server)
    inner.close()


def test_nothing_is_told_untruly_whatever_goes_wrong(
    world: World, faulty: tuple[FaultyServer, RawServer, DirectTable], faults: int
) -> None:
    """A1, A2, A3, A9, A13, A15, A21, A22, A25, A44."""
    server, raw, table = faulty
    clock = Clock(SECOND_BUMP)
    before = open_files()
    store = Store(SCHEMA, table, clock=clock, maps=StaticMaps(), waiting=NoWaiting().waiting())
    writers = [Writer(number, 18 + number, store, table, server.ledger) for number in range(THREADS)]

    def work(writer: Writer) -> None:
        while sum(server.met.values()) - server.met[""] < faults:
            writer.step()

    # OpenSSL has locks of its own, which a thread in the middle of a handshake would leave to the child.
    forks = 0 if world.context is not None else 4
    children = (on_a_loop if world.on_loop else in_threads)(work, writers, [partial(forked, table.transport)] * forks)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * forks
    for writer in writers:
        writer.check()
    said = Counter(each for writer in writers for _, each in writer.told)
    assert set(said) == {"done", "written", "refused", "unknown"}, "each was told at least once"
    assert all(server.met[fate] for fate in [*LOSSES.keys() - RARE, *REFUSALS])
    assert raw.connections > THREADS
    table.close()
    for peer in raw.peers:
        peer.close()
    until(lambda: open_files() <= before + 2)


def in_threads(
    work: Callable[[Writer], None], writers: Sequence[Writer], forks: Sequence[Callable[[], int]]
) -> list[int]:
    """Let all of them work, and fork meanwhile."""
    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(work, writer) for writer in writers]
        children = [fork() for fork in forks]
        for each in running:
            each.result()
    return children


def on_a_loop(
    work: Callable[[Writer], None], writers: Sequence[Writer], forks: Sequence[Callable[[], int]]
) -> list[int]:
    """The same without a thread."""

    async def all_of_them() -> list[int]:
        running = [asyncio.ensure_future(on_loop(partial(work, writer))) for writer in writers]
        children = []
        for fork in forks:
            await asyncio.sleep(0.01)
            children.append(fork())
        await asyncio.gather(*running)
        return children

    return asyncio.run(all_of_them())


def forked(transport: DirectTransport) -> int:
    """A child that reads over connections of its own, and leaves those of its parent alone."""
    child = os.fork()
    if child:
        return child
    code = 1
    # One that hangs, as on a lock of a thread that it does not have, says where.
    faulthandler.dump_traceback_later(150, exit=True)
    try:
        assert transport.pool.idle == 0
        for number in range(20):
            key = {"hashKey": f"nobody-{number}", "rangeKey": "r"}
            try:
                found = transport.run(GetItem(key)).item
                assert found is None or found["hashKey"] == key["hashKey"]
            except ShardweaveError:
                continue
        code = 0
    finally:
        os._exit(code)
