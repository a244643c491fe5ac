"""The database: the object that programs use, with a schema and a table.

    db = Database(schema)                            embedded, in memory: tests and notebooks
    db = Database(schema, path="data")               embedded, in a folder
    db = Database(schema, table_name="orders")       DynamoDB; region, endpoint and credentials from the usual places

Guarantees: reads and writes go by the shard maps that are in force, also while another process moves the records; what
is given a class of the schema takes its token as well; a query gives whole records, of the class that was asked for;
whatever is wrong with what is given is a ShardweaveError that names it, and changes nothing. Safe for many threads.
Opened with `with`, it closes what it opened; a client that was given stays open.

Costs are those of `store` and `query`, and one request for each 100 whole records that an index does not hold.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

from typing_extensions import TypeVar

from ..errors import InputError
from ..query.cursor import CursorKeys
from ..query.explain import Explanation
from ..query.fanout import DEFAULT_THROTTLE
from ..query.runner import QueryRunner
from ..query.shorthand import constraints
from ..query.spec import DEFAULT_LIMIT, BranchSpec, Page, QuerySpec
from ..schema.entity import Entity, now_ms
from ..schema.schema import Schema
from ..store import Add, BatchWriteResult, Delete, Operation, Put, RetryClock, Store, Update
from ..store.operations import Changes, Key
from ..table.conditions import Condition
from .arguments import (
    branches_of,
    check_amounts,
    check_batch,
    check_changes,
    check_lookup,
    check_operations,
    check_returning,
    check_revision,
    check_upsert,
    key_list,
    named_here,
    record_of,
    token_given,
)
from .asked_entities import Asked, query_spec
from .parts import found_page, opened_parts, records_of
from .read_models import ReadModels

if TYPE_CHECKING:
    from .scans import EntityScan
    from .shadow import Shadow

E = TypeVar("E", bound=Entity, default=Any)
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Database(ReadModels):
    """The records of a schema. `store` and `queries` are for those who need more than its methods.

    `name` is the table's in the folder, "database" where none is given; that of a service opens the service's table.
    `region`, `endpoint_url`, `client` (boto3's), `transport` ("auto", "direct" or "botocore") and `observe`, which is
    called for each attempt of the direct transport, are for DynamoDB. `cursor_keys` seal the tokens of pages; those of
    a folder are kept in it, others are made up here where none are given, and tokens are good in this object alone.
    `clock` gives epoch milliseconds, and pauses are made of `waiting`; `throttle` is how many reads are under way at
    once. `rekey` says how records that are being brought in were stored. A `shadow` asks another database the same.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        path: str | os.PathLike[str] | None = None,
        name: str | None = None,
        table_name: str | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        client: Any = None,
        transport: str | None = None,
        observe: Callable[[Any], object] | None = None,
        cursor_keys: CursorKeys | None = None,
        clock: Callable[[], int] = now_ms,
        waiting: RetryClock | None = None,
        throttle: int = DEFAULT_THROTTLE,
        rekey: Mapping[str, Any] | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        dynamodb = {"region": region, "endpoint_url": endpoint_url, "client": client, "transport": transport}
        options: dict[str, Any] = {"path": path, "name": name, "table_name": table_name, "keys": cursor_keys}
        options |= {"clock": clock, "waiting": waiting, "throttle": throttle, "rekey": rekey, "shadow": shadow}
        self._store, self._queries = opened_parts(schema, **options, dynamodb={**dynamodb, "observe": observe})
        self._owned, self._closed = True, False
        if shadow is not None:
            shadow.attach(self)

    @classmethod
    def over(cls, store: Store, queries: QueryRunner) -> Self:
        """A database of parts that were put together elsewhere, which also closes them."""
        found = cls.__new__(cls)
        found._store, found._queries, found._owned, found._closed = store, queries, False, False
        return found

    # -- its life

    @property
    def schema(self) -> Schema:
        """The schema."""
        return self._store.schema

    @property
    def store(self) -> Store:
        """The store: idempotent writes, sequences, events, backfills. Raises an error after closing."""
        self._check_open()
        return self._store

    @property
    def queries(self) -> QueryRunner:
        """The query runner: chosen properties, budgets, statistics. Raises an error after closing."""
        self._check_open()
        return self._queries

    def close(self) -> None:
        """Close the database; then every method raises an error."""
        if not self._closed:
            self._closed = True
            if self._owned:
                self._queries.close()
                self._store.table.close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("it is closed", where="database", fix="use it inside its with block, or open another one")

    # -- one record

    @overload
    def create(self, record: E, /) -> E: ...

    @overload
    def create(self, entity: type[E] | str, values: Mapping[str, Any], /) -> E: ...

    def create(self, record: Any, values: Mapping[str, Any] | None = None, /) -> Any:
        """Write a new record, and return it as stored. Raises AlreadyExists when a live record has its identity
        (ValueTaken: a unique value), ParentMissing, ValidationFailed and other InputErrors."""
        given, model = record_of(self.schema, record, values)
        return self.store.create(given, model)

    @overload
    def put(self, record: E, /, *, rev: str | None = None) -> E: ...

    @overload
    def put(self, record: E, /, *, rev: str | None = None, returning: Literal["old"]) -> E | None: ...

    @overload
    def put(self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None) -> E: ...

    @overload
    def put(
        self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    def put(
        self,
        record: Any,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> Any:
        """Create or replace a whole record, and return it as stored, or with `returning` the previous one or None. With
        `rev`, only that revision is replaced. Raises ValueTaken, RevisionConflict, ParentMissing, ImmutableProperty and
        other InputErrors."""
        check_revision(rev)
        check_returning(returning)
        given, model = record_of(self.schema, record, values)
        return self._written(Put(given, model, rev, returning=returning is not None), before=returning is not None)

    def get(self, entity: type[E] | str, key: Key, /) -> E | None:
        """The live record, or None. `key` is the value of the identifying property, a mapping if there are several, or
        its shard key. Raises RecordUnreadable for a stored record that can't be read as one of the entity."""
        return self.store.get(self._model(entity), key)

    def update(
        self,
        entity: type[E] | str,
        key: Key,
        changes: Changes,
        /,
        *,
        rev: str | None = None,
        upsert: bool | Mapping[str, Any] = False,
    ) -> E:
        """Change properties of a record, and return it as stored. `changes` has the new values, None to remove one; or
        it is a function from the stored record to these. With `rev`, only that revision is changed. With `upsert` a
        record is made where there is none, of the key, the changes and what `upsert` maps properties to. Raises
        NotFound, RevisionConflict, AlreadyExists, ParentMissing, ImmutableProperty and other InputErrors."""
        check_revision(rev)
        check_changes(changes)
        check_upsert(upsert)
        return cast("E", self._written(Update(self._model(entity), key, changes, rev, upsert=upsert)))

    def add(
        self,
        entity: type[E] | str,
        key: Key,
        amounts: Mapping[str, Any],
        /,
        *,
        rev: str | None = None,
        upsert: bool | Mapping[str, Any] = False,
    ) -> E:
        """Add to numbers and sets of a record, and return it as stored: concurrent additions are all carried out, each
        once. A negative amount subtracts; a missing number counts as 0, a missing set as empty. `rev` and `upsert` are
        as in `update`, and it raises as that does."""
        check_revision(rev)
        check_amounts(amounts)
        check_upsert(upsert)
        return cast("E", self._written(Add(self._model(entity), key, amounts, rev, upsert=upsert)))

    @overload
    def delete(self, entity: type[Entity] | str, key: Key, /, *, rev: str | None = None) -> bool: ...

    @overload
    def delete(
        self, entity: type[E] | str, key: Key, /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    def delete(
        self,
        entity: type[E] | str,
        key: Key,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> bool | E | None:
        """Delete a record; False if there was none. With `returning` it returns the deleted record, or None. Its
        children are deleted or detached first, if their relation says so. Raises RevisionConflict, HasChildren, and
        DeleteIncomplete if the time ended before all children were changed: deleting it again continues."""
        check_revision(rev)
        check_returning(returning)
        if returning is None:
            return self.store.delete(self._model(entity), key, rev=rev)
        return cast("E | None", self._written(Delete(self._model(entity), key, rev, returning=True), before=True))

    # -- several records

    def batch_get(self, entity: type[E] | str, keys: Iterable[Key], /) -> list[E | None]:
        """The live records of the keys, in their order, None for a missing record. Raises BatchIncomplete, with the
        records found, if some could not be read in time, and RecordUnreadable."""
        return self.store.batch_get(self._model(entity), key_list(keys))

    def batch_write(
        self, puts: Sequence[Entity | Put] = (), deletes: Sequence[Delete] = (), updates: Sequence[Update] = ()
    ) -> BatchWriteResult:
        """Carry out puts, deletes and updates independently, and return the outcome of each."""
        check_batch(puts, deletes, updates)
        return self.store.batch_write(puts, deletes, updates)

    def transact(self, operations: Sequence[Operation], /) -> tuple[Entity | None, ...]:
        """Carry out several operations atomically, and return the written records, None for deletes and checks. An
        error names its operation. Raises the errors of the corresponding methods, NotFound for a delete or a check of a
        missing record, and LimitExceeded if the operations don't fit into one transaction."""
        check_operations(operations)
        return self.store.transact(operations)

    # -- by a value

    def get_by(
        self, entity: type[E] | str, name: str, value: Any, /, *, within: Mapping[str, Any] = NOTHING
    ) -> E | None:
        """The live record whose unique property has this value, or None. `name` is the name of the property or of its
        Unique; `within` has the values of its scope. Raises LookupNotReady, RecordUnreadable, InputErrors."""
        check_lookup(name, within)
        return self.store.get_by(self._model(entity), name, value, within=within)

    def find_by(
        self,
        entity: type[E] | str,
        name: str,
        value: Any = None,
        /,
        *,
        within: Mapping[str, Any] = NOTHING,
        reverse: bool = False,
        filter: Condition | None = None,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[E]:
        """A page of the live records with a value, by a Lookup, in the order of their ids; by an OrderedLookup of those
        that equal `value`, meet it (`prefix`, `between`), or of all, in the order of the values. Raises InputErrors."""
        check_lookup(name, within)
        page: dict[str, Any] = {"limit": limit, "next_token": next_token, "prev_token": prev_token}
        page |= {"reverse": reverse, "filter": filter}
        return found_page(self.store, self._queries, self.schema[entity], name, value, within, **page)

    # -- queries

    def query(
        self,
        entity: Asked[E],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        reverse: bool = False,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        time_limit_ms: int | None = None,
        **equal: Any,
    ) -> Page[E]:
        """One page of the records that meet the conditions, in order, exactly `limit` while that many remain: the
        first, the one after the page whose `next_token` is given, or the one before the page whose `prev_token` is.

        Conditions are given by name; those of a property that is called like a parameter go into `conditions`. A plain
        value is equality, a list any of its values; see `prefix`, `between` and `one_of`. Without `index` the planner
        chooses. `earliest` and `latest` bound the timestamp property: datetimes, or numbers in its unit. Raises
        UnsupportedQuery where no index can, other InputErrors, LaneFailed, DeadlineTooShort, TooManyLaggingLanes."""
        page = {"limit": limit, "cursor": token_given(next_token, prev_token)}
        window = {"earliest": earliest, "latest": latest, "time_limit_ms": time_limit_ms}
        options = {"index": index, "filter": filter, "reverse": reverse, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, **page, **window, **options)
        with named_here(prev_token):
            queries, spec = self._asked(spec, "query")
            return queries.run(queries.for_whole_records(spec))

    def records(
        self,
        entity: Asked[E],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        reverse: bool = False,
        limit: int = DEFAULT_LIMIT,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        **equal: Any,
    ) -> Iterator[E]:
        """Every record that meets the conditions, in order; `limit` is how many are read at a time. Conditions are as
        in `query`. Raises as that does, and RecordUnreadable at a record that can't be read."""
        window = {"earliest": earliest, "latest": latest}
        options = {"index": index, "filter": filter, "reverse": reverse, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, limit=limit, **window, **options)
        with named_here():
            queries, spec = self._asked(spec, "query")
            spec = queries.for_whole_records(spec)
            # Invalid arguments are refused here, and not when the first record is requested.
            queries.explain(spec)
            return records_of(queries.pages(spec), self._check_open)

    def first(
        self,
        entity: Asked[E],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        reverse: bool = False,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        **equal: Any,
    ) -> E | None:
        """The first record that meets the conditions, or None. Conditions are as in `query`."""
        window = {"earliest": earliest, "latest": latest}
        options = {"index": index, "filter": filter, "reverse": reverse, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, **window, **options)
        with named_here():
            queries, spec = self._asked(spec, "query")
            return cast("E | None", queries.first(queries.for_whole_records(spec)))

    def exists(
        self,
        entity: Asked[Entity],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        reverse: bool = False,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        **equal: Any,
    ) -> bool:
        """Whether any record meets the conditions. Conditions are as in `query`."""
        window = {"earliest": earliest, "latest": latest}
        options = {"index": index, "filter": filter, "reverse": reverse, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, **window, **options)
        with named_here():
            queries, spec = self._asked(spec, "query")
            return queries.exists(spec)

    def count(
        self,
        entity: Asked[Entity],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        time_limit_ms: int | None = None,
        **equal: Any,
    ) -> int:
        """The number of records that meet the conditions, on all pages. Conditions are as in `query`."""
        window = {"earliest": earliest, "latest": latest, "time_limit_ms": time_limit_ms}
        options = {"index": index, "filter": filter, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, **window, **options)
        with named_here():
            queries, spec = self._asked(spec, "count")
            return queries.count(spec).count

    def explain(
        self,
        entity: Asked[Entity],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        run: bool = False,
        index: str | None = None,
        filter: Condition | None = None,
        branches: Sequence[BranchSpec] | None = None,
        reverse: bool = False,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
        consistent: bool = False,
        earliest: dt.datetime | int | None = None,
        latest: dt.datetime | int | None = None,
        **equal: Any,
    ) -> Explanation:
        """The plan of a `query` with the same arguments; with `run` also its cost."""
        page = {"limit": limit, "cursor": token_given(next_token, prev_token)}
        window = {"earliest": earliest, "latest": latest}
        options = {"index": index, "filter": filter, "reverse": reverse, "consistent": consistent}
        spec = self._spec(entity, constraints(conditions, equal), branches, **page, **window, **options)
        with named_here(prev_token):
            queries, spec = self._asked(spec, "explain")
            return queries.explain(queries.for_whole_records(spec), run=run)

    def scan(
        self, entity: type[E] | str, /, *, position: str | None = None, segment: int = 0, segments: int = 1
    ) -> EntityScan[E]:
        """All live records of an entity, each once, in no order, also while they move: for operators. `position` is
        that of a page of a scan, `segment` one of `segments` parts, for a worker each. Raises InvalidCursor,
        CursorMismatch, and at a page CursorExpired where the records have moved since."""
        from .scans import EntityScan

        return EntityScan(self.store.parts, self.schema[entity], self._check_open, position, segment, segments)

    # -- parts

    def _written(self, operation: Operation, *, before: bool = False) -> Any:
        """The record after one operation, or the previous one."""
        written = self.store.write(operation)
        return written.before if before else written.record

    def _model(self, entity: type[E] | str) -> type[E]:
        return cast("type[E]", self.schema[entity].model)

    def _spec(self, entity: Any, conditions: Mapping[str, Any], branches: Any, **options: Any) -> QuerySpec:
        return query_spec(self.schema, entity, conditions, branches_of(branches), **options)

    def _asked(self, spec: QuerySpec, operation: str) -> tuple[QueryRunner, QuerySpec]:
        """What runs a query, and the query as it is run; `operation` is what rules call it."""
        return self.queries, spec
