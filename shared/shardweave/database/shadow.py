"""Shadow reads: a share of the reads of a database is asked of another one too, and the answers are compared.

    other = Database(new_schema, table_name="copy")
    shadow = Shadow(other, share=0.01)
    db = Database(schema, table_name="orders", shadow=shadow)
    db.get(Order, "o1")
    print(shadow.counts)

Guarantees: the caller gets the first database's answer, at the same time and with the same errors as without a shadow.
The other database is asked afterwards, in one thread of the shadow's own; reads that find it busy are counted and not
compared. If the answers differ, the first database is asked once more: an answer that has changed is no difference. An
error of the other database is counted by its code. Counts and samples have operations, entities and names of
properties, no values.

Not compared: reads that continue a page by a token, since tokens are good in one database alone; and writes.

Costs: the compared reads once in the other database, differing ones once more in the first.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

from ..errors import InputError, ShardweaveError
from ..query.spec import Page
from ..schema.collection import Collection
from ..schema.entity import Entity
from ..schema.schema import Schema


class Asked(Protocol):
    """A `Database`."""

    @property
    def schema(self) -> Schema: ...

    def close(self) -> None: ...


READS = ("get", "batch_get", "get_by", "query", "first", "exists", "count")
TOKENS = ("next_token", "prev_token")
MAX_WAITING = 32
MAX_SAMPLES = 100


@dataclass(frozen=True)
class ShadowDifference:
    """Two answers that differ: in `names` of properties, or, without names, in what or how much was found."""

    operation: str
    entity: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShadowCounts:
    """The results so far. `changed` are answers that differed since something was written meanwhile, `skipped` reads
    that found the shadow busy, `failed` errors of the other database by code, or by type if they have none."""

    equal: int = 0
    differing: int = 0
    changed: int = 0
    skipped: int = 0
    failed: Mapping[str, int] | None = None


class Shadow:
    """Asks `database` a `share` (0 to 1) of the reads of the database that it is given to. `entities` has the tokens of
    entities that are named otherwise in the other schema. `observe` is told of each difference. Safe for many
    threads."""

    def __init__(
        self,
        database: Asked,
        *,
        share: float = 0.01,
        entities: Mapping[str, str] | None = None,
        observe: Callable[[ShadowDifference], object] | None = None,
        drawn: Callable[[], float] | None = None,
    ) -> None:
        if not isinstance(getattr(database, "schema", None), Schema) or not hasattr(database, "close"):
            message = f"must be a Database, got {type(database).__name__}"
            raise InputError(message, where="database", fix="give the one that is asked too")
        functions: Mapping[str, Any] = {"observe": observe, "drawn": drawn}
        for name, function in functions.items():
            if function is not None and not callable(function):
                message = f"must be a function, got {type(function).__name__}"
                raise InputError(message, where=name, fix="give one, or leave it out")
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise InputError("must be a share from 0 to 1", where="share", fix="give 0.01 for one read in a hundred")
        given: Any = entities or {}
        if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
            fix = 'give {"order": "order2"}, or leave it out'
            raise InputError("must map tokens to those of the other database", where="entities", fix=fix)
        self._database, self._share = database, share
        self._entities = dict(entities or {})
        self._observe = observe
        self._drawn = drawn or random.SystemRandom().random
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="shardweave-shadow")
        self._waiting = 0
        self._told: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._samples: list[ShadowDifference] = []

    @property
    def counts(self) -> ShadowCounts:
        """The results so far."""
        with self._lock:
            told = {name: self._told[name] for name in ("equal", "differing", "changed", "skipped")}
            return ShadowCounts(**told, failed=dict(self._failed))

    @property
    def samples(self) -> tuple[ShadowDifference, ...]:
        """The first differences, at most 100."""
        with self._lock:
            return tuple(self._samples)

    def attach(self, database: Asked) -> None:
        """Compare the reads of a database. When that is closed, the comparisons that were begun end first."""
        for name in READS:
            setattr(database, name, self._beside(database, name, getattr(database, name)))
        close = database.close

        def closed() -> None:
            self.close()
            close()

        database.close = closed  # type: ignore[method-assign]

    def close(self) -> None:
        """Wait for the comparisons that were begun. The other database stays open."""
        self._threads.shutdown(wait=True)

    # -- parts

    def _beside(self, database: Asked, name: str, read: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(read)
        def both(entity: Any, *given: Any, **options: Any) -> Any:
            arguments = tuple(list(each) if isinstance(each, Iterator) else each for each in given)
            answer = read(entity, *arguments, **options)
            if not any(options.get(token) for token in TOKENS) and self._drawn() < self._share:
                token, other = self._named(database.schema, entity)
                self._begin(
                    lambda: self._compare(
                        name,
                        token,
                        answer,
                        lambda: getattr(self._database, name)(other, *arguments, **options),
                        lambda: read(entity, *arguments, **options),
                    )
                )
            return answer

        return both

    def _named(self, schema: Schema, asked: Any) -> tuple[str, Any]:
        """The token of the entity that is asked for, or those of several, and what to ask the other database for."""
        if isinstance(asked, Collection):
            token, others = self._named(schema, tuple(asked.entities))
            return token, Collection(asked.name, others, index=asked.index)
        tokens = [schema[each].token for each in (asked if isinstance(asked, (list, tuple)) else (asked,))]
        others = tuple(self._entities.get(each, each) for each in tokens)
        return ", ".join(tokens), others if isinstance(asked, (list, tuple)) else others[0]

    def _begin(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._waiting >= MAX_WAITING:
                self._told["skipped"] += 1
                return
            self._waiting += 1
        try:
            self._threads.submit(self._work, work)
        except RuntimeError:  # it is closed
            with self._lock:
                self._waiting -= 1

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._waiting -= 1

    def _compare(
        self, operation: str, token: str, answer: Any, other: Callable[[], Any], again: Callable[[], Any]
    ) -> None:
        try:
            theirs = _plain(other())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the other database's, and counted
            self._count(self._failed, error.code if isinstance(error, ShardweaveError) else type(error).__name__)
            return
        ours = _plain(answer)
        if ours == theirs:
            self._count(self._told, "equal")
            return
        try:
            is_still_so = _plain(again()) == ours
        except Exception:  # noqa: BLE001 - it did not say the same
            is_still_so = False
        if not is_still_so:
            self._count(self._told, "changed")
            return
        difference = ShadowDifference(operation, token, _names(ours, theirs))
        with self._lock:
            self._told["differing"] += 1
            if len(self._samples) < MAX_SAMPLES:
                self._samples.append(difference)
        if self._observe is not None:
            self._observe(difference)

    def _count(self, counter: Counter[str], name: str) -> None:
        with self._lock:
            counter[name] += 1


def _plain(answer: Any) -> Any:
    """An answer as values that can be compared, without tokens and revisions."""
    if isinstance(answer, Page):
        return [_plain(each) for each in answer.items]
    if isinstance(answer, Entity):
        return {name: getattr(answer, name) for name in type(answer).model_fields}
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [_plain(each) for each in answer]
    return answer


def _names(ours: Any, theirs: Any) -> tuple[str, ...]:
    """The names of properties that differ in records at the same place; none if other records were found."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        missing = object()
        return tuple(sorted(name for name in {*ours, *theirs} if ours.get(name, missing) != theirs.get(name, missing)))
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return tuple(sorted({name for one, other in zip(ours, theirs, strict=True) for name in _names(one, other)}))
    return ()
