"""Executing the queries of a document: it is planned as a whole and then read.

    plan   for each field of `Query`: the caller's rights, the query, its lanes; then the cost is known, nothing is read
    read   each field's records
    relate level by level: what all records of the whole answer lead to, each once, in as many batches as `expand` takes

What goes wrong with one field is that field's error; the others are answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...access.authorization import Authorization
from ...errors import (
    AnswerTooLarge,
    DeadlineTooShort,
    RecordUnreadable,
    ShardweaveError,
    TooManyReads,
    Unreadable,
)
from ...query.page_budget import PageBudget
from ...query.runner import QueryRunner
from ...query.spec import Page, QuerySpec
from ...schema.entity import Entity
from ...store import Store
from ...store.relations.relation_loader import Limits
from ...wire.record_models import RecordModels
from ..operation import Call
from ..pages import deadline_in, limit_named, token_named
from ..response_size import MAX_PAGE_BYTES, Carried
from ..routes.collections import CollectionRoute
from .costs import check_cost, cost_of
from .documents import Root, Selected
from .entities import EntityRecords
from .field_errors import FieldError
from .lookup_lists import LookupList
from .nodes import Node
from .questions import operation_of, path_of, spec_of, spec_of_several


@dataclass(frozen=True)
class Planned:
    """A field of `Query` that may be read: the record of a path, or the page of a query, and what runs it; or the page
    of a lookup."""

    root: Root
    cost: int
    path: Mapping[str, str] | None = None
    given: QuerySpec | None = None
    spec: QuerySpec | None = None
    queries: QueryRunner | None = None
    lookup: LookupList | None = None


@dataclass
class Answering:
    """One answer in the making: what each field of `Query` gave, by its name, the bytes that all of it takes, the
    related records that were read, and what happened that the log should know."""

    call: Call
    deadline: float | None
    found: dict[str, Any] = field(default_factory=dict)
    bytes: int = 0
    related: int = 0
    failures: list[ShardweaveError] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    items: int = 0
    fell_short: bool = False

    def fails(self, key: str, error: ShardweaveError) -> None:
        """A field is answered with an error."""
        self.failures.append(error)
        self.found[key] = FieldError(error)

    def takes(self, size: int) -> None:
        """So many bytes more are answered. Raises AnswerTooLarge."""
        self.bytes += size
        if self.bytes > MAX_PAGE_BYTES:
            raise AnswerTooLarge("the answer would be too long", where="query", fix="ask for less at once")


@dataclass(frozen=True)
class Reading:
    """Reads for documents. `records` are of each entity, by token; `max_related` are the related records that one
    answer may read, `max_cost` is what a document may cost."""

    records: Mapping[str, EntityRecords]
    store: Store
    access: Authorization
    max_related: int
    max_cost: int
    collections: Mapping[str, CollectionRoute] = field(default_factory=dict)

    def begin(self, call: Call) -> Answering:
        """An answer with nothing in it."""
        return Answering(call, deadline_in(call.time_left_ms, self.store.monotonic))

    # -- planned

    def plan(self, roots: Sequence[Root], answering: Answering) -> list[Planned]:
        """The fields that may be read; the others have their errors. Raises LimitExceeded for a document that would
        cost too much."""
        planned = []
        for root in roots:
            try:
                planned.append(self._planned(root, answering.call))
            except ShardweaveError as error:
                answering.fails(root.key, error)
        check_cost(sum(each.cost for each in planned), self.max_cost)
        return planned

    def _planned(self, root: Root, call: Call) -> Planned:
        self.check_relations(root.selected.values(), call)
        if root.kind == "several":
            return self._several(root, call)
        records = self.records[root.entity.token]
        if root.kind in ("by_lookup", "related"):
            lookup = LookupList.planned(root, self.records, call)
            page = lookup.asked.limit
            return Planned(root, lookup.cost + page + cost_of(root.selected.values(), page), lookup=lookup)
        if root.kind == "one" and (root.arguments.get("sort") is not None or not records.is_sorted):
            grant = self.access.grant(records.entity, "get", call.caller)
            path = path_of(root, grant_texts(grant.bound))
            return Planned(root, 1 + cost_of(root.selected.values(), 1), path=path)
        one = root.kind == "one"
        if one:
            root = replace(root, kind="by_id", arguments={**root.arguments, "reverse": True, "limit": 1})
        given = spec_of(root)
        queries, spec = records.pages.asked(given, call, "list" if one else operation_of(root))
        if root.index is None:
            queries = queries.hiding(frozenset(name for name in records.entity.views if name is not None))
        with token_named(root.arguments):
            lanes = sum(not lane.empty for lane in queries.explain(spec).lanes)
        cost = lanes + spec.limit + cost_of(root.selected.values(), spec.limit)
        return Planned(replace(root, kind="one") if one else root, cost, None, given, spec, queries)

    def _several(self, root: Root, call: Call) -> Planned:
        """A page of a collection of several entities."""
        assert root.index is not None, "it names the collection"
        route = self.collections[root.index]
        given = spec_of_several(root, route)
        queries, spec = route.pages.asked(given, call, operation_of(root))
        with token_named(root.arguments):
            lanes = sum(not lane.empty for lane in queries.explain(spec).lanes)
        cost = lanes + spec.limit + cost_of(root.selected.values(), spec.limit)
        return Planned(root, cost, None, given, spec, queries)

    def check_relations(self, selected: Iterable[Selected], call: Call) -> None:
        """That the caller may get what relations lead to. Raises Unauthenticated, Forbidden."""
        for each in selected:
            self.check_relations(each.among.values(), call)
            for relation in each.relations:
                target = self.records[relation.selected.entity.token].entity
                self.access.grant(target, "get", call.caller)
                self.check_relations([relation.selected], call)

    # -- read

    def read(self, planned: Sequence[Planned], answering: Answering) -> None:
        """Read what is planned, and what it leads to."""
        for each in planned:
            try:
                answering.found[each.root.key] = self._read_root(each, answering)
            except ShardweaveError as error:
                answering.fails(each.root.key, error)
        self.relate([(each.root, answering.found[each.root.key]) for each in planned], answering)

    def _read_root(self, planned: Planned, answering: Answering) -> Node | None:
        root, records = planned.root, self.records[planned.root.entity.token]
        if planned.lookup is not None:
            room = max(1, MAX_PAGE_BYTES - answering.bytes)
            found = planned.lookup.page(self.records, answering.call, self._time_left(answering), room)
            if found is None:
                return None
            answering.fell_short |= found.fell_short
            return self._listed(root, found.page, answering)
        if planned.path is not None:
            record = records.found(planned.path, answering.call)
            return None if record is None else self._node(records.models, record, None, answering)
        page = self._page(planned, answering)
        if root.kind == "one":
            return self._node(records.models, *page.items[0], answering) if page.items else None
        answering.unreadable += page.stats.unreadable
        return self._listed(root, page, answering)

    def _listed(self, root: Root, page: Page[tuple[Any, Carried]], answering: Answering) -> Node:
        """A page, its records as nodes."""
        answering.items += len(page.items)
        values = {
            "nextToken": page.cursor,
            "prevToken": page.prev_token,
            "complete": page.complete,
            "unreadable": [self.records[each.entity].models.unreadable_json(each) for each in page.unreadable],
        }
        return Node(
            values,
            related={
                key: [self._node(self._models_of(root, record), record, text, answering) for record, text in page.items]
                for key in root.selected
            },
        )

    def _page(self, planned: Planned, answering: Answering) -> Page[tuple[Any, Carried]]:
        given, spec, queries = planned.given, planned.spec, planned.queries
        assert given is not None, "what has no path is a query"
        assert spec is not None, "what has no path is a query"
        assert queries is not None, "what has no path is a query"
        root = planned.root
        left = self._time_left(answering)
        room = PageBudget(
            max(1, MAX_PAGE_BYTES - answering.bytes),
            lambda answered: [text.size for _, text in answered],
            form=lambda record: self.records[self._models_of(root, record).entity.token].carried(record),
        )
        with token_named(planned.root.arguments), limit_named(given, answering.call):
            page = queries.run(spec if left is None else replace(spec, time_limit_ms=left), room=room)
        answering.fell_short |= page.stats.out_of_time or page.stats.lanes_broke or bool(page.stats.unreadable)
        return page

    def _time_left(self, answering: Answering) -> int | None:
        if answering.deadline is None:
            return None
        left = round(1000 * (answering.deadline - self.store.monotonic()))
        if left <= 0:
            raise DeadlineTooShort(
                "there was no time for the whole document", where="query", fix="ask for less at once"
            )
        return left

    def _node(self, models: RecordModels, record: Any, text: Carried | None, answering: Answering) -> Node:
        text = Carried(models.json(record)) if text is None else text
        answering.takes(text.size)
        whole = isinstance(record, Entity)
        token = models.entity.token
        return Node(json.loads(text.text), record.rev if whole else None, record if whole else None, token=token)

    def _models_of(self, root: Root, record: Any) -> RecordModels:
        """The forms of a record of a page: a page of several entities has whole records."""
        token = type(record).declaration.token if root.kind == "several" else root.entity.token
        return self.records[token].models

    # -- what it leads to

    def relate(self, answered: Sequence[tuple[Root, Any]], answering: Answering) -> None:
        """Give the nodes of some fields what their relations lead to, level by level."""
        waiting: list[_Waiting] = []
        for root, found in answered:
            for key, selected in root.selected.items():
                nodes = found.related[key] if key and isinstance(found, Node) else [found]
                waiting += [
                    _Waiting(root.key, each, selected.of(each.token)) for each in nodes if isinstance(each, Node)
                ]
        while waiting := [each for each in waiting if each.selected.relations and each.node.record is not None]:
            waiting = self._level(waiting, answering)

    def _level(self, waiting: Sequence[_Waiting], answering: Answering) -> list[_Waiting]:
        """What some nodes lead to, and those that lead on."""
        asked = [(each.record, each.names) for each in waiting]
        level = _Level(self, answering)
        limits = Limits(max(1, self.max_related - answering.related), MAX_PAGE_BYTES, level.size_of)
        visible = self.access.related(answering.call.caller)
        place = 0
        try:
            found = self.store.expanding_each(asked, deadline=answering.deadline, visible=visible, limits=limits)
            for each, related in zip(waiting, found, strict=False):
                level.give(each, related)
                place += 1
            if place < len(waiting):
                raise self._cut(answering)
        except ShardweaveError as error:
            for key in dict.fromkeys(each.key for each in waiting[place:]):
                answering.fails(key, error)
        answering.related += len(level.texts)
        return [each for each in level.further if not isinstance(answering.found.get(each.key), FieldError)]

    def _cut(self, answering: Answering) -> ShardweaveError:
        if answering.deadline is not None and self.store.monotonic() >= answering.deadline:
            return DeadlineTooShort(
                "there was no time for the related records", where="query", fix="ask for less at once"
            )
        message = f"the answer leads to more than the {self.max_related:,} related records that one request may read"
        return TooManyReads(message, where="query", fix="ask for fewer relations, or give lists a lower limit")


@dataclass(frozen=True)
class _Waiting:
    """A record that leads to others, in the field `key` of `Query`."""

    key: str
    node: Node
    selected: Selected

    @property
    def record(self) -> Entity:
        assert self.node.record is not None, "what leads on is a whole record"
        return self.node.record

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.name for each in self.selected.relations))


@dataclass
class _Level:
    """The nodes of one level: one for each record and what is asked for of it, however often it is led to."""

    reading: Reading
    answering: Answering
    texts: dict[int, Carried] = field(default_factory=dict)
    nodes: dict[tuple[int, int], Node] = field(default_factory=dict)
    further: list[_Waiting] = field(default_factory=list)

    def size_of(self, record: Entity) -> int:
        """How many bytes a record takes. Raises RecordUnreadable."""
        text = self.texts[id(record)] = Carried(self._models(type(record)).json(record))
        return text.size

    def give(self, waiting: _Waiting, related: Mapping[str, Any]) -> None:
        """Give a node what its relations led to. Raises AnswerTooLarge."""
        for each in waiting.selected.relations:
            found = related[each.name]
            waiting.node.related[each.key] = (
                [self._led_to(waiting.key, one, each.selected) for one in found]
                if isinstance(found, tuple)
                else self._led_to(waiting.key, found, each.selected)
            )

    def _led_to(self, key: str, found: Any, selected: Selected) -> Any:
        if isinstance(found, Unreadable):
            what = found
            return FieldError(RecordUnreadable(what))
        if found is None:
            return None
        self.answering.takes(self.texts[id(found)].size)
        name = (id(found), id(selected))
        if name not in self.nodes:
            node = Node(json.loads(self.texts[id(found)].text), found.rev, found)
            self.nodes[name] = node
            self.further.append(_Waiting(key, node, selected))
        return self.nodes[name]

    def _models(self, model: type[Entity]) -> RecordModels:
        return self.reading.records[model.declaration.token].models


def grant_texts(bound: Mapping[str, Any]) -> dict[str, str]:
    """The values that claims say, as a URL has them."""
    return {name: str(value) for name, value in bound.items()}
