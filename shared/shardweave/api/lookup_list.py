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
from .list_query import equality_names
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
        asked = {name: ", ".join(map(_plain_name, _names(each))) for name, each in lookups.items()}
        meant = "; ".join(f"`{name}` by {names}" for name, names in asked.items())
        described = f"Records with a value, consistently, in place of an index: {meant}."
        names = dict.fromkeys(name for each in lookups.values() for name in _names(each))
        free = [(name, stored) for stored in names for name in equality_names(stored) if name not in self._taken]
        return (
            Parameter(LOOKUP, described, Literal[tuple(lookups)]),
            *(
                Parameter(name, "Equal to this, in a lookup.", self._entity.properties[stored].annotation)
                for name, stored in free
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
        names = {name: stored for stored in _names(lookup) for name in equality_names(stored)}
        read: dict[str, Any] = {}
        for name, text in given.items():
            stored = names.get(name)
            if stored is None and name not in _BESIDE:
                fix = f"give {', '.join(map(_plain_name, _names(lookup)))} alone, or an index"
                raise UnsupportedQuery("it does not go with this lookup", where=name, fix=fix)
            if stored is not None and stored in read:
                raise InputError("the property is given twice", where=name, fix="give it once")
            if stored is not None:
                read[stored] = self._entity.properties[stored].read_text(text, (name,))
        for stored in _names(lookup):
            if stored not in read and stored not in grant.bound:
                raise InputError("the lookup needs it", where=_plain_name(stored), fix="give it")
        return {stored: grant.within(stored, read.get(stored)) for stored in _names(lookup)}


def _plain_name(stored: str) -> str:
    """The first of the names that the equality of a property has."""
    return equality_names(stored)[0]


def _names(lookup: LookupType) -> list[str]:
    return [element.name for element in lookup.elements]


def _token(after: str) -> str:
    return base64.urlsafe_b64encode(after.encode()).decode()


def _place(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidCursor("it is no token of this list", where=CONTINUATION, fix="start without one") from None
