"""The elements of a write: planned actions, and conditions on records.

Pure. `free` is absent or expired, `live` is present and not expired; `known` is without a mark, or with a mark not
above the version of the writer's shard map.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from ...schema.entity_type import MARK, REVISION, EntityType
from ...schema.upgrades import VERSION
from ...table.conditions import Compare, Condition, Exists, Missing, Not, Or
from ...table.operations import Action, UpdateItem, key_or_item
from ...table.values import Item, Value, item_bytes
from ..attempts import AttemptContext, PrimaryKey


class ActionRole(enum.Enum):
    """The purpose of an action in its write."""

    RECORD = "the record itself"
    ELSEWHERE = "the same id in another generation"
    LOOKUP = "the lookup record of an identity"
    OWNER = "the record that such a lookup names"
    CLAIM = "a lookup record that is taken for a value"
    RELEASE = "a lookup record that is given up"
    HOLDER = "the record that a lookup record to be taken names"
    PARENT = "the record that an enforced relation leads to"
    COUNTER = "the number of a parent's children"
    KEPT = "what is kept for an idempotency key"
    MIRROR = "the copy of a record in another shard space"
    REMNANT = "what events said of a record that is not shown"
    OLD_FORM = "the record in the form of another program"
    SOURCE = "the old item that a record is brought from"


@dataclass(frozen=True)
class WriteAction:
    """One action of a transaction, or, when it is the only one, a write of its own. `about` names the property or
    relation that it is for; for claims and releases of values, `owner` is the record that they belong to."""

    action: Action
    part: ActionRole
    about: str = ""
    owner: str = ""

    @property
    def key_or_item(self) -> Item:
        return key_or_item(self.action)

    @property
    def bytes(self) -> int:
        """Its part of the size of a transaction."""
        changed = self.action.set if isinstance(self.action, UpdateItem) else {}
        return item_bytes(self.key_or_item) + item_bytes(changed)


def primary_key(entity: EntityType[Any], item: Item) -> PrimaryKey:
    """The primary key of an action's item, as a value to compare."""
    design = entity.keys.design
    return item[design.hash_name], item[design.range_name]


def key_of(entity: EntityType[Any], item: Item) -> dict[str, Value]:
    """The primary key of a stored item."""
    design = entity.keys.design
    return {design.hash_name: item[design.hash_name], design.range_name: item[design.range_name]}


# -- conditions -------------------------------------------------------------------------------------------------------


def absent(entity: EntityType[Any]) -> Condition:
    """The condition that the item does not exist."""
    return Missing(entity.keys.design.hash_name)


def free(entity: EntityType[Any], moment: AttemptContext) -> Condition:
    """The condition that no live record exists there."""
    if entity.ttl is None:
        return absent(entity)
    return Or((absent(entity), Compare(entity.ttl, "<=", moment.seconds)))


def live(entity: EntityType[Any], moment: AttemptContext) -> tuple[Condition, ...]:
    """A live record is there."""
    present = Exists(entity.keys.design.hash_name)
    if entity.ttl is None:
        return (present,)
    return present, Not(Compare(entity.ttl, "<=", moment.seconds))


def has_revision(rev: str | None) -> Condition:
    """The condition that the record has a revision; None for a record that another program wrote without one."""
    return Missing(REVISION) if rev is None else Compare(REVISION, "=", rev)


def as_read(item: Item) -> Condition:
    """The condition that the record has the revision that was read, of any type."""
    return Compare(REVISION, "=", item[REVISION]) if REVISION in item else has_revision(None)


def is_current(entity: EntityType[Any]) -> Condition:
    """The condition that the record has the current form of the entity."""
    upgrades = entity.upgrades
    return Compare(VERSION, "=", upgrades.version) if upgrades.functions else Missing(VERSION)


def known(moment: AttemptContext) -> Condition:
    """The condition that the record has no mark of a newer shard map than the writer's."""
    return Or((Missing(MARK), Compare(MARK, "<=", moment.shard_map.version)))


def is_known(item: Item, moment: AttemptContext) -> bool:
    """Whether the condition `known` holds for an item."""
    return MARK not in item or bool(item[MARK] <= moment.shard_map.version)
