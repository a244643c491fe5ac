"""Deleting a parent with more children than one transaction changes, as work that is stored: any process goes on.

Format, one record beside the progress of other long work:
    hashKey     _maintenance!
    rangeKey    delete#project#9f2c...    token of the parent, and SHA-256 of its id as text, in hexadecimal
    state       entity, id     which record it is
                since          when it began, in epoch milliseconds
                total          how many children there were then
                until          when another process may go on with it, in epoch milliseconds
    rev         a revision, new with every change
and on the parent's counter (see `enforced`), from the beginning to the end:
    _deleting   when it began

Both are written in one transaction, on condition that no relation restricts the deletion, and removed in the
transaction that deletes the parent. In between no child is created or gets this parent, so the work has an end; how
many children are left is what the counter says, exactly, at any time. `until` only keeps processes from doing the same
at once: two that do are in each other's way, and do no harm.

Costs: a transaction to begin, one action more to end, and a read and a write whenever a process goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from ...errors import ShardweaveError
from ...query.intervals import prefix_text
from ...schema.entity_type import REVISION, EntityType
from ...table.conditions import And, Compare, Condition, Exists, Missing, Or
from ...table.operations import DeleteItem, PutItem, Query, UpdateItem
from ...table.values import Item, Value
from ..attempts import AttemptContext
from ..lookups.lookup_records import owner_text
from ..outcomes import Deletion
from ..reader import Reader
from ..writing.sender import Sender
from ..writing.write_actions import ActionRole, WriteAction, as_read
from .enforced import DELETING, counter_key, restricting

PARTITION = "_maintenance"
STATE = "state"
KIND = "delete#"
PAGE = 25
MARGIN_MS = 5_000


def work_key(entity: EntityType[Any], name: str) -> dict[str, Value]:
    """The key of a piece of long work's record."""
    design = entity.keys.design
    return {design.hash_name: f"{PARTITION}{entity.keys.format.shard_delimiter}", design.range_name: name}


def deletion_key(entity: EntityType[Any], identity: Item) -> dict[str, Value]:
    """The key of the record of a parent's deletion."""
    return work_key(entity, f"{KIND}{entity.token}#{sha256(owner_text(entity, identity).encode()).hexdigest()}")


@dataclass(frozen=True)
class DeletionWork:
    """A deletion that was begun."""

    entity: EntityType[Any]
    identity: Item
    since: int
    total: int
    until: int
    item: Item

    @classmethod
    def decode(cls, entities: Mapping[str, EntityType[Any]], item: Item) -> DeletionWork | None:
        """The work of a stored record, None for one that is damaged, or of an entity that is no longer declared."""
        state = item.get(STATE)
        try:
            assert isinstance(state, Mapping)
            entity = entities[str(state["entity"])]
            named: Any = state["id"]
            identity = {name: named[name] for name in entity.identity}
            since, total, until = (int(state[name]) for name in ("since", "total", "until"))
        except (AssertionError, KeyError, TypeError, ValueError):
            return None
        return cls(entity, identity, since, total, until, item)

    @property
    def ending(self) -> WriteAction:
        """The action that removes the record, in the transaction that deletes the parent."""
        return WriteAction(DeleteItem(deletion_key(self.entity, self.identity)), ActionRole.KEPT)


@dataclass(frozen=True)
class StoredDeletions:
    """Begins, finds and ends such work; safe for many threads."""

    reader: Reader
    sender: Sender
    entities: Mapping[str, EntityType[Any]]
    new_revision: Callable[[], str]
    moment_of: Callable[[EntityType[Any]], AttemptContext]

    def begun(self, entity: EntityType[Any], identity: Item, seconds: float) -> DeletionWork | None:
        """The work of a parent's deletion: one that was begun, by whomever, or else a new one. None if there is none,
        and none can begin, since the children have changed or are gone: try the deletion again."""
        counter, stored = self.reader.items([counter_key(entity, identity), deletion_key(entity, identity)])
        now = self.moment_of(entity).now_ms
        until = now + int(seconds * 1000) + MARGIN_MS
        if counter is None:
            return None
        if DELETING in counter:
            found = None if stored is None else DeletionWork.decode(self.entities, stored)
            if found is not None:
                self._put(replace(found, until=until))
                return found
            # Only its record was removed, or damaged, by another program: it is written anew.
        total = sum(counter.get(link.attribute, 0) for link in entity.children)
        since = counter.get(DELETING, now)
        work = DeletionWork(entity, identity, since, total, until, stored or {})
        mark = UpdateItem(counter_key(entity, identity), set={DELETING: since}, condition=_as_counted(entity, counter))
        return work if self.sender.send([mark, self._record(work)]) is None else None

    def listed(self, after: Item | None = None) -> tuple[list[DeletionWork], Item | None]:
        """Some deletions that were begun, and where the next ones begin; None at the end."""
        entity = next(iter(self.entities.values()))
        key, interval = work_key(entity, KIND), prefix_text(KIND)
        assert interval is not None
        names = entity.keys.design.hash_name, entity.keys.design.range_name
        query = Query(names[0], key[names[0]], names[1], interval, limit=PAGE, start_key=after, consistent=True)
        page = self.reader.page(query)
        found = (DeletionWork.decode(self.entities, item) for item in page.items)
        return [each for each in found if each is not None], page.last_key

    def every(self) -> Iterator[DeletionWork]:
        """All deletions that were begun, read page by page."""
        after: Item | None = None
        while True:
            found, after = self.listed(after)
            yield from found
            if after is None:
                return

    def taken(self, work: DeletionWork, seconds: float) -> bool:
        """Whether this process goes on with some work: no other one does, as far as anybody knows."""
        now = self.moment_of(work.entity).now_ms
        return work.until <= now and self._put(replace(work, until=now + int(seconds * 1000) + MARGIN_MS))

    def release(self, work: DeletionWork) -> None:
        """Let any process go on with some work that this one has taken, and for which it has no more time."""
        (item,) = self.reader.items([deletion_key(work.entity, work.identity)])
        held = None if item is None else DeletionWork.decode(self.entities, item)
        if held is not None:
            self._put(replace(held, until=self.moment_of(work.entity).now_ms))

    def progress(self, works: Sequence[DeletionWork]) -> list[Deletion]:
        """How far some work is. Work that has ended meanwhile is left out."""
        counters = self.reader.items([counter_key(each.entity, each.identity) for each in works])
        found = []
        for work, counter in zip(works, counters, strict=True):
            if counter is not None and DELETING in counter:
                left = sum(counter.get(link.attribute, 0) for link in work.entity.children)
                identifying = work.entity.identifying
                named = {name: identifying[name].python(value) for name, value in work.identity.items()}
                total = max(work.total, left)
                found.append(Deletion(work.entity.token, named, work.since, total, left, work.until))
        return found

    def end(self, work: DeletionWork, closing: WriteAction) -> None:
        """End the deletion of a parent that is gone already."""
        self.sender.send([closing.action, work.ending.action])

    # -- parts

    def _record(self, work: DeletionWork) -> PutItem:
        state = {
            "entity": work.entity.token,
            "id": dict(work.identity),
            "since": work.since,
            "total": work.total,
            "until": work.until,
        }
        item = {**deletion_key(work.entity, work.identity), STATE: state, REVISION: self.new_revision()}
        hash_name = work.entity.keys.design.hash_name
        return PutItem(item, as_read(work.item) if work.item else Missing(hash_name), return_on_failure=True)

    def _put(self, work: DeletionWork) -> bool:
        try:
            return self.sender.send([self._record(work)]) is None
        except ShardweaveError as error:
            if error.maybe_written:
                return False
            raise


def _as_counted(entity: EntityType[Any], counter: Item) -> Condition:
    """The condition under which a deletion may begin: there are still children, and none that restrict it."""
    conditions: list[Condition] = [Exists(entity.keys.design.hash_name)]
    conditions += [Or((Missing(each.attribute), Compare(each.attribute, "=", 0))) for each in restricting(entity)]
    begun = DELETING in counter
    conditions.append(Compare(DELETING, "=", counter[DELETING]) if begun else Missing(DELETING))
    return And(tuple(conditions))
