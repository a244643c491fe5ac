"""Carrying out a mover's copy units: several records in a transaction, each with the work item's token.

Guarantees: every transaction requires the token; one is in flight at a time; the same bytes are sent again until there
is an answer. Units whose conditions are false are returned, and the others of the transaction are carried out without
them; units that the table refuses because of their content are returned separately. Raises WorkClosed if the token is
no longer that of the item: then nothing was written.
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
    """The work item is closed: its step is being left, or has been left."""


@dataclass
class Carried:
    """The outcome of units: how many were carried out, which ones conflicted with other writes, and how many can't be
    carried out at all."""

    written: int = 0
    lost: list[CopyUnit] = field(default_factory=list)
    refused: int = 0


class Carrier:
    """Carries out units for one mover. `paced` is called with the written units, and waits if the rate is exceeded."""

    def __init__(self, entity: EntityType[Any], sender: Sender, paced: Callable[[Sequence[CopyUnit]], None]) -> None:
        self._entity = entity
        self._sender = sender
        self._paced = paced

    def execute(self, item: WorkItem, pieces: Sequence[CopyUnit]) -> Carried:
        """Carry out every unit once. Raises WorkClosed, or the errors of the table."""
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
        """The check in every transaction that the item's step has not been left."""
        return token_check(self._entity, item)

    # -- parts

    def _together(self, item: WorkItem, batch: list[CopyUnit], carried: Carried) -> list[list[CopyUnit]]:
        """Send one transaction, and return the units to send again without those that conflicted."""
        actions: list[Action] = [self.permission(item), *(action for piece in batch for action in piece.actions)]
        refusal = self._sender.send(actions)
        if refusal is None:
            carried.written += len(batch)
            self._paced(batch)
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
    """Whether a transaction was refused because of its content, so that sending it again would not help."""
    if isinstance(error, TransactionCanceled):
        return any(reason.code == INVALID for reason in error.reasons)
    return True
