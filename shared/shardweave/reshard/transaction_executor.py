"""Carrying out a mover's pieces of work: several records a transaction, each under the work item's token.

Guarantees: every transaction requires the token; one is in flight at a time; identical bytes are sent again until there
is an answer. A piece whose conditions are false is given back, and the others of its transaction are carried out
without it; one that the table refuses for what it is, is told apart. Raises WorkClosed when the token is not the item's
any more: nothing was written then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError, InvalidRequest, ShardweaveError, TransactionCanceled
from ..schema.entity_type import EntityType
from ..store.writing.sender import CONDITION_FAILED, INVALID, Sender
from ..table.operations import Action, ConditionCheck
from .copy_actions import CopyUnit, batches
from .work_items import WorkItem, token_check


class WorkClosed(Exception):
    """The work item is closed: its step is being left, or has been."""


@dataclass
class Carried:
    """What became of pieces: how many were carried out, which lost a race, how many can't be carried out at all."""

    written: int = 0
    lost: list[CopyUnit] = field(default_factory=list)
    refused: int = 0


class Carrier:
    """Carries out for one mover. `paced` is told how many records were written, and waits if that was too fast."""

    def __init__(self, entity: EntityType[Any], sender: Sender, paced: Callable[[int], None]) -> None:
        self._entity = entity
        self._sender = sender
        self._paced = paced

    def execute(self, item: WorkItem, pieces: Sequence[CopyUnit]) -> Carried:
        """Every piece once. Raises WorkClosed, or what the table raises."""
        carried = Carried()
        waiting = list(batches(pieces, self._entity))
        while waiting:
            batch = waiting.pop(0)
            try:
                again = self._together(item, batch, carried)
            except (InputError, InvalidRequest, TransactionCanceled) as error:
                if not _is_about_content(error):
                    raise
                if len(batch) == 1:
                    carried.refused += 1
                again = [[piece] for piece in batch] if len(batch) > 1 else []
            waiting[:0] = again
        return carried

    def permission(self, item: WorkItem) -> ConditionCheck:
        """What every transaction requires: that the item's step has not been left."""
        return token_check(self._entity, item)

    # -- parts

    def _together(self, item: WorkItem, batch: list[CopyUnit], carried: Carried) -> list[list[CopyUnit]]:
        """Send one transaction, and give what is to be sent without the pieces that lost."""
        actions: list[Action] = [self.permission(item), *(action for piece in batch for action in piece.actions)]
        refusal = self._sender.send(actions)
        if refusal is None:
            carried.written += len(batch)
            self._paced(len(batch))
            return []
        failed = [reason.code == CONDITION_FAILED for reason in refusal.reasons]
        if failed[0]:
            raise WorkClosed
        left: list[CopyUnit] = []
        position = 1
        for piece in batch:
            after = position + len(piece.actions)
            (carried.lost if any(failed[position:after]) else left).append(piece)
            position = after
        return [left] if left else []


def _is_about_content(error: ShardweaveError) -> bool:
    """Whether a transaction was refused for what is in it, so that sending it again would not help."""
    if isinstance(error, TransactionCanceled):
        return any(reason.code == INVALID for reason in error.reasons)
    return True
