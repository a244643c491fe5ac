"""Whether the counters of parents say how many children they have.

A write that makes or removes a child changes its parent's counter in the same transaction (`store.relations.enforced`),
so the two are equal at any moment. While the table is gone over, each child that is counted adds to a sum for its
parent's counter, and each counter takes away as often as it says (see `sums`). Where all is even, nothing more is
read. Where it is not, since something is wrong or was written meanwhile, the children of the parents in the uneven
buckets are counted in further passes over the table, each with the counters read before and after. A counter counts as
wrong when two passes met the very same children, in the same revisions, and it said the same other number all the
while. One whose children keep changing is left undecided until the next examination.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..reshard.control import control_key, decode_control
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import REVISION, EntityType
from ..schema.schema import Schema
from ..store.relations.enforced import counter_key, enforced, kinship, uncounted
from ..store.writing.write_actions import key_of, primary_key
from ..table.concurrency import run_concurrently
from ..table.operations import Scan
from ..table.values import Item
from .beside_judge import COUNTER
from .findings import Finding
from .looking import Spaces, spaces_of
from .record_judge import UNUSABLE
from .sums import Sums, digests

PASSES = 4

Counted = tuple[str, str, str]
"""A counter's hash and range key, and the attribute of a relation in it."""


@dataclass(frozen=True)
class Wrong:
    """A counter that says another number than there are children."""

    finding: Finding
    key: Item
    attribute: str
    says: Any
    counted: int


@dataclass(frozen=True)
class Recount:
    """Counts children of one schema's records."""

    schema: Schema
    asking: Asking
    segments: int = 8
    undecided: list[Counted] = field(default_factory=list, compare=False)
    """The counters whose children kept changing in the last count."""

    @property
    def is_needed(self) -> bool:
        """Whether there are counters at all."""
        return any(entity.children for entity in self.schema.entities.values())

    def add(self, sums: Sums, spaces: Mapping[str, Spaces], items: Sequence[Item]) -> None:
        """What a page of the table adds to the sums. `spaces` say where the records of each entity are, by token."""
        for counted, _ in self._children(spaces, items):
            sums.add(repr(counted), 1)
        for counted, number in self._counters(items):
            sums.add(repr(counted), -number)

    def spaces(self) -> dict[str, Spaces]:
        """Where the records of each entity are now. Raises ReshardUnreadable."""
        found = {}
        for token, entity in self.schema.entities.items():
            stored = self.asking.item(control_key(entity))
            found[token] = (
                Spaces(entity.shard_map) if stored is None else spaces_of(entity, decode_control(entity, stored))
            )
        return found

    def wrong(self, sums: Sums) -> Iterator[Wrong]:
        """The counters that are wrong, by the sums of the table."""
        buckets, known = sums.unequal, dict[Counted, tuple[int, int, int]]()
        if not buckets:
            return
        suspects: set[Counted] | None = None
        for _ in range(PASSES):
            spaces = self.spaces()
            seen = self._pass(buckets, suspects, spaces)
            if spaces != self.spaces():
                known = {}
                continue
            steady = {each: found for each, found in seen.items() if known.get(each) == found}
            for counted, (children, _, says) in steady.items():
                if children != says:
                    yield self._found(counted, says, children)
            known = {each: found for each, found in seen.items() if found[0] != found[2] and each not in steady}
            suspects = set(known)
            if not suspects:
                return
        self.undecided[:] = sorted(known)

    # -- parts

    def _found(self, counted: Counted, says: int, children: int) -> Wrong:
        hash_key, range_key, attribute = counted
        key = {self.schema.hash_key: hash_key, self.schema.range_key: range_key}
        finding = Finding("counter_wrong", (hash_key, range_key), f"{hash_key.partition('.')[0]}.{COUNTER} {attribute}")
        return Wrong(finding, key, attribute, says, children)

    def _pass(
        self, buckets: frozenset[int], suspects: set[Counted] | None, spaces: Mapping[str, Spaces]
    ) -> dict[Counted, tuple[int, int, int]]:
        """Of each counter in question: how many children it has, a sum of them and their revisions, and what it says;
        those left out that changed meanwhile."""

        def asked(counted: Counted) -> bool:
            return digests(repr(counted))[0] in buckets and (suspects is None or counted in suspects)

        before = self._says(suspects)
        children: dict[Counted, tuple[int, int]] = {}
        said: dict[Counted, int] = {}
        for page in self._pages():
            for counted, child in self._children(spaces, page):
                if asked(counted):
                    count, total = children.get(counted, (0, 0))
                    children[counted] = count + 1, total ^ child
            said |= {counted: number for counted, number in self._counters(page) if asked(counted)}
        names = children.keys() | said.keys() | (suspects or set())
        after = self._says(names)
        first = before if suspects is not None else said
        return {
            each: (*children.get(each, (0, 0)), after.get(each, 0))
            for each in names
            if first.get(each, 0) == after.get(each, 0)
        }

    def _says(self, names: Iterable[Counted] | None) -> dict[Counted, int]:
        """What counters say now."""
        if names is None:
            return {}
        listed = list(names)
        keys = {(each[0], each[1]) for each in listed}
        found: dict[Any, Item] = {}
        for hash_key, range_key in keys:
            item = self.asking.item({self.schema.hash_key: hash_key, self.schema.range_key: range_key})
            found[hash_key, range_key] = item or {}
        numbers = {each: found[each[0], each[1]].get(each[2], 0) for each in listed}
        return {each: number for each, number in numbers.items() if type(number) is int}

    def _children(self, spaces: Mapping[str, Spaces], items: Sequence[Item]) -> Iterator[tuple[Counted, int]]:
        """The counter of each child that is counted, and a number for the child in its revision."""
        for item in items:
            entity = self.schema.entity_of_key(str(item[self.schema.hash_key]))
            if entity is None or not any(enforced(entity)) or not _decides(entity, item, spaces[entity.token]):
                continue
            try:
                names = uncounted(entity, item, (), self.schema.entities).counted
                tallies = kinship(entity, None, item, self.schema.entities).tallies
            except UNUSABLE:
                continue
            number = _number(repr((primary_key(entity, item), item.get(REVISION))))
            for tally in tallies:
                if tally.attribute.removeprefix(f"{entity.token}_") in names:
                    key = counter_key(tally.parent.entity, tally.parent.identity)
                    yield (*map(str, key_of(entity, key).values()), tally.attribute), number  # type: ignore[misc]

    def _counters(self, items: Sequence[Item]) -> Iterator[tuple[Counted, int]]:
        """What each counter says of each relation."""
        for item in items:
            hash_key = str(item[self.schema.hash_key])
            token, point, name = hash_key.partition(self.schema.key_format.shard_delimiter)[0].partition(".")
            parent = self.schema.entities.get(token)
            if parent is None or not point or name != COUNTER:
                continue
            for link in parent.children:
                number = item.get(link.attribute)
                if type(number) is int:
                    yield (hash_key, str(item[self.schema.range_key]), link.attribute), number

    def _pages(self) -> Iterator[Sequence[Item]]:
        starts: dict[int, Any] = dict.fromkeys(range(self.segments))
        while starts:
            numbers = list(starts)
            scans = [Scan(number, self.segments, start_key=starts[number], consistent=True) for number in numbers]
            for number, page in zip(numbers, run_concurrently(self.asking.run, scans), strict=True):
                yield page.items
                if page.last_key is None:
                    del starts[number]
                else:
                    starts[number] = page.last_key


def _decides(entity: EntityType[Any], item: Item, spaces: Spaces) -> bool:
    """Whether a record is the one that readers read, and not its copy."""
    chars = len(entity.keys.suffix_of_key(str(item[entity.keys.design.hash_name])))
    return any(each.space.chars == chars for each in spaces.current.generations)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
