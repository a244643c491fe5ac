"""The parts of the processes of a history, and those in which one guard of the protocol is missing.

A history is given such a part as its processes are given theirs anywhere: where they are put together. What each guard
is for is in `docs/resharding.md`; `tests/integration/test_reshard_guards.py` shows what happens without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardweave.reshard.copy_actions import CopyUnit
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.mover import TASKS, MakeCarrier, MakeTask
from shardweave.reshard.phases import ReshardStep
from shardweave.reshard.tasks import Advance, TaskContext
from shardweave.reshard.transaction_executor import Carried, Carrier
from shardweave.reshard.work_items import Counts, Source, WorkItem, work_key
from shardweave.schema.entity_type import EntityType
from shardweave.schema.shard_maps import MapView
from shardweave.store import Store
from shardweave.table.conditions import Exists
from shardweave.table.operations import Action, ConditionCheck, DeleteItem, UpdateItem
from shardweave.table.values import Item

EVERY_VERSION = 10**9


@dataclass(frozen=True)
class Parts:
    """What processes are made of: the maps and the store of those that write and read, what movers do and how they send
    it."""

    maps: type[LeasedMaps] = LeasedMaps
    store: type[Store] = Store
    carrier: MakeCarrier = Carrier
    tasks: Mapping[ReshardStep, MakeTask] | None = None


WHOLE = Parts()


class EveryMarkIsKnown(LeasedMaps):
    """Writers that know of no move change marked records too."""

    def view(self, entity: EntityType[Any]) -> MapView:
        view = super().view(entity)
        if view.mirror is not None:
            return view
        return replace(view, shard_map=replace(view.shard_map, version=EVERY_VERSION))


class WithoutToken(Carrier):
    """Transactions that only require the work item to have been there."""

    def permission(self, item: WorkItem) -> ConditionCheck:
        return ConditionCheck({**work_key(self._entity, item)}, None)


class WithoutConditions(Carrier):
    """Transactions that copy and remove whatever revision is there."""

    def execute(self, item: WorkItem, pieces: Sequence[CopyUnit]) -> Carried:
        loose = [replace(each, actions=tuple(map(self._loosened, each.actions))) for each in pieces]
        return super().execute(item, loose)

    def _loosened(self, action: Action) -> Action:
        if not isinstance(action, UpdateItem | DeleteItem):
            return action
        return replace(action, condition=Exists(self._entity.keys.design.hash_name))


@dataclass(frozen=True)
class Nothing:
    """A step whose work is not done, and finds everything in order."""

    hands: TaskContext

    def advance(self, source: Source, cursor: Item | None) -> Advance:
        return Advance(Counts(), None)


def without(*steps: ReshardStep) -> Mapping[ReshardStep, MakeTask]:
    """Tasks that do nothing in these steps."""
    return {**TASKS, **dict.fromkeys(steps, Nothing)}
