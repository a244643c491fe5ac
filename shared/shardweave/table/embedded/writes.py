"""Writes of items: put, update, delete, and the batch of them.

A write is planned without reading the table (`plan`), decided with the stored item (`decide`: the condition, the new
item, its key columns) and stored (`store`: the row, the change log), all in one SQLite transaction. A write that leaves
the item as it was stores and logs nothing, but costs its units.

Cost: a seek, a row with its entries, and a row of the log. A new item's entries in secondary indexes may wait (see
`waiting`). A change touches entries only if keys of indexes changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import ConditionFailed, InvalidRequest
from ..conditions import Condition
from ..operations import (
    MAX_BATCH_WRITE,
    BatchWrite,
    BatchWriteAnswer,
    ConditionCheck,
    DeleteItem,
    PutItem,
    UpdateItem,
    WriteAnswer,
)
from ..values import Item, Value
from . import change_log, entries, waiting
from .capacity import index_units, write_units
from .expressions import check_condition
from .item_blobs import decode, encode
from .ordering import KeyColumn, checked_keys
from .request_checks import Place, check_count, check_distinct, check_item, check_key
from .sqlite_layout import SqliteLayout
from .updates import UpdatePlan, apply_update, check_update

MAX_BATCH_BYTES = 16 * 1024 * 1024

FIND = """SELECT items.id, size, image FROM entries CROSS JOIN items ON items.id = entries.item
  WHERE place = ? AND range = ? AND tie = ?"""
"""Reads the item of an entry: of a key, there is one at most."""

_INSERT = "INSERT INTO items VALUES (?, ?, ?, random() & 0x7fffffff, ?)"

Action = PutItem | UpdateItem | DeleteItem | ConditionCheck


@dataclass(frozen=True)
class WritePlan:
    """A checked write: a whole `item` (a put), an `update`, or neither (a delete, or a check, which is `passive`).
    `size`, `image` and `keys` are the item's."""

    place: Place
    condition: Condition | None
    return_on_failure: bool
    item: dict[str, Value] | None = None
    size: int = 0
    image: bytes | None = None
    keys: Sequence[bytes | None] = ()
    update: UpdatePlan | None = None
    passive: bool = False


@dataclass(frozen=True)
class Stored:
    """An item as it is stored."""

    row: int
    size: int
    image: bytes
    item: dict[str, Value]


@dataclass(frozen=True)
class Decision:
    """The effect of a write: from `old` to `new`, where None means that there is no item. `moves`: whether keys of
    indexes change. `keys` are those of a new item, one of each of the layout's columns."""

    place: Place
    old: Stored | None
    new: dict[str, Value] | None
    new_size: int = 0
    image: bytes | None = None
    moves: bool = True
    keys: Sequence[bytes | None] = ()

    @property
    def changes_nothing(self) -> bool:
        if self.old is None or self.new is None:
            return self.image == (None if self.old is None else self.old.image)
        if self.image == self.old.image:
            return True
        # Earlier versions wrote numbers with exponents, so equal stored items may have different bytes.
        return self.new == self.old.item and self.image == encode(self.old.item)


def plan(schema: SqliteLayout, action: Action) -> WritePlan:
    """Check a write and bring it into the table's form. Raises InvalidRequest, or ValueRefused for a value."""
    condition, on_failure = action.condition, action.return_on_failure
    if condition is not None:
        check_condition(condition)
    if isinstance(action, PutItem):
        place, item, size = check_item(schema, action.item)
        keys = [place.hash, place.range, *checked_keys(schema.columns[2:], item)]
        return WritePlan(place, condition, on_failure, item, size, encode(item), keys)
    place = check_key(schema, action.key)
    if isinstance(action, UpdateItem):
        return WritePlan(place, condition, on_failure, update=check_update(schema, action))
    return WritePlan(place, condition, on_failure, passive=isinstance(action, ConditionCheck))


def decide(schema: SqliteLayout, connection: sqlite3.Connection, write: WritePlan) -> Decision:
    """Read the stored item, test the condition, and compute the new item. Raises ConditionFailed, or InvalidRequest for
    an update that the stored item does not allow."""
    old = find(connection, write.place)
    if write.condition is not None and not write.condition.evaluate({} if old is None else old.item):
        raise ConditionFailed(old.item if old is not None and write.return_on_failure else None)
    if old is None and write.update is not None and write.update.only_removes:
        return Decision(write.place, None, None)
    if write.passive:
        return Decision(write.place, old, None, 0, None if old is None else old.image)
    if write.update is not None:
        new, size = apply_update(write.update, write.place.key if old is None else old.item)
        changed = schema.columns[2:] if old is None else _changed(schema, old.item, new)
        keys = checked_keys(changed, new)
        if old is None:
            keys = [write.place.hash, write.place.range, *keys]
        return Decision(write.place, old, new, size, encode(new), bool(changed), keys)
    if write.item is None:
        return Decision(write.place, old, None)
    moves = old is None or bool(_changed(schema, old.item, write.item))
    return Decision(write.place, old, write.item, write.size, write.image, moves, write.keys)


def store(
    schema: SqliteLayout, writer: sqlite3.Connection, decision: Decision, now: float, *, by_service: bool = False
) -> None:
    """Carry out a decision."""
    if decision.changes_nothing:
        return
    old, new = decision.old, decision.new
    if new is not None and old is not None:
        _update(schema, writer, decision, old, new)
    elif new is not None:
        _insert(schema, writer, decision, new)
    elif old is not None:
        _delete(schema, writer, decision.place, old)
    change_log.append(writer, now, None if old is None else old.image, decision.image, by_service=by_service)


def units(schema: SqliteLayout, decision: Decision, *, transactional: bool = False) -> float:
    """The units of a decision."""
    old, old_size = (None, 0) if decision.old is None else (decision.old.item, decision.old.size)
    changes_nothing = decision.changes_nothing
    table = write_units(max(old_size, decision.new_size)) * (2 if transactional else 1)
    if changes_nothing:
        return table
    return table + index_units(schema, old, old_size, decision.new, decision.new_size)


def find(connection: sqlite3.Connection, place: Place) -> Stored | None:
    """The stored item of a key, or None."""
    row = connection.execute(FIND, place.entry).fetchone()
    if row is None:
        return None
    identity, size, image = row
    return Stored(identity, size, image, decode(image))


def answer(action: PutItem | UpdateItem | DeleteItem, decision: Decision, units: float) -> WriteAnswer:
    """The answer of a single write."""
    wanted = action.return_values
    if wanted == "NONE":
        return WriteAnswer(None, units)
    if wanted == "ALL_OLD":
        return WriteAnswer(None if decision.old is None else decision.old.item, units)
    new = decision.new or {}
    if wanted == "UPDATED_NEW" and isinstance(action, UpdateItem):
        new = {name: new[name] for name in (*action.set, *action.add)}
    return WriteAnswer(new or None, units)


def write_one(
    schema: SqliteLayout,
    writer: sqlite3.Connection,
    action: PutItem | UpdateItem | DeleteItem,
    write: WritePlan,
    now: float,
) -> WriteAnswer:
    decision = decide(schema, writer, write)
    store(schema, writer, decision, now)
    return answer(action, decision, units(schema, decision))


def plan_batch(schema: SqliteLayout, batch: BatchWrite) -> list[WritePlan]:
    """Check a batch of writes. Raises InvalidRequest: then none is carried out."""
    check_count(len(batch.puts) + len(batch.deletes), MAX_BATCH_WRITE, "writes")
    plans = [plan(schema, PutItem(item)) for item in batch.puts] + [
        plan(schema, DeleteItem(key)) for key in batch.deletes
    ]
    check_distinct([write.place for write in plans], len(plans))
    if sum(write.size for write in plans) > MAX_BATCH_BYTES:
        raise InvalidRequest("The items of the batch are larger than 16 MB together.", fix="write fewer at once")
    return plans


def write_batch(
    schema: SqliteLayout, writer: sqlite3.Connection, plans: list[WritePlan], now: float
) -> BatchWriteAnswer:
    total = 0.0
    for write in plans:
        decision = decide(schema, writer, write)
        store(schema, writer, decision, now)
        total += units(schema, decision)
    return BatchWriteAnswer(units=total)


def _insert(schema: SqliteLayout, writer: sqlite3.Connection, decision: Decision, new: dict[str, Value]) -> None:
    values = decision.new_size, schema.ttl(new), decision.image
    if not schema.wait:
        row = writer.execute(_INSERT, (None, *values)).lastrowid
        entries.insert(writer, row, [decision.place.entry, *entries.entries_of(schema, decision.keys)])
        return
    through, last = waiting.state(writer)
    writer.execute(_INSERT, (last + 1, *values))
    entries.insert(writer, last + 1, [decision.place.entry])
    if last + 1 - through >= schema.wait:
        waiting.write_all(schema, writer)


def _delete(schema: SqliteLayout, writer: sqlite3.Connection, place: Place, old: Stored) -> None:
    waiting.write_with(schema, writer, old.row)
    entries.delete(writer, [place.entry, *entries.secondary_entries(schema, old.item)])
    writer.execute("DELETE FROM items WHERE id = ?", (old.row,))


def _update(
    schema: SqliteLayout, writer: sqlite3.Connection, decision: Decision, old: Stored, new: dict[str, Value]
) -> None:
    if decision.moves:
        waiting.write_with(schema, writer, old.row)
        before, after = (dict.fromkeys(entries.secondary_entries(schema, item)) for item in (old.item, new))
        entries.delete(writer, [entry for entry in before if entry not in after])
        entries.insert(writer, old.row, [entry for entry in after if entry not in before])
    writer.execute("UPDATE items SET size = ?, image = ? WHERE id = ?", (decision.new_size, decision.image, old.row))
    ttl = schema.ttl(new)
    if ttl != schema.ttl(old.item):
        writer.execute("UPDATE items SET ttl = ? WHERE id = ?", (ttl, old.row))


def _changed(schema: SqliteLayout, old: Item, new: Item) -> list[KeyColumn]:
    """The columns of indexes whose attribute differs. Types count: Python alone takes True for 1."""
    pairs = ((column, old.get(column.attribute), new.get(column.attribute)) for column in schema.columns[2:])
    return [column for column, before, after in pairs if type(before) is not type(after) or before != after]
