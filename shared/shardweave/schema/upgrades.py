"""Versions of an entity's stored form, and the upgrades from each to the next.

    1   as without upgrades; the item has no version
    n   what upgrade n - 1 makes of version n - 1; the item says `_version: n`

Guarantees: an item of an earlier version is read as the upgrades make it, and is not changed by that; the next write of
its record stores the current version. An upgrade gets a copy of the attributes that are not generated, in stored form;
what it leaves out is gone with that write. It must leave unchanged what identifies or places a record or says whose it
is (`placing`), and what the keys of indexes, lookups, sequences, relations and the TTL are made of, as far as that is
stored (`relied_on`): otherwise a record would be moved, or found where it no longer is. Such an upgrade is refused.

Costs: nothing for an entity without upgrades; a look at the version for an item of the current one.

Pure.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..table.values import Item, to_attribute_value

VERSION = "_version"
"""The stored attribute with the version of an item's form; items of the first version have none."""

Upgrade = Callable[[dict[str, Any]], Mapping[str, Any]]


class NotUpgraded(Exception):
    """An item that can't be read in the current form: `code` is one of `UNREADABLE_CODES`, `names` are the properties
    at fault."""

    def __init__(self, code: str, names: tuple[str, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.names = names


@dataclass(frozen=True)
class Upgrades:
    """The upgrades of one entity. `internal` are the names of its key attributes and its revision."""

    functions: tuple[Upgrade, ...]
    placing: frozenset[str]
    relied_on: frozenset[str]
    internal: frozenset[str]

    @property
    def version(self) -> int:
        """The current version."""
        return len(self.functions) + 1

    @cached_property
    def stamp(self) -> dict[str, int]:
        """What is stored of the version."""
        return {VERSION: self.version} if self.functions else {}

    def is_current(self, item: Item) -> bool:
        """Whether an item has the current form."""
        return bool(item.get(VERSION, 1) == self.version)

    def current(self, item: Item) -> Item:
        """A stored item in the current form, with the attributes that are not properties. Raises NotUpgraded."""
        version = item.get(VERSION, 1)
        if type(version) is not int or not 1 <= version <= self.version:
            raise NotUpgraded("unknown_version")
        if version == self.version:
            return item
        kept = {name: value for name, value in item.items() if self._is_kept(name)}
        before = {name: value for name, value in item.items() if name not in kept}
        after = self._upgraded(before, self.functions[version - 1 :])
        faults = [name for name in self.placing if after.get(name) != before.get(name)]
        faults += [name for name in self.relied_on if name in before and after.get(name) != before[name]]
        faults += [name for name in after if self._is_kept(name)]
        if faults:
            raise NotUpgraded("not_upgraded", tuple(sorted({*faults})))
        return {**kept, **after, **self.stamp}

    def current_or_stored(self, item: Item) -> Item:
        """A stored item in the current form, or as it is stored if there is none."""
        try:
            return self.current(item)
        except NotUpgraded:
            return item

    def _is_kept(self, name: str) -> bool:
        return name in self.internal or name.startswith("_")

    @staticmethod
    def _upgraded(before: Item, functions: tuple[Upgrade, ...]) -> dict[str, Any]:
        values = copy.deepcopy(dict(before))
        try:
            for function in functions:
                values = dict(function(values))
            for name, value in values.items():
                to_attribute_value(value)
                name.encode()
        except Exception as error:
            raise NotUpgraded("not_upgraded") from error
        return values
