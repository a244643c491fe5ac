"""The table of a simulation: correct, and as weak as DynamoDB is allowed to be.

    transactions    decided at one moment; their items become visible one after the other; plain writes and other
                    transactions that meet them in between are in conflict
    plain reads     of the table may be of an older version of an item
    indexes         each follows the table item by item, with a lag of its own
    stream          changes of one item in order, of several in any
    TTL             removes an expired item some time, or never
    tokens          a transaction's token that was carried out is not carried out again

`written` is told of each change of an item. Costs: everything is in dictionaries and sorted when it is asked for.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shardweave.errors import (
    CancellationReason,
    ConditionFailed,
    IdempotentParameterMismatch,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from shardweave.table.conditions import Condition
from shardweave.table.layout import TableLayout
from shardweave.table.operations import (
    Action,
    BatchGet,
    BatchGetAnswer,
    BatchWrite,
    BatchWriteAnswer,
    ConditionCheck,
    DeleteItem,
    GetItem,
    ItemAnswer,
    Operation,
    PageAnswer,
    PutItem,
    Query,
    Scan,
    TransactAnswer,
    TransactGet,
    TransactGetAnswer,
    TransactWrite,
    UpdateItem,
    WriteAnswer,
)
from shardweave.table.stream_operations import StreamRecord
from shardweave.table.values import Item
from tests.simulator.scheduler import Simulation

Key = tuple[str, str]
STALE_MS = 2_000
TTL = "ttl"


@dataclass
class Version:
    """An item that was replaced, and until when it was there."""

    item: Item | None
    until: int


@dataclass(eq=False)
class Lag:
    """A change on its way into an index. `by` is who made it."""

    index: str
    key: Key
    item: Item | None
    deadline: int
    by: str


@dataclass
class Applying:
    """A transaction that was decided, while its items become visible."""

    server: Server
    left: list[tuple[Key, Item | None]]
    deadline: int
    token: str | None
    by: str
    done: bool = False

    def step(self) -> None:
        if self.left:
            key, item = self.left.pop()
            self.server.set(key, item, self.by)
        if not self.left:
            self.done = True
            self.server.unlock(self)


@dataclass
class Server:
    """The table's state. `max_lag_ms` is the longest that an index lags behind."""

    simulation: Simulation
    layout: TableLayout
    max_lag_ms: int
    request_ms: int
    ttl_removals: bool = True
    items: dict[Key, Item] = field(default_factory=dict)
    indexes: dict[str, dict[Key, Item]] = field(default_factory=dict)
    written: Callable[[Key, Item | None, Item | None, str], None] = lambda key, old, new, by: None
    conflicts: int = 0
    expired: int = 0
    """How many items the table removed since they had expired, and `halved` how many of them had another copy."""
    halved: int = 0

    def __post_init__(self) -> None:
        self.indexes = {index.name: {} for index in self.layout.indexes}
        self._older: dict[Key, deque[Version]] = {}
        self._locked: dict[Key, Applying] = {}
        self._lagging: list[Lag] = []
        self.events: dict[Key, deque[StreamRecord]] = {}
        self._tokens: dict[str, tuple[tuple[Action, ...], Applying]] = {}
        self._sequence = 0

    # -- what happens by itself

    def happen(self) -> int | None:
        """Let one thing happen by itself, and say when the next must."""
        draw = self.simulation.random
        for lag in [lag for lag in self._lagging if lag.deadline <= self.simulation.now]:
            if lag in self._lagging:
                self._follow(lag, up_to_it=True)
        if self._lagging and draw.random() < 0.3:
            self._follow(draw.choice(self._lagging))
        if self.ttl_removals and draw.random() < 0.02:
            self._remove_one_expired()
        return min((lag.deadline for lag in self._lagging), default=None)

    def _follow(self, lag: Lag, *, up_to_it: bool = False) -> None:
        """Bring the oldest change of an item into an index, or all of them up to this one."""
        entries = self.indexes[lag.index]
        for each in [each for each in self._lagging if each.index == lag.index and each.key == lag.key]:
            self._lagging.remove(each)
            if each.item is None:
                entries.pop(each.key, None)
            else:
                entries[each.key] = each.item
            if each is lag or not up_to_it:
                return

    def _remove_one_expired(self) -> None:
        seconds = self.simulation.now // 1000
        expired = [
            key
            for key, item in self.items.items()
            if item.get(TTL) is not None and item[TTL] <= seconds and key not in self._locked
        ]
        if expired:
            key = self.simulation.random.choice(expired)
            self.expired += 1
            self.halved += any(other[1] == key[1] and other != key for other in self.items)
            self.set(key, None, "ttl")

    def lagging_keys(self, by: Callable[[str], bool]) -> set[Key]:
        """The items of which some index does not show the newest change, made by such a one."""
        return {lag.key for lag in self._lagging if by(lag.by)}

    def settle(self) -> None:
        """Let every index catch up."""
        while self._lagging:
            self._follow(self._lagging[0])

    # -- items

    def set(self, key: Key, item: Item | None, by: str) -> None:
        old = self.items.get(key)
        if item == old:
            return
        now = self.simulation.now
        self._older.setdefault(key, deque(maxlen=4)).append(Version(old, now))
        if item is None:
            del self.items[key]
        else:
            self.items[key] = item
        for index in self.layout.indexes:
            names = index.hash_key.name, index.range_key.name
            shown = item if item is not None and all(name in item for name in names) else None
            lag = int(self.simulation.random.random() ** 3 * self.max_lag_ms)
            self._lagging.append(Lag(index.name, key, shown, now + lag, by))
        self._sequence += 1
        event = "INSERT" if old is None else "REMOVE" if item is None else "MODIFY"
        record = StreamRecord(
            event,
            self._key_item(key),
            old,
            item,
            str(self._sequence),
            str(self._sequence),
            now / 1000,
            by_service=by == "ttl",
        )
        self.events.setdefault(key, deque()).append(record)
        self.written(key, old, item, by)

    def unlock(self, applying: Applying) -> None:
        for key in [key for key, each in self._locked.items() if each is applying]:
            del self._locked[key]

    def key_of(self, item: Item) -> Key:
        hash_name, range_name = self.layout.key_names
        return item[hash_name], item[range_name]

    def _key_item(self, key: Key) -> Item:
        return dict(zip(self.layout.key_names, key, strict=True))

    # -- operations

    def execute(self, operation: Operation[Any], by: str) -> Any:
        """Carry out one operation at this moment; of a transaction, the job that makes it visible."""
        handlers: dict[type[Any], Callable[[Any, str], Any]] = {
            GetItem: self._get,
            BatchGet: self._batch_get,
            TransactGet: self._transact_get,
            Query: self._query,
            Scan: self._scan,
            PutItem: self._write,
            UpdateItem: self._write,
            DeleteItem: self._write,
            BatchWrite: self._batch_write,
            TransactWrite: self._transact,
        }
        return handlers[type(operation)](operation, by)

    def _get(self, operation: GetItem, by: str) -> ItemAnswer:
        return ItemAnswer(self._seen(self.key_of(operation.key), operation.consistent))

    def _batch_get(self, operation: BatchGet, by: str) -> BatchGetAnswer:
        keys, left = list(operation.keys), []
        if len(keys) > 1 and self.simulation.random.random() < 0.05:
            left = [keys.pop()]
        found = [self._seen(self.key_of(key), operation.consistent) for key in keys]
        return BatchGetAnswer(tuple(item for item in found if item is not None), tuple(left))

    def _transact_get(self, operation: TransactGet, by: str) -> TransactGetAnswer:
        keys = [self.key_of(key) for key in operation.keys]
        self._refuse_locked_transaction(keys)
        return TransactGetAnswer(tuple(self.items.get(key) for key in keys))

    def _seen(self, key: Key, consistent: bool) -> Item | None:
        if not consistent and self.simulation.random.random() < 0.3:
            for version in self._older.get(key, ()):
                if version.until > self.simulation.now - STALE_MS:
                    return version.item
        return self.items.get(key)

    def _write(self, operation: PutItem | UpdateItem | DeleteItem, by: str) -> WriteAnswer:
        key = self._key_of_action(operation)
        if key in self._locked:
            self.conflicts += 1
            raise TransactionConflict("a transaction is in progress on the same item", where="write", fix="retry")
        stored = self.items.get(key)
        if not _holds(operation.condition, stored):
            raise ConditionFailed(stored if operation.return_on_failure else None)
        new = _written(operation, stored)
        self.set(key, new, by)
        values = {"ALL_OLD": stored, "ALL_NEW": new, "UPDATED_NEW": new}.get(operation.return_values)
        return WriteAnswer(values)

    def _batch_write(self, operation: BatchWrite, by: str) -> BatchWriteAnswer:
        left = [item for item in operation.puts if self.key_of(item) in self._locked]
        puts = [item for item in operation.puts if item not in left]
        if len(puts) > 1 and self.simulation.random.random() < 0.1:
            left.append(puts.pop())
        for item in puts:
            self.set(self.key_of(item), dict(item), by)
        for key in operation.deletes:
            self.set(self.key_of(key), None, by)
        return BatchWriteAnswer(tuple(left))

    def _transact(self, operation: TransactWrite, by: str) -> TransactAnswer | Applying:
        if operation.token is not None and operation.token in self._tokens:
            actions, earlier = self._tokens[operation.token]
            if actions != operation.actions:
                raise IdempotentParameterMismatch("another content with the same token", where="token")
            if not earlier.done:
                raise TransactionInProgress("it is still in progress", where="token", fix="retry")
            return TransactAnswer()
        keys = [self._key_of_action(action) for action in operation.actions]
        assert len(set(keys)) == len(keys), "an item was named twice"
        assert len(keys) <= 100, "too many actions"
        self._refuse_locked_transaction(keys)
        reasons, changes = [], []
        for key, action in zip(keys, operation.actions, strict=True):
            stored = self.items.get(key)
            holds = _holds(action.condition, stored)
            shown = stored if action.return_on_failure else None
            reasons.append(CancellationReason("None") if holds else CancellationReason("ConditionalCheckFailed", shown))
            if holds and not isinstance(action, ConditionCheck):
                changes.append((key, _written(action, stored)))
        if any(reason.code != "None" for reason in reasons):
            raise TransactionCanceled(reasons)
        self.simulation.random.shuffle(changes)
        applying = Applying(self, changes, self.simulation.now + self.request_ms, operation.token, by)
        self._locked.update(dict.fromkeys(keys, applying))
        if operation.token is not None:
            self._tokens[operation.token] = operation.actions, applying
        self.simulation.jobs.append(applying)
        return applying

    def _refuse_locked_transaction(self, keys: list[Key]) -> None:
        if any(key in self._locked for key in keys):
            self.conflicts += 1
            raise TransactionCanceled(
                [CancellationReason("TransactionConflict" if key in self._locked else "None") for key in keys]
            )

    def _key_of_action(self, action: Action) -> Key:
        return self.key_of(action.item if isinstance(action, PutItem) else action.key)

    # -- pages

    def _query(self, operation: Query, by: str) -> PageAnswer:
        if operation.index is None:
            found = {
                key: item
                for key in (self.items if operation.consistent else [*self.items, *self._older])
                if key[0] == operation.hash_value and (item := self._seen(key, operation.consistent)) is not None
            }
        else:
            assert not operation.consistent, "an index has no consistent reads"
            entries = self.indexes[operation.index]
            found = {key: item for key, item in entries.items() if item[operation.hash_name] == operation.hash_value}
        low, high = operation.interval.low, operation.interval.high
        within = {
            key: item
            for key, item in found.items()
            if (low is None or item[operation.range_name] >= low)
            and (high is None or item[operation.range_name] <= high)
        }

        def order(key: Key, item: Item) -> tuple[Any, int, Key]:
            return item[operation.range_name], zlib.crc32(key[1].encode()), key

        ordered = sorted(within.items(), key=lambda pair: order(*pair), reverse=operation.descending)
        if operation.start_key is not None:
            start = order(self.key_of(operation.start_key), operation.start_key)
            ordered = [
                pair for pair in ordered if (order(*pair) < start if operation.descending else order(*pair) > start)
            ]
        names = (operation.hash_name, operation.range_name, *self.layout.key_names)
        return _page(operation, ordered, names)

    def _scan(self, operation: Scan, by: str) -> PageAnswer:
        parts = operation.total_segments

        def place(key: Key) -> tuple[int, Key]:
            return zlib.crc32(key[0].encode()), key

        found = [(key, item) for key, item in self.items.items() if place(key)[0] % parts == operation.segment]
        ordered = sorted(found, key=lambda pair: place(pair[0]))
        if operation.start_key is not None:
            start = place(self.key_of(operation.start_key))
            ordered = [pair for pair in ordered if place(pair[0]) > start]
        return _page(operation, ordered, self.layout.key_names)


def _page(operation: Query | Scan, ordered: list[tuple[Key, Item]], names: tuple[str, ...]) -> PageAnswer:
    limit = operation.limit or len(ordered) + 1
    read = [item for _, item in ordered[:limit]]
    passed = [item for item in read if operation.filter is None or operation.filter.evaluate(item)]
    last = {name: read[-1][name] for name in names} if len(ordered) >= limit and read else None
    items = () if operation.count_only else tuple(dict(item) for item in passed)
    return PageAnswer(items, len(passed), len(read), last, units=0.5)


def _holds(condition: Condition | None, stored: Item | None) -> bool:
    return condition is None or condition.evaluate(stored or {})


def _written(action: PutItem | UpdateItem | DeleteItem, stored: Item | None) -> Item | None:
    if isinstance(action, PutItem):
        return dict(action.item)
    if isinstance(action, DeleteItem):
        return None
    kept = {name: value for name, value in (stored or action.key).items() if name not in action.remove}
    added = {name: kept.get(name, 0) + value for name, value in action.add.items()}
    return {**kept, **action.set, **added}


def keys_in(items: dict[Key, Item], prefix: str) -> Iterator[tuple[Key, Item]]:
    """The items whose hash key begins so."""
    return ((key, item) for key, item in sorted(items.items()) if key[0].startswith(prefix))
