"""The lists that lookups hold: in the order of an ordered one, and of the records that lead to one record.

Costs: a list is one lane; a list of related records reads the record that they lead to first. What is asked is checked,
and the caller's rights are, before anything is read; but the token of a list of related records is opened when the
record is known, since it is bound to the record's values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...access.grant import Grant
from ...database.relations import values_of
from ...query.lookup_tokens import LookupTokens, lookup_walk
from ...query.spec import Page, QuerySpec
from ...store.lookups.lookup_spec import lookup_spec
from ..lookup_pages import LookupPages, LookupQuestion
from ..operation import Call
from ..pages import AnsweredPage, token_named
from .documents import Root
from .entities import EntityRecords
from .questions import lookup_question, operation_of, page_of, path_of

Records = Mapping[str, EntityRecords]


@dataclass(frozen=True)
class LookupList:
    """A list that may be read: `question` is None until the record of `path` is known, whose list it is."""

    root: Root
    grant: Grant
    asked: QuerySpec
    question: LookupQuestion | None = None
    path: Mapping[str, str] | None = None

    @classmethod
    def planned(cls, root: Root, all_records: Records, call: Call) -> LookupList:
        """The list of a field, checked. Raises Unauthenticated, Forbidden, InputError's kinds."""
        records, asked = all_records[root.entity.token], page_of(root)
        if root.source is not None:
            own = records.access.grant(root.source, "get", call.caller)
            grant = records.access.grant(records.entity, "list", call.caller)
            bound = {name: str(value) for name, value in own.bound.items()}
            path = path_of(replace(root, entity=root.source), bound)
            return cls(root, grant, asked, path=path)
        grant = records.access.grant(records.entity, operation_of(root), call.caller)
        question = lookup_question(root, grant, asked)
        how: dict[str, Any] = {"reverse": question.reverse, "filter": question.filter}
        ask = lookup_spec(records.entity, question.name, question.value, question.within, **how)
        walk = lookup_walk(records.entity, ask.lookup.name, ask.values, call.caller.scope, ask.signature())
        with token_named(root.arguments):
            _pages(records).tokens.opened(asked.cursor, walk)
        return cls(root, grant, asked, question)

    @property
    def cost(self) -> int:
        """The reads beside those of the page's records."""
        return 1 if self.root.source is None else 2

    def page(self, all_records: Records, call: Call, left_ms: int | None, most: int) -> AnsweredPage | None:
        """The page, of at most so many bytes; None where the record whose list it is does not exist for the caller."""
        question = self.question
        if self.root.source is not None:
            assert self.path is not None, "a list of related records is one of a record"
            assert self.root.index is not None, "it names the list"
            source = all_records[self.root.source.token]
            record = source.found(self.path, call)
            if record is None:
                return None
            related = source.entity.related_lists[self.root.index]
            values = values_of(source.entity, related, record)
            if values is None:
                return AnsweredPage(Page((), None), fell_short=False)
            within = {name: self.grant.within(name, value) for name, value in values.items()}
            value = within.pop(self.root.entity.lookups[related.lookup].property_name)
            question = LookupQuestion(related.lookup, value, within)
        assert question is not None, "another list has its question"
        asked = {"limit": self.asked.limit, "cursor": self.asked.cursor, "time_limit_ms": left_ms}
        with token_named(self.root.arguments):
            pages = _pages(all_records[self.root.entity.token])
            return pages.read(call, question, asked, self.grant, most=most)


def _pages(records: EntityRecords) -> LookupPages:
    queries = records.pages.queries
    return LookupPages(records.entity, records.store, LookupTokens(queries.cursors, queries.now_ms), records.pages)
