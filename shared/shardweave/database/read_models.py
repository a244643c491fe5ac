"""The methods of databases for read models: resetting what is counted, feeding and rebuilding.

Costs: those of `store.events` and `maintenance.rebuilding`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from ..errors import InputError
from ..schema.entity import Entity
from ..store import Reset, Store
from ..store.operations import Key
from ..table.stream_operations import StreamRead, StreamShards
from .arguments import check_revision, kind_of
from .relations import AsyncRelations, Relations

if TYPE_CHECKING:
    from ..maintenance.rebuilding import RebuildReport

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=Entity)
FROM_THE_BEGINNING = "TRIM_HORIZON"


def check_number_name(given: Any) -> None:
    """Refuse what does not name a number."""
    if not isinstance(given, str):
        message = f"a number must be named by text, got {kind_of(given)}"
        raise InputError(message, where="names", fix='give "unread", say')


class StreamFollower:
    """Feeds the read models of records with the changes of a table's stream, from its beginning."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._positions: dict[str, str] = {}

    def follow(self) -> int:
        """Handle what has come since the last call, and return how many changes that were."""
        count, table = 0, self._store.table
        for shard in table.run(StreamShards()):
            while True:
                page = table.run(StreamRead(shard.id, self._positions.get(shard.id, FROM_THE_BEGINNING)))
                for each in page.records:
                    self._store.feed.handle(each)
                self._positions[shard.id] = page.position
                count += len(page.records)
                if not page.records:
                    break
        return count


class ReadModels(Relations):
    """The methods of databases for read models."""

    _follower: StreamFollower | None = None

    if TYPE_CHECKING:

        def _model(self, entity: type[E] | str) -> type[E]: ...

        def _written(self, operation: Any, *, before: bool = False) -> Any: ...

    def reset(self, entity: type[E] | str, key: Key, /, *names: str, rev: str | None = None) -> E:
        """Set numbers that a read model counts to 0, all of a record or those named, and return it: what was counted
        until then is settled, and only what changes later counts. With `rev`, only that revision is reset. Raises
        NotFound, RevisionConflict and other InputErrors."""
        check_revision(rev)
        for each in names:
            check_number_name(each)
        return cast("E", self._written(Reset(self._model(entity), key, names, rev)))

    def feed(self) -> int:
        """Feed the read models of records with the changes of the table's stream since the last call, and return how
        many there were. It is for programs whose table has no other consumer, such as tests: the deployed service and
        the local server do it by themselves."""
        if self._follower is None:
            self._follower = StreamFollower(self.store)
        return self._follower.follow()

    def rebuild(
        self, read_model: str, /, *, rate: float = 0, follow: Callable[[RebuildReport], object] | None = None
    ) -> RebuildReport:
        """Count a read model of records again from the records, and correct what differs; see `RebuildReport`. Others
        may write meanwhile. What was stopped goes on where it was; `rate` is how many records are read in a second, 0
        as many as can be; `follow` is told of each round. Raises UnknownName, InputError, and Conflict when another
        process does the same."""
        from ..maintenance.rebuilding import Rebuild

        rebuild = Rebuild(self.store.parts, self.store.schema.read_model(read_model), rate=rate)
        return rebuild.run(follow or (lambda report: None))


class AsyncReadModels(AsyncRelations):
    """The methods of `ReadModels`, for an event loop."""

    async def reset(self, entity: type[E] | str, key: Key, /, *names: str, rev: str | None = None) -> E:
        """Set numbers that a read model counts to 0, and return the record."""
        return await self._run(partial(self._read_models.reset, entity, key, *names, rev=rev))

    async def feed(self) -> int:
        """Feed the read models of records with the changes since the last call, and return how many there were."""
        return await self._run(self._read_models.feed)

    async def rebuild(
        self, read_model: str, /, *, rate: float = 0, follow: Callable[[RebuildReport], object] | None = None
    ) -> RebuildReport:
        """Count a read model of records again from the records, and correct what differs."""
        return await self._run(partial(self._read_models.rebuild, read_model, rate=rate, follow=follow))

    if TYPE_CHECKING:

        @property
        def _read_models(self) -> ReadModels: ...
