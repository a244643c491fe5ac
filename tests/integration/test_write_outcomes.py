"""What the store says of its writes, over HTTP, against a ledger of what the server carried out.

An answer is lost at the first attempt, and the next attempt meets something else. Whatever that is: what is reported as
done was done once, what is reported as refused was not done, and only what was perhaps done is of unknown outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.session import Session

from shardweave.errors import InvalidRequest, OutcomeUnknown, ShardMapChanged, ShardweaveError, TableUnavailable
from shardweave.errors.outcomes import maybe_written
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Put, RetryClock, Store
from shardweave.store.writing.sender import Sender
from shardweave.table import Table
from shardweave.table.conditions import Missing
from shardweave.table.dynamodb import new_session
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite, DeleteItem, PutItem, Scan, TransactWrite, UpdateItem
from tests.integration.ledger import Fate, LedgerServer, Lost, Refused, lost_replies
from tests.integration.raw_server import LoopTable
from tests.integration.scripted_server import Reply, error, table_over
from tests.unit.store_world import SCHEMA, SECOND_BUMP, Clock, Note, NoWaiting, Person
from tests.unit.write_ledger import Ledger

LOST = dict(lost_replies())

REFUSALS = {
    "throttled": error("ThrottlingException"),
    "a transaction is in progress": error("TransactionConflictException"),
    "denied": error("AccessDeniedException"),
    "an expired token": error("ExpiredTokenException"),
    "not valid": error("ValidationException"),
}


def table_by(transport: str, url: str, **settings: Any) -> Table:
    """A table over a transport; "loop" is the direct one as work of event loops."""
    if transport == "loop":
        return LoopTable(table_over("direct", SCHEMA.layout, "orders", url, **settings))
    return table_over(transport, SCHEMA.layout, "orders", url, **settings)


class Wire:
    """A store over a client that sends twice, and a server with a ledger; `other` writes without the wire."""

    def __init__(
        self, session: Session, server: LedgerServer, transport: str, *, read_timeout: float = 60.0, attempts: int = 2
    ) -> None:
        clock = Clock(SECOND_BUMP)
        self.inner = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
        self.ledger = Ledger(self.inner)
        self.server = server
        server.meanwhile = lambda: None
        server.ledger = self.ledger
        self.sends()
        # A client of its own: botocore's quota of repeats is the client's.
        settings: dict[str, Any] = {"session": session, "max_attempts": attempts, "read_timeout": read_timeout}
        self.client = table_by(transport, server.url, **settings)
        self.table = server.over(self.client, "orders")
        self.pauses = NoWaiting()
        waiting = self.pauses.waiting()
        self.store = Store(SCHEMA, self.table, clock=clock, maps=StaticMaps(), waiting=waiting)
        self.other = Store(SCHEMA, self.inner, clock=clock, maps=StaticMaps(), waiting=waiting)
        self.sender = Sender(self.table, waiting, lambda: "token")
        self.other.create({"noteId": "a", "text": "0"}, Note)
        self.other.create({"personId": "a", "name": "Ann"}, Person)

    def sends(self, *fates: Fate) -> None:
        """What becomes of the attempts at writes."""
        self.server.fates = list(fates)
        self.server.requests.clear()

    def close(self) -> None:
        self.client.close()
        self.inner.close()


@pytest.fixture(scope="module")
def session_and_server() -> Iterator[tuple[Session, LedgerServer]]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        server = LedgerServer()
        yield new_session(), server
        server.close()


@pytest.fixture(params=["botocore", "direct", "loop"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wire(session_and_server: tuple[Session, LedgerServer], transport: str) -> Iterator[Wire]:
    made = Wire(*session_and_server, transport)
    yield made
    made.close()


WRITES: dict[str, Callable[[Wire], Any]] = {
    "create": lambda wire: wire.store.create({"noteId": "new", "text": "1"}, Note),
    "create, a transaction": lambda wire: wire.store.create({"personId": "new", "name": "x"}, Person),
    "update": lambda wire: wire.store.update(Note, "a", {"text": "1"}),
    "put": lambda wire: wire.store.put({"noteId": "a", "text": "1"}, Note),
    "delete": lambda wire: wire.store.delete(Note, "a"),
    "batch": lambda wire: wire.store.batch_write([Put({"text": text}, Note) for text in "12"]),
}


def told(wire: Wire, write: Callable[[Wire], Any]) -> list[str]:
    """What the store says of each part of a write: it is compared with the ledger, and named."""
    try:
        outcome = write(wire)
    except ShardweaveError as refusal:
        return [judged(wire, refusal)]
    if outcome is True:
        assert len(wire.ledger.removed) == 1, "what is done is done once"
        return ["done"]
    if not hasattr(outcome, "puts"):
        assert wire.ledger.times(outcome.rev) == 1, "what is done is done once"
        return ["done"]
    said = []
    for text, each in zip("12", outcome.puts, strict=True):
        times = sum(item.get("text") == text for item in wire.ledger.written)
        if each.status == "written":
            assert times >= 1
        elif not isinstance(each.error, OutcomeUnknown):
            assert times == 0, "what is reported as refused is not done"
        said.append("unknown" if isinstance(each.error, OutcomeUnknown) else each.status)
    return said


def judged(wire: Wire, error: ShardweaveError) -> str:
    carried_out = len(wire.ledger.written) + len(wire.ledger.removed)
    if isinstance(error, OutcomeUnknown):
        assert maybe_written(error)
        return "unknown"
    assert carried_out == 0, f"reported as {error.code}, and was done"
    assert not maybe_written(error)
    return "refused"


LOST_AND_MORE = pytest.mark.parametrize("loss", LOST)


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("write", WRITES)
@LOST_AND_MORE
def test_what_refuses_the_next_attempt_hides_nothing(wire: Wire, write: str, loss: str, refusal: str) -> None:
    wire.sends(Lost(LOST[loss]), Refused(REFUSALS[refusal]))
    assert "refused" not in told(wire, WRITES[write])


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("arrives", [True, False])
@LOST_AND_MORE
def test_an_answer_that_is_lost_is_asked_for_again(wire: Wire, write: str, loss: str, arrives: bool) -> None:
    wire.sends(Lost(LOST[loss], arrives), Lost(LOST[loss], arrives=False))
    said = told(wire, WRITES[write])
    assert set(said) <= {"done", "written"} or loss == "a page from a proxy"


@pytest.mark.parametrize("write", WRITES)
def test_silence_is_a_lost_answer(session_and_server: tuple[Session, LedgerServer], transport: str, write: str) -> None:
    session, server = session_and_server
    impatient = Wire(session, server, transport, read_timeout=1.0)
    impatient.sends(Lost(lambda _: Reply(silent=True)), Refused(REFUSALS["denied"]))
    assert "refused" not in told(impatient, WRITES[write])
    impatient.close()


# -- what ends a write between two attempts ---------------------------------------------------------------------------

CREATION = PutItem({"hashKey": "h", "rangeKey": "r", "rev": "1"}, Missing("hashKey"))


@pytest.mark.parametrize("raised", [ShardMapChanged("no"), ConnectionError("a guard's own"), KeyboardInterrupt()])
def test_what_a_guard_raises_at_the_next_attempt_says_that_it_may_be_written(wire: Wire, raised: BaseException) -> None:
    def guard() -> None:
        if wire.server.requests:
            raise raised

    wire.sends(Lost(LOST["500"]))
    with pytest.raises(type(raised)) as ended:
        wire.table.run(CREATION, guard=guard)
    assert maybe_written(ended.value)
    assert wire.ledger.times("1") == 1


def test_a_guard_that_stops_the_first_attempt_says_that_nothing_is_written(wire: Wire) -> None:
    def guard() -> None:
        raise ShardMapChanged("no")

    with pytest.raises(ShardMapChanged) as ended:
        wire.table.run(CREATION, guard=guard)
    assert not maybe_written(ended.value)


def test_an_interrupt_between_the_attempts_says_that_it_may_be_written(wire: Wire) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    sender = Sender(wire.table, RetryClock(interrupt), lambda: "token")
    wire.sends(Lost(LOST["500"]), Lost(LOST["500"], arrives=False))
    with pytest.raises(KeyboardInterrupt) as ended:
        sender.send([CREATION])
    assert maybe_written(ended.value)


def test_a_write_that_used_the_quota_of_repeats_up_says_that_it_may_be_written(wire: Wire) -> None:
    sent = []
    while not sent or sent[-1] > 1:
        wire.sends(Lost(LOST["500"]), Lost(LOST["500"]))
        with pytest.raises(TableUnavailable) as ended:
            wire.table.run(CREATION)
        assert maybe_written(ended.value)
        sent.append(len(wire.server.requests))
    assert sent[0] == 2


def test_a_closed_port_says_that_nothing_is_written(wire: Wire, transport: str) -> None:
    closed = table_by(transport, "http://127.0.0.1:1")
    with pytest.raises(TableUnavailable) as ended:
        closed.run(CREATION)
    assert not maybe_written(ended.value)
    closed.close()


# -- what has no condition --------------------------------------------------------------------------------------------

WITHOUT_A_CONDITION = {
    "put": PutItem({"hashKey": "h", "rangeKey": "r"}),
    "update": UpdateItem({"hashKey": "h", "rangeKey": "r"}, add={"n": 1}),
    "delete": DeleteItem({"hashKey": "h", "rangeKey": "r"}),
    "batch": BatchWrite(({"hashKey": "h", "rangeKey": "r"},)),
}


@pytest.mark.parametrize("operation", WITHOUT_A_CONDITION.values(), ids=WITHOUT_A_CONDITION)
@LOST_AND_MORE
def test_a_write_without_a_condition_is_not_sent_again(wire: Wire, operation: Any, loss: str) -> None:
    wire.sends(Lost(LOST[loss]))
    with pytest.raises(ShardweaveError) as ended:
        wire.table.run(operation)
    assert maybe_written(ended.value)
    assert len(wire.server.requests) == 1
    if not isinstance(operation, BatchWrite):
        wire.sends(Lost(LOST[loss]))
        with pytest.raises(OutcomeUnknown):
            wire.sender.send([operation])
        assert len(wire.server.requests) == 1


def test_a_write_without_a_condition_that_was_refused_is_sent_again(wire: Wire) -> None:
    wire.sends(Refused(REFUSALS["a transaction is in progress"]))
    assert wire.sender.send([WITHOUT_A_CONDITION["update"]]) is None  # type: ignore[list-item]
    assert len(wire.server.requests) == 2


def test_a_batch_whose_answer_was_lost_does_not_undo_what_was_written_since(wire: Wire) -> None:
    def change() -> None:
        first = next(item for item in wire.ledger.written if item["text"] == "1")
        wire.other.update(Note, first["noteId"], {"text": "changed"})

    wire.server.meanwhile = change
    wire.sends(Lost(LOST["500"]))
    result = wire.store.batch_write([Put({"text": text}, Note) for text in "12"])
    assert [each.status for each in result.puts] == ["failed", "written"]
    assert isinstance(result.puts[0].error, OutcomeUnknown)
    assert sorted(item["text"] for item in wire.inner.run(Scan()).items if "text" in item) == ["0", "2", "changed"]


@pytest.mark.parametrize("token", [None, "token"])
def test_a_transaction_is_carried_out_once_also_without_a_token_of_the_callers(wire: Wire, token: str | None) -> None:
    wire.sends(Lost(LOST["500"], arrives=False), Refused(error("ValidationException")))
    with pytest.raises(InvalidRequest) as ended:
        wire.client.run(TransactWrite((CREATION,), token))
    assert maybe_written(ended.value)
    first, second = (request.parameters["ClientRequestToken"] for request in wire.server.requests)
    assert first == second
