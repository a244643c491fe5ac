"""What records add to the numbers of a read model, and what is remembered of it. Pure.

For each record that feeds a read model one item remembers what it has added, so that a change of the record is told as
the difference, however often and in whatever order the table's stream tells of it:

    hashKey    message.*sums-unread!3f      token of the entity, the read model, and a shard that the id alone decides
    rangeKey   messageId#m1                 the record's id, or the token of a singleton
    _parts     [[token, id, {number: [all, counted, since]}, rebuild], ...]    see below
    _of        the revision of the record that all of them are of
    rev        a revision of its own
    the table's TTL attribute, once nothing is added any more: later, a process that has read the record before could
    not take it for a new one

A part is what the record adds to another one. `all` is what it adds by its present state; `counted` is how much of that
is in the number now. They differ after a reset: what was there before is settled, and only what changes later counts.
`since` names the reset after which `counted` was counted, as the mark does, an attribute `_sums` of the other record:

    since      {number: name of its last reset}, absent before any
    rebuild    the name of a rebuild that is under way
    again      {number: the sum of what that one has counted so far}

So a number is the sum of `counted` over all parts with its `since`; during a rebuild, `again` is the sum over those of
them that have its name too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from ...schema.entity_type import REVISION, EntityType
from ...table.values import Item, Value, number_sum
from ..lookups.lookup_records import internal_key, owner_text

SUMS = "_sums"
PARTS, OF = "_parts", "_of"
KIND = "*sums-"

Number = int | Decimal
Target = tuple[str, str]
"""A record that is added to: the token of its entity, and its id as text."""


@dataclass(frozen=True)
class Counted:
    """What one record has added to one number: `whole` by its state, of which `live` is in the number."""

    whole: Number = 0
    live: Number = 0
    since: str = ""


@dataclass(frozen=True)
class Part:
    """What one record has added to another."""

    token: str
    identity: Item
    numbers: Mapping[str, Counted] = field(default_factory=dict)
    rebuild: str = ""

    def encode(self) -> list[Value]:
        """The stored form."""
        numbers = {name: [each.whole, each.live, each.since] for name, each in self.numbers.items()}
        return [self.token, dict(self.identity), numbers, self.rebuild]

    def among(self, names: Collection[str]) -> Part:
        """What it added to some numbers."""
        return replace(self, numbers={name: each for name, each in self.numbers.items() if name in names})

    @classmethod
    def decode(cls, stored: Any) -> Part:
        """The inverse of `encode`. Raises ValueError, TypeError, KeyError."""
        token, identity, numbers, rebuild = stored
        if not isinstance(identity, Mapping) or not isinstance(numbers, Mapping):
            raise TypeError(PARTS)
        counted = {name: (_number(whole), _number(live), str(since)) for name, (whole, live, since) in numbers.items()}
        found = {name: Counted(*each) for name, each in counted.items()}
        return cls(str(token), dict(identity), found, str(rebuild))


@dataclass(frozen=True)
class SumsMark:
    """The mark of a record that is added to."""

    since: Mapping[str, str] = field(default_factory=dict)
    rebuild: str = ""
    again: Mapping[str, Number] = field(default_factory=dict)

    def encode(self) -> dict[str, Value]:
        """The stored form."""
        encoded: dict[str, Value] = {"since": dict(self.since)} if self.since else {}
        if self.rebuild:
            encoded |= {"rebuild": self.rebuild, "again": dict(self.again)}
        return encoded

    @classmethod
    def decode(cls, stored: Any) -> SumsMark:
        """The inverse of `encode`; no mark for what is none."""
        if not isinstance(stored, Mapping):
            return cls()
        since, again = stored.get("since"), stored.get("again")
        return cls(
            {str(name): str(each) for name, each in since.items()} if isinstance(since, Mapping) else {},
            str(stored.get("rebuild", "")),
            {str(name): each for name, each in again.items()} if isinstance(again, Mapping) else {},
        )


@dataclass(frozen=True)
class Counting:
    """The outcome of counting a part: the part to be remembered, the differences of the numbers, and the mark."""

    part: Part
    differences: Mapping[str, Number]
    mark: SumsMark


def counted(part: Part, amounts: Mapping[str, Number], mark: SumsMark | None, rebuild: str = "") -> Counting:
    """Count what a record adds now to another with a mark, None where there is no such record; `part` is what it added
    before, `rebuild` the rebuild that counts it. A record that is not there has lost what was added; of a number that
    was never reset, as far as the mark knows, nothing is settled, and a rebuild counts all."""
    there, mark = mark is not None, mark or SumsMark()
    if rebuild and mark.rebuild != rebuild:
        mark = SumsMark(mark.since, rebuild)
    numbers, differences, again = {}, {}, dict(mark.again)
    for name in dict.fromkeys((*part.numbers, *amounts)):
        since = mark.since.get(name, "")
        was = part.numbers.get(name) or Counted(since=since)
        carried = was.live if there and was.since == since else 0
        live: Number = 0
        if name in amounts:
            is_whole = mark.rebuild and not since
            live = amounts[name] if is_whole else _sum(carried, amounts[name], -was.whole)
            numbers[name] = Counted(amounts[name], live, since)
        if live != carried:
            differences[name] = _sum(live, -carried)
        if mark.rebuild:
            again[name] = _sum(again.get(name, 0), live, -carried if part.rebuild == mark.rebuild else 0)
    after = Part(part.token, part.identity, numbers, mark.rebuild)
    return Counting(after, differences, SumsMark(mark.since, mark.rebuild, again))


def _number(stored: Any) -> Number:
    if not isinstance(stored, int | Decimal) or isinstance(stored, bool):
        raise TypeError(PARTS)
    return stored


def _sum(*numbers: Number) -> Number:
    total: Number = 0
    for each in numbers:
        total = number_sum(total, each)
    return total


def is_counted(part: Part, amounts: Mapping[str, Number], rebuild: str = "") -> bool:
    """Whether a part already says what the record adds now, and a rebuild has counted it."""
    same = {name: each.whole for name, each in part.numbers.items()} == dict(amounts)
    return same and (not rebuild or part.rebuild == rebuild)


# -- what is remembered of a record -----------------------------------------------------------------------------------


def memory_key(entity: EntityType[Any], read_model: str, identity: Item) -> dict[str, Value]:
    """The key of the item that remembers what a record adds. Raises KeyTooLong."""
    return internal_key(entity, KIND + read_model, owner_text(entity, identity) or entity.token)


def memory_item(key: Item, parts: Iterable[Part], of: str | None, rev: str, expiry: Mapping[str, int]) -> Item:
    """The item that remembers some parts. `expiry` has the TTL attribute, which is set if there are none."""
    listed = [each.encode() for each in parts]
    item = {**key, PARTS: listed, REVISION: rev, **({} if listed else expiry)}
    return item if of is None else {**item, OF: of}


def parts_in(stored: Item | None) -> list[Part]:
    """The parts in such an item. Raises ValueError, TypeError, KeyError if it is damaged."""
    if stored is None:
        return []
    if not isinstance(stored[PARTS], list):
        raise TypeError(PARTS)
    return [Part.decode(each) for each in stored[PARTS]]
