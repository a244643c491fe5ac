"""Pages of lists by a lookup over HTTP.

As of every list, a page has `limit` records while that many remain that the caller may see, unless the request's time
ended it or they fill an answer, which it says. Its tokens are cursors (see `query.cursor`) whose position is an id:
sealed, since that may be the id of a record that the caller may not see, and bound to the lookup, what was asked of it
and the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..access.grant import Grant
from ..errors import RecordUnreadable
from ..query.limits import check_time_limit
from ..query.lookup_tokens import LookupTokens, id_reached, lookup_walk
from ..query.spec import Page
from ..schema.entity_type import EntityType
from ..store import Store
from ..store.lookups.lookup_spec import lookup_spec
from ..store.noticed import notice
from ..table.conditions import Condition
from .operation import Call
from .pages import AnsweredPage, Pages, deadline_in, token_named
from .response_size import MAX_PAGE_BYTES, Carried, Texts, fitting_page


@dataclass(frozen=True)
class LookupQuestion:
    """What is asked of a lookup: a value, or of an ordered one a condition on it, or None for all."""

    name: str
    value: Any
    within: Mapping[str, Any]
    reverse: bool = False
    filter: Condition | None = None


def own_texts(answered: Sequence[tuple[Any, Carried]], deadline: float | None) -> Texts:
    """The texts of the records alone."""
    del deadline
    return Texts([text for _, text in answered])


@dataclass(frozen=True)
class LookupPages:
    """The pages of one entity's lookups; `pages` writes the records."""

    entity: EntityType[Any]
    store: Store
    tokens: LookupTokens
    pages: Pages

    def page(
        self, call: Call, question: LookupQuestion, asked: Mapping[str, Any], expand: Sequence[str], grant: Grant
    ) -> AnsweredPage:
        """The page that a question and the parameters of a page, `asked`, give, as JSON texts. Raises UnsupportedQuery,
        InputError, InvalidCursor, CursorMismatch, CursorExpired, LimitExceeded."""

        def texts(answered: Sequence[tuple[Any, Carried]], deadline: float | None) -> Texts:
            return self.pages.texts(answered, expand, grant.caller, deadline)

        with token_named({**call.document, **call.query}):
            found = self.read(call, question, asked, grant, texts)
        page = found.page
        return AnsweredPage(replace(page, items=tuple(text.text for _, text in page.items)), found.fell_short)

    def read(
        self,
        call: Call,
        question: LookupQuestion,
        asked: Mapping[str, Any],
        grant: Grant,
        texts_of: Callable[[Sequence[tuple[Any, Carried]], float | None], Texts] = own_texts,
        most: int = MAX_PAGE_BYTES,
    ) -> AnsweredPage:
        """The same with each record beside its text, which are those of `texts_of`; of at most so many bytes."""
        how: dict[str, Any] = {"reverse": question.reverse, "filter": question.filter}
        ask = lookup_spec(self.entity, question.name, question.value, question.within, **how)
        walk = lookup_walk(self.entity, ask.lookup.name, ask.values, grant.caller.scope, ask.signature())
        state = self.tokens.opened(asked["cursor"], walk)
        deadline = self._deadline(call, asked.get("time_limit_ms"))
        found = self.store.find_by(
            self.entity.model,
            question.name,
            question.value,
            within=question.within,
            **how,
            limit=asked["limit"],
            after=id_reached(state),
            backwards=state.backwards,
            visibility=grant.visibility,
            deadline=deadline,
        )
        answered, unreadable = self.pages.answerable(found, tells=grant.visibility is None)
        after, cut, short_of = found.after, found.cut, ""
        try:
            shown = texts_of(answered, deadline)
            texts, short_of = shown.texts, shown.short_of
            room = fitting_page(texts, most)
        except RecordUnreadable as error:
            # Nothing is answered of the first one, and the page ends behind it.
            texts, room = [], 1
            unreadable.insert(sum(not each.position for each in unreadable), replace(error.record, position=0))
        if answered and (room < len(answered) or not texts):
            reached = next(at for at, each in enumerate(found.items) if each is answered[room - 1][0])
            after, cut = found.places[reached], True
            unreadable = [each for each in unreadable if each.position is not None and each.position < room]
        for each in unreadable:
            notice(each)
        page = Page(
            tuple((record, text) for (record, _), text in zip(answered, texts[:room], strict=False)),
            None,
            complete=not cut,
            unreadable=tuple(unreadable),
        )
        begins = None if asked["cursor"] is None else (found.begins,)
        page = self.tokens.page(page, state, walk, after, begins)
        late = found.cut or (room == len(texts) and short_of == "time")
        return AnsweredPage(page, late or bool(unreadable))

    def _deadline(self, call: Call, limit_ms: int | None) -> float | None:
        """The end of the request's time, or of the time that a page may take."""
        if limit_ms is not None:
            check_time_limit(limit_ms)
        limits = [limit for limit in (limit_ms, call.time_left_ms) if limit is not None]
        return deadline_in(min(limits, default=None), self.store.monotonic)
