"""The store: writing and reading records.

Guarantees: a live record's identity is unique over all shards and generations; every generated attribute is recomputed
from the whole record on every write; a write that returned was carried out once, a write that raised (except
OutcomeUnknown) was not carried out; identity, placement and timestamp never change; an expired record is never
returned, and a new one can take its place. `unique_values`, `sequences` and `enforced` have the guarantees for unique
values, numbers and parents. Changes of a record keep attributes that the schema does not know.

Known limitation, as with all writes to DynamoDB: a first attempt may be delivered long after the writer has given up
waiting for its answer. Because of its conditions, such an attempt can only create a record again that has been deleted
meanwhile.

Costs, in requests:

    get                    1, with `shard_by` outside the identity 2
    create                 1; a transaction when the identity was given and there are several generations, or with
                           `shard_by` outside the identity, lookups, enforced relations, or where events are
                           projected too; a sequence one more
    put, update, delete    a get and a write; delete by `rev` with one generation: 1
    add                    as update; where the table adds (see `additions`) and there is one generation: 1
    get_by                 a read and a get
    find_by, expand        see `lookup_queries`, `relation_loader`
    apply                  see `event_applier`
    transact               a batched read and a transaction
    batch_get              1 for 100 keys and generation; batch_write: see `batches`
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ..errors import Unreadable
from ..schema.entity import Entity, now_ms
from ..schema.entity_type import EntityType
from ..schema.read_models import Event
from ..schema.schema import Schema
from ..schema.shard_maps import ShardMaps
from ..table import Table
from ..table.concurrency import MAX_WORKERS
from ..table.conditions import Condition
from ..table.operations import PutItem
from ..table.retry import RetryClock
from .attempts import AttemptContext
from .idempotency_keys import Answer, IdempotencyKey, KeptAnswer
from .lookups.backfill_state import Readiness
from .lookups.lookup_queries import Finder, FoundPage
from .lookups.lookup_spec import lookup_of, lookup_spec, lookup_values
from .operations import (
    Add,
    Among,
    BatchWriteResult,
    Changes,
    Create,
    Delete,
    Key,
    Operation,
    Put,
    Reset,
    Rev,
    Update,
    Upsert,
    Written,
    shard_of,
)
from .operations import Related as RelatedRecords
from .outcomes import BATCH_LISTS, MOST_SECONDS, SECONDS, Applied, BackfillReport, Deletion, Follow
from .reader import Reader, record_among
from .relations.relation_loader import Expander, First, Limits, Related

if TYPE_CHECKING:
    from .events.record_feed import RecordFeed
    from .parts import StoreParts
    from .write_parts import WriteParts

E = TypeVar("E", bound=Entity)


def new_revision() -> str:
    """A random revision of 16 URL-safe characters (96 bits)."""
    return secrets.token_urlsafe(12)


def new_token() -> str:
    """A random token for a transaction, of 32 characters."""
    return secrets.token_hex(16)


class Store:
    """The records of a schema in a table. Safe for use by many threads.

    `clock` gives epoch milliseconds, `maps` the shard maps in force (by default read from the table, see
    `maps_in_force`); `waiting`, `new_revision` and `new_token` provide pauses and random names. Deadlines are times of
    `monotonic`, the clock of `waiting`. `first` returns the first record that matches a query, for relations by an
    index. One call uses at most `workers` threads.
    """

    def __init__(
        self,
        schema: Schema,
        table: Table,
        *,
        clock: Callable[[], int] = now_ms,
        maps: ShardMaps | None = None,
        waiting: RetryClock | None = None,
        new_revision: Callable[[], str] = new_revision,
        new_token: Callable[[], str] = new_token,
        first: First | None = None,
        workers: int = MAX_WORKERS,
    ) -> None:
        self.schema = schema
        self.table = table
        self._clock = clock
        self._maps = _maps_in_force(table, clock) if maps is None else maps
        waiting = waiting or RetryClock()
        self.monotonic = waiting.monotonic
        moment = self._moment
        self._reader = reader = Reader(table, waiting, moment, workers)
        self._readiness = readiness = Readiness(schema, reader, self._send, moment, self._maps.has_evolved)
        self._finder = Finder(reader, readiness, waiting.monotonic)
        self._expander = Expander(schema, reader, self._finder, moment, first, waiting.monotonic, workers)
        self._waiting, self._workers = waiting, workers
        self._new_revision, self._new_token = new_revision, new_token
        self._making = Lock()
        self._written_with: WriteParts | None = None

    @property
    def parts(self) -> StoreParts:
        """The parts of this store, for maintenance."""
        return self._writing.parts

    @property
    def feed(self) -> RecordFeed:
        """What feeds the read models of records with the changes of the table."""
        return self._writing.feed

    @property
    def _writing(self) -> WriteParts:
        """The parts that write, made with the first write."""
        made = self._written_with
        return self._made_once() if made is None else made

    def _made_once(self) -> WriteParts:
        from .write_parts import WriteParts

        with self._making:
            if self._written_with is None:
                self._written_with = WriteParts(
                    self.schema,
                    self.table,
                    self._reader,
                    self._finder,
                    self._readiness,
                    self._moment,
                    clock=self._clock,
                    maps=self._maps,
                    waiting=self._waiting,
                    new_revision=self._new_revision,
                    new_token=self._new_token,
                    workers=self._workers,
                )
            return self._written_with

    def _send(self, puts: Sequence[PutItem]) -> object:
        return self._writing.parts.sender.send(puts)

    def _moment(self, entity: EntityType[Any]) -> AttemptContext:
        view = self._maps.view(entity)
        return AttemptContext(self._clock(), view.shard_map, view.mirror, view.marked, view.lease, view.old_form)

    # -- one record

    @overload
    def create(self, record: E, model: None = None) -> E: ...

    @overload
    def create(self, record: Mapping[str, Any], model: type[E]) -> E: ...

    def create(self, record: Entity | Mapping[str, Any], model: type[Entity] | None = None) -> Entity:
        """Write a new record and return it as stored. A mapping has properties by stored or Python name. Raises
        AlreadyExists when a live record has its identity (ValueTaken: a unique value), ParentMissing, ValidationFailed
        and other InputErrors."""
        return self._written(Create(record, model))

    @overload
    def put(self, record: E, model: None = None, *, rev: Rev = None) -> E: ...

    @overload
    def put(self, record: Mapping[str, Any], model: type[E], *, rev: Rev = None) -> E: ...

    def put(self, record: Entity | Mapping[str, Any], model: type[Entity] | None = None, *, rev: Rev = None) -> Entity:
        """Create or replace a whole record, and return it as stored. The stored timestamp and numbers stay, whatever
        was given. With `rev`, only that revision is replaced. Raises ValueTaken, RevisionConflict, ParentMissing,
        ImmutableProperty and other InputErrors."""
        return self._written(Put(record, model, rev))

    def write(self, operation: Operation) -> Written:
        """Carry out one operation and return its result. Raises the errors of the method with its name."""
        return self._writing.write(operation)

    def get(self, model: type[E], key: Key, *, visibility: Among | None = None) -> E | None:
        """The live record, or None. With a shard key only its shard is read first. `visibility` says which records the
        caller may see. Raises RecordUnreadable for a record that can't be read, if the caller may see all records."""
        entity = self.schema[model]
        (seen,) = self._reader.find_at([(entity, entity.identify(key), shard_of(key))])
        return record_among(entity, seen, visibility)

    def update(self, model: type[E], key: Key, changes: Changes, *, rev: Rev = None, upsert: Upsert = False) -> E:
        """Change properties of a record and return it as stored. `changes` has the new values by stored or Python name,
        None to remove one; or it is a function from the stored record to these, which is called again if another writer
        changed the record first. With `rev`, only that revision is changed. With `upsert`, a missing record is created
        from the key, the changes, and the mapping `upsert`. Raises NotFound, RevisionConflict, AlreadyExists,
        ParentMissing, ImmutableProperty and other InputErrors."""
        return cast("E", self._written(Update(model, key, changes, rev, upsert=upsert)))

    def add(
        self, model: type[E], key: Key, amounts: Mapping[str, Any], *, rev: Rev = None, upsert: Upsert = False
    ) -> E:
        """Add to numbers and sets of a record and return it as stored: concurrent additions are all carried out, each
        once. `rev`, `upsert` and the errors are as in `update`."""
        return cast("E", self._written(Add(model, key, amounts, rev, upsert=upsert)))

    def reset(self, model: type[E], key: Key, *names: str, rev: Rev = None) -> E:
        """Set numbers that a read model counts to 0, all of a record or those named, and return it: only what changes
        later counts. With `rev`, only that revision is reset. Raises NotFound, RevisionConflict and InputErrors."""
        return cast("E", self._written(Reset(model, key, names, rev)))

    def delete(
        self,
        model: type[Entity],
        key: Key,
        *,
        rev: Rev = None,
        visibility: Among | None = None,
        related: RelatedRecords | None = None,
        seconds: float | None = None,
        follow: Follow | None = None,
    ) -> bool:
        """Delete a record; False if there was none. With `rev`, only that revision is deleted. The relations of its
        children say what happens to them; `follow` is called for each changed child. `visibility` says which records
        the caller may see, `related` which of other entities. Raises RevisionConflict, HasChildren if other records
        belong to it, and DeleteIncomplete if `seconds` (10 by default) did not suffice to delete or detach all
        children: calling it again continues."""
        return self._writing.delete(Delete(model, key, rev, visibility, related), seconds, follow)

    def deletions(self) -> Iterator[Deletion]:
        """The deletions of records with many children that were begun and have not ended, and how far they are."""
        return self._writing.removing.deletions()

    def continue_deletions(self, *, seconds: float = SECONDS, follow: Follow | None = None) -> int:
        """Continue such deletions that no process works on, for at most so many seconds, and return how many were
        continued. `follow` is as in `delete`. Raises what the table raises."""
        return self._writing.removing.go_on(seconds, follow)

    # -- several records

    def transact(self, operations: Sequence[Operation]) -> tuple[Entity | None, ...]:
        """Carry out several operations atomically, and return the written records, None for deletes, checks and events.
        `where` of an error names its operation (`operations[1]`). Unlike `delete`, deleting a missing record raises
        NotFound. Raises LimitExceeded for more than 100 actions or 4 MB: one for each record, two while a re-shard
        moves it, one for each of its lookup records and parents' counters."""
        return self._writing.transact(operations)

    def execute(
        self,
        operations: Sequence[Operation],
        once: IdempotencyKey | None,
        answer: Callable[[tuple[Written, ...]], bytes],
        *,
        seconds: float | None = None,
        follow: Follow | None = None,
    ) -> bytes:
        """Carry out operations like `transact`, or with `once` like `idempotent`, and return their answer. A single
        operation has the errors of that operation alone, and a single deletion also changes children, like `delete`.
        `answer` may also be called for attempts that fail."""
        return self._writing.execute(operations, once, answer, seconds, follow)

    def batch_get(
        self,
        model: type[E],
        keys: Sequence[Key],
        *,
        seconds: float | None = None,
        visibility: Among | None = None,
        unreadable: Callable[[Unreadable], object] | None = None,
    ) -> list[E | None]:
        """The live records of the keys, in their order, None for a missing record. Raises BatchIncomplete with the
        positions that could not be read within `seconds`, and the records `found` at the others. A record that can't be
        read raises RecordUnreadable; if the function `unreadable` is given, it is called instead and the record is
        None."""
        return cast("list[E | None]", self._reader.records(self.schema[model], keys, seconds, visibility, unreadable))

    def batch_write(
        self,
        puts: Sequence[Entity | Put] = (),
        deletes: Sequence[Delete] = (),
        updates: Sequence[Update] = (),
        *,
        seconds: float = MOST_SECONDS,
        follow: Follow | None = None,
        names: Sequence[str] = BATCH_LISTS,
    ) -> BatchWriteResult:
        """Carry out puts (as `put` does), deletes (as `delete` does) and updates (as `update` does), each on its own,
        and say of each what became of it. What could not be done within `seconds` is `unprocessed`. Raises InputError
        when two are about one record, by the caller's `names` of the three lists."""
        return self._writing.write_batch(puts, deletes, updates, seconds, follow, names)

    # -- by a value

    def get_by(
        self, model: type[E], name: str, value: Any, *, within: Mapping[str, Any] = MappingProxyType({})
    ) -> E | None:
        """The live record whose unique property has this value, or None. `name` is the name of the lookup or its
        property, `within` has the values of its scope. Raises LookupNotReady, UnknownName, ValidationFailed."""
        entity = self.schema[model]
        return cast("E | None", self._finder.one(entity, name, lookup_values(entity, name, value, within)))

    def find_by(
        self,
        model: type[Entity],
        name: str,
        value: Any = None,
        *,
        within: Mapping[str, Any] = MappingProxyType({}),
        reverse: bool = False,
        filter: Condition | None = None,
        limit: int = 100,
        after: str | None = None,
        backwards: bool = False,
        visibility: Among | None = None,
        deadline: float | None = None,
    ) -> FoundPage:
        """A page of the live records with this value, in the order of their ids, or, by an ordered lookup, of those
        that meet a condition on it, or of all, in the order of the values; with `reverse` in the other direction. They
        pass the `filter`. `after` comes from the page before, see `FoundPage`, read `backwards` for the one before it;
        `visibility` says which records the caller may see; `deadline` (of `monotonic`) cuts the page short. Raises as
        `get_by` does, and InputError, LimitExceeded."""
        entity = self.schema[model]
        spec = lookup_spec(entity, name, value, within, reverse=reverse, filter=filter)
        how: dict[str, Any] = {"backwards": backwards, "visibility": visibility, "deadline": deadline}
        return self._finder.page(entity, spec, limit, after, **how)

    def backfill(
        self,
        model: type[Entity],
        name: str,
        *,
        again: bool = False,
        follow: Callable[[BackfillReport], None] = lambda report: None,
    ) -> BackfillReport:
        """Add all stored records to a lookup or enforced relation that was declared later; `follow` is called for every
        page. With `again` also if it is ready. Raises Conflict if another backfill is running."""
        entity = self.schema[model]
        relations = [each.name for each in entity.relations.values() if each.enforced]
        known = name if name in relations else lookup_of(entity, name, relations).name
        return self._writing.backfill.run(entity, known, again=again, follow=follow)

    def decide_lookups(self) -> tuple[str, ...]:
        """Mark every lookup and enforced relation of an entity without stored records as ready, and return the names of
        those that need `backfill`, such as `user.phone`. Call it after creating a table, before others write to it."""
        return self._readiness.decide()

    # -- numbers

    def take(self, model: type[Entity], name: str, *, within: Any = None, count: int = 1) -> range:
        """The next `count` numbers of a sequence, for records that are created with their numbers given. `within` is
        the value of the scope, or a mapping if the scope has several properties."""
        return self._writing.take(self.schema[model], name, within, count)

    def advance(self, model: type[Entity], name: str, *, within: Any = None, to: int) -> None:
        """Make a sequence continue above `to`, which is needed if records have numbers that it did not give out."""
        self._writing.advance(self.schema[model], name, within, to)

    # -- relations

    def expand(self, records: Sequence[Entity], *names: str, deadline: float | None = None) -> list[dict[str, Related]]:
        """The related records of each record, by the relations' names: a record or None, or a tuple of the existing
        records of a list. All of a page are read together, each once. If `deadline` (of `monotonic`) passes, records at
        the end whose related records were not read are left out."""
        return list(self._expander.expand(records, names, deadline))

    def expanding(
        self,
        records: Sequence[Entity],
        *names: str,
        deadline: float | None = None,
        visible: RelatedRecords | None = None,
        limits: Limits | None = None,
    ) -> Iterator[dict[str, Related]]:
        """Like `expand`, as an iterator within `limits`: if it is not consumed further, reading stops after some
        hundreds of related records. `visible` says which related records the caller may see. Raises AnswerTooLarge or
        TooManyReads if the first record alone exceeds a limit."""
        return self._expander.expand(records, names, deadline, visible, limits)

    def expanding_each(
        self,
        records: Sequence[tuple[Entity, Sequence[str]]],
        *,
        deadline: float | None = None,
        visible: RelatedRecords | None = None,
        limits: Limits | None = None,
    ) -> Iterator[dict[str, Related]]:
        """Like `expanding`, for records of any entities, each with its own relations, which are read together."""
        return self._expander.expand_each(records, deadline, visible, limits)

    # -- once

    def idempotent(self, once: IdempotencyKey, operations: Sequence[Operation], answer: Answer) -> KeptAnswer:
        """Carry out operations like `transact` and store their answer in the same transaction, or return the stored
        answer. A single operation has the errors of that operation alone. Raises IdempotencyMismatch if the key was
        used for another request."""
        return self._writing.idempotent(once, operations, answer)

    def idempotent_work(self, once: IdempotencyKey, work: Callable[[], bytes]) -> KeptAnswer:
        """Do work of several transactions and store its answer, or return the stored answer. The work may be done again
        if a process died during it. Raises IdempotencyMismatch, StillInProgress."""
        return self._writing.idempotency.worked(once, work)

    # -- events

    def apply(self, read_model: str, event: Event) -> Applied:
        """Apply an event to a read model of the schema, once, in one transaction, and in order per record (see
        `read_models`). Raises UnknownName, InputErrors, IdempotencyMismatch if another event has its id, and
        AlreadyExists if another record has a unique value."""
        return self._writing.projector.apply(self.schema.read_model(read_model), event)

    # -- parts

    def _written(self, operation: Operation) -> Entity:
        record = self.write(operation).record
        assert record is not None, "a create, put or update ends with the record that it wrote"
        return record


def _maps_in_force(table: Table, clock: Callable[[], int]) -> ShardMaps:
    from ..reshard.leased_maps import maps_in_force  # the module is built on this package

    return maps_in_force(table, clock)
