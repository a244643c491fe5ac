"""The store: records in, records out.

Guarantees: a live record's identity is unique over all shards and generations; every generated attribute is
recomputed from the whole record on every write; a write that returned happened once, one that raised (but for
OutcomeUnknown) did not happen; identity, placement and timestamp never change; an expired record is never seen, and
makes room for a new one. Attributes that the schema does not know stay as they are through every change of a record.

What stays open, as everywhere on DynamoDB: a write whose first attempt is delivered long after its answer was given
up. On conditions it can do nothing but create what has been deleted meanwhile.

Costs, in requests:

    get                    1, with `shard_by` outside the identity 2
    create                 1; a transaction when the identity was given and there are several generations, or with
                           `shard_by` outside the identity
    put, update, delete    a get and a write; delete by `rev` with one generation: 1
    transact               a batched read and a transaction
    batch_get              1 for 100 keys and generation; batch_write: see `batches`
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from ..entity import Entity, now_ms
from ..entity_type import EntityType
from ..schema import Schema
from ..shard_maps import ShardMaps, StaticMaps
from ..table import Table
from .actions import Moment
from .batches import DEADLINE, Batches
from .operations import BatchWriteResult, Changes, Create, Delete, Key, Operation, Put, Update
from .reads import Reader, Wanted
from .retries import Waiting
from .sending import Sender
from .steps import Context, StepMaker
from .writer import Writer

E = TypeVar("E", bound=Entity)


def new_revision() -> str:
    """A random revision of 16 URL-safe characters (96 bits)."""
    return secrets.token_urlsafe(12)


def new_token() -> str:
    """A random token for a transaction, of 32 characters."""
    return secrets.token_hex(16)


class Store:
    """The records of a schema in a table. Safe for use by many threads.

    `clock` gives epoch milliseconds, `maps` the shard maps in force; `waiting`, `new_revision` and `new_token` are
    what pauses and random names are made of.
    """

    def __init__(
        self,
        schema: Schema,
        table: Table,
        *,
        clock: Callable[[], int] = now_ms,
        maps: ShardMaps | None = None,
        waiting: Waiting | None = None,
        new_revision: Callable[[], str] = new_revision,
        new_token: Callable[[], str] = new_token,
    ) -> None:
        self.schema = schema
        self.table = table
        self._clock = clock
        self._maps = maps or StaticMaps()
        waiting = waiting or Waiting()
        generated = frozenset(name for entity in schema.entities.values() for name in entity.keys.names)
        context = Context(new_revision, generated)
        self._steps = StepMaker(schema, context, self._moment)
        self._reader = Reader(table, waiting)
        sender = Sender(table, waiting, new_token)
        self._writer = Writer(self._reader, sender, waiting, context, self._moment)
        self._batches = Batches(self._reader, sender, self._writer, self._steps, waiting, self._moment)

    def _moment(self, entity: EntityType[Any]) -> Moment:
        return Moment(self._clock(), self._maps.current(entity))

    # -- one record

    @overload
    def create(self, record: E, model: None = None) -> E: ...

    @overload
    def create(self, record: Mapping[str, Any], model: type[E]) -> E: ...

    def create(self, record: Entity | Mapping[str, Any], model: type[Entity] | None = None) -> Entity:
        """Write a new record and give it as stored. A mapping holds properties by stored or Python name. Raises
        AlreadyExists when a live record has its identity, ValidationFailed and other InputErrors."""
        return self._written(Create(record, model))

    @overload
    def put(self, record: E, model: None = None) -> E: ...

    @overload
    def put(self, record: Mapping[str, Any], model: type[E]) -> E: ...

    def put(self, record: Entity | Mapping[str, Any], model: type[Entity] | None = None) -> Entity:
        """Write a whole record, whether one with its identity exists or not, and give it as stored. The timestamp
        that is stored stays, whatever was given. Raises ImmutableProperty and other InputErrors."""
        return self._written(Put(record, model))

    def get(self, model: type[E], key: Key) -> E | None:
        """The live record, or None."""
        entity = self.schema[model]
        wanted = Wanted(entity, entity.identify(key), self._moment(entity))
        (seen,) = self._reader.find([wanted])
        return None if seen.found is None else entity.load(seen.found.item)

    def update(self, model: type[E], key: Key, changes: Changes, *, rev: str | None = None) -> E:
        """Change properties of a record and give it as stored. `changes` has the new values by stored or Python name,
        None to remove one; or it is a function from the stored record to that, called again when another writer was
        faster. With `rev`, only that revision is changed. Raises NotFound, RevisionConflict, ImmutableProperty and
        other InputErrors."""
        return cast("E", self._written(Update(model, key, changes, rev)))

    def delete(self, model: type[Entity], key: Key, *, rev: str | None = None) -> bool:
        """Remove a record. False when there was none. With `rev`, only that revision is removed. Raises
        RevisionConflict."""
        return self._writer.run(self._steps.make(Delete(model, key, rev))).removes

    # -- several records

    def transact(self, operations: Sequence[Operation]) -> tuple[Entity | None, ...]:
        """Carry out several operations, all or none, and give the records written, None for deletes and checks. An
        error says which operation it is about in `where` (`operations[1]`). Here, deleting what is not there raises
        NotFound. Raises LimitExceeded for more than 100 actions or 4 MB; each action on a record counts twice."""
        return tuple(plan.record for plan in self._writer.transact(self._steps.make_all(operations)))

    def batch_get(self, model: type[E], keys: Sequence[Key], *, deadline: float | None = None) -> list[E | None]:
        """The live records of the keys, in their order, None where there is none. Raises BatchIncomplete naming the
        positions that could not be read within `deadline` seconds."""
        return cast("list[E | None]", self._batches.get(self.schema[model], keys, deadline))

    def batch_write(
        self, puts: Sequence[Entity | Put] = (), deletes: Sequence[Delete] = (), *, deadline: float = DEADLINE
    ) -> BatchWriteResult:
        """Carry out puts (as `put` does) and deletes, each on its own, and say of each what became of it. What could
        not be done within `deadline` seconds is `unprocessed`. Raises InputError when two are about one record."""
        operations = [each if isinstance(each, Put) else Put(each) for each in puts]
        return self._batches.write(operations, deletes, deadline)

    def _written(self, operation: Operation) -> Entity:
        record = self._writer.run(self._steps.make(operation)).record
        assert record is not None, "a create, put or update ends with the record that it wrote"
        return record
