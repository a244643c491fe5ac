"""Verification: every live record of O has an equal one in N, and vice versa, at the keys computed by
`independent_keys`.

Guarantees: nothing is written. A difference counts only after both sides were read again in one transaction. In
DUAL_OLD a record of O must also have the mark, since without it the record could not be distinguished from another
program's later. Records that are expired by every process's clock are passed over. A difference that copying and
sweeping again would not remove counts as a stray: a record that no key of the entity leads to, or that can't be copied.

After the move, when O is gone, each record of N has to be what it would be recomputed to, where it is.

Costs: a consistent read of each record on both sides, twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ..schema.entity_type import MARK
from ..store.writing.write_actions import key_of, primary_key
from ..table.values import Item
from .copy_actions import STRAY, copied, old_places
from .independent_keys import is_equal, recomputed
from .phases import Phase
from .tasks import Paged, TaskContext
from .work_items import STRAY_COUNT, Counts

REPAIRABLE = Counts(repairable=1)
GOOD = Counts()


class VerifyingOld(Paged):
    """From O to N."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands = self.hands
        counts = Counts(seen=len(records))
        expected: list[tuple[Item, dict[str, Any]]] = []
        for record in records:
            if hands.is_over(record):
                continue
            computed = self._expected(record)
            if computed is None:
                counts += STRAY_COUNT.about(hands.entity, record)
            else:
                expected.append((record, computed))
        found = hands.asking.items(hands.entity, (key_of(hands.entity, computed) for _, computed in expected))
        for record, computed in expected:
            if not self._is_good(record, computed, found.get(primary_key(hands.entity, computed))):
                counts += self._again(record, computed).about(hands.entity, record)
        return counts

    def _expected(self, record: Item) -> dict[str, Any] | None:
        new = self.hands.control.new
        assert new is not None
        try:
            return recomputed(self.hands.entity, record, new)
        except InputError:
            return None

    def _is_good(self, record: Item, computed: Item, stored: Item | None) -> bool:
        control = self.hands.control
        assert control.new is not None
        if stored is None and is_excused(self.hands, record):
            return True
        marked = control.phase is not Phase.DUAL_OLD or record.get(MARK) == control.version
        return marked and stored is not None and is_equal(self.hands.entity, computed, stored, control.new)

    def _again(self, record: Item, computed: Item) -> Counts:
        entity, control = self.hands.entity, self.hands.control
        old, new = self.hands.asking.snapshot((key_of(entity, record), key_of(entity, computed)))
        if old is None or self.hands.is_over(old):
            return GOOD
        expected = self._expected(old)
        if expected is None:
            return STRAY_COUNT
        if key_of(entity, expected) == key_of(entity, computed) and self._is_good(old, expected, new):
            return GOOD
        return STRAY_COUNT if copied(entity, control, old, self.hands.past_ms) is STRAY else REPAIRABLE


def is_excused(hands: TaskContext, record: Item) -> bool:
    """Whether the record may lack its counterpart, since the table's TTL removes one copy before the other. In DUAL_OLD
    the other copy is then copied or swept; in DUAL_NEW nothing is done, since both copies will soon be removed."""
    return hands.control.phase is Phase.DUAL_NEW and hands.may_be_over(record)


class VerifyingNew(Paged):
    """From N to O."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands, entity = self.hands, self.hands.entity
        counts = Counts(seen=len(records))
        live = [record for record in records if not hands.is_over(record)]
        places = [old_places(entity, hands.control, record) for record in live]
        found = hands.asking.items(entity, (key for keys in places for key in keys))
        for record, keys in zip(live, places, strict=True):
            if not keys:
                counts += STRAY_COUNT.about(entity, record)
            elif self._judged(record, [found.get(primary_key(entity, key)) for key in keys]) is not GOOD:
                counts += self._again(record, keys).about(entity, record)
        return counts

    def _again(self, record: Item, keys: Sequence[Item]) -> Counts:
        new, *old = self.hands.asking.snapshot((key_of(self.hands.entity, record), *keys))
        if new is None or self.hands.is_over(new):
            return GOOD
        return self._judged(new, old)

    def _judged(self, record: Item, old: Sequence[Item | None]) -> Counts:
        entity, new = self.hands.entity, self.hands.control.new
        assert new is not None
        live = [each for each in old if each is not None and not self.hands.is_over(each)]
        if not live:
            return GOOD if is_excused(self.hands, record) else REPAIRABLE
        try:
            expected = [recomputed(entity, each, new) for each in live]
        except InputError:
            return STRAY_COUNT
        if any(is_equal(entity, each, record, new) for each in expected):
            return GOOD
        own = key_of(entity, record)
        return REPAIRABLE if any(key_of(entity, each) == own for each in expected) else STRAY_COUNT


class Rechecking(Paged):
    """Verifies the records of N after the re-shard."""

    def page(self, records: Sequence[Item]) -> Counts:
        hands, entity = self.hands, self.hands.entity
        suspects = [record for record in records if not self._is_good(record)]
        now = hands.asking.items(entity, (key_of(entity, each) for each in suspects))
        wrong = (REPAIRABLE.about(entity, each) for each in now.values() if not self._is_good(each))
        return sum(wrong, Counts(seen=len(records)))

    def _is_good(self, record: Item) -> bool:
        try:
            expected = recomputed(self.hands.entity, record, self.hands.control.old)
        except InputError:
            return False
        return expected == {name: value for name, value in record.items() if name != MARK}
