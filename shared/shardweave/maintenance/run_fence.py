"""The fence of a run of a rekey: what lets only the run that began last write.

A run that begins puts a token of its own into the entity's control record. Each of its writes is a transaction that
also requires this token. Another run replaces it, and a command that changes the state removes it. So from that moment
on nothing that an earlier run has read, however long ago, can be written any more, whatever its process or the network
did meanwhile; no wait, and no clock, is needed for it. Movers of a re-shard are held back in the same way (see
`reshard.work_items`).

Transactions that include the same item at the same time are refused by DynamoDB, so a run sends one at a time.

Costs: two write units for each transaction, into which passes put many records (see `rekey_passes`), and a write of the
control record for each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import Conflict, LimitExceeded
from ..reshard.control import control_key
from ..schema.entity_type import EntityType
from ..schema.shard_maps import Lease
from ..store.parts import StoreParts
from ..store.writing.sender import CONDITION_FAILED, Refusal, Sender
from ..store.writing.writer import Writer
from ..table.conditions import Compare
from ..table.operations import MAX_TRANSACTION_ACTIONS, Action, ConditionCheck
from ..table.waiting import Lock


class RunEnded(Conflict):
    """Another run has begun, or a command has changed the state: this run writes nothing any more."""


class FencedSender(Sender):
    """Sends the writes of one process that runs a rekey. Without a token, between runs, it is any other sender."""

    def __init__(self, parts: StoreParts, entity: EntityType[Any]) -> None:
        super().__init__(parts.table, parts.waiting, parts.context.new_revision)
        self._entity = entity
        self._sending = Lock()
        self.token = ""

    def send(self, actions: Sequence[Action], leases: Sequence[Lease] = ()) -> Refusal | None:
        """As `Sender.send`. Raises RunEnded if the run's token is not that of the control record; then nothing was
        written."""
        if not self.token:
            return super().send(actions, leases)
        if len(actions) >= MAX_TRANSACTION_ACTIONS:
            raise LimitExceeded(
                f"the transaction has {len(actions)} actions, {MAX_TRANSACTION_ACTIONS - 1} are possible in a rekey",
                where="operations",
                fix="write fewer records at once",
            )
        check = ConditionCheck(control_key(self._entity), Compare("rekey_run", "=", self.token))
        with self._sending:
            refusal = super().send([*actions, check], leases)
        if refusal is None:
            return None
        if refusal.reasons[-1].code == CONDITION_FAILED:
            raise run_ended(self._entity)
        return replace(refusal, reasons=refusal.reasons[:-1])


def fenced(parts: StoreParts, sender: FencedSender) -> StoreParts:
    """The parts of a store whose writes a fence sends."""
    writer = Writer(parts.reader, sender, parts.readiness, parts.waiting, parts.context, parts.moment_of)
    return replace(parts, sender=sender, writer=writer)


def run_ended(entity: EntityType[Any]) -> RunEnded:
    """The error of a run that is not the last one any more."""
    return RunEnded(
        "another run has begun, or the state has been changed; this run has written nothing since",
        where=entity.token,
        fix="`run` again, once",
    )
