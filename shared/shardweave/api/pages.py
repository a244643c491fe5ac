"""Pages over HTTP: running a query in the request's time, and writing the page.

    reverse       true for the reverse of the order
    limit         records a page, 1 to 500, 100 if not given
    nextToken     the token of the page before; only these parameters, but for `reverse`, may change
    prevToken     the token back of a page, in place of `nextToken`: the page that stands before it
    timeLimitMs   the page is cut after these milliseconds
    onShardError  `fail`, or `partial` to go on without lanes that fail

A query never takes longer than the request's time, whatever its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ..access.authorization import Authorization
from ..errors import (
    AnswerTooLarge,
    CursorExpired,
    CursorMismatch,
    DeadlineTooShort,
    InvalidCursor,
    RecordUnreadable,
    TimeLimitTooShort,
    TooManyReads,
    Unreadable,
    UnsupportedQuery,
)
from ..query.limits import check_time_limit
from ..query.page_budget import PageBudget
from ..query.runner import QueryRunner
from ..query.spec import Page, QuerySpec, joined
from ..schema.caller import Caller
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.lookups.lookup_queries import FoundPage
from ..store.noticed import notice
from ..table.values import Item
from ..values.json_types import json_bytes
from ..wire.paging import CONTINUATION, PREVIOUS, name_of_token
from ..wire.record_models import RecordModels
from .expansion import Expansion
from .http import PageFacts, Response
from .operation import Call
from .response_size import MAX_PAGE_BYTES, Carried, Texts, carried_texts, fills_more_than_an_answer


def within(spec: QuerySpec, call: Call) -> QuerySpec:
    """The query with a time limit within the request's time. Raises LimitExceeded for an invalid limit."""
    if spec.time_limit_ms is not None:
        check_time_limit(spec.time_limit_ms)
    limits = [limit for limit in (spec.time_limit_ms, call.time_left_ms) if limit is not None]
    return replace(spec, time_limit_ms=min(limits)) if limits else spec


def has_own_limit(spec: QuerySpec, call: Call) -> bool:
    """Whether the caller's time limit is shorter than the request's time."""
    return spec.time_limit_ms is not None and (call.time_left_ms is None or spec.time_limit_ms < call.time_left_ms)


@contextmanager
def limit_named(spec: QuerySpec, call: Call) -> Iterator[None]:
    """A context that converts an error for too little time to TimeLimitTooShort if the caller's limit was the
    reason."""
    try:
        yield
    except DeadlineTooShort as error:
        if not has_own_limit(spec, call):
            raise
        raise TimeLimitTooShort(error.message, where=error.where, fix="give more time, or leave it out") from None


def deadline_in(milliseconds: int | None, monotonic: Callable[[], float]) -> float | None:
    """The time of `monotonic` after a duration."""
    return None if milliseconds is None else monotonic() + milliseconds / 1000


@contextmanager
def token_named(given: Mapping[str, Any]) -> Iterator[None]:
    """A context that sets the place of errors about a cursor to the parameter that contained it."""
    try:
        yield
    except (InvalidCursor, CursorMismatch, CursorExpired) as error:
        error.where = name_of_token(given)
        raise


@dataclass(frozen=True)
class AnsweredPage:
    """A page whose records are JSON texts; `fell_short` is as in `PageFacts`."""

    page: Page
    fell_short: bool


class Pages:
    """The pages of one entity's queries. `expansion` adds related records."""

    def __init__(
        self, models: RecordModels, queries: QueryRunner, access: Authorization, expansion: Expansion | None = None
    ) -> None:
        self._models = models
        self._access = access
        self._queries = queries
        self._expansion = expansion

    @property
    def queries(self) -> QueryRunner:
        """What runs the queries."""
        return self._queries

    def asked(self, spec: QuerySpec, call: Call, operation: str, **told: bool) -> tuple[QueryRunner, QuerySpec]:
        """The query restricted to the caller's records and the request's time, and its runner; `told` are the members
        that request its cost. Raises Unauthenticated, Forbidden, UnknownName, LimitExceeded."""
        queries, narrowed, shows_all = self._queries, [], True
        for part in spec.parts:
            grant = self._access.grant(self.entity(part.entity), operation, call.caller)
            grant.check_costs(part, told)
            shows_all = shows_all and grant.shows_all(part)
            queries = queries.hiding(grant.hidden_indexes(part), part.entity)
            narrowed.append(grant.narrowed(part))
        # Hidden records must not decide where a page ends, so only the time limits it.
        bounded = replace(joined(narrowed), units=self._queries.max_units if shows_all else None)
        return queries, within(bounded, call)

    def entity(self, token: str) -> EntityType[Any]:
        """The entity of a part of a query."""
        return self._models.entity

    def run(
        self, spec: QuerySpec, call: Call, expand: Sequence[str] = (), *, operation: str, stats: bool = False
    ) -> AnsweredPage:
        """One page, within time and size limits, with its records as JSON text; `stats`: the cost will be shown. Raises
        the errors of `QueryRunner.run`."""
        if expand and spec.properties is not None:
            raise UnsupportedQuery(
                "only whole records are expanded", where="expand", fix="leave `properties` out, or `expand`"
            )
        shown = Texts([])

        queries, asked = self.asked(replace(spec, hydrate=True) if expand else spec, call, operation, stats=stats)
        deadline = deadline_in(asked.time_limit_ms, queries.monotonic)

        def sizes_of(answered: Sequence[tuple[Any, Carried]]) -> list[int]:
            nonlocal shown
            shown = self.texts(answered, expand, call.caller, deadline)
            return [each.size for each in shown.texts]

        room = PageBudget(MAX_PAGE_BYTES, sizes_of, lambda: shown.short_of, self.carried)
        if not expand:
            # Expansion needs the record itself.
            room = replace(room, direct=self.direct)
        with token_named({**call.document, **call.query}), limit_named(spec, call):
            page = queries.run(asked, room=room)
        read = [each.text for each in shown.texts[: len(page.items)]]
        items = tuple(reversed(read) if page.backwards else read)
        late = page.stats.out_of_time and not has_own_limit(spec, call)
        fell_short = late or page.stats.lanes_broke or bool(page.stats.unreadable)
        return AnsweredPage(replace(page, items=items), fell_short)

    def text(self, record: Any) -> bytes:
        """The JSON text of a record, or of some properties of one. Raises RecordUnreadable."""
        return item_json(self._models, record)

    def direct(self, entity: EntityType[Any], items: Sequence[Item]) -> Sequence[tuple[Any, Carried] | None]:
        """The JSON text of each stored item, where it can be written without making a record of it."""
        return carried_texts(self._models.stored_json.texts(items))

    def carried(self, record: Any) -> tuple[Any, Carried]:
        """A record, or some properties of one, and its JSON text. Raises RecordUnreadable."""
        return record, carried(self._models, record, self.text(record))

    def texts(
        self,
        answered: Sequence[tuple[Any, Carried]],
        expand: Sequence[str],
        caller: Caller,
        deadline: float | None,
    ) -> Texts:
        """The JSON text of each record with the relations in `expand`; only of the first records if the deadline (of
        the store's `monotonic`) passes. Raises RecordUnreadable if the first record with its related records does not
        fit into an answer."""
        if not expand or self._expansion is None:
            return Texts([text for _, text in answered])
        records, own = [record for record, _ in answered], [text.text for _, text in answered]
        try:
            return self._expansion.json(records, expand, caller, deadline, own)
        except (AnswerTooLarge, TooManyReads):
            raise self._models.unanswerable(answered[0][0], "too_large") from None

    def answerable(self, found: FoundPage, *, tells: bool) -> tuple[list[tuple[Any, Carried]], list[Unreadable]]:
        """The records of a page by a lookup with their JSON texts, and those that can't be read or answered, with the
        number of records before each; these are empty if they are not reported."""
        answered: list[tuple[Any, Carried]] = []
        unreadable: list[Unreadable] = []
        waiting = list(found.unreadable)
        for position, record in enumerate((*found.items, None)):
            while waiting and waiting[0].position == position:
                unreadable.append(replace(waiting.pop(0), position=len(answered)))
            if record is not None:
                try:
                    answered.append(self.carried(record))
                except RecordUnreadable as error:
                    notice(error.record)
                    unreadable.append(replace(error.record, position=len(answered)))
        return answered, unreadable if tells else []

    def listed(self, answered: AnsweredPage, more: Mapping[str, Any] = MappingProxyType({})) -> Response:
        """A page in the form of lists, which leave out members with their usual values; with additional members."""
        said = {"failed": answered.page.failed, "late": answered.page.late}
        return self.answer(answered, {**more, **{name: value for name, value in said.items() if value}})

    def answer(self, answered: AnsweredPage, more: Mapping[str, Any]) -> Response:
        """A page as an answer, with additional members."""
        page = answered.page
        items = b",".join(page.items)
        unreadable = self.told(page.unreadable)
        tokens = {CONTINUATION: page.cursor, PREVIOUS: page.prev_token}
        rest = json_bytes({**tokens, "complete": page.complete, **more, **unreadable})
        written = Response.json(200, b'{"items":[' + items + b"]," + rest[1:])
        facts = PageFacts(len(page.items), answered.fell_short)
        return replace(written, page=facts, unreadable=page.stats.unreadable)

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]:
        """The member of an answer that lists unreadable records, if there are any."""
        return self._models.told(found)


def carried(models: RecordModels, record: Any, text: bytes) -> Carried:
    """The JSON text of a record, or of some properties of one, as an answer carries it. Raises RecordUnreadable where
    it fills more than an answer, even alone."""
    found = Carried(text)
    if fills_more_than_an_answer(found):
        raise models.unanswerable(record, "too_large")
    return found


def item_json(models: RecordModels, item: Any) -> bytes:
    """The JSON text of an item of a page: a record, or some of its properties."""
    if isinstance(item, Entity):
        return models.json(item)
    return models.part_json(item)
