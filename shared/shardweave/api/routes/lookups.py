"""Lists by a lookup: `lookup=phone&phone=123`, the records with a value, with strong consistency.

    lookup      the lookup
    its own properties, each by equality; `limit`, `nextToken`, `prevToken`, `expand`, `filter.state` as in every list
    of an ordered one also `due.prefix`, `due.from`, `due.to`, `reverse`; of a mapping `numbers.name`, the entry's name

An index may lag behind and a lookup does not: what is answered had the value at some moment of the request. Records
come in the order of their ids, or, of an ordered lookup, of the values; of a unique value at most one. Nothing else
goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ...access.grant import Grant
from ...errors import InputError, UnknownName, UnsupportedQuery
from ...query.cursor import CursorCodec
from ...query.lookup_tokens import LookupTokens
from ...query.spec import Prefix, Range
from ...schema.entity_type import EntityType
from ...schema.property import Property
from ...schema.relations import LookupType
from ...store import Store
from ...wire.list_parameters import ListQuery, condition_value, equality_names
from ...wire.paging import CONTINUATION, EXPAND, PREVIOUS, paging
from ...wire.parameter import Parameter
from ..lookup_pages import LookupPages, LookupQuestion
from ..operation import Call
from ..pages import AnsweredPage, Pages

LOOKUP = "lookup"
_BESIDE = (LOOKUP, "limit", CONTINUATION, PREVIOUS, EXPAND)
_SIDES = ("prefix", "from", "to")


class LookupList:
    """The lists of one entity by its lookups. `lists` are its lists by indexes, whose parameters it has already;
    `cursors` encrypts the tokens, and `clock` (epoch milliseconds) gives the time at which a walk begins."""

    def __init__(
        self,
        entity: EntityType[Any],
        store: Store,
        cursors: CursorCodec,
        clock: Callable[[], int],
        pages: Pages,
        lists: ListQuery,
    ) -> None:
        self._entity = entity
        self._lists = lists
        self._taken = frozenset(each.name for each in lists.parameters)
        self.lookup_pages = LookupPages(entity, store, LookupTokens(cursors, clock), pages)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of lists for lookups, if there are any."""
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
            *(each for each in self._ordered(lookups.values()) if each.name not in self._taken),
        )

    def refuse_alone(self, given: Mapping[str, str]) -> None:
        """Refuse parameters that only a lookup has if `lookup` is missing: the list would be of all records. Raises
        UnsupportedQuery."""
        for name, lookup in self._entity.lookups.items():
            asked = (*(each for each, _ in self._asked([lookup])), *(each.name for each in self._ordered([lookup])))
            for parameter in (each for each in asked if each in given and each not in self._taken):
                fix = f"give lookup={name} too"
                raise UnsupportedQuery("no index has it, a lookup does", where=parameter, fix=fix)

    def run(self, call: Call, expand: Sequence[str], grant: Grant) -> AnsweredPage:
        """The page for parameters with `lookup`. Raises UnknownName, UnsupportedQuery, ValidationFailed, InvalidCursor,
        CursorMismatch, CursorExpired, LimitExceeded."""
        lookup = self._lookup(call.query[LOOKUP])
        within, value = self._asked_of(lookup, call.query, grant)
        return self.page(call, lookup, {**within, lookup.property_name: value}, expand, grant)

    def page(
        self, call: Call, lookup: LookupType, values: dict[str, Any], expand: Sequence[str], grant: Grant
    ) -> AnsweredPage:
        """The page of the records with these values. Raises as `run` does."""
        within, value = dict(values), values.get(lookup.property_name)
        within.pop(lookup.property_name, None)
        asked = paging(call.query)
        tests = self._lists.filter_of(call.query)
        question = LookupQuestion(lookup.name, value, within, lookup.ordered and asked["reverse"], tests)
        return self.lookup_pages.page(call, question, asked, expand, grant)

    # -- conditions

    def _asked(self, lookups: Iterable[LookupType]) -> Iterator[tuple[str, Property]]:
        """The parameters of lookups, each with the property that has its values' type."""
        asked = {
            stored: each.property_in(self._entity.properties, stored)
            for each in lookups
            for stored in _names(each)
            if stored != each.entry_name
        }
        for stored, found in asked.items():
            yield from ((name, found) for name in equality_names(stored))

    def _ordered(self, lookups: Iterable[LookupType]) -> Iterator[Parameter]:
        """The parameters of ordered lookups, besides equality."""
        for each in lookups:
            if each.ordered:
                name, codec = each.property_name, each.element.codec
                annotation = each.property_in(self._entity.properties, name).annotation
                if each.entries:
                    yield Parameter(each.entry_name, f"The entry of {name} that an ordered lookup lists.")
                if codec.is_text:
                    yield Parameter(f"{name}.prefix", "Begins with this text, in an ordered lookup.")
                yield Parameter(f"{name}.from", "At or after this, in an ordered lookup.", annotation)
                yield Parameter(f"{name}.to", "At or before this, in an ordered lookup.", annotation)

    def _lookup(self, name: str) -> LookupType:
        found = self._entity.lookups.get(name)
        if found is None:
            fix = f"use one of {', '.join(self._entity.lookups)}"
            raise UnknownName("there is no such lookup", where=LOOKUP, fix=fix)
        return found

    def _asked_of(self, lookup: LookupType, given: Mapping[str, str], grant: Grant) -> tuple[dict[str, Any], Any]:
        """The values of `within`, and the value or the condition on it. Raises UnsupportedQuery, InputError,
        ValidationFailed."""
        read, bounds = self._read(lookup, given, grant)
        found, name = lookup.property_name, lookup.entry_name
        value = _value(found, read, bounds)
        needed = [element.name for element in (lookup.lists if lookup.ordered else lookup.within)]
        for stored in needed if lookup.ordered else [*needed, found]:
            if (stored not in read) and stored not in grant.bound:
                raise InputError("the lookup needs it", where=_plain_name(stored), fix="give it")
        if not bounds and (value is not None or not lookup.ordered):
            value = grant.within(found, value)
        bound = {stored: grant.within(stored, read.get(stored)) for stored in needed if stored != name}
        return bound | {stored: text for stored, text in read.items() if stored == name}, value

    def _read(
        self, lookup: LookupType, given: Mapping[str, str], grant: Grant
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The given equalities, by stored name, and the sides of a condition on the value."""
        names = {name: stored for stored in _names(lookup) for name in equality_names(stored)}
        sides = {f"{lookup.property_name}.{side}": side for side in _SIDES} if lookup.ordered else {}
        beside = (*_BESIDE, "reverse") if lookup.ordered else _BESIDE
        read: dict[str, Any] = {}
        bounds: dict[str, Any] = {}
        for parameter, text in given.items():
            stored = names.get(parameter)
            if lookup.entries and parameter == lookup.entry_name:
                read[parameter] = text
            elif parameter in sides:
                bounds[sides[parameter]] = self._bound(lookup, sides[parameter], text, parameter)
            elif self._lists.is_filter(parameter):
                continue
            elif stored is None and parameter not in beside:
                fix = f"give {_listed(lookup, grant.bound)} alone, or an index"
                raise UnsupportedQuery("it does not go with this lookup", where=parameter, fix=fix)
            elif stored is not None and stored in read:
                raise InputError("the property is given twice", where=parameter, fix="give it once")
            elif stored is not None:
                read[stored] = condition_value(self._property(lookup, stored), text, parameter)
        return read, bounds

    def _property(self, lookup: LookupType, stored: str) -> Property:
        return lookup.property_in(self._entity.properties, stored)

    def _bound(self, lookup: LookupType, side: str, text: str, parameter: str) -> Any:
        if side == "prefix":
            return text
        return condition_value(self._property(lookup, lookup.property_name), text, parameter, bound=True)


def _plain_name(stored: str) -> str:
    """The first of the names of a property's equality parameter."""
    return equality_names(stored)[0]


def _value(name: str, read: Mapping[str, Any], bounds: Mapping[str, Any]) -> Any:
    """The value, or the condition on it. Raises UnsupportedQuery for two conditions."""
    if bounds and (name in read or ("prefix" in bounds and len(bounds) > 1)):
        raise UnsupportedQuery("equality, prefix and from/to exclude one another", where=name, fix="keep one of them")
    if "prefix" in bounds:
        return Prefix(bounds["prefix"])
    return Range(bounds.get("from"), bounds.get("to")) if bounds else read.get(name)


def _listed(lookup: LookupType, said: Container[str]) -> str:
    """The description of a list by a lookup, without the properties that claims give."""
    names = [element.name for element in (*lookup.lists, lookup.element)] if lookup.ordered else _names(lookup)
    return ", ".join(_plain_name(each) for each in names if each not in said)


def _names(lookup: LookupType) -> list[str]:
    """The properties that are given by equality."""
    return [element.name for element in (*lookup.within, lookup.element)]
