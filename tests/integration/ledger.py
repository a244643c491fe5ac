"""A server over HTTP that answers from a table which keeps a ledger, and loses answers when it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from shardweave.errors import ConditionFailed, TransactionCanceled
from shardweave.table import Guard, Table
from shardweave.table.layout import TableLayout
from shardweave.table.many import Lanes, Outcome, RunMany, run_many_of
from shardweave.table.operations import (
    WRITES,
    BatchGetAnswer,
    BatchWriteAnswer,
    ItemAnswer,
    Operation,
    PageAnswer,
    TransactGetAnswer,
    TransactWrite,
    WriteAnswer,
)
from shardweave.table.values import to_attribute_values
from shardweave.table.waiting import waits_on_loop
from tests.integration.scripted_server import Reply, Request, ScriptedServer, error
from tests.unit.write_ledger import Ledger

R = TypeVar("R")


@dataclass(frozen=True)
class Lost:
    """An attempt that gets no answer to be trusted, only what `reply` makes of the true one. `arrives`: it is carried
    out nevertheless."""

    reply: Callable[[Reply], Reply]
    arrives: bool = True


@dataclass(frozen=True)
class Refused:
    """An attempt that is refused with `reply`, and not carried out."""

    reply: Reply


UNKNOWN = TransactWrite(())
"""Stands for a request that was not rendered by a table made here."""

Fate = Lost | Refused | None
"""What becomes of an attempt at a write; None: it is carried out and truly answered."""


class LedgerServer(ScriptedServer):
    """Answers requests on `ledger` over HTTP. The n-th write has the n-th fate, those that follow have none. A request
    is known by what a `Table` made here has rendered."""

    ledger: Ledger

    def __init__(self, fates: Sequence[Fate] = ()) -> None:
        self.fates = list(fates)
        self.meanwhile: Callable[[], object] = lambda: None
        self._expected: dict[str, Operation[Any]] = {}
        super().__init__(())

    def over(self, table: Table, name: str) -> Table:
        """`table`, which sends its requests here under the table's `name`."""
        return _Expecting(table, lambda operation: self._expect(operation, name))

    def _expect(self, operation: Operation[Any], name: str) -> None:
        self._expected[json.dumps(operation.request(name), sort_keys=True)] = operation

    def _answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            operation = self._expected.get(json.dumps(request.parameters, sort_keys=True), UNKNOWN)
            fate = self.fates.pop(0) if self.fates and isinstance(operation, WRITES) else None
            if isinstance(fate, Refused):
                return fate.reply
            if isinstance(fate, Lost):
                reply = fate.reply(as_reply(self.ledger, operation) if fate.arrives else Reply())
                self.meanwhile()
                return reply
            return as_reply(self.ledger, operation)


def as_reply(ledger: Ledger, operation: Operation[Any]) -> Reply:
    """What comes of carrying an operation out, as DynamoDB answers it."""
    try:
        answer = ledger.run(operation)
    except ConditionFailed as failure:
        return error("ConditionalCheckFailedException", **_item(failure.item))
    except TransactionCanceled as failure:
        reasons = [{"Code": reason.code, **_item(reason.item)} for reason in failure.reasons]
        return error("TransactionCanceledException", CancellationReasons=reasons)
    return Reply(_rendered(answer))


@dataclass(frozen=True)
class _Expecting:
    table: Table
    expect: Callable[[Operation[Any]], None]

    @property
    def layout(self) -> TableLayout:
        return self.table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self.table.guards_inside_writes

    @property
    def waits_on_loop(self) -> bool:
        return waits_on_loop(self.table)

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        self.expect(operation)
        return self.table.run(operation, guard=guard)

    @property
    def run_many(self) -> RunMany | None:
        run_many = run_many_of(self.table)
        return None if run_many is None else partial(self._run_many, run_many)

    def _run_many(self, run_many: RunMany, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        for operation in lanes.operations:
            self.expect(operation)
        return run_many(lanes)

    def close(self) -> None:
        self.table.close()


def _item(item: Mapping[str, Any] | None, name: str = "Item") -> dict[str, Any]:
    return {} if item is None else {name: to_attribute_values(item)}


def _rendered(answer: Any) -> dict[str, Any]:
    """An answer in DynamoDB's JSON."""
    if isinstance(answer, ItemAnswer):
        return _item(answer.item)
    if isinstance(answer, WriteAnswer):
        return _item(answer.attributes, "Attributes")
    if isinstance(answer, BatchGetAnswer):
        return {"Responses": {"orders": [to_attribute_values(item) for item in answer.items]}}
    if isinstance(answer, TransactGetAnswer):
        return {"Responses": [_item(item) for item in answer.items]}
    if isinstance(answer, PageAnswer):
        items = [to_attribute_values(item) for item in answer.items]
        page = {"Items": items, "Count": answer.count, "ScannedCount": answer.scanned}
        return page | _item(answer.last_key, "LastEvaluatedKey")
    assert not isinstance(answer, BatchWriteAnswer) or not answer.unprocessed_puts
    return {}


def lost_replies() -> Iterator[tuple[str, Callable[[Reply], Reply]]]:
    """The ways in which an answer can be lost, by name."""
    yield "the connection closes", lambda _: Reply(closed=True)
    yield "500", lambda _: error("InternalServerError", status=500)
    yield "503", lambda _: error("ServiceUnavailableException", status=503)
    yield "a body that is cut", lambda true: Reply(true.body, true.status, sent=1)
    yield "a wrong checksum", lambda true: Reply(true.body, true.status, headers={"x-amz-crc32": "1"})
    yield (
        "a refusal with a wrong checksum",
        lambda _: Reply(error("ConditionalCheckFailedException").body, 400, headers={"x-amz-crc32": "1"}),
    )
    yield "a page from a proxy", lambda _: Reply(raw=b"<html>no</html>", status=403)
