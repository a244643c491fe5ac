"""Whether the numbers of read models of records are the sums of what is remembered to be counted.

A count changes what is remembered of a record and the numbers that it adds to in one transaction, and each change of a
number gives its record another revision. So a record of numbers is right if, of a revision that it had before and after
what is remembered was read, each number is the sum over the parts that were counted since its last reset (see
`store.events.counts`); of a number that was never reset, as far as its record knows, over all parts, as a rebuild would
count it.

The records that a read model writes are held, with their sums, in slices of their ids: no more than `MAX_HELD` at once,
however many there are. What seems wrong is read again, and if it has changed meanwhile counted again, a few
times. What keeps changing is read in transactions with all that is remembered to be counted in it, up to
`MAX_TOGETHER` items: if it is the sum at that moment, it is right. Else it is left undecided, since a record that is
counted in it only now looks the same as a fault.

Of what can't be read nobody knows what it adds: then every number that seems wrong is left `unsummed`.

Costs for each slice: a read of each written record, and of each item that remembers something; more passes over the
latter where a number seems wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from ..reshard.retrying_reads import Asking
from ..reshard.work_items import Source
from ..schema.entity_type import REVISION, EntityType
from ..schema.read_models import ReadModel
from ..store.events.counts import KIND, SUMS, Number, Part, SumsMark, Target, parts_in
from ..store.events.record_feed import target_of
from ..store.events.sum_steps import sums_of
from ..store.lookups.lookup_records import LOOKUP_SPACE, owner_text
from ..store.parts import StoreParts
from ..table.concurrency import MAX_WORKERS
from ..table.operations import MAX_BATCH_GET, MAX_TRANSACTION_ACTIONS
from ..table.values import Item
from .findings import Finding, StoredKey
from .record_judge import UNUSABLE, stored_key
from .sums import END, MAX_HELD, digests
from .walk import LANES, Lanes, Walk, entity_lanes, records_among

_EXACT = Context(prec=400)
PASSES = 4
LOOKS = 3
PAGE = 500
MAX_TOGETHER = 10 * (MAX_TRANSACTION_ACTIONS - 1)
MAX_DAMAGED = 25

Tick = Callable[[], object]


@dataclass(frozen=True)
class WrongSum:
    """A record whose numbers are not the sums; `numbers` are those, `said` what it says, in the revision `rev`."""

    finding: Finding
    entity: EntityType[Any]
    identity: Item
    rev: Any
    said: Mapping[str, Any]
    numbers: Mapping[str, Number]


@dataclass(frozen=True)
class SumSlice:
    """The results of one slice, which ends below `high`. `undecided` are the keys of what kept changing; `unsummed`
    those of what is not known because of the `damaged` items."""

    wrong: Sequence[WrongSum]
    undecided: Sequence[StoredKey]
    high: int
    unsummed: Sequence[StoredKey] = ()
    damaged: Sequence[StoredKey] = ()


@dataclass
class _Held:
    """A record of numbers as it was read, without its other properties, None where there is none; and the sums so far
    by number: `live` since its last reset, `whole` over all parts. `odd` are numbers of which parts know a reset that
    the record does not."""

    entity: EntityType[Any]
    identity: Item
    item: Item | None
    live: dict[str, Number] = field(default_factory=dict)
    whole: dict[str, Number] = field(default_factory=dict)
    odd: set[str] = field(default_factory=set)

    @property
    def rev(self) -> Any:
        return None if self.item is None else self.item.get(REVISION)

    def says(self, name: str) -> Any:
        """What a number is; 0 where it was never set."""
        return (self.item or {}).get(name, 0)

    def since(self, name: str) -> str:
        """The last reset of a number."""
        return SumsMark.decode((self.item or {}).get(SUMS)).since.get(name, "")

    def add(self, part: Part) -> None:
        for name, each in part.numbers.items():
            since = self.since(name)
            self.whole[name] = _sum(self.whole.get(name, 0), each.whole)
            if each.since == since:
                self.live[name] = _sum(self.live.get(name, 0), each.live)
            if not since and (each.since or each.live != each.whole):
                self.odd.add(name)

    def sum(self, name: str) -> Number:
        """What a number should be."""
        return (self.live if self.since(name) else self.whole).get(name, 0)

    def wrong(self, named: Collection[tuple[str, str]]) -> list[str]:
        """Those of some numbers that are something else than their sum; what is no number is found by itself."""
        names = [name for name in sums_of(self.entity) if (self.entity.token, name) in named]
        return [name for name in names if _is_number(self.says(name)) and self.says(name) != self.sum(name)]


class SumRecount:
    """Recounts the read models of records of one table. `held` is how many records are held at once, `workers` how many
    pages are read at once."""

    def __init__(self, parts: StoreParts, asking: Asking, *, held: int = MAX_HELD, workers: int = MAX_WORKERS) -> None:
        self._parts = parts
        self._asking = asking
        self._held = held
        self._workers = workers
        self.read_models = [each for each in parts.schema.read_model_list if each.records]

    def slice(self, position: int, low: int, tick: Tick = lambda: None) -> SumSlice:
        """Recount a read model from the number of an id on. `tick` is called after each round of pages."""
        read_model = self.read_models[position]
        counting = _Counting(self._parts, self._asking, read_model, low, self._held, self._workers, tick)
        wrong, left = counting.outcome()
        damaged = sorted(counting.damaged)
        undecided, unsummed = ((), left) if damaged else (left, ())
        return SumSlice(wrong, undecided, counting.high, unsummed, damaged)


@dataclass
class _Counting:
    """The recount of one slice."""

    parts: StoreParts
    asking: Asking
    read_model: ReadModel
    low: int
    most: int
    workers: int
    tick: Tick
    high: int = END
    held: dict[Target, _Held] = field(default_factory=dict)
    named: set[tuple[str, str]] = field(default_factory=set)
    """The numbers, with their entities, that something adds to: others are somebody's own."""
    damaged: set[StoredKey] = field(default_factory=set)
    """The first keys of what can't be read of what is remembered, so that no sum is known."""
    memories: dict[Target, set[StoredKey]] | None = None
    """In the last pass, the keys of what is remembered to be counted in each."""

    def outcome(self) -> tuple[list[WrongSum], list[StoredKey]]:
        """The wrong ones, and the keys of those of which that is not known."""
        wrong: list[WrongSum] = []
        self._load()
        for number in range(PASSES):
            self.memories = {} if number == PASSES - 1 else None
            self._count(is_first=number == 0)
            suspects = {target: each for target, each in self.held.items() if each.wrong(self.named)}
            now = self._read(suspects)
            steady = {target for target, each in suspects.items() if each.rev == now[target].rev}
            if not self.damaged:
                wrong += [self._wrong(suspects[target]) for target in suspects if target in steady]
                now = {target: each for target, each in now.items() if target not in steady}
            self.held = now
            if not self.held or self.damaged:
                break
        left = [each for target, each in self.held.items() if self.damaged or not self._is_right(target, each)]
        return wrong, sorted(map(_key, left))

    # -- parts

    def _load(self) -> None:
        """Hold the written records of the slice."""
        for model in self.read_model.writes:
            entity = self.parts.schema[model]
            while not self._loaded(entity):
                self.held = {target: each for target, each in self.held.items() if each.entity is not entity}

    def _loaded(self, entity: EntityType[Any]) -> bool:
        """Hold those of one entity. False where the shard map that says where they are has changed meanwhile."""
        moment = self.parts.moment_of(entity)
        for items in self._pages(entity, entity_lanes(entity, moment)):
            for item in records_among(self.parts.schema, entity, items, moment):
                self._hold(entity, item)
        now = self.parts.moment_of(entity).shard_map
        return (now.id, now.version) == (moment.shard_map.id, moment.shard_map.version)

    def _hold(self, entity: EntityType[Any], item: Item) -> None:
        try:
            identity = entity.identify(entity.identity_in(item)) if entity.identity else {}
        except UNUSABLE:
            return  # Its key is of no record; that is found by itself.
        target = target_of(entity, identity)
        if self._is_own(target):
            self.held[target] = _Held(entity, identity, _slim(entity, item))
            self._shrink()

    def _count(self, *, is_first: bool) -> None:
        """Add what is remembered to the records that are held; the first time also to those that should be there."""
        written = {entity.token: entity for entity in map(self.parts.schema.__getitem__, self.read_model.writes)}
        for key, part in self._remembered():
            entity = written.get(part.token)
            if entity is None:
                continue  # It is no longer written.
            try:
                target = target_of(entity, part.identity)
            except UNUSABLE:
                self._note_damaged(key)
                continue
            self.named |= {(part.token, name) for name in part.numbers}
            held = self.held.get(target)
            if held is None and is_first and self._is_own(target):
                held = self.held[target] = _Held(entity, part.identity, None)
                self._shrink()
            if held is not None:
                held.add(part)
                if self.memories is not None:
                    self.memories.setdefault(target, set()).add(key)

    def _is_right(self, target: Target, held: _Held) -> bool:
        """Whether a number that keeps changing is, at one moment, the sum of what is remembered to be counted in it."""
        keys = sorted((self.memories or {}).get(target, ()))
        if held.item is None or len(keys) > MAX_TOGETHER:
            return False
        names = held.entity.keys.design.hash_name, held.entity.keys.design.range_name
        step = MAX_TRANSACTION_ACTIONS - 1
        for _ in range(LOOKS):
            now: _Held | None = None
            for start in range(0, max(1, len(keys)), step):
                read = [_key(held), *keys[start : start + step]]
                item, *memories = self.asking.snapshot(dict(zip(names, key, strict=True)) for key in read)
                found = _Held(held.entity, held.identity, None if item is None else _slim(held.entity, item))
                if item is None or (now is not None and now.rev != found.rev):
                    break
                now = now or found
                if not _added(now, target, memories):
                    return False
            else:
                if now is not None and not now.wrong(self.named):
                    return True
        return False

    def _note_damaged(self, key: StoredKey) -> None:
        if len(self.damaged) < MAX_DAMAGED:
            self.damaged.add(key)

    def _remembered(self) -> Iterator[tuple[StoredKey, Part]]:
        """The parts of every record of which something is remembered, with the key of the item that says so."""
        for model in self.read_model.records:
            fed = self.parts.schema[model]
            head = f"{fed.token}.{KIND}{self.read_model.name}{fed.keys.design.key_format.shard_delimiter}"
            sources = [Source(head + suffix) for suffix in LOOKUP_SPACE.suffixes()]
            for items in self._pages(fed, [sources[number::LANES] for number in range(LANES)]):
                for item in items:
                    try:
                        parts = parts_in(item)
                    except (KeyError, TypeError, ValueError):
                        self._note_damaged(stored_key(fed, item))
                        continue
                    key = stored_key(fed, item)
                    yield from ((key, part) for part in parts)

    def _pages(self, entity: EntityType[Any], lanes: Lanes) -> Iterator[Sequence[Item]]:
        for results in Walk(self.asking, entity, lanes, lambda items: items, page=PAGE, workers=self.workers).rounds():
            yield from results
            self.tick()

    def _read(self, suspects: Mapping[Target, _Held]) -> dict[Target, _Held]:
        """The same records now."""
        left, found = list(suspects.items()), dict[Target, _Held]()
        while left:
            batch, left = left[:MAX_BATCH_GET], left[MAX_BATCH_GET:]
            answers = self.parts.reader.find_now([(each.entity, each.identity) for _, each in batch])
            for (target, each), answer in zip(batch, answers, strict=True):
                item = None if answer.found is None else _slim(each.entity, answer.found.item)
                found[target] = _Held(each.entity, each.identity, item)
        return found

    def _wrong(self, held: _Held) -> WrongSum:
        names, entity = held.wrong(self.named), held.entity
        is_lost = held.item is None or bool(held.odd.intersection(names))
        finding = Finding("sum_lost" if is_lost else "sum_wrong", _key(held), f"{entity.token}.{', '.join(names)}")
        said = {} if held.item is None else {name: held.item.get(name) for name in names}
        return WrongSum(finding, entity, held.identity, held.rev, said, {name: held.sum(name) for name in names})

    def _is_own(self, target: Target) -> bool:
        return self.low <= digests(repr(target))[1] < self.high

    def _shrink(self) -> None:
        """End the slice earlier where more is held than may be."""
        while len(self.held) > self.most:
            self.high = (self.low + self.high) // 2
            self.held = {target: each for target, each in self.held.items() if self._is_own(target)}


def _added(held: _Held, target: Target, memories: Sequence[Item | None]) -> bool:
    """Add what some items say to the sums of a record. False where one can't be read."""
    try:
        for part in (part for item in memories for part in parts_in(item)):
            if part.token == target[0] and target_of(held.entity, part.identity) == target:
                held.add(part)
    except (ValueError, *UNUSABLE):
        return False
    return True


def _key(held: _Held) -> StoredKey:
    """The key of a record; of one that is not there the entity and the id."""
    token = held.entity.token
    if held.item is None:
        return token, owner_text(held.entity, held.identity) or token
    return stored_key(held.entity, held.item)


def _slim(entity: EntityType[Any], item: Item) -> Item:
    """What of a stored record matters here."""
    design = entity.keys.design
    names = (design.hash_name, design.range_name, REVISION, SUMS, *sums_of(entity))
    return {name: item[name] for name in names if name in item}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _sum(one: Number, other: Number) -> Number:
    """The exact sum, also of what could not be stored."""
    return one + other if isinstance(one, int) and isinstance(other, int) else _EXACT.add(Decimal(one), Decimal(other))
