"""Movers: each carries out one slice of a work item at a time.

Guarantees: a slice begins by claiming the item, reads the control record consistently, and does nothing unless the item
is of its step and open; every write is under the item's token, so that none is carried out once the step has been left;
it ends by saving cursor and counts, if the item is still its own. A slice that dies is done again from the last cursor.
In steps that copy or compare, a mover whose declaration is not the re-shard's does nothing.

At least one page is worked on in a slice, and no more pages begin when its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..schema.entity import now_ms
from ..schema.entity_type import MARK, EntityType
from ..store.writing.sender import Sender
from ..table import Table
from ..table.conditions import And, Compare
from ..table.operations import UpdateItem
from ..table.retry import RetryClock
from .control import control_key, decode_control
from .copy_actions import CopyUnit, copied
from .declaration_guard import fits
from .index_check import CheckingIndexes
from .phases import Phase, ReshardState, ReshardStep, Waits
from .retrying_reads import Asking
from .tasks import Cleaning, Copying, Emptying, Mending, Sweeping, Task, TaskContext
from .timings import DEPLOYED_PACE, Pace
from .transaction_executor import Carrier, WorkClosed
from .verify import Rechecking, VerifyingNew, VerifyingOld
from .work_items import (
    Side,
    WorkItem,
    decode_work,
    encode_progress,
    has_token,
    is_in,
    moving_generations,
    sources_of,
    work_key,
)
from .write_rate import WriteRate, sharers_of

MakeTask = Callable[[TaskContext], Task]
MakeCarrier = Callable[[EntityType[Any], Sender, Callable[[Sequence[CopyUnit]], None]], Carrier]

PACED_SECONDS = 5
"""The maximum duration of a page if a rate is set."""


class Mover:
    """Carries out slices, one after another. `owner` distinguishes it from other movers; `clock` returns epoch
    milliseconds; `tasks` are the tasks of each step, `carrier` creates the executor of their transactions."""

    def __init__(
        self,
        table: Table,
        waits: Waits,
        *,
        owner: str,
        new_token: Callable[[], str],
        clock: Callable[[], int] = now_ms,
        waiting: RetryClock | None = None,
        pace: Pace | None = None,
        tasks: Mapping[ReshardStep, MakeTask] | None = None,
        carrier: MakeCarrier = Carrier,
    ) -> None:
        self._waiting = waiting or RetryClock()
        self._clocks_ms = waits.clocks_ms
        self._tasks = TASKS if tasks is None else tasks
        self._carrier = carrier
        self._asking = Asking(table, self._waiting)
        self._sender = Sender(table, self._waiting, new_token)
        self._owner = owner
        self._clock = clock
        self._pace = pace or DEPLOYED_PACE

    def slice(self, entity: EntityType[Any], name: WorkItem, slice_ms: int | None = None) -> WorkItem | None:
        """Continue an item, and return it as it is afterwards; None if it had nothing to do, or was closed meanwhile.
        `name` identifies the item; its other values may be outdated. Raises the errors of the table."""
        control = self._control(entity)
        if control is None or not name.is_of(control) or not fits(entity, control):
            return None
        longest = self._pace.slice_ms if slice_ms is None else min(slice_ms, self._pace.slice_ms)
        item = self._claimed(entity, name)
        if item is None:
            return None
        try:
            return self._saved(entity, self._worked(entity, control, item, longest / 1000))
        except WorkClosed:
            return None

    def catch_up(self, entity: EntityType[Any], key: Any, control: ReshardState, items: list[WorkItem]) -> bool:
        """Copy a record of O that another program wrote in DUAL_OLD, with the token of any open item of the step.
        Returns whether it did."""
        item = next((each for each in items if each.open), None)
        generations = moving_generations(control, Side.OLD)
        if item is None or control.phase is not Phase.DUAL_OLD or control.aborting:
            return False
        if not fits(entity, control) or not is_in(entity, generations, key[entity.keys.design.hash_name]):
            return False
        record = self._asking.item(key)
        if record is None or record.get(MARK) == control.version or not self._noted(entity, item):
            return False
        try:
            hands = self._hands(entity, control, item, WriteRate(0, 0, {}, self._waiting))
            return bool(hands.execute([copied(entity, control, record, hands.past_ms)])[0].written)
        except WorkClosed:
            return False

    # -- parts

    def _noted(self, entity: EntityType[Any], item: WorkItem) -> bool:
        """Note in the item that a record will be copied with its token, before it is copied, so that leaving the step
        takes it into account."""
        note = UpdateItem(work_key(entity, item), add={"caught": 1}, condition=has_token(item))
        return self._sender.send([note]) is None

    def _control(self, entity: EntityType[Any]) -> ReshardState | None:
        found = self._asking.item(control_key(entity))
        return None if found is None else decode_control(entity, found)

    def _claimed(self, entity: EntityType[Any], name: WorkItem) -> WorkItem | None:
        stored = self._asking.item(work_key(entity, name))
        if stored is None:
            return None
        item, now = decode_work(entity, stored), self._clock()
        if not item.open or (item.lease_until > now and item.owner != self._owner):
            return None
        until = now + self._pace.slice_ms + self._pace.margin_ms
        unclaimed = And(
            (has_token(item), Compare("owner", "=", item.owner), Compare("leaseUntil", "=", item.lease_until))
        )
        claim = UpdateItem(work_key(entity, item), {"owner": self._owner, "leaseUntil": until}, condition=unclaimed)
        refused = self._sender.send([claim])
        # After a lost answer, the refusal may be due to this mover's own claim; then the lease has to expire first.
        return None if refused is not None else replace(item, owner=self._owner, lease_until=until)

    def _worked(self, entity: EntityType[Any], control: ReshardState, item: WorkItem, seconds: float) -> WorkItem:
        monotonic = self._waiting.monotonic
        ends = monotonic() + seconds
        task = self._tasks[item.step](self._hands(entity, control, item, self._rate(entity, control, item)))
        listed = sources_of(entity, control, item)
        at, key, counts = item.at, item.key, item.counts
        while at < len(listed):
            advance = task.advance(listed[at], key)
            counts, key = counts + advance.counts, advance.cursor
            at += key is None
            if monotonic() >= ends:
                break
        return replace(item, at=at, key=key, counts=counts, done=at >= len(listed))

    def _saved(self, entity: EntityType[Any], item: WorkItem) -> WorkItem | None:
        mine = And((has_token(item), Compare("owner", "=", self._owner), Compare("leaseUntil", "=", item.lease_until)))
        free = {"owner": "", "leaseUntil": 0}
        save = UpdateItem(work_key(entity, item), {**encode_progress(item), **free}, condition=mine)
        if self._sender.send([save]) is not None:
            return None
        return replace(item, owner="", lease_until=0)

    def _rate(self, entity: EntityType[Any], control: ReshardState, item: WorkItem) -> WriteRate:
        into_key = control.rate or self._pace.into_key
        return WriteRate(control.rate, into_key, sharers_of(entity, control, item), self._waiting)

    def _hands(self, entity: EntityType[Any], control: ReshardState, item: WorkItem, rate: WriteRate) -> TaskContext:
        carrier = self._carrier(entity, self._sender, rate.written)
        least = rate.least_a_second
        page = max(1, min(self._pace.page, int(least * PACED_SECONDS))) if least else self._pace.page
        more = self._clocks_ms, page, self._pace.workers
        return TaskContext(entity, control, item, self._asking, carrier, self._clock, self._waiting, *more)


def _verifying(hands: TaskContext) -> Task:
    if hands.control.new is None:
        return Rechecking(hands)
    return VerifyingOld(hands) if hands.item.side is Side.OLD else VerifyingNew(hands)


TASKS: Mapping[ReshardStep, MakeTask] = {
    ReshardStep.COPY: Copying,
    ReshardStep.SWEEP: Sweeping,
    ReshardStep.VERIFY: _verifying,
    ReshardStep.INDEXES: CheckingIndexes,
    ReshardStep.MEND: Mending,
    ReshardStep.EMPTY: Emptying,
    ReshardStep.CLEAN: Cleaning,
}
"""The tasks of movers in each step that has work."""
