"""The coordinator: moves each entity's re-shard from one step to the next.

Guarantees: any number of coordinators may run at the same time, each may die at any point, and the next call of `step`
continues from the state in the table. A step's items are opened in one transaction that also gives the control record a
new revision; a step is left by closing each item that is still open, and then replacing the control record on condition
of the revision that was read before the items were. So no item is open in a step that has been left, and transactions
of movers with an old token are refused.

Costs: a read of the control record and a query of the step's items; a transaction when a step begins, a write for each
item and one for the control record when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..schema.entity import now_ms
from ..schema.entity_type import REVISION, EntityType
from ..store.writing.sender import Sender
from ..store.writing.write_actions import absent, has_revision
from ..table import Table
from ..table.conditions import Compare
from ..table.operations import Action, DeleteItem, Interval, PutItem, Query, UpdateItem
from ..table.retry import RetryClock
from ..table.values import Item
from .control import control_key, decode_control, encode_control, partition_key
from .declaration_guard import fits
from .phases import ReshardState, ReshardStep, Waits, advanced
from .retrying_reads import Asking
from .work_items import (
    WorkItem,
    closed_again,
    decode_work,
    encode_work,
    findings_of,
    has_token,
    is_as_read,
    items_of,
    names_of_all,
    names_of_step,
    opened_again,
    work_key,
)

CHANGED_DECLARATION = (
    "the declaration of who moves the records is not the one that it was started or resumed with; look at both, then "
    "resume with the one that is to stay"
)


@dataclass(frozen=True)
class Seen:
    """The state of a re-shard and the revision in which it was read."""

    control: ReshardState
    rev: str


class Coordinator:
    """Advances the re-shards of every entity. `clock` returns epoch milliseconds; `new_token` random names."""

    def __init__(
        self,
        table: Table,
        waits: Waits,
        *,
        new_token: Callable[[], str],
        clock: Callable[[], int] = now_ms,
        waiting: RetryClock | None = None,
    ) -> None:
        waiting = waiting or RetryClock()
        self.waits = waits
        self._asking = Asking(table, waiting)
        self._sender = Sender(table, waiting, new_token)
        self._new_token = new_token
        self._clock = clock

    def step(self, entity: EntityType[Any]) -> bool:
        """Do the next action of the re-shard. True if it changed anything, or another coordinator acted first: then
        call it again. Raises the errors of the table."""
        seen = self.read(entity)
        if seen is None:
            return False
        control = seen.control
        if control.step is ReshardStep.REST:
            self._tidy(entity)
        if not fits(entity, control):
            if not control.attention:
                self._put(entity, seen.rev, replace(control, attention=CHANGED_DECLARATION))
            return False
        if control.attention:
            return False
        items = self.items(entity, control)
        wanted = self._to_open(entity, control, items)
        if wanted:
            self._opened(entity, seen, wanted)
            return True
        following = advanced(control, findings_of(items), self._clock(), self.waits)
        if following is None:
            return False
        self._leave(entity, seen, items, following)
        return True

    def read(self, entity: EntityType[Any]) -> Seen | None:
        """The current state; None before the first re-shard."""
        record = self._asking.item(control_key(entity))
        return None if record is None else Seen(decode_control(entity, record), str(record[REVISION]))

    def items(self, entity: EntityType[Any], control: ReshardState) -> list[WorkItem]:
        """The current work items of the step."""
        return [decode_work(entity, record) for record in self._records(entity, names_of_step(control))]

    def replace(
        self, entity: EntityType[Any], seen: Seen | None, following: ReshardState, *, leave_step: bool = True
    ) -> bool:
        """Replace the state that was read by another one, for an operator's command; the step is left unless the change
        does not affect the step and the movers' permission. False if the control record has changed since it was read:
        then read it again."""
        if seen is None:
            put = PutItem(encode_control(entity, following, self._new_token()), absent(entity))
            return self._sender.send([put]) is None
        if not leave_step:
            return self._put(entity, seen.rev, following)
        return self._leave(entity, seen, self.items(entity, seen.control), following)

    # -- parts

    def _to_open(self, entity: EntityType[Any], control: ReshardState, items: Sequence[WorkItem]) -> list[Action]:
        """The actions that open the items that the step lacks, and those closed by a coordinator that did not leave the
        step."""
        if not control.step.has_work:
            return []
        there = {item.name for item in items}
        tokens = iter(self._new_token, None)
        missing = [item for item in items_of(entity, control, tokens) if item.name not in there]
        actions: list[Action] = [PutItem(encode_work(entity, item), absent(entity)) for item in missing]
        for item in items:
            if item.closed and not item.done:
                again = opened_again(item, self._new_token())
                actions.append(UpdateItem(work_key(entity, item), _standing(again), condition=has_token(item)))
        return actions

    def _opened(self, entity: EntityType[Any], seen: Seen, opening: Sequence[Action]) -> None:
        marks = UpdateItem(control_key(entity), {REVISION: self._new_token()}, condition=has_revision(seen.rev))
        self._sender.send([marks, *opening])

    def _leave(self, entity: EntityType[Any], seen: Seen, items: Sequence[WorkItem], following: ReshardState) -> bool:
        for item in items:
            if not item.closed:
                closed = closed_again(item, self._new_token())
                update = UpdateItem(work_key(entity, item), _standing(closed), condition=is_as_read(item))
                if self._sender.send([update]) is not None:
                    return False
        return self._put(entity, seen.rev, following)

    def _put(self, entity: EntityType[Any], rev: str, control: ReshardState) -> bool:
        put = PutItem(encode_control(entity, control, self._new_token()), has_revision(rev))
        return self._sender.send([put]) is None

    def _tidy(self, entity: EntityType[Any]) -> None:
        """Remove the items of re-shards that have ended; without them their tokens are invalid."""
        design = entity.keys.design
        for record in self._records(entity, names_of_all()):
            key = {design.hash_name: record[design.hash_name], design.range_name: record[design.range_name]}
            self._sender.send([DeleteItem(key, Compare("token", "=", record["token"]))])

    def _records(self, entity: EntityType[Any], names: Interval) -> list[Item]:
        design = entity.keys.design
        hash_key = partition_key(entity)
        return self._asking.all(Query(design.hash_name, hash_key, design.range_name, names, consistent=True))


def _standing(item: WorkItem) -> dict[str, Any]:
    """The attributes that opening and closing change."""
    return {"token": item.token, "closed": item.closed, "owner": item.owner, "leaseUntil": item.lease_until}
