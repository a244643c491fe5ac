"""Lists by a lookup: `lookup=phone&phone=123`, the records with a value, consistently.

    lookup      the lookup
    its own properties, each by equality; `limit`, `nextToken`, `prevToken` and `expand` as in every list

An index may lag behind and a lookup does not: what is answered had the value at some moment of the request. Records
come in the order of their ids, of a unique value at most one. Nothing else goes with it.

As of every list, a page has `limit` records while that many remain that the caller may see, unless the request's time
ended it or they fill an answer, which it says. Its tokens are cursors (see `query.cursor`) whose position is an id:
sealed, since that may be the id of a record that the caller may not see, and bound to the lookup, its value and the
caller.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ...access.grant import Grant
from ...errors import InputError, RecordUnreadable, UnknownName, UnsupportedQuery
from ...query.cursor import CursorCodec
from ...query.lookup_tokens import LookupTokens, id_reached, lookup_walk
from ...query.spec import Page
from ...schema.entity_type import EntityType
from ...schema.property import Property
from ...schema.relations import LookupType
from ...store import Store
from ...store.lookups.lookup_records import owner_text
from ...store.noticed import notice
from ...wire.list_parameters import equality_names
from ...wire.paging import CONTINUATION, EXPAND, PREVIOUS, paging
from ...wire.parameter import Parameter
from ..operation import Call
from ..pages import AnsweredPage, Pages, deadline_in, token_named
from ..response_size import fitting_page

LOOKUP = "lookup"
_BESIDE = (LOOKUP, "limit", CONTINUATION, PREVIOUS, EXPAND)


class LookupList:
    """The lists of one entity by its lookups. `taken` are the names of the parameters that its lists have already;
    `cursors` seals the tokens, and `clock` (epoch milliseconds) says when a walk begins."""

    def __init__(
        self,
        entity: EntityType[Any],
        store: Store,
        cursors: CursorCodec,
        clock: Callable[[], int],
        pages: Pages,
        taken: Sequence[str],
    ) -> None:
        self._entity = entity
        self._store = store
        self._tokens = LookupTokens(cursors, clock)
        self._pages = pages
        self._taken = taken

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that lists have for lookups, where there are any."""
        lookups = self._entity.lookups
        if not lookups:
            return ()
        claims = self._entity.claims
        asked = {name: _listed(each, claims) for name, each in lookups.items()}
        meant = "; ".join(f"`{name}` by {names}" for name, names in asked.items())
        described = f"Records with a value, consistently, in place of an index: {meant}."
        return (
            Parameter(LOOKUP, described, Literal[tuple(lookups)]),
            *(
                Parameter(name, "Equal to this, in a lookup.", found.annotation)
                for name, found in self._asked(lookups.values())
                if name not in self._taken
            ),
        )

    def run(self, call: Call, expand: Sequence[str], grant: Grant) -> AnsweredPage:
        """The page that parameters with `lookup` ask for. Raises UnknownName, UnsupportedQuery, ValidationFailed,
        InvalidCursor, CursorMismatch, CursorExpired, LimitExceeded."""
        lookup = self._lookup(call.query[LOOKUP])
        return self.page(call, lookup, self._values(lookup, call.query, grant), expand, grant)

    def page(
        self, call: Call, lookup: LookupType, values: dict[str, Any], expand: Sequence[str], grant: Grant
    ) -> AnsweredPage:
        """The page of the records with these values. Raises as `run` does."""
        given = call.query
        walk = lookup_walk(self._entity, lookup.name, values, grant.caller.scope)
        value = values.pop(lookup.property_name)
        asked = paging(given)
        with token_named(given):
            state = self._tokens.opened(asked["cursor"], walk)
        deadline = deadline_in(call.time_left_ms, self._store.monotonic)
        found = self._store.find_by(
            self._entity.model,
            lookup.name,
            value,
            within=values,
            limit=asked["limit"],
            after=id_reached(state),
            backwards=state.backwards,
            visibility=grant.visibility,
            deadline=deadline,
        )
        answered, unreadable = self._pages.answerable(found, tells=grant.visibility is None)
        after, cut, short_of = found.after, found.cut, ""
        try:
            shown = self._pages.texts(answered, expand, grant.caller, deadline)
            texts, short_of = shown.texts, shown.short_of
            room = fitting_page(texts)
        except RecordUnreadable as error:
            # Nothing is answered of the first one, and the page ends behind it.
            texts, room = [], 1
            unreadable.insert(sum(not each.position for each in unreadable), replace(error.record, position=0))
        if answered and (room < len(answered) or not texts):
            entity = self._store.schema.entity(self._entity.token)
            after, cut = owner_text(entity, entity.dump(answered[room - 1][0])), True
            unreadable = [each for each in unreadable if each.position is not None and each.position < room]
        for each in unreadable:
            notice(each)
        page = Page(
            tuple(each.text for each in texts[:room]),
            None,
            complete=not cut,
            unreadable=tuple(unreadable),
        )
        begins = None if asked["cursor"] is None else (found.begins,)
        page = self._tokens.page(page, state, walk, after, begins)
        late = found.cut or (room == len(texts) and short_of == "time")
        return AnsweredPage(page, late or bool(unreadable))

    # -- what is asked

    def _asked(self, lookups: Iterable[LookupType]) -> Iterator[tuple[str, Property]]:
        """The parameters of lookups, each with the property that its values have the type of."""
        asked = {
            stored: each.property_in(self._entity.properties, stored) for each in lookups for stored in _names(each)
        }
        for stored, found in asked.items():
            yield from ((name, found) for name in equality_names(stored))

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
                fix = f"give {_listed(lookup, grant.bound)} alone, or an index"
                raise UnsupportedQuery("it does not go with this lookup", where=name, fix=fix)
            if stored is not None and stored in read:
                raise InputError("the property is given twice", where=name, fix="give it once")
            if stored is not None:
                read[stored] = lookup.property_in(self._entity.properties, stored).read_text(text, (name,))
        for stored in _names(lookup):
            if stored not in read and stored not in grant.bound:
                raise InputError("the lookup needs it", where=_plain_name(stored), fix="give it")
        return {stored: grant.within(stored, read.get(stored)) for stored in _names(lookup)}


def _plain_name(stored: str) -> str:
    """The first of the names that the equality of a property has."""
    return equality_names(stored)[0]


def _listed(lookup: LookupType, said: Container[str]) -> str:
    """What a list by a lookup asks for, without what claims say."""
    return ", ".join(_plain_name(each) for each in _names(lookup) if each not in said)


def _names(lookup: LookupType) -> list[str]:
    return [element.name for element in lookup.elements]
