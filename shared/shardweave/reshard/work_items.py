"""Work items: the parts of a step of a re-shard, and their records in the table.

Format, beside the control record under the same hash key:
    rangeKey   work#<version>#<phase>#<round>#<step>#<side><number>
    token      what each of the mover's transactions requires; replaced when the item is closed
    closed     whether the step is being left
    owner, leaseUntil    who works on it and until when, so that others leave it alone; nothing rests on it
    at, key    the cursor: which of its sources, and how far in that
    seen, written, repairable, strays, left      counts
    keys       hash and range key of some records that differ, or are strays
    done       whether all of it is
    caught     how many records of other programs were copied under its token; added up by those who did, no mover's

An item covers every n-th source of one side, where n is the number of items of that side. A source is a hash key of a
generation that moves, or a segment of the table if hash keys contain partitions and can't be listed. Hash keys in both
maps are not sources, since their records don't move.

Guarantee that movers rest on: as long as an item's token is unchanged, the step in which it was opened has not been
left. Items are opened in a transaction that gives the control record another revision, and a step is left by closing
every item and then replacing the control record in the revision seen before, so that the two exclude each other.

Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..keys.sharding import Generation, ShardMap
from ..schema.entity_type import EntityType
from ..table.conditions import And, Compare, Condition, Missing, Or
from ..table.operations import ConditionCheck, Interval
from ..table.values import Item, Value
from .control import partition_key, readable
from .phases import ReshardState, ReshardStep, StepResult

MAX_ITEMS = 48
"""The most items of one side, so that all of a step are opened in one transaction."""
MOST_NAMED = 5
"""The maximum number of problematic records that are named."""
SEGMENTS = 16
"""The number of segments of a table whose hash keys can't be listed."""


class Side(enum.Enum):
    """The side of an item: the space whose records are read."""

    OLD = "o"
    NEW = "n"


_SIDES = {
    ReshardStep.COPY: (Side.OLD,),
    ReshardStep.SWEEP: (Side.NEW,),
    ReshardStep.VERIFY: (Side.OLD, Side.NEW),
    ReshardStep.INDEXES: (Side.NEW,),
    ReshardStep.MEND: (Side.NEW,),
    ReshardStep.EMPTY: (Side.OLD,),
    ReshardStep.CLEAN: (Side.NEW,),
}


@dataclass(frozen=True)
class Source:
    """A unit that is read from beginning to end: a hash key, or a segment of the table."""

    hash_key: str | None = None
    segment: int = 0
    segments: int = 1


@dataclass(frozen=True)
class Counts:
    """The counts of an item's work. `keys` are hash and range keys of some of the records that differ or are strays."""

    seen: int = 0
    written: int = 0
    repairable: int = 0
    strays: int = 0
    left: int = 0
    keys: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.seen + other.seen,
            self.written + other.written,
            self.repairable + other.repairable,
            self.strays + other.strays,
            self.left + other.left,
            (self.keys + other.keys)[:MOST_NAMED],
        )

    def about(self, entity: EntityType[Any], record: Item) -> Counts:
        """These counts, with the record's key if it is problematic."""
        if not (self.repairable or self.strays):
            return self
        design = entity.keys.design
        return replace(self, keys=((str(record[design.hash_name]), str(record[design.range_name])),))


NOTHING = Counts()
STRAY_COUNT = Counts(strays=1)


@dataclass(frozen=True)
class WorkItem:
    """One work item. `number` is less than `total`, the number of items of its side. `key` is the position in its
    source number `at`. `caught` is the number of records of other programs that were copied with its token."""

    version: int
    phase: int
    round: int
    step: ReshardStep
    side: Side
    number: int
    total: int
    token: str
    closed: bool = False
    owner: str = ""
    lease_until: int = 0
    at: int = 0
    key: Item | None = None
    counts: Counts = NOTHING
    done: bool = False
    caught: int = 0

    @property
    def name(self) -> str:
        """The range key."""
        return f"{_prefix(self.version, self.phase, self.round, self.step)}{self.side.value}{self.number:04d}"

    @property
    def open(self) -> bool:
        """Whether it has work left."""
        return not (self.closed or self.done)

    def is_of(self, control: ReshardState) -> bool:
        """Whether it belongs to the current step of the state."""
        mine = self.version, self.phase, self.round, self.step
        return mine == (control.version, int(control.phase), control.round, control.step)


# -- which there are --------------------------------------------------------------------------------------------------


def items_of(entity: EntityType[Any], control: ReshardState, tokens: Iterable[str]) -> list[WorkItem]:
    """The items of the state's step, each with one of the tokens."""
    names = iter(tokens)
    step = control.version, int(control.phase), control.round, control.step
    totals = {side: min(len(sources(entity, control, side)), MAX_ITEMS) for side in _SIDES.get(control.step, ())}
    return [
        WorkItem(*step, side, number, total, token=next(names))
        for side, total in totals.items()
        for number in range(total)
    ]


@dataclass(frozen=True)
class Sources:
    """Every `stride`-th source of some generations, in order, from the `first` on; created lazily, since there may be a
    million."""

    entity: EntityType[Any]
    generations: tuple[Generation, ...]
    first: int = 0
    stride: int = 1

    def __len__(self) -> int:
        return len(range(self.first, self._all, self.stride))

    def __getitem__(self, position: int) -> Source:
        number = range(self.first, self._all, self.stride)[position]
        if self._partitioned:
            return Source(None, number, SEGMENTS)
        for each in self.generations:
            if number < each.space.shards:
                return Source(self.entity.keys.hash_key(each.space.suffix(number), (), {}))
            number -= each.space.shards
        raise IndexError(position)

    @property
    def _partitioned(self) -> bool:
        """Whether hash keys contain more than the shard, so that they can't be listed."""
        return bool(self.entity.keys.design.partition)

    @property
    def _all(self) -> int:
        if self._partitioned:
            return SEGMENTS if self.generations else 0
        return sum(each.space.shards for each in self.generations)


def sources(entity: EntityType[Any], control: ReshardState, side: Side) -> Sources:
    """All sources of one side."""
    return Sources(entity, moving_generations(control, side))


def sources_of(entity: EntityType[Any], control: ReshardState, item: WorkItem) -> Sources:
    """The sources that an item covers."""
    return Sources(entity, moving_generations(control, item.side), item.number, item.total)


def moving_generations(control: ReshardState, side: Side) -> tuple[Generation, ...]:
    """The generations of one side that the other does not have."""
    mine, theirs = (control.old, control.new) if side is Side.OLD else (control.new, control.old)
    if mine is None:
        return ()
    kept = _spaces(theirs)
    return tuple(each for each in mine.generations if (each.begins, each.space) not in kept)


def _spaces(shard_map: ShardMap | None) -> set[Any]:
    return set() if shard_map is None else {(each.begins, each.space) for each in shard_map.generations}


def is_in(entity: EntityType[Any], generations: Sequence[Generation], hash_key: Any) -> bool:
    """Whether a hash key belongs to one of these generations, which have suffixes of different lengths."""
    keys = entity.keys
    if not isinstance(hash_key, str) or not hash_key.startswith(keys.prefix):
        return False
    return len(keys.suffix_of_key(hash_key)) in {each.space.chars for each in generations}


def findings_of(items: Sequence[WorkItem]) -> StepResult:
    """The combined results of a step's items."""
    counts = sum((each.counts for each in items), NOTHING)
    return StepResult(
        done=all(each.done for each in items),
        repairable=counts.repairable,
        strays=counts.strays,
        left=counts.left,
        caught=sum(each.caught for each in items),
        keys=counts.keys,
    )


# -- as records -------------------------------------------------------------------------------------------------------

WORK = "work#"


def work_key(entity: EntityType[Any], item: WorkItem) -> dict[str, Value]:
    """The primary key of an item."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: item.name}


def names_of_step(control: ReshardState) -> Interval:
    """The range keys of the items of the control value's step."""
    prefix = _prefix(control.version, int(control.phase), control.round, control.step)
    return Interval(prefix, prefix + "~")


def names_of_all() -> Interval:
    """The range keys of all items."""
    return Interval(WORK, WORK + "~")


def encode_work(entity: EntityType[Any], item: WorkItem) -> dict[str, Value]:
    """The record of an item."""
    place = {
        "version": item.version,
        "phase": item.phase,
        "round": item.round,
        "step": item.step.value,
        "side": item.side.value,
        "number": item.number,
        "total": item.total,
        "token": item.token,
        "closed": item.closed,
        "owner": item.owner,
        "leaseUntil": item.lease_until,
        "caught": item.caught,
    }
    return {**work_key(entity, item), **place, **encode_progress(item)}


def encode_progress(item: WorkItem) -> dict[str, Value]:
    """The attributes that a mover writes to save its progress."""
    counts = item.counts
    return {
        "at": item.at,
        "key": None if item.key is None else dict(item.key),
        "seen": counts.seen,
        "written": counts.written,
        "repairable": counts.repairable,
        "strays": counts.strays,
        "left": counts.left,
        "keys": [list(each) for each in counts.keys],
        "done": item.done,
    }


def decode_work(entity: EntityType[Any], record: Item) -> WorkItem:
    """The item of a record. Raises ReshardUnreadable."""
    with readable(entity, record):
        return _decoded(record)


def _decoded(record: Item) -> WorkItem:
    return WorkItem(
        version=int(record["version"]),
        phase=int(record["phase"]),
        round=int(record["round"]),
        step=ReshardStep(record["step"]),
        side=Side(record["side"]),
        number=int(record["number"]),
        total=int(record["total"]),
        token=str(record["token"]),
        closed=bool(record["closed"]),
        owner=str(record["owner"]),
        lease_until=int(record["leaseUntil"]),
        at=int(record["at"]),
        key=record["key"],
        counts=Counts(
            int(record["seen"]),
            int(record["written"]),
            int(record["repairable"]),
            int(record["strays"]),
            int(record["left"]),
            tuple((str(hash_key), str(range_key)) for hash_key, range_key in record.get("keys", ())),
        ),
        done=bool(record["done"]),
        caught=int(record.get("caught", 0)),
    )


def has_token(item: WorkItem) -> Condition:
    """The condition that the item has not been closed since."""
    return Compare("token", "=", item.token)


def is_as_read(item: WorkItem) -> Condition:
    """The condition that the item has not been closed since, and that no further record was caught with its token."""
    caught: Condition = Compare("caught", "=", item.caught)
    return And((has_token(item), caught if item.caught else Or((Missing("caught"), caught))))


def token_check(entity: EntityType[Any], item: WorkItem) -> ConditionCheck:
    """The first action of every transaction of a mover."""
    return ConditionCheck(work_key(entity, item), has_token(item))


def closed_again(item: WorkItem, token: str) -> WorkItem:
    """The closed item: with its new token, transactions of its movers are refused."""
    return replace(item, closed=True, token=token)


def opened_again(item: WorkItem, token: str) -> WorkItem:
    """The reopened item, if its step was not left after all."""
    return replace(item, closed=False, token=token, owner="", lease_until=0)


def _prefix(version: int, phase: int, round_: int, step: ReshardStep) -> str:
    return f"{WORK}{version:06d}#{phase}#{round_:06d}#{step.value}#"
