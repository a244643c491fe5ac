"""Applying an update to an item: `set` assigns, `remove` removes, `add` adds to numbers and sets.

Guarantees: pure. The key's attributes are never touched, no attribute is named twice, the result is an item that the
table can hold. Sums are exact, or refused when they need more than 38 digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from decimal import Decimal

from ...errors import InvalidRequest, ValueRefused
from ..operations import UpdateItem
from ..values import Item, Value, item_bytes, number_sum
from .expressions import check_text
from .item_blobs import normal_value
from .request_checks import check_size
from .sqlite_layout import SqliteLayout

_CERTAINLY_SHORT = 100


@dataclass(frozen=True)
class UpdatePlan:
    """A checked update with its values in normal form."""

    set: Mapping[str, Value]
    remove: tuple[str, ...]
    add: Mapping[str, Value]

    @property
    def only_removes(self) -> bool:
        """Whether it only removes attributes, so that it does not create an item."""
        return bool(self.remove) and not self.set and not self.add


def check_update(schema: SqliteLayout, update: UpdateItem) -> UpdatePlan:
    """Refuse an update that is invalid for every item. Raises InvalidRequest, or ValueRefused for a value."""
    names = [*update.set, *update.remove, *update.add]
    if len(set(names)) < len(names) or "" in names:
        raise InvalidRequest("The update names an attribute twice, or none.", fix="name each attribute once")
    for column in schema.columns[:2]:
        if column.attribute in names:
            raise InvalidRequest("The update changes the key.", where=column.attribute, fix="delete and put the item")
    if len(names) > _CERTAINLY_SHORT:
        check_text(str(update.request("")["UpdateExpression"]))
    assigned = {name: normal_value(value) for name, value in update.set.items()}
    added = {name: normal_value(value) for name, value in update.add.items()}
    for name, value in added.items():
        if isinstance(value, bool) or not isinstance(value, (int, Decimal, Set)):
            raise InvalidRequest("`add` adds numbers, or sets to sets.", where=name, fix="use `set` to assign")
    for column in schema.columns[2:]:
        if column.attribute in assigned:
            column.encode(assigned[column.attribute])
    return UpdatePlan(assigned, update.remove, added)


def apply_update(update: UpdatePlan, old: Item) -> tuple[dict[str, Value], int]:
    """The new item and its size. Raises InvalidRequest or RecordTooLarge if the old item does not allow the update."""
    new = {name: value for name, value in old.items() if name not in update.remove}
    new.update(update.set)
    for name, value in update.add.items():
        new[name] = _sum(name, new[name], value) if name in new else value
    size = item_bytes(new)
    check_size(size)
    return new, size


def _sum(name: str, old: Value, value: Value) -> Value:
    if isinstance(value, Set):
        if isinstance(old, Set) and _element_kind(old) == _element_kind(value):
            return set(old) | set(value)
    elif isinstance(old, (int, Decimal)) and not isinstance(old, bool):
        try:
            return number_sum(old, value)
        except ValueRefused:
            raise InvalidRequest(
                "The sum is a number that the table can't hold.", where=name, fix="keep within 38 digits"
            ) from None
    raise InvalidRequest(
        "`add` meets a stored value of another type.",
        where=name,
        fix="add numbers to numbers, sets to sets of one type",
    )


def _element_kind(elements: Set[Value]) -> type:
    kind = type(next(iter(elements)))
    return int if kind is Decimal else kind
