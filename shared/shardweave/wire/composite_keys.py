"""Composite keys: keys of several properties that are written as one value, such as `electronics/p-042`.

Where an entity's partition, or its sort key, has several properties, lists take `partition` and `sort` beside the
properties themselves:

    partition=production/search       every property of the partition, in order
    sort=electronics/p-042            every property of the sort key
    sort.prefix=electronics/          the first is `electronics`; `electronics/p-0`: and the second begins with `p-0`
    sort.from=electronics/p-1 and sort.to=electronics/p-2    between two, which differ in their last part alone

An empty part is refused in an equality, since no record could match. A partition has no prefix, since each of its
values is a separate hash key. The separator is the entity's (`/` by default). The last part may contain it; if another
part contains it, use that property's own parameter instead. Each part is parsed like its property's parameter.

Properties that are bound to a claim may be left out of an equality, all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import UnsupportedQuery, ValueRefused
from ..query.spec import Constraint, Equal, Prefix, Range
from ..schema.entity_type import EntityType
from ..schema.property import Property
from .parameter import Parameter

PARTITION, SORT = "partition", "sort"


class Read(Protocol):
    """The value of a property from the text of the parameter that is named; `bound`: a bound of a range."""

    def __call__(self, each: Property, text: str, name: str, *, bound: bool = False) -> Any: ...


@dataclass(frozen=True)
class Composite:
    """The properties of a key as one value. `name` is the parameter, `claims` the properties that callers' claims
    say."""

    name: str
    properties: tuple[Property, ...]
    separator: str
    claims: frozenset[str] = frozenset()

    def parameters(self) -> list[Parameter]:
        """The descriptions of its parameters."""
        names = self._names(self.properties)
        short = f", or `{self._names(self._unclaimed)}`" if self._may_be_short else ""
        found = [Parameter(self.name, f"Equal to this; `{names}`{short} in one value.")]
        if self.name == SORT:
            found += [
                Parameter(f"{SORT}.prefix", f"`{names}` in one value begins with this."),
                Parameter(f"{SORT}.from", f"At or after this; only its last part may differ from `{SORT}.to`."),
                Parameter(f"{SORT}.to", "At or before this, likewise."),
            ]
        return found

    def conditions(self, given: Mapping[str, str], read: Read) -> dict[str, Constraint]:
        """The conditions on the properties in the parameters. Raises UnsupportedQuery, ValueRefused and what `read`
        raises."""
        groups = {
            "equality": [self.name],
            "prefix": [f"{self.name}.prefix"],
            "from/to": [f"{self.name}.from", f"{self.name}.to"],
        }
        asked = {group: names for group, names in groups.items() if any(name in given for name in names)}
        if len(asked) > 1:
            raise UnsupportedQuery(
                "equality, prefix and from/to exclude one another", where=self.name, fix="keep one of them"
            )
        if "equality" in asked:
            return self._equal(given[self.name], read)
        if "prefix" in asked:
            return self._prefix(given[f"{self.name}.prefix"], read)
        if "from/to" in asked:
            return self._range(given.get(f"{self.name}.from"), given.get(f"{self.name}.to"), read)
        return {}

    def _equal(self, text: str, read: Read) -> dict[str, Constraint]:
        parts = self._parts(text)
        short = self._may_be_short and len(parts) <= len(self._unclaimed)
        needed = self._unclaimed if short else self.properties
        faults = [f"it has {len(needed)} parts"] if len(parts) < len(needed) else []
        faults += [
            f"its part {each.stored} is empty, as no record's is"
            for each, part in zip(needed, parts, strict=False)
            if not part
        ]
        if faults:
            whole = f"write {self._names(needed)}"
            fix = f"{whole}, or use {SORT}.prefix" if self.name == SORT else f"{whole}: a record has all of them"
            raise ValueRefused(faults[0], where=self.name, fix=fix)
        return {each.stored: Equal(read(each, part, self.name)) for each, part in zip(needed, parts, strict=True)}

    @property
    def _unclaimed(self) -> tuple[Property, ...]:
        return tuple(each for each in self.properties if each.stored not in self.claims)

    @property
    def _may_be_short(self) -> bool:
        return 0 < len(self._unclaimed) < len(self.properties)

    def _names(self, properties: tuple[Property, ...]) -> str:
        return self.separator.join(each.stored for each in properties)

    def _prefix(self, text: str, read: Read) -> dict[str, Constraint]:
        *whole, begun = self._parts(text)
        found = self._fixed(whole, f"{self.name}.prefix", read)
        return found | ({self.properties[len(whole)].stored: Prefix(begun)} if begun or not whole else {})

    def _range(self, low: str | None, high: str | None, read: Read) -> dict[str, Constraint]:
        (*lead, first), (*other, last) = self._parts(low or ""), self._parts(high or "")
        if lead != other:
            raise UnsupportedQuery(
                "from and to have the same parts before their last",
                where=self.name,
                fix="give both with the same beginning, or one part alone",
            )
        each = self.properties[len(lead)]
        bounds = [
            None if text is None else read(each, part, f"{self.name}.{side}", bound=True)
            for side, text, part in (("from", low, first), ("to", high, last))
        ]
        return self._fixed(lead, self.name, read) | {each.stored: Range(*bounds)}

    def _parts(self, text: str) -> list[str]:
        return text.split(self.separator, len(self.properties) - 1)

    def _fixed(self, parts: list[str], name: str, read: Read) -> dict[str, Constraint]:
        return {each.stored: Equal(read(each, part, name)) for each, part in zip(self.properties, parts, strict=False)}


def composites(entity: EntityType[Any]) -> tuple[Composite, ...]:
    """The composite keys of an entity. One whose parameter's name is a property's is left out."""
    keys = ((PARTITION, entity.keys.design.partition), (SORT, entity.keys.design.sort))
    return tuple(
        Composite(
            name,
            tuple(entity.condition_property(element.name) for element in elements),
            entity.separator,
            frozenset(entity.claims),
        )
        for name, elements in keys
        if len(elements) > 1 and name not in entity.properties
    )
