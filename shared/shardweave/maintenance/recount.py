"""Whether the counters of parents say how many children they have.

A write that makes or removes a child changes its parent's counter in the same transaction (`store.relations.enforced`),
so the two are equal at any moment. While the table is gone over, each child that is counted adds to a sum for its
parent's counter, and each counter takes away as often as it says (see `sums`). Where all is even, nothing more is
read. Where it is not, since something is wrong or was written meanwhile, the children of the parents in the uneven
buckets are counted in further passes over the table, each with the counters read before and after. A counter counts as
wrong when two passes met the very same children, in the same revisions, and it said the same other number all the
while. One whose children keep changing is left undecided until the next examination.

The counters in question are held in slices of their keys, no more than `MAX_HELD` at once, however many there are.

Costs for each slice: up to four passes over the table, two where nothing is wrong; none where all is even.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reshard.control import control_key, decode_control
from ..reshard.retrying_reads import Asking
from ..schema.entity_type import REVISION, EntityType
from ..schema.schema import Schema
from ..store.relations.enforced import counter_key, enforced, kinship, uncounted
from ..store.writing.write_actions import key_of, primary_key
from ..table.concurrency import run_concurrently
from ..table.operations import MAX_BATCH_GET, Scan
from ..table.values import Item
from .beside_judge import COUNTER
from .findings import Finding
from .looking import Spaces, spaces_of
from .record_judge import UNUSABLE
from .sums import END, MAX_HELD, Sums, digests

PASSES = 4
PAGE = 500

Tick = Callable[[], object]
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
class CountSlice:
    """The results of one slice, which ends below `high`. `undecided` are counters whose children kept changing."""

    wrong: Sequence[Wrong]
    undecided: Sequence[Counted]
    high: int


@dataclass
class _Slice:
    """The counters that are counted: those of some buckets whose number is from `low` up to `high`, which becomes lower
    where they are more than `most`; or some `suspects` among them."""

    buckets: frozenset[int]
    low: int
    most: int
    high: int = END
    suspects: frozenset[Counted] | None = None

    def __contains__(self, counted: Counted) -> bool:
        if self.suspects is not None:
            return counted in self.suspects
        bucket, number = digests(repr(counted))
        return bucket in self.buckets and self.low <= number < self.high

    def shrink(self, *held: dict[Counted, Any]) -> None:
        """End it earlier where more is held than may be."""
        while self.suspects is None and max(map(len, held)) > self.most and self.high - self.low > 1:
            self.high = (self.low + self.high) // 2
            for each in held:
                for counted in [name for name in each if name not in self]:
                    del each[counted]


@dataclass(frozen=True)
class Recount:
    """Counts children of one schema's records. `held` is how many counters are held at once."""

    schema: Schema
    asking: Asking
    segments: int = 8
    held: int = MAX_HELD

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

    def slice(self, buckets: frozenset[int], low: int, tick: Tick = lambda: None) -> CountSlice:
        """Recount the counters of the uneven buckets of the sums, from the number of a counter on. `tick` is called
        after each round of pages."""
        known, wrong = dict[Counted, tuple[int, int, int]](), list[Wrong]()
        part = _Slice(buckets, low, self.held)
        for _ in range(PASSES):
            spaces = self.spaces()
            seen = self._pass(part, spaces, tick)
            if spaces != self.spaces():
                known = {}
                continue
            steady = {each for each, found in seen.items() if known.get(each) == found}
            wrong += [self._found(each, seen[each][2], seen[each][0]) for each in seen if each in steady]
            known = {each: found for each, found in seen.items() if found[0] != found[2] and each not in steady}
            part.suspects = frozenset(known)
            if not known:
                break
        return CountSlice(wrong, sorted(known), part.high)

    # -- parts

    def _found(self, counted: Counted, says: int, children: int) -> Wrong:
        hash_key, range_key, attribute = counted
        key = {self.schema.hash_key: hash_key, self.schema.range_key: range_key}
        finding = Finding("counter_wrong", (hash_key, range_key), f"{hash_key.partition('.')[0]}.{COUNTER} {attribute}")
        return Wrong(finding, key, attribute, says, children)

    def _pass(self, part: _Slice, spaces: Mapping[str, Spaces], tick: Tick) -> dict[Counted, tuple[int, int, int]]:
        """Of each counter in question: how many children it has, a sum of them and their revisions, and what it says;
        those left out that changed meanwhile."""
        before = self._says(part.suspects or (), tick)
        children: dict[Counted, tuple[int, int]] = {}
        said: dict[Counted, int] = {}
        for pages in self._rounds():
            for page in pages:
                for counted, child in self._children(spaces, page):
                    if counted in part:
                        count, total = children.get(counted, (0, 0))
                        children[counted] = count + 1, total ^ child
                said |= {counted: number for counted, number in self._counters(page) if counted in part}
                part.shrink(children, said)
            tick()
        names = children.keys() | said.keys() | (part.suspects or set())
        after = self._says(names, tick)
        first = before if part.suspects is not None else said
        return {
            each: (*children.get(each, (0, 0)), after.get(each, 0))
            for each in names
            if first.get(each, 0) == after.get(each, 0)
        }

    def _says(self, names: Iterable[Counted], tick: Tick) -> dict[Counted, int]:
        """What counters say now."""
        listed = list(names)
        keys = list(dict.fromkeys((each[0], each[1]) for each in listed))
        entity, found = next(iter(self.schema.entities.values())), dict[Any, Item]()
        for start in range(0, len(keys), MAX_BATCH_GET):
            asked = [
                {self.schema.hash_key: hash_key, self.schema.range_key: range_key}
                for hash_key, range_key in keys[start : start + MAX_BATCH_GET]
            ]
            found |= self.asking.items(entity, asked)
            tick()
        numbers = {each: found.get((each[0], each[1]), {}).get(each[2], 0) for each in listed}
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

    def _rounds(self) -> Iterator[list[Sequence[Item]]]:
        starts: dict[int, Any] = dict.fromkeys(range(self.segments))
        while starts:
            numbers = list(starts)
            scans = [
                Scan(number, self.segments, limit=PAGE, start_key=starts[number], consistent=True) for number in numbers
            ]
            pages = run_concurrently(self.asking.run, scans)
            yield [page.items for page in pages]
            for number, page in zip(numbers, pages, strict=True):
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
