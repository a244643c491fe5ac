"""What a mover writes for one record that it has read: the transactions of a re-shard, exactly.

    copy    token; Update O mark := m [rev = r]; Put N with the same rev
    sweep   token; Check O absent; Delete N [rev = seen]
    empty   token; Delete O [rev = r, and mark = m or expired]
    clean   token; Delete N [rev = seen]
    mend    token; Check N [rev = seen]; Put O with mark := m [as seen, or absent]

"Expired" is what had expired at a time that is past by every process's clock: to copy what is expired by some clocks
only is safe, to leave it behind is not. `token` is the check of the work item; m is the version of the re-shard. A
record without a revision, which another program wrote, is conditioned on its whole content instead, up to 300
comparisons that fit into one expression; beyond that it is a stray: counted and left alone. So is a record that no
place of the id could hold, and one that is too large to be marked. "O absent" means every key that the id can have in
the generations that move.

A record whose timestamp places it elsewhere in O than where it is found, which a bump that was declared too late leaves
behind, is copied on condition that nothing is live where it belongs: readers find it in both places.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..schema.entity_type import MARK, REVISION, EntityType
from ..store.locations import location_in, location_of
from ..store.writing.dual_write import rekeyed
from ..store.writing.write_actions import (
    AttemptContext,
    PrimaryKey,
    absent,
    as_read,
    free,
    has_revision,
    key_of,
    primary_key,
)
from ..table.conditions import And, Compare, Condition, Names, Or
from ..table.operations import (
    MAX_TRANSACTION_ACTIONS,
    MAX_TRANSACTION_BYTES,
    Action,
    ConditionCheck,
    DeleteItem,
    PutItem,
    UpdateItem,
    key_or_item,
)
from ..table.values import MAX_ITEM_BYTES, Item, item_bytes
from .phases import ReshardState
from .work_items import Side, moving_generations

MAX_COMPARISONS = 300
MAX_EXPRESSION_BYTES = 4096
MARK_BYTES = len(MARK) + 21
RECORDS_A_TRANSACTION = 25
"""More would save little of the token's cost, and meet more writers."""


@dataclass(frozen=True)
class CopyUnit:
    """What is to be done for one record, all or nothing. `source` is the record as it was read."""

    source: Item
    actions: tuple[Action, ...]

    @property
    def bytes(self) -> int:
        """What it adds to a transaction at most."""
        return 2 * item_bytes(self.source) + 2048


class Stray:
    """The record is none of ours, or can't be moved: it is counted and left alone."""


STRAY = Stray()


def copied(entity: EntityType[Any], control: ReshardState, record: Item, past_ms: int) -> CopyUnit | Stray | None:
    """The copy of a record of O in N; None when it had expired at a time that is past by every clock, so that there is
    nothing to copy."""
    assert control.new is not None
    if entity.is_expired(record, past_ms // 1000):
        return None
    try:
        copy = rekeyed(entity, record, control.new)
        belongs = location_of(entity, record, control.old).key
        known_places = _places(entity, record, control)
    except InputError:
        return STRAY
    key, condition = key_of(entity, record), as_seen(record)
    too_large = max(item_bytes(record) + MARK_BYTES, item_bytes(copy)) > MAX_ITEM_BYTES
    if condition is None or too_large or key not in known_places:
        return STRAY
    mark = UpdateItem(key, {MARK: control.version}, condition=condition)
    if key == belongs:
        return CopyUnit(record, (mark, PutItem(copy)))
    unclaimed = Or((free(entity, AttemptContext(past_ms, control.old)), as_read(record)))
    if key_of(entity, copy) == belongs:
        return CopyUnit(record, (mark, PutItem(copy, unclaimed)))
    return CopyUnit(record, (mark, PutItem(copy), ConditionCheck(belongs, unclaimed)))


def swept(entity: EntityType[Any], control: ReshardState, record: Item) -> CopyUnit | Stray:
    """The removal of a record of N that O has not."""
    condition = as_seen(record)
    try:
        keys = _places(entity, record, control)
    except InputError:
        return STRAY
    if condition is None:
        return STRAY
    checks = tuple(ConditionCheck(key, absent(entity)) for key in keys)
    return CopyUnit(record, (*checks, DeleteItem(key_of(entity, record), condition)))


def old_places(entity: EntityType[Any], control: ReshardState, record: Item) -> list[Item]:
    """Where O can have a record of N; nowhere when it is no record of the entity."""
    try:
        return _places(entity, record, control)
    except InputError:
        return []


def emptied(entity: EntityType[Any], control: ReshardState, record: Item, past_ms: int) -> CopyUnit | Stray:
    """The removal of a record of O after the move. `past_ms` is past by every clock."""
    condition = as_seen(record)
    if condition is None:
        return STRAY
    if entity.ttl is not None and entity.is_expired(record, past_ms // 1000):
        condition = And((condition, Compare(entity.ttl, "<=", past_ms // 1000)))
    elif record.get(MARK) == control.version:
        condition = And((condition, Compare(MARK, "=", control.version)))
    else:
        return STRAY
    return CopyUnit(record, (DeleteItem(key_of(entity, record), condition),))


def cleaned(entity: EntityType[Any], record: Item) -> CopyUnit | Stray:
    """The removal of a record of N after an abort."""
    condition = as_seen(record)
    return STRAY if condition is None else CopyUnit(record, (DeleteItem(key_of(entity, record), condition),))


def mended(entity: EntityType[Any], control: ReshardState, record: Item, stored: Item | None) -> CopyUnit | Stray:
    """O made what a record of N is. `stored` is what O has at the record's key. Generated attributes that N lacks,
    since it was written before they were declared, O gets neither."""
    try:
        copy = {name: value for name, value in rekeyed(entity, record, control.old).items() if name in record}
        copy[MARK] = control.version
    except InputError:
        return STRAY
    seen, before = as_seen(record), absent(entity) if stored is None else as_seen(stored)
    if seen is None or before is None or item_bytes(copy) > MAX_ITEM_BYTES:
        return STRAY
    return CopyUnit(record, (ConditionCheck(key_of(entity, record), seen), PutItem(copy, before)))


def old_key(entity: EntityType[Any], control: ReshardState, record: Item) -> Item | None:
    """Where O has to have a record of N; None when it is no record of the entity."""
    try:
        return location_of(entity, record, control.old).key
    except InputError:
        return None


def batches(pieces: Iterable[CopyUnit], entity: EntityType[Any]) -> Iterator[list[CopyUnit]]:
    """The pieces in transactions: as many as fit, no item named twice in one."""
    batch: list[CopyUnit] = []
    named: set[PrimaryKey] = set()
    actions, size = 1, 0
    for piece in pieces:
        keys = {_named(entity, action) for action in piece.actions}
        full = len(batch) >= RECORDS_A_TRANSACTION or actions + len(piece.actions) > MAX_TRANSACTION_ACTIONS
        if batch and (full or size + piece.bytes > MAX_TRANSACTION_BYTES or named & keys):
            yield batch
            batch, named, actions, size = [], set(), 1, 0
        batch.append(piece)
        named |= keys
        actions += len(piece.actions)
        size += piece.bytes
    if batch:
        yield batch


def as_seen(record: Item) -> Condition | None:
    """The record is what was read: by its revision, else by its content; None where that has too much in it."""
    rev = record.get(REVISION)
    if isinstance(rev, str):
        return has_revision(rev)
    return _same_content(record)


def _same_content(record: Item) -> Condition | None:
    if len(record) >= MAX_COMPARISONS:
        return None
    comparisons: Sequence[Condition] = [Compare(name, "=", value) for name, value in record.items()]
    if REVISION not in record:
        comparisons = [*comparisons, has_revision(None)]
    condition = And(tuple(comparisons))
    # Room is left for what is added to it.
    return condition if len(condition.render(Names())) <= MAX_EXPRESSION_BYTES - 256 else None


def _places(entity: EntityType[Any], record: Item, control: ReshardState) -> list[Item]:
    if entity.timestamp in entity.identity:
        return [location_of(entity, record, control.old).key]
    return [location_in(entity, record, each).key for each in moving_generations(control, Side.OLD)]


def _named(entity: EntityType[Any], action: Action) -> PrimaryKey:
    return primary_key(entity, key_or_item(action))
