"""The passes of bringing a table in: each reads all old items or all records of an entity once.

    bring     each record is made what its old item says
    sweep     records without an old item are deleted; others are brought after it once more
    verify    old items and records are compared, in both directions
    look      as the first half of verify, in a table in which nothing has been brought in
    count     parents that count the old items count the records
    purge     the old items are deleted
    undo      the records are deleted

Guarantees: bring and sweep write a record in one transaction with a check that its old item is as it was read, if both
are in one table; else the old item is read again afterwards, and the record follows in the next pass. Verify only
counts what differed at one moment: the record was in the same revision before and after its old item was read. Nothing
is written by a run that is not the last one (see `run_fence`).

Costs: a consistent read of each item; a read of each record, or old item, in batches; a write of each that differs, up
to 25 in a transaction. Where one of these is refused, each is written alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import (
    BatchIncomplete,
    ImmutableProperty,
    LimitExceeded,
    OutcomeUnknown,
    RevisionConflict,
    ShardMapChanged,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionConflict,
    ValueRefused,
    ValueTaken,
)
from ..schema.entity_type import REVISION, EntityType
from ..schema.identities import given_identity
from ..schema.old_forms import OldForm
from ..store.locations import ReadResult
from ..store.lookups.backfill_steps import FillStep, is_counted
from ..store.lookups.lookup_records import lookup_keys, owner_in
from ..store.parts import StoreParts
from ..store.reader import Reader
from ..store.relations.enforced import enforced, record_name
from ..store.sequences import counter_key
from ..store.writing.old_form_actions import BringStep, LeaveStep, TakeStep
from ..store.writing.sender import CONDITION_FAILED
from ..store.writing.write_steps import WriteStep
from ..table import Table
from ..table.concurrency import run_concurrently
from ..table.operations import Action, DeleteItem
from ..table.values import Item, Value
from .old_bookkeeping import children_left
from .portions import portions
from .run_fence import RunEnded

MAX_EXAMPLES = 20
RECORDS_A_TRANSACTION = 25
TOGETHER = 10
"""How many records are brought in one transaction, when their values change hands."""
ATTEMPTS = 5
"""How often an old item is read that is changed whenever it is brought in."""
OF_THE_RUN = (BatchIncomplete, RunEnded, ShardMapChanged, TableUnavailable, Throttled)
"""The errors that say nothing of a record."""


@dataclass(frozen=True)
class NotBrought:
    """An old item, or a record, that can't be brought in or compared: its key, and the reason."""

    key: tuple[str, str]
    reason: str


@dataclass(frozen=True)
class PassCounts:
    """The results of a pass. `read` counts the items of the entity that were read, `same` those that were right,
    `written` and `removed` what was done, `differing` what was not equal, `changed` what other programs changed in that
    moment, which is left to the next pass, `refused` what can't be brought in."""

    read: int = 0
    same: int = 0
    written: int = 0
    removed: int = 0
    differing: int = 0
    changed: int = 0
    refused: int = 0
    examples: tuple[NotBrought, ...] = ()

    def __add__(self, other: PassCounts) -> PassCounts:
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        return PassCounts(**sums, examples=(self.examples + other.examples)[:MAX_EXAMPLES])


COUNTED = ("read", "same", "written", "removed", "differing", "changed", "refused")


@dataclass(frozen=True)
class _Write:
    """A write that may be in one transaction with others: its step, and how it is done `alone`. `item` is what it is
    about, `seen` what the step would read, if that was read already."""

    item: Item
    step: WriteStep
    alone: Callable[[], PassCounts]
    seen: ReadResult | None = None


class Passes:
    """The work of passes on pages of items. `old_table` is where the old items are, if it is another table."""

    def __init__(
        self, parts: StoreParts, entity: EntityType[Any], form: OldForm, old_table: Table | None, workers: int
    ) -> None:
        self._parts = parts
        self._entity = entity
        self._form = form
        self._here = old_table is None
        self._workers = workers
        self._fit = RECORDS_A_TRANSACTION
        self._numbered: dict[tuple[Any, ...], int] = {}
        self._old_reader = parts.reader if old_table is None else Reader(old_table, parts.waiting, parts.moment_of)

    def own(self, items: Sequence[Item]) -> list[Item]:
        """The live old items of the entity among some items."""
        seconds = self._parts.moment_of(self._entity).seconds
        return [each for each in items if self._form.is_own(each) and not self._is_expired(each, seconds)]

    def records(self, items: Sequence[Item]) -> list[Item]:
        """The live records of the entity among some items."""
        moment, hash_name = self._parts.moment_of(self._entity), self._entity.keys.design.hash_name
        return [
            item
            for item in items
            if self._parts.schema.entity_of_key(str(item[hash_name])) is self._entity
            and not self._entity.is_expired(item, moment.seconds)
        ]

    # -- of old items

    def bring(self, items: Sequence[Item]) -> PassCounts:
        """Bring records after their old items."""
        for each in self.own(items) if self._entity.sequences else ():
            self._count_on(each)
        counts, differing = self._differing(items)
        return counts + self._written([self._bringing(old, seen) for old, seen in differing])

    def look(self, items: Sequence[Item]) -> PassCounts:
        """Compare old items with their records as they were read."""
        counts, differing = self._differing(items)
        return counts + PassCounts(differing=len(differing))

    def verify(self, items: Sequence[Item]) -> PassCounts:
        """Compare old items with their records, each that differs once more."""

        def one(pair: tuple[Item, ReadResult]) -> PassCounts:
            old = pair[0]
            return self._tried(old, lambda: self._compared(self._form.key(old), self._identity(old)))

        counts, differing = self._differing(items)
        return _sum([counts, *run_concurrently(one, differing, self._workers)])

    def purge(self, items: Sequence[Item]) -> PassCounts:
        """Delete old items."""
        own = [each for each in items if self._form.is_own(each)]
        readable: list[tuple[Item, dict[str, Any]]] = []
        counts = [PassCounts(read=len(own))]
        for old in own:
            try:
                readable.append((old, self._form.image(self._form.read(old))))
            except ShardweaveError as error:
                counts.append(self._refused(old, error))
        earlier = self._form.old
        if earlier is not None and (earlier.lookups or earlier.relations or earlier.sequences):
            counts.append(self._written([self._leaving(earlier, old, image) for old, image in readable]))
            self._remove_counters(earlier, own)
        else:
            counts += [self._purged(some) for some in portions(readable)]
        return _sum(counts)

    def _differing(self, items: Sequence[Item]) -> tuple[PassCounts, list[tuple[Item, ReadResult]]]:
        """The old items that are not as their records, with what was found of these, and the counts of the others."""
        own = self.own(items)
        identities: list[Item] = []
        readable: list[Item] = []
        counts = [PassCounts(read=len(own))]
        for old in own:
            try:
                identities.append(self._identity(old))
                readable.append(old)
            except ShardweaveError as error:
                counts.append(self._refused(old, error))
        seen = self._parts.reader.find_now([(self._entity, identity) for identity in identities])
        differing = [
            (old, found)
            for old, found in zip(readable, seen, strict=True)
            if found.found is None or not self._form.is_same(old, found.found.item)
        ]
        return _sum([*counts, PassCounts(same=len(readable) - len(differing))]), differing

    def _identity(self, old: Item) -> dict[str, Any]:
        """The identity of an old item's record. Raises a ShardweaveError if the item can't become a record."""
        entity, values = self._entity, self._form.read(old)
        identity = given_identity(entity, values)
        missing = [name for name in entity.identity if name not in identity]
        if entity.timestamp is not None and values.get(entity.timestamp) is None:
            missing.append(entity.timestamp)
        if missing:
            raise ValueRefused(
                "the old item has no value", where=", ".join(missing), fix="give a default in the mapping"
            )
        entity.load(values)
        entity.check_timestamp(values, self._parts.moment_of(entity).now_ms)
        entity.complete(values, self._parts.moment_of(entity).shard_map)
        return identity

    def _bringing(self, old: Item, seen: ReadResult) -> _Write:
        step = BringStep(self._entity, self._identity(old), self._form, old, self._here)
        return _Write(old, step, lambda: self._brought(old, seen), seen)

    def _brought(self, old: Item, seen: ReadResult) -> PassCounts:
        """Bring a record after its old item, which is read again unless it is refused as it still is there."""
        key, there, found = self._form.key(old), old, seen
        for _ in range(ATTEMPTS):
            try:
                return self._brought_as_read(there, found)
            except (*OF_THE_RUN, TransactionConflict):
                raise
            except ShardweaveError as error:
                (now,) = self._old_reader.items([key])
                if now == there and not isinstance(error, (RevisionConflict, OutcomeUnknown)):
                    raise
            if now is None or not self.own([now]):
                return PassCounts(same=1)
            there = now
            (found,) = self._parts.reader.find_now([(self._entity, self._identity(there))])
        return PassCounts(changed=1)

    def _brought_as_read(self, old: Item, seen: ReadResult) -> PassCounts:
        step = BringStep(self._entity, self._identity(old), self._form, old, self._here)
        try:
            plan = self._parts.writer.run(step, seen)
        except ValueTaken:
            return self._brought_together(old)
        except ImmutableProperty:
            # Another program has deleted the record and made it anew.
            key = self._form.key(old)
            taken = TakeStep(self._entity, step.identity, None, form=self._form, key=key, instead=old, here=self._here)
            self._parts.writer.run(taken)
            plan = self._parts.writer.run(step)
        return PassCounts(written=1) if plan.writes else PassCounts(same=1)

    def _brought_together(self, old: Item) -> PassCounts:
        """Bring a record in one transaction with those that have its unique values yet, so that values change hands."""
        steps: dict[tuple[Any, ...], WriteStep] = {}
        waiting = [old]
        while waiting and len(steps) < TOGETHER:
            each = waiting.pop()
            identity = self._identity(each)
            steps[record_name(self._entity, identity)] = BringStep(self._entity, identity, self._form, each, self._here)
            for owner in self._owners(each):
                name = record_name(self._entity, owner)
                (seen,) = self._parts.reader.find_now([(self._entity, owner)])
                if name in steps or seen.found is None:
                    continue
                key = self._form.key(self._form.image(seen.found.item))
                (theirs,) = self._old_reader.items([key])
                if theirs is None:
                    steps[name] = TakeStep(self._entity, owner, None, form=self._form, key=key, here=self._here)
                else:
                    waiting.append(theirs)
        self._parts.writer.transact(list(steps.values()))
        return PassCounts(written=1)

    def _owners(self, old: Item) -> list[dict[str, Any]]:
        """The records that have an old item's unique values."""
        values = self._form.read(old)
        lookups = [each for each in self._entity.lookups.values() if each.unique]
        keys = [key for lookup in lookups for key in lookup_keys(self._entity, lookup, values)]
        return [owner_in(self._entity, each) for each in self._parts.reader.items(keys) if each is not None]

    def _count_on(self, old: Item) -> None:
        """Let the numbers that old items have not be given again."""
        for sequence in self._entity.sequences:
            scope = {element.name: old.get(element.name) for element in sequence.within}
            number, known = old.get(sequence.property_name), (sequence.property_name, *scope.values())
            if type(number) is int and number > self._numbered.get(known, 0):
                self._parts.numbering.advance(self._entity, sequence, scope, number)
                self._numbered[known] = number

    def _purged(self, olds: Sequence[tuple[Item, Item]]) -> PassCounts:
        """Delete old items that are still as their images say."""
        deletions: list[Action] = [DeleteItem(self._form.key(old), self._form.unchanged(image)) for old, image in olds]
        counts = PassCounts()
        while deletions:
            refusal = self._parts.sender.send(deletions)
            if refusal is None:
                return counts + PassCounts(removed=len(deletions))
            refused = [reason.code == CONDITION_FAILED for reason in refusal.reasons]
            counts += PassCounts(changed=sum(refused))
            deletions = [each for each, was in zip(deletions, refused, strict=True) if not was]
        return counts

    def _leaving(self, earlier: EntityType[Any], old: Item, image: Item) -> _Write:
        step = LeaveStep(earlier, earlier.identity_in(old), None, image=image, form=self._form)
        return _Write(old, step, partial(self._removed, step))

    def _remove_counters(self, earlier: EntityType[Any], olds: Sequence[Item]) -> None:
        """Delete the counters of an earlier declaration's numbers."""
        keys: dict[tuple[Value, ...], Item] = {}
        for sequence in earlier.sequences:
            for old in olds:
                scope = {element.name: old.get(element.name) for element in sequence.within}
                key = counter_key(earlier, sequence, scope)
                keys[tuple(key.values())] = key
        for each in keys.values():
            self._parts.sender.send([DeleteItem(each)])

    def uncount(self, items: Sequence[Item]) -> PassCounts:
        """Let parents count no old items, since there are none any more."""
        assert self._form.old is not None
        updates = [each for item in items for each in children_left(self._form.old, item)]
        for each in updates:
            self._parts.sender.send([each])
        return PassCounts(read=len(updates), written=len(updates))

    # -- of records

    def sweep(self, items: Sequence[Item]) -> PassCounts:
        """Delete records without an old item, and bring those after it whose old item was made anew since it was
        looked for."""

        def one(pair: tuple[Item, Item]) -> PassCounts:
            record, old = pair
            return self._tried(record, lambda: self._brought_anew(record, old))

        counts, found = self._with_old_items(items)
        having = [(record, old) for record, _, old in found if old is not None]
        swept = self._written([self._taking(record, key, here=self._here) for record, key, old in found if old is None])
        return _sum([counts, swept, *run_concurrently(one, having, self._workers)])

    def verify_records(self, items: Sequence[Item]) -> PassCounts:
        """Compare records with their old items, if they have none."""

        def one(pair: tuple[Item, Item]) -> PassCounts:
            record, key = pair
            return self._tried(record, lambda: self._compared(key, self._named(record)))

        counts, found = self._with_old_items(items)
        lacking = [(record, key) for record, key, old in found if old is None]
        return _sum([counts, *run_concurrently(one, lacking, self._workers)])

    def undo(self, items: Sequence[Item]) -> PassCounts:
        """Delete records."""
        records = self.records(items)
        taken = self._written([self._taking(record, NO_KEY, here=False) for record in records])
        return taken + PassCounts(read=len(records))

    def count(self, items: Sequence[Item]) -> PassCounts:
        """Let parents count the records that they do not count yet."""
        records = self.records(items)
        counts = PassCounts(read=len(records))
        for relation in enforced(self._entity):
            left = [each for each in records if not is_counted(self._entity, relation.name, each)]
            counts += self._written([self._counting(each, relation.name) for each in left])
        return counts

    def _counting(self, record: Item, relation: str) -> _Write:
        step = FillStep(self._entity, self._named(record), relation)

        def alone() -> PassCounts:
            return PassCounts(written=int(bool(self._parts.writer.run(step).actions)))

        return _Write(record, step, alone)

    def _with_old_items(self, items: Sequence[Item]) -> tuple[PassCounts, list[tuple[Item, Item, Item | None]]]:
        """The records among some items, each with the key of its old item, and that item if it is there."""
        records = self.records(items)
        keyed: list[tuple[Item, Item]] = []
        counts = [PassCounts(read=len(records))]
        for record in records:
            try:
                keyed.append((record, self._form.key(self._form.image(record))))
            except ShardweaveError as error:
                counts.append(self._refused(record, error))
        there = self._old_items([key for _, key in keyed])
        return _sum(counts), [(record, key, there.get(self._name(key))) for record, key in keyed]

    def _taking(self, record: Item, key: Item, *, here: bool) -> _Write:
        step = TakeStep(self._entity, self._named(record), None, form=self._form, key=key, here=here)
        return _Write(record, step, partial(self._removed, step))

    def _brought_anew(self, record: Item, old: Item) -> PassCounts:
        if not self.own([old]) or self._form.is_same(old, record):
            return PassCounts()
        (seen,) = self._parts.reader.find_now([(self._entity, self._identity(old))])
        counts = self._brought(old, seen)
        gone = counts.same and not self._old_items([self._form.key(old)])
        return self._taking(record, self._form.key(old), here=self._here).alone() if gone else counts

    def _named(self, record: Item) -> dict[str, Any]:
        return self._entity.identity_from(record)

    # -- both

    def _written(self, writes: Sequence[_Write]) -> PassCounts:
        """Carry out writes, as many in one transaction as fit; alone those of a transaction that is refused."""
        counts, left = PassCounts(), list(writes)
        while left:
            some = left[: self._fit]
            try:
                counts += self._in_one(some)
            except LimitExceeded:
                self._fit = max(1, len(some) // 2)
            else:
                left = left[len(some) :]
        return counts

    def _in_one(self, writes: Sequence[_Write]) -> PassCounts:
        """Carry out writes in one transaction. Raises LimitExceeded if they are too many."""
        if len(writes) > 1:
            try:
                seen = [each.seen for each in writes if each.seen is not None]
                steps = [each.step for each in writes]
                plans = self._parts.writer.transact(steps, seen if len(seen) == len(steps) else None)
            except (*OF_THE_RUN, LimitExceeded):
                raise
            except ShardweaveError:
                pass  # Which of them is refused, and why, each says alone.
            else:
                removed = sum(plan.removes for plan in plans)
                written = sum(bool(plan.actions) for plan in plans) - removed
                return PassCounts(written=written, removed=removed, same=len(plans) - written - removed)
        return _sum(run_concurrently(lambda each: self._tried(each.item, each.alone), writes, self._workers))

    def _removed(self, step: WriteStep) -> PassCounts:
        """Carry out a step that removes something."""
        return PassCounts(removed=int(self._parts.writer.run(step).writes))

    def _tried(self, item: Item, work: Callable[[], PassCounts]) -> PassCounts:
        """What was done with an item, or why not."""
        try:
            return work()
        except (*OF_THE_RUN, TransactionConflict):
            raise
        except (RevisionConflict, OutcomeUnknown):
            return PassCounts(changed=1)
        except ShardweaveError as error:
            return self._refused(item, error)

    def _compared(self, key: Item, identity: Item) -> PassCounts:
        """Whether an old item and its record differ at one moment."""
        wanted = [(self._entity, identity)]
        while True:
            (before,) = self._parts.reader.find_now(wanted)
            old = self._old_items([key]).get(self._name(key))
            (after,) = self._parts.reader.find_now(wanted)
            if _revision(before) == _revision(after):
                break
        if old is None or after.found is None:
            return PassCounts(differing=int((old is None) != (after.found is None)))
        return PassCounts(differing=int(not self._form.is_same(old, after.found.item)))

    def _old_items(self, keys: Sequence[Item]) -> dict[tuple[Any, Any], Item]:
        """The old items at some keys, by these, that are there and have not expired."""
        seconds = self._parts.moment_of(self._entity).seconds
        there = [item for item in self._old_reader.items(keys) if item is not None]
        return {self._name(item): item for item in there if not self._is_expired(item, seconds)}

    def _name(self, item: Item) -> tuple[Any, Any]:
        hash_name, range_name = self._form.key_names
        return item[hash_name], item[range_name]

    def _is_expired(self, old: Item, seconds: int) -> bool:
        ttl = self._entity.ttl
        return ttl is not None and self._entity.is_expired({ttl: old.get(self._form.renamed.get(ttl, ttl))}, seconds)

    def _refused(self, item: Item, error: ShardweaveError) -> PassCounts:
        names = self._form.key_names if self._form.is_own(item) else self._parts.table.layout.key_names
        key = tuple(str(item.get(name, "")) for name in names)
        return PassCounts(refused=1, examples=(NotBrought((key[0], key[1]), str(error)),))


NO_KEY: Item = {}


def _revision(seen: ReadResult) -> Any:
    return None if seen.found is None else (seen.found.item.get(REVISION), seen.found.generation)


def _sum(counts: Sequence[PassCounts]) -> PassCounts:
    total = PassCounts()
    for each in counts:
        total += each
    return total
