"""Transactions: up to 100 atomic writes of distinct items.

Guarantees: every action is evaluated against the state before the transaction, and a canceled transaction has a reason
for each action in order. An invalid request raises InvalidRequest; an action that the stored items don't allow cancels
the transaction. A token is stored for ten minutes, in the same SQLite transaction as its writes.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ...errors import (
    CancellationReason,
    ConditionFailed,
    IdempotentParameterMismatch,
    InvalidRequest,
    RecordTooLarge,
    TransactionCanceled,
)
from ..operations import (
    MAX_TRANSACTION_ACTIONS,
    MAX_TRANSACTION_BYTES,
    TransactAnswer,
    TransactWrite,
)
from .capacity import read_units
from .request_checks import check_count, check_distinct
from .sqlite_layout import SqliteLayout
from .writes import Decision, WritePlan, decide, find, plan, store, units

TOKEN_SECONDS = 600.0
MAX_TOKEN_LENGTH = 36

_NO_REASON = CancellationReason("None")


@dataclass(frozen=True)
class TransactionPlan:
    """A checked transaction. `content` is a digest of its actions, if it has a token."""

    writes: tuple[WritePlan, ...]
    token: str | None = None
    content: bytes = b""


def plan_transaction(schema: SqliteLayout, operation: TransactWrite) -> TransactionPlan:
    """Check a transaction and bring it into the table's form. Raises InvalidRequest."""
    actions, token = operation.actions, operation.token
    check_count(len(actions), MAX_TRANSACTION_ACTIONS, "actions")
    if token is not None and not 1 <= len(token) <= MAX_TOKEN_LENGTH:
        raise InvalidRequest("The token's length is out of range.", where="token", fix="give 1 to 36 characters")
    writes = tuple(plan(schema, action) for action in actions)
    check_distinct([write.place for write in writes], len(writes))
    if sum(write.size for write in writes) > MAX_TRANSACTION_BYTES:
        raise InvalidRequest("The items of the transaction are larger than 4 MB together.", fix="write fewer at once")
    return TransactionPlan(writes, token, _content(operation) if token is not None else b"")


def transact(schema: SqliteLayout, writer: sqlite3.Connection, plan: TransactionPlan, now: float) -> TransactAnswer:
    if plan.token is not None and _carried_out(writer, plan.token, plan.content, now):
        return TransactAnswer(_replay_units(writer, plan))
    decisions = _decide_all(schema, writer, plan.writes)
    total = 0.0
    for decision in decisions:
        store(schema, writer, decision, now)
        total += units(schema, decision, transactional=True)
    if plan.token is not None:
        writer.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)", (plan.token, plan.content, now))
    return TransactAnswer(total)


def _decide_all(schema: SqliteLayout, writer: sqlite3.Connection, writes: tuple[WritePlan, ...]) -> list[Decision]:
    decisions: list[Decision] = []
    reasons: list[CancellationReason] = []
    for write in writes:
        reason = _NO_REASON
        try:
            decisions.append(decide(schema, writer, write))
        except ConditionFailed as failure:
            reason = CancellationReason("ConditionalCheckFailed", failure.item)
        except (InvalidRequest, RecordTooLarge):
            reason = CancellationReason("ValidationError")
        reasons.append(reason)
    if len(decisions) < len(writes):
        raise TransactionCanceled(reasons)
    if sum(decision.new_size for decision in decisions) > MAX_TRANSACTION_BYTES:
        raise InvalidRequest("The items of the transaction are larger than 4 MB together.", fix="write fewer at once")
    return decisions


def _carried_out(writer: sqlite3.Connection, token: str, content: bytes, now: float) -> bool:
    writer.execute("DELETE FROM tokens WHERE created <= ?", (now - TOKEN_SECONDS,))
    row = writer.execute("SELECT content FROM tokens WHERE token = ?", (token,)).fetchone()
    if row is None:
        return False
    if row[0] != content:
        raise IdempotentParameterMismatch(
            "The transaction's token was used within ten minutes for another content.",
            fix="use a new token, or repeat the same content",
        )
    return True


def _content(operation: TransactWrite) -> bytes:
    """A digest of the request without its token. The order of attributes does not count."""
    request = [action.action("") for action in operation.actions]
    text = json.dumps(request, sort_keys=True, default=_binary_text)
    return sha256(text.encode()).digest()


def _binary_text(value: Any) -> str:
    return bytes(value).hex()


def _replay_units(connection: sqlite3.Connection, plan: TransactionPlan) -> float:
    """The units of a repeated transaction: those of reading its items."""
    found = (find(connection, write.place) for write in plan.writes)
    return sum(2 * read_units(0 if stored is None else stored.size, consistent=True) for stored in found)
