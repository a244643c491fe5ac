"""The actions of movers: the transactions with which a mover copies, sweeps, empties, cleans or mends one record.

    copy    token; Update O mark := m [rev = r]; Put N with the same rev
    sweep   token; Check O absent; Delete N [rev = seen]
    empty   token; Delete O [rev = r, and mark = m or expired]
    clean   token; Delete N [rev = seen]
    mend    token; Check N [rev = seen]; Put O with mark := m [as seen, or absent]

"Expired" means expired by every process's clock: copying a record that has expired by only some clocks is safe, leaving
it behind is not. `token` is the check of the work item; m is the version of the re-shard. For a record without a
revision, which another program wrote, the condition compares its whole content, with up to 300 comparisons that fit
into one expression; a record with more content is a stray, which is counted and not changed. A record at a key that its
id can't have, and a record that is too large for the mark, are strays too. "O absent" means every key that the id can
have in the generations that move.

A record whose timestamp belongs to another location in O than where it was found (after a bump that was declared too
late) is copied on condition that no live record is where it belongs: readers find it in both locations.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..schema.entity_type import MARK, REVISION, EntityType
from ..store.attempts import AttemptContext, PrimaryKey
from ..store.locations import location_in, location_of
from ..store.writing.dual_write import rekeyed
from ..store.writing.write_actions import absent, as_read, free, has_revision, key_of, primary_key
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
"""More records would save little of the token's cost, and conflict with more writers."""


@dataclass(frozen=True)
class CopyUnit:
    """The actions for one record, which must be in one transaction. `source` is the record as it was read."""

    source: Item
    actions: tuple[Action, ...]

    @property
    def bytes(self) -> int:
        """The maximum of its part of a transaction's size."""
        return 2 * item_bytes(self.source) + 2048


class Stray:
    """A foreign record, or one that can't be moved: it is counted and not changed."""


STRAY = Stray()


def copied(entity: EntityType[Any], control: ReshardState, record: Item, past_ms: int) -> CopyUnit | Stray | None:
    """The actions that copy a record of O to N; None if it has expired by every clock, so that it need not be
    copied."""
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
    """The actions that remove a record of N that is not in O."""
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
    """The keys at which O can have a record of N; none if it is not a record of the entity."""
    try:
        return _places(entity, record, control)
    except InputError:
        return []


def emptied(entity: EntityType[Any], control: ReshardState, record: Item, past_ms: int) -> CopyUnit | Stray:
    """The actions that remove a record of O after the flip. `past_ms` is in the past by every clock."""
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
    """The actions that remove a record of N after an abort."""
    condition = as_seen(record)
    return STRAY if condition is None else CopyUnit(record, (DeleteItem(key_of(entity, record), condition),))


def mended(entity: EntityType[Any], control: ReshardState, record: Item, stored: Item | None) -> CopyUnit | Stray:
    """The actions that make O equal to a record of N. `stored` is O's item at the record's key. Generated attributes
    that N lacks, since it was written before they were declared, are not added to O."""
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
    """The key at which O must have a record of N; None if it is not a record of the entity."""
    try:
        return location_of(entity, record, control.old).key
    except InputError:
        return None


def batches(pieces: Iterable[CopyUnit], entity: EntityType[Any]) -> Iterator[list[CopyUnit]]:
    """The units grouped in transactions: as many as fit, without an item twice in one transaction."""
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
    """The condition that the record is unchanged: by its revision, else by its content; None if the content is too
    large."""
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
    # Space is reserved for the conditions that are added to it.
    return condition if len(condition.render(Names())) <= MAX_EXPRESSION_BYTES - 256 else None


def _places(entity: EntityType[Any], record: Item, control: ReshardState) -> list[Item]:
    if entity.timestamp in entity.identity:
        return [location_of(entity, record, control.old).key]
    return [location_in(entity, record, each).key for each in moving_generations(control, Side.OLD)]


def _named(entity: EntityType[Any], action: Action) -> PrimaryKey:
    return primary_key(entity, key_or_item(action))
