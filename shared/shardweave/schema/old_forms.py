"""Old forms: how the records of an entity are stored by another program, or by an earlier declaration.

While a table is brought in (see `maintenance.rekeying`), each record exists twice: as an item in the old form, and as a
record of the entity. An old form reads the one from the other, in both directions, without loss: an item is only taken
if its image, computed from the record that is read from it, is the item. So a write can be repeated on the old item,
on condition that nobody else has changed it.

    item in the old form = made attributes (keys, types) + the record's properties, renamed + all its other attributes

A property that the old items need not have, because it is read from a key or has a default, may be missing in an item.
A property without a value may be a null in an item.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ..errors import ValueRefused
from ..table.conditions import And, Compare, Condition, Missing, Or, compare
from ..table.values import Item, Value
from .entity_type import MARK, REVISION, EntityType
from .relations import COUNTED

NOTHING: Mapping[str, Any] = MappingProxyType({})
MAX_OPERATORS = 280
"""The operators of a condition, of which DynamoDB takes 300."""


@dataclass(frozen=True)
class OldForm:
    """The old form of an entity's records.

    `key_names` are the old table's keys. `made` are the attributes that `make` computes from an old item's other
    attributes. `old` is the entity that declares the form, if one does. `is_own` says whether an item is of this form;
    `fill` gives the properties that an item does not have as attributes. `renamed` has the old name of each property
    that has another one. With `keeps_revision` the old items have this library's revisions. `fingerprint` distinguishes
    forms. `leads`: what another program writes to an old item goes into the record; else the old item only follows.
    """

    entity: EntityType[Any]
    key_names: tuple[str, str]
    made: frozenset[str]
    make: Callable[[Item], Mapping[str, Value]]
    is_own: Callable[[Item], bool]
    fingerprint: str
    fill: Callable[[Item], Mapping[str, Value]] = lambda item: NOTHING
    filled: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    keeps_revision: bool = False
    old: EntityType[Any] | None = None
    leads: bool = True

    @property
    def counts(self) -> bool:
        """Whether parents count the old items."""
        return COUNTED in self.made

    @cached_property
    def trailing(self) -> OldForm:
        """The same form, whose items only follow the records."""
        return replace(self, leads=False)

    @cached_property
    def _new_names(self) -> Mapping[str, str]:
        return {old: new for new, old in self.renamed.items()}

    @cached_property
    def _internal(self) -> frozenset[str]:
        """The attributes of a stored record that its old item does not have."""
        own = frozenset(self.entity.keys.names) | {MARK, COUNTED}
        return own if self.keeps_revision else own | {REVISION}

    @cached_property
    def _nulls(self) -> frozenset[str]:
        return frozenset(each.stored for each in self.entity.properties.values() if each.null_stored)

    # -- one form from the other

    def read(self, item: Item) -> dict[str, Value]:
        """The properties and other attributes of the record that an item is, without keys. Raises ValueRefused if the
        item would not be the image of that record."""
        values: dict[str, Value] = {}
        for name, value in item.items():
            if name in self.made or name in self.key_names or (self.keeps_revision and name == MARK):
                continue
            new = self._new_names.get(name, name)
            if value is None and new not in self._nulls:
                continue
            if new in self._internal or (new in self.renamed and name == new):
                raise ValueRefused(
                    "the old item has an attribute that the record has for something else",
                    where=name,
                    fix="rename it in the mapping, or give the new key another `stored` name",
                )
            values[new] = value
        for name, value in self.fill(item).items():
            values.setdefault(name, value)
        self._check_exact(item, values)
        return values

    def image(self, stored: Item) -> dict[str, Value]:
        """The old item of a stored record, or of what `read` returned. Raises ValueRefused if it has no key."""
        content = {self.renamed.get(name, name): value for name, value in stored.items() if name not in self._internal}
        made = {name: value for name, value in self.make(content).items() if value is not None}
        if any(name not in made for name in self.key_names):
            raise ValueRefused(
                "what the key of the old item is made of is missing", where=self.entity.token, fix="give it a value"
            )
        return {**content, **made}

    def key(self, image: Item) -> dict[str, Value]:
        """The primary key of an old item."""
        return {name: image[name] for name in self.key_names}

    def is_same(self, item: Item, stored: Item) -> bool:
        """Whether an old item and a stored record say the same. Raises ValueRefused if the item can't be read."""
        read = self.read(item)
        read.pop(REVISION, None) if self.keeps_revision else None
        names = {name for name in stored if name not in self._internal and name != REVISION}
        return names == read.keys() and all(compare(stored[name], "=", read[name]) for name in names)

    # -- conditions

    def unchanged(self, image: Item) -> Condition:
        """The condition that the old item says what an image says; a revision is not compared. Raises ValueRefused."""
        names = [name for name in image if name not in (*self.key_names, REVISION)]
        known = {self.renamed.get(name, name) for name in self.entity.properties} | self.made
        absent = [name for name in sorted(known) if name not in image and name not in self.key_names]
        if 2 * len(names) + 4 * len(absent) > MAX_OPERATORS:
            raise ValueRefused(
                "an old item has too many attributes to be compared in one condition",
                where=self.entity.token,
                fix="remove attributes that nobody needs",
            )
        hash_name = self.key_names[0]
        return And(
            (
                Compare(hash_name, "=", image[hash_name]),
                *(self._says(name, image[name]) for name in names),
                *(Or((Missing(name), Compare(name, "=", None))) for name in absent),
            )
        )

    def _says(self, name: str, value: Value) -> Condition:
        same = Compare(name, "=", value)
        return Or((Missing(name), same)) if name in self._may_lack or value is None else same

    @cached_property
    def _may_lack(self) -> frozenset[str]:
        return frozenset(self.renamed.get(name, name) for name in self.filled)

    def _check_exact(self, item: Item, values: Mapping[str, Value]) -> None:
        image = self.image(values)
        lost = [name for name, value in item.items() if name not in image and value is not None and name != MARK]
        wrong = [name for name, value in image.items() if name != REVISION and not self._is_in(item, name, value)]
        if lost or wrong:
            raise ValueRefused(
                "the item is not what its properties make of it",
                where=", ".join([*lost, *wrong][:5]),
                fix="correct the item, or the mapping",
            )

    def _is_in(self, item: Item, name: str, value: Value) -> bool:
        if item.get(name) is None:
            return value is None or name in self._may_lack
        return compare(item[name], "=", value)


def changes(before: Item, after: Item) -> tuple[dict[str, Value], tuple[str, ...]]:
    """What makes one image of another: the attributes to set, and those to remove."""
    changed = {
        name: value for name, value in after.items() if name not in before or not compare(before[name], "=", value)
    }
    return changed, tuple(name for name in before if name not in after)
