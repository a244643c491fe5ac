"""The database for programs with an event loop: the methods of `Database` as coroutines.

Every method goes through one door, `_run`; `awaited_calls` carries it out, with a thread or without.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, cast, overload

from ..query.fanout import DEFAULT_THROTTLE
from ..query.spec import DEFAULT_LIMIT
from ..schema.entity import Entity, now_ms
from .arguments import check_threads
from .awaited_calls import AwaitedCalls
from .database import NOTHING, Database, E
from .read_models import AsyncReadModels

if TYPE_CHECKING:
    from ..query.cursor import CursorKeys
    from ..query.explain import Explanation
    from ..query.runner import QueryRunner
    from ..query.spec import BranchSpec, Page
    from ..schema.schema import Schema
    from ..store import BatchWriteResult, Delete, Operation, Put, RetryClock, Store, Update
    from ..store.operations import Changes, Key
    from ..table.conditions import Condition
    from .asked_entities import Asked
    from .scans import AsyncEntityScan
    from .shadow import Shadow

P = ParamSpec("P")
R = TypeVar("R")


class AsyncDatabase(AsyncReadModels):
    """The records of a schema, for an event loop. It is opened as `Database` is, with the same arguments, and each
    method does what the one of its name does there. At most `threads` calls are under way at once; it has no threads
    where the loop can use the table itself. It may be used from several loops, and is closed from the last. `store` and
    `queries` are those of the database, which wait for what they do."""

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
        threads: int = DEFAULT_THROTTLE,
        rekey: Mapping[str, Any] | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        check_threads(threads)
        database = Database(
            schema,
            path=path,
            name=name,
            table_name=table_name,
            region=region,
            endpoint_url=endpoint_url,
            client=client,
            transport=transport,
            observe=observe,
            cursor_keys=cursor_keys,
            clock=clock,
            waiting=waiting,
            throttle=throttle,
            rekey=rekey,
            shadow=shadow,
        )
        try:
            self._begin(database, threads)
        except BaseException:
            database.close()
            raise

    @classmethod
    def over(cls, store: Store, queries: QueryRunner, *, threads: int = DEFAULT_THROTTLE) -> Self:
        """A database of parts that were put together elsewhere, which also closes them."""
        check_threads(threads)
        found = cls.__new__(cls)
        found._begin(Database.over(store, queries), threads)
        return found

    def _begin(self, database: Database, threads: int) -> None:
        self._database = database
        self._calls = AwaitedCalls(database.store.table, threads)

    @property
    def schema(self) -> Schema:
        """The schema."""
        return self._database.schema

    @property
    def store(self) -> Store:
        """The store. Its methods wait."""
        return self._database.store

    @property
    def queries(self) -> QueryRunner:
        """What runs queries. Its methods wait, but for those that end with `_async`."""
        return self._database.queries

    async def close(self) -> None:
        """Close the database after the calls of this loop have ended."""
        await self._calls.end()
        self._database.close()

    async def __aenter__(self) -> Self:
        self._database.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._database._check_open()
        return await self._calls.run(partial(call, *args, **kwargs))

    @property
    def _relations(self) -> Database:
        return self._database

    _read_models = _relations

    # -- records

    @overload
    async def create(self, record: E, /) -> E: ...

    @overload
    async def create(self, entity: type[E] | str, values: Mapping[str, Any], /) -> E: ...

    async def create(self, record: Any, values: Mapping[str, Any] | None = None, /) -> Any:
        """Write a new record, and return it as stored."""
        return await self._run(partial(self._database.create, record, values))

    @overload
    async def put(self, record: E, /, *, rev: str | None = None) -> E: ...

    @overload
    async def put(self, record: E, /, *, rev: str | None = None, returning: Literal["old"]) -> E | None: ...

    @overload
    async def put(self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None) -> E: ...

    @overload
    async def put(
        self, entity: type[E] | str, values: Mapping[str, Any], /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    async def put(
        self,
        record: Any,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> Any:
        """Create or replace a whole record, and return it as stored, or the previous one."""
        asked: dict[str, Any] = {"rev": rev, **({} if returning is None else {"returning": returning})}
        return await self._run(partial(self._database.put, record, values, **asked))

    async def get(self, entity: type[E] | str, key: Key, /) -> E | None:
        """The live record, or None."""
        return cast("E | None", await self._run(self._database.get, entity, key))

    async def update(
        self,
        entity: type[E] | str,
        key: Key,
        changes: Changes,
        /,
        *,
        rev: str | None = None,
        upsert: bool | Mapping[str, Any] = False,
    ) -> E:
        """Change properties of a record, and return it as stored."""
        asked = partial(self._database.update, entity, key, changes, rev=rev, upsert=upsert)
        return cast("E", await self._run(asked))

    async def add(
        self,
        entity: type[E] | str,
        key: Key,
        amounts: Mapping[str, Any],
        /,
        *,
        rev: str | None = None,
        upsert: bool | Mapping[str, Any] = False,
    ) -> E:
        """Add to numbers and sets of a record, and return it as stored."""
        asked = partial(self._database.add, entity, key, amounts, rev=rev, upsert=upsert)
        return cast("E", await self._run(asked))

    @overload
    async def delete(self, entity: type[Entity] | str, key: Key, /, *, rev: str | None = None) -> bool: ...

    @overload
    async def delete(
        self, entity: type[E] | str, key: Key, /, *, rev: str | None = None, returning: Literal["old"]
    ) -> E | None: ...

    async def delete(
        self,
        entity: type[E] | str,
        key: Key,
        /,
        *,
        rev: str | None = None,
        returning: Literal["old"] | None = None,
    ) -> bool | E | None:
        """Delete a record; False if there was none. With `returning` it returns the deleted record."""
        asked: dict[str, Any] = {"rev": rev, **({} if returning is None else {"returning": returning})}
        return cast("bool | E | None", await self._run(partial(self._database.delete, entity, key, **asked)))

    async def batch_get(self, entity: type[E] | str, keys: Iterable[Key], /) -> list[E | None]:
        """The live records of the keys, in their order, None for a missing record."""
        return cast("list[E | None]", await self._run(self._database.batch_get, entity, keys))

    async def batch_write(
        self, puts: Sequence[Entity | Put] = (), deletes: Sequence[Delete] = (), updates: Sequence[Update] = ()
    ) -> BatchWriteResult:
        """Carry out puts, deletes and updates independently, and return the outcome of each."""
        return await self._run(self._database.batch_write, puts, deletes, updates)

    async def transact(self, operations: Sequence[Operation], /) -> tuple[Entity | None, ...]:
        """Carry out several operations atomically, and return the written records."""
        return await self._run(self._database.transact, operations)

    # -- by a value

    async def get_by(
        self, entity: type[E] | str, name: str, value: Any, /, *, within: Mapping[str, Any] = NOTHING
    ) -> E | None:
        """The live record whose unique property has this value, or None."""
        found = partial(self._database.get_by, entity, name, value, within=within)
        return cast("E | None", await self._run(found))

    async def find_by(
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
        """A page of the live records with a value, through a Lookup."""
        how: dict[str, Any] = {"limit": limit, "next_token": next_token, "prev_token": prev_token}
        how |= {"reverse": reverse, "filter": filter}
        asked = partial(self._database.find_by, entity, name, value, within=within, **how)
        return cast("Page[E]", await self._run(asked))

    # -- queries

    async def query(
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
        """One page of the records that meet the conditions, in order."""
        asked = partial(
            self._database.query,
            entity,
            conditions,
            index=index,
            filter=filter,
            branches=branches,
            reverse=reverse,
            limit=limit,
            next_token=next_token,
            prev_token=prev_token,
            consistent=consistent,
            earliest=earliest,
            latest=latest,
            time_limit_ms=time_limit_ms,
            **equal,
        )
        return cast("Page[E]", await self._run(asked))

    async def records(
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
    ) -> AsyncIterator[E]:
        """Every record that meets the conditions, in order."""
        token: str | None = None
        while True:
            page: Page[E] = await self.query(
                entity,
                conditions,
                index=index,
                filter=filter,
                branches=branches,
                reverse=reverse,
                limit=limit,
                consistent=consistent,
                earliest=earliest,
                latest=latest,
                next_token=token,
                **equal,
            )
            for record in page.in_order():
                yield record
            token = page.next_token
            if token is None:
                return

    async def first(
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
        """The first record that meets the conditions, or None."""
        asked = partial(
            self._database.first,
            entity,
            conditions,
            index=index,
            filter=filter,
            branches=branches,
            reverse=reverse,
            consistent=consistent,
            earliest=earliest,
            latest=latest,
            **equal,
        )
        return cast("E | None", await self._run(asked))

    async def exists(
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
        """Whether any record meets the conditions."""
        asked = partial(
            self._database.exists,
            entity,
            conditions,
            index=index,
            filter=filter,
            branches=branches,
            reverse=reverse,
            consistent=consistent,
            earliest=earliest,
            latest=latest,
            **equal,
        )
        return await self._run(asked)

    async def count(
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
        """The number of records that meet the conditions, on all pages."""
        asked = partial(
            self._database.count,
            entity,
            conditions,
            index=index,
            filter=filter,
            branches=branches,
            consistent=consistent,
            earliest=earliest,
            latest=latest,
            time_limit_ms=time_limit_ms,
            **equal,
        )
        return await self._run(asked)

    async def explain(
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
        """The plan of a `query` with the same arguments; with `run` it is also executed, and the result has its
        cost."""
        asked = partial(
            self._database.explain,
            entity,
            conditions,
            run=run,
            index=index,
            filter=filter,
            branches=branches,
            reverse=reverse,
            limit=limit,
            next_token=next_token,
            prev_token=prev_token,
            consistent=consistent,
            earliest=earliest,
            latest=latest,
            **equal,
        )
        return await self._run(asked)

    def scan(
        self, entity: type[E] | str, /, *, position: str | None = None, segment: int = 0, segments: int = 1
    ) -> AsyncEntityScan[E]:
        """All live records of an entity: `async for order in db.scan(Order)`, or over its `pages()`."""
        from .scans import AsyncEntityScan

        self._database._check_open()
        asked = self._database.scan(entity, position=position, segment=segment, segments=segments)
        return AsyncEntityScan(asked, self._run)
