"""Examining pages of a table: every item is checked, and every suspect is checked again with the items read in one
transaction.

What a page's items need is read together, in a few rounds (see `looking`). What seems wrong then is read again, with
all that its judgement takes, in one transaction: only what is wrong at that one moment counts, so that changes between
two reads make no false alarm. Where a judgement takes more than one transaction can read, it has to be the same in two
readings. Of the records above one sequence's counter only those are read again that may have the highest number (see
`sequences_behind`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..reshard.retrying_reads import Asking
from ..schema.schema import Schema
from ..store.attempts import PrimaryKey
from ..table.operations import MAX_BATCH_GET, BatchGet
from ..table.values import Item
from .beside_judge import Judge
from .findings import Finding
from .looking import ControlledSpaces, Look
from .sequences_behind import BEHIND, SequencesBehind, by_number

ROUNDS = 12
"""More than any judgement takes: a record, its lookup, that one's owner, and where that one may be."""


@dataclass(frozen=True)
class Confirmed:
    """An item with what is wrong with it at one moment."""

    item: Item
    findings: tuple[Finding, ...]


class Examiner:
    """Examines items of one table. `clock` gives epoch milliseconds."""

    def __init__(self, schema: Schema, asking: Asking, clock: Callable[[], int]) -> None:
        self._names = schema.hash_key, schema.range_key
        self._asking = asking
        self._clock = clock
        self._judge = Judge(schema)
        self._controlled = ControlledSpaces()

    def page(self, items: Sequence[Item], behind: SequencesBehind | None = None) -> list[Confirmed]:
        """Those of the items with which something is wrong, without what is known of sequences that are `behind`."""
        known: dict[PrimaryKey, Item | None] = {self._key(item): item for item in items}
        waiting, suspects = list(items), list[tuple[Item, Sequence[Finding]]]()
        for _ in range(ROUNDS):
            looks = [(item, self._look(known)) for item in waiting]
            judged = [(item, look, self._judge.judge(item, look)) for item, look in looks]
            suspects += [(item, found) for item, look, found in judged if found and not look.wanted]
            waiting = [item for item, look, _ in judged if look.wanted]
            wanted = {name: key for _, look, _ in judged for name, key in look.wanted.items()}
            if not wanted:
                break
            known |= self._read(wanted)
        suspects += [(item, ()) for item in waiting]
        return list(self._confirmed(suspects, behind or SequencesBehind()))

    def _confirmed(
        self, suspects: Sequence[tuple[Item, Sequence[Finding]]], behind: SequencesBehind
    ) -> Iterator[Confirmed]:
        of_page = SequencesBehind()
        for item, found in sorted(suspects, key=by_number):
            if found and all(behind.covers(each, item) or of_page.covers(each, item) for each in found):
                continue
            now = self.confirm(item)
            if now is None:
                continue
            for each in now.findings:
                if each.kind == BEHIND:
                    of_page.note(each, now.item)
            yield now

    def confirm(self, item: Item) -> Confirmed | None:
        """The fault of an item at one moment; None if it has none, or the item no longer exists."""
        keys: dict[PrimaryKey, Item] = {self._key(item): {name: item[name] for name in self._names}}
        for _ in range(ROUNDS):
            known = self._snapshot(keys)
            now = known[self._key(item)]
            if now is None:
                return None
            look = self._look(known)
            found = self._judge.judge(now, look)
            if not look.wanted:
                return Confirmed(now, tuple(found)) if found else None
            keys |= look.wanted
        return None

    # -- parts

    def _key(self, item: Item) -> PrimaryKey:
        return item[self._names[0]], item[self._names[1]]

    def _look(self, known: dict[PrimaryKey, Item | None]) -> Look:
        return Look(*self._names, self._clock(), known, self._controlled)

    def _read(self, wanted: dict[PrimaryKey, Item]) -> dict[PrimaryKey, Item | None]:
        """The items of some keys, None for each that is not there."""
        found: dict[PrimaryKey, Item | None] = dict.fromkeys(wanted)
        left = list(wanted.values())
        while left:
            batch, left = tuple(left[:MAX_BATCH_GET]), left[MAX_BATCH_GET:]
            answer = self._asking.run(BatchGet(batch, consistent=True))
            found.update((self._key(item), item) for item in answer.items)
            left += answer.unprocessed
        return found

    def _snapshot(self, keys: dict[PrimaryKey, Item]) -> dict[PrimaryKey, Item | None]:
        if len(keys) <= MAX_BATCH_GET:
            return dict(zip(keys, self._asking.snapshot(keys.values()), strict=True))
        while True:
            one, other = self._read(keys), self._read(keys)
            if one == other:
                return one
