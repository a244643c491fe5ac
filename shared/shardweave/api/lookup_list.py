"""Lists by a lookup: `lookup=phone&phone=123`, the records with a value, consistently.

    lookup      the lookup
    its own properties, each by equality; `limit`, `nextToken` and `expand` as in every list

An index may lag behind and a lookup does not: what is answered had the value at some moment of the request. Records
come in the order of their ids, of a unique value at most one. Nothing else goes with it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..access.grant import Grant
from ..declared import LookupType
from ..entity_type import EntityType
from ..errors import InputError, InvalidCursor, UnknownName, UnsupportedQuery
from ..query.room import fitting
from ..query.spec import Page
from ..store import Store
from .expansion import EXPAND
from .list_query import RESERVED
from .operation import Parameter
from .pages import CONTINUATION, MAX_PAGE_BYTES, Pages, carried_bytes, paging

LOOKUP = "lookup"
_BESIDE = (LOOKUP, "limit", CONTINUATION, EXPAND)


class LookupList:
    """The lists of one entity by its lookups. `taken` are the names of the parameters that its lists have already."""

    def __init__(self, entity: EntityType[Any], store: Store, pages: Pages, taken: Sequence[str]) -> None:
        self._entity = entity
        self._store = store
        self._pages = pages
        self._taken = taken

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that lists have for lookups, where there are any."""
        lookups = self._entity.lookups
        if not lookups:
            return ()
        asked = {name: ", ".join(map(self._parameter, _names(each))) for name, each in lookups.items()}
        meant = "; ".join(f"`{name}` by {names}" for name, names in asked.items())
        described = f"Records with a value, consistently, in place of an index: {meant}."
        names = dict.fromkeys(name for each in lookups.values() for name in _names(each))
        properties = [self._entity.properties[name] for name in names if self._parameter(name) not in self._taken]
        return (
            Parameter(LOOKUP, described, Literal[tuple(lookups)]),
            *(
                Parameter(self._parameter(each.stored), "Equal to this, in a lookup.", each.annotation)
                for each in properties
            ),
        )

    def run(self, given: Mapping[str, str], expand: Sequence[str], grant: Grant) -> Page:
        """The page that parameters with `lookup` ask for. Raises UnknownName, UnsupportedQuery, ValidationFailed,
        InvalidCursor, LimitExceeded."""
        lookup = self._lookup(given[LOOKUP])
        values = self._values(lookup, given, grant)
        value = values.pop(lookup.property_name)
        after = None if CONTINUATION not in given else _place(given[CONTINUATION])
        limit = paging({"limit": given["limit"]} if "limit" in given else {})["limit"]
        while True:
            found = self._store.find_by(self._entity.model, lookup.name, value, within=values, limit=limit, after=after)
            texts = self._pages.texts([each for each in found.items if grant.sees_record(each)], expand, grant.caller)
            room = fitting(map(carried_bytes, texts), MAX_PAGE_BYTES)
            if room == len(texts):
                return Page(tuple(texts), None if found.after is None else _token(found.after))
            limit = room

    def _lookup(self, name: str) -> LookupType:
        found = self._entity.lookups.get(name)
        if found is None:
            fix = f"use one of {', '.join(self._entity.lookups)}"
            raise UnknownName("there is no such lookup", where=LOOKUP, fix=fix)
        return found

    def _values(self, lookup: LookupType, given: Mapping[str, str], grant: Grant) -> dict[str, Any]:
        names = {self._parameter(name): name for name in _names(lookup)}
        for name in given:
            if name not in names and name not in _BESIDE:
                raise UnsupportedQuery(
                    "it does not go with this lookup", where=name, fix=f"give {', '.join(names)} alone, or an index"
                )
        for name, stored in names.items():
            if name not in given and stored not in grant.bound:
                raise InputError("the lookup needs it", where=name, fix="give it")
        read = {
            stored: self._entity.properties[stored].read_text(given[name], (name,))
            for name, stored in names.items()
            if name in given
        }
        return {stored: grant.within(stored, read.get(stored)) for stored in names.values()}

    def _parameter(self, name: str) -> str:
        """What the equality of a property is called: its own name, unless that is another parameter's."""
        return f"{name}.eq" if name in RESERVED else name


def _names(lookup: LookupType) -> list[str]:
    return [element.name for element in lookup.elements]


def _token(after: str) -> str:
    return base64.urlsafe_b64encode(after.encode()).decode()


def _place(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidCursor("it is no token of this list", where=CONTINUATION, fix="start without one") from None
