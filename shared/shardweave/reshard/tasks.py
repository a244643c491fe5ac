"""The tasks of movers: the work on each page of records, for each step.

    COPY     each live record of O that has not an equal, marked pair already gets its copy in N
    SWEEP    each record of N that no key of O has is removed
    MEND     each record of N whose counterpart in O differs, or is not there, is put there
    EMPTY    each record of O is removed; what was written by others is only counted
    CLEAN    each record of N is removed
    VERIFY   see `verify`; INDEXES, see `index_check`

Guarantees: the writes are those of `copy_actions`, with the work item's token. A copy that conflicts with another write
is planned again from the current record; if it keeps conflicting, it is left to verification. Repeating a page does no
harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..errors import InputError
from ..schema.entity_type import MARK, EntityType
from ..store.writing.dual_write import rekeyed
from ..store.writing.write_actions import key_of, primary_key
from ..table.operations import PageAnswer
from ..table.retry import RetryClock
from ..table.values import Item
from .copy_actions import CopyUnit, Stray, cleaned, copied, emptied, mended, old_key, old_places, swept
from .independent_keys import is_equal, recomputed
from .phases import ReshardState
from .retrying_reads import Asking
from .transaction_executor import Carried, Carrier
from .work_items import MOST_NAMED, STRAY_COUNT, Counts, Source, WorkItem, is_in, moving_generations

LOST_RACES = 5
"""How often a copy is planned again before it is left to verification."""


@dataclass(frozen=True)
class Advance:
    """The results of processing a part of a source, and the cursor to continue from; None at the end of the source."""

    counts: Counts
    cursor: Item | None


class Task(Protocol):
    """The work of one step on one source, in parts."""

    def advance(self, source: Source, cursor: Item | None) -> Advance:
        """Continue after `cursor`, None at the beginning of the source."""


@dataclass(frozen=True)
class TaskContext:
    """The context of tasks. `clocks_ms` is the maximum difference between the clocks of two processes; `workers` is the
    number of parallel reads."""

    entity: EntityType[Any]
    control: ReshardState
    item: WorkItem
    asking: Asking
    carrier: Carrier
    clock: Callable[[], int]
    waiting: RetryClock
    clocks_ms: int
    page_size: int = 100
    workers: int = 1

    @property
    def past_ms(self) -> int:
        """A time that is in the past by every process's clock: a record that expired before it has expired for all."""
        return self.clock() - self.clocks_ms

    def is_over(self, record: Item) -> bool:
        """Whether the record has expired by every process's clock."""
        return self.entity.is_expired(record, self.past_ms // 1000)

    def may_be_over(self, record: Item) -> bool:
        """Whether the record may have expired by some process's clock, or by the table's, which removes expired
        records."""
        return self.entity.is_expired(record, (self.clock() + self.clocks_ms) // 1000)

    def page(self, source: Source, start: Item | None) -> tuple[PageAnswer, list[Item]]:
        """The next page of a source, and those of its records that move."""
        page = self.asking.page(self.entity, source, start, self.page_size)
        generations, hash_name = moving_generations(self.control, self.item.side), self.entity.keys.design.hash_name
        return page, [each for each in page.items if is_in(self.entity, generations, each[hash_name])]

    def execute(self, planned: Iterable[CopyUnit | Stray | None]) -> tuple[Counts, Carried]:
        """Carry out the planned units, and count them."""
        listed = list(planned)
        pieces = [each for each in listed if isinstance(each, CopyUnit)]
        strays = sum(isinstance(each, Stray) for each in listed)
        carried = self.carrier.execute(self.item, pieces)
        return Counts(written=carried.written, strays=strays + carried.refused), carried


@dataclass(frozen=True)
class Paged:
    """A task that works on a source's records page by page."""

    hands: TaskContext

    def advance(self, source: Source, cursor: Item | None) -> Advance:
        page, records = self.hands.page(source, cursor)
        return Advance(self.page(records), page.last_key)

    def page(self, records: Sequence[Item]) -> Counts:
        """Process records of the side."""
        raise NotImplementedError


class Copying(Paged):
    """COPY."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands = self.hands
        counts = Counts(seen=len(records))
        left: Sequence[Item] = self._unequal(records)
        for _ in range(LOST_RACES):
            if not left:
                break
            past = hands.past_ms
            done, carried = hands.execute(copied(hands.entity, hands.control, each, past) for each in left)
            counts += done
            keys = [key_of(hands.entity, piece.source) for piece in carried.lost]
            left = list(hands.asking.items(hands.entity, keys).values())
        return counts

    def _unequal(self, records: Sequence[Item]) -> list[Item]:
        """The records without a mark, or with a copy that differs."""
        hands, new = self.hands, self.hands.control.new
        assert new is not None
        expected: dict[int, dict[str, Any]] = {}
        for position, record in enumerate(records):
            if record.get(MARK) == hands.control.version:
                try:
                    expected[position] = rekeyed(hands.entity, record, new)
                except InputError:
                    continue
        found = hands.asking.items(hands.entity, (key_of(hands.entity, each) for each in expected.values()))
        left = []
        for position, record in enumerate(records):
            copy = expected.get(position)
            stored = None if copy is None else found.get(primary_key(hands.entity, copy))
            if copy is None or stored is None or not is_equal(hands.entity, copy, stored, new):
                left.append(record)
        return left


class Sweeping(Paged):
    """SWEEP."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands = self.hands
        entity = hands.entity
        places = [old_places(entity, hands.control, record) for record in records]
        there = hands.asking.items(entity, (key for keys in places for key in keys))
        alone = [
            record
            for record, keys in zip(records, places, strict=True)
            if not any(primary_key(entity, key) in there for key in keys)
        ]
        done, _ = hands.execute(swept(entity, hands.control, record) for record in alone)
        return Counts(seen=len(records)) + done


class Mending(Paged):
    """MEND."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands, entity = self.hands, self.hands.entity
        pairs = [(each, old_key(entity, hands.control, each)) for each in records if not hands.is_over(each)]
        found = hands.asking.items(entity, (key for _, key in pairs if key is not None))
        planned: list[CopyUnit | Stray] = []
        for record, key in pairs:
            stored = None if key is None else found.get(primary_key(entity, key))
            if stored is None or not self._is_equal(record, stored):
                planned.append(mended(entity, hands.control, record, stored))
        done, _ = hands.execute(planned)
        return Counts(seen=len(records)) + done

    def _is_equal(self, record: Item, stored: Item) -> bool:
        """Whether verification finds both copies equal: equal records are not changed."""
        entity, new = self.hands.entity, self.hands.control.new
        assert new is not None
        try:
            return is_equal(entity, recomputed(entity, stored, new), record, new)
        except InputError:
            return False


class Emptying(Paged):
    """EMPTY."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands, past = self.hands, self.hands.past_ms
        planned = [emptied(hands.entity, hands.control, record, past) for record in records]
        done, _ = hands.execute(planned)
        counts = Counts(seen=len(records), left=len(records)) + done
        left = (each for each, plan in zip(records, planned, strict=True) if isinstance(plan, Stray))
        named = (STRAY_COUNT.about(hands.entity, each).keys for each in left)
        return replace(counts, keys=tuple(key for keys in named for key in keys)[:MOST_NAMED])


class Cleaning(Paged):
    """CLEAN."""

    def page(self, records: Sequence[Item]) -> Counts:
        done, _ = self.hands.execute(cleaned(self.hands.entity, record) for record in records)
        return Counts(seen=len(records), left=len(records)) + done
