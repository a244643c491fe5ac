"""`shardweave query --collection`: the records of several entities in one order, each with its entity, as the API lists
them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..api.pages import token_named
from ..api.parts import Parts
from ..api.routes.collections import CollectionRoute
from ..errors import ConfigurationError, InputError, Unreadable, use_one_of
from ..wire.unreadable import UNREADABLE
from .query import given_parameters, write_counted, write_pages
from .shown_records import ShownRecords


@dataclass(frozen=True)
class ShownCollection:
    """The records of several entities as JSON, by their models."""

    records: dict[type, ShownRecords]

    def document(self, record: Any) -> dict[str, Any]:
        """A record with its entity. Raises RecordUnreadable."""
        shown = self.records[type(record)]
        return {"entity": shown.entity.token, "record": shown.document(record)}

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]:
        """The member that lists unreadable records, if there are any."""
        by_token = {each.entity.token: each for each in self.records.values()}
        listed = [by_token[each.entity].models.unreadable_json(each) for each in found]
        return {UNREADABLE: listed} if listed else {}

    def say_what_is_left_out(self, say: Callable[[str], object]) -> None:
        """Name the private properties, where they are not written."""
        for each in self.records.values():
            each.say_what_is_left_out(say)


def query_collection(options: argparse.Namespace, parts: Parts) -> int:
    """Write the pages of a collection, or count its records."""
    route = _route(options.collection, parts)
    if options.query is not None:
        fix = "give parameters NAME=VALUE"
        raise InputError("a collection has no JSON form", where="--query", fix=fix)
    given = given_parameters(options, route.list_query)
    spec = route.spec(given)
    if options.count:
        return write_counted(options, parts.queries.count(spec))
    shown = {each.model: ShownRecords(each, private=options.private) for each in route.entities}
    with token_named(given):
        return write_pages(options, ShownCollection(shown), parts.queries, spec)


def _route(name: str, parts: Parts) -> CollectionRoute:
    known = {each.name: each for each in parts.schema.collections}
    if name not in known:
        fix = use_one_of(known, what="collection") if known else "declare a Collection, or give --entity"
        raise ConfigurationError(f"there is no collection {name[:80]!r}", where="--collection", fix=fix)
    return CollectionRoute(known[name], parts.schema, parts.queries, parts.external_keys, parts.access)
