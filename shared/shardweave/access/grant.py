"""What one caller may do with the records of one entity, in one operation.

`bound` are the properties whose values the caller's claims say, `owners` those of which one must be the caller's
subject (None: any record will do); `related` tells the store which records of other entities there are, as parents
and children of the caller's. What does not fit does not exist for the caller. Everything here is worked out from
values at hand; queries are narrowed by conditions, so that the plan itself has no lane of another tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Forbidden, InputError, NotFound, UnknownName, UnsupportedQuery
from ..keys.shard_key import AnyKey
from ..query.spec import BranchSpec, Constraint, Equal, OneOf, QuerySpec
from ..schema.caller import Caller, is_member
from ..schema.entity_type import EntityType
from ..schema.relations import LookupType
from ..store.operations import Among, Related, Visible
from ..table.conditions import Compare, Condition, Or
from ..table.values import Item, Value
from ..values.stored_form import stored_form

NOT_YOURS = "read what you may, and leave the property out"


@dataclass(frozen=True)
class Grant:
    """The records of an entity that a caller may see, make and change in an operation."""

    entity: EntityType[Any]
    caller: Caller
    bound: Mapping[str, Value]
    owners: tuple[str, ...] | None = None
    related: Related | None = field(default=None, compare=False)

    # -- records

    def sees(self, item: Item) -> bool:
        """Whether a stored record exists for the caller."""
        if any(item.get(name) != value for name, value in self.bound.items()):
            return False
        return self.owners is None or any(item.get(name) == self.caller.subject for name in self.owners)

    @property
    def is_limited(self) -> bool:
        """Whether some records may not exist for the caller."""
        return bool(self.bound) or self.owners is not None

    @property
    def visibility(self) -> Any:
        """Tells the store which records there are, None when all are."""
        return self.sees if self.is_limited else None

    @property
    def asker(self) -> dict[str, Any]:
        """What an operation says of whoever asks for it."""
        return {"visibility": self.visibility, "related": self.related}

    @property
    def visible(self) -> Visible:
        """Which records there are, and what decides it."""
        claims = frozenset(self.entity.claims.values())
        if self.owners is None:
            return Visible(self.visibility, tuple(self.bound), claims)
        return Visible(self.visibility, (*self.bound, *self.owners), None, self._owned(self.owners))

    def names_it(self, identity: Item) -> bool:
        """Whether a record of the caller could have an identity."""
        return all(identity[name] == value for name, value in self.bound.items() if name in identity)

    @property
    def said(self) -> dict[str, Any]:
        """What the claims say of the identity of the caller's records."""
        return {
            name: self._property(name).python(self.bound[name]) for name in self.entity.identity if name in self.bound
        }

    def check_decided(self, identity: Item) -> None:
        """That an identity alone tells whether a record is the caller's. Raises Forbidden where it does not, NotFound
        for another's."""
        if self.owners is not None or not self.entity.claims.keys() <= set(self.entity.identity):
            fix = "read the record instead"
            raise Forbidden("whose record it is can't be told from its key", where="key", fix=fix)
        if not self.names_it(identity):
            raise self._not_found()

    def _not_found(self) -> NotFound:
        return NotFound(f"there is no such {self.entity.token}", where="key", fix="check the key")

    def key(self, given: Any) -> Any:
        """What identifies a record of the caller's: what was given, and what the claims say where that is left out."""
        said = self.said
        if not said or isinstance(given, AnyKey):
            return given
        left = [name for name in self.entity.identity if name not in said]
        if isinstance(given, Mapping):
            found = said | self._named(given)
            for name in found:
                self.entity.condition_property(name)
            if missing := [name for name in left if found.get(name) is None]:
                fix = f"give {' and '.join(left)}"
                raise UnknownName(f"{', '.join(missing)} is missing", where="key", fix=fix)
            return found
        if len(left) > 1:
            message = f"one value does not identify the entity {self.entity.token!r}"
            raise UnknownName(message, where="key", fix=f"give {', '.join(left)}")
        return said | {left[0]: given} if left else given

    def scope(self, lookup: LookupType, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a lookup is asked within: what was given, and what the claims say where that is left out."""
        names = [each.name for each in lookup.within if each.name in self.bound]
        return {name: self._property(name).python(self.bound[name]) for name in names} | self._named(given)

    def _named(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values by the names of properties; an error about them is for whoever reads them."""
        if any(not isinstance(name, str) for name in given) or self.entity.repeated(given):
            return dict(given)
        return self.entity.by_stored_name(given)

    # -- what is written

    def made(self, values: Mapping[str, Any], keeping: Collection[str] = ()) -> dict[str, Any]:
        """The properties (stored names) of a record that the caller makes: what the claims say, and the caller as its
        owner. Raises Forbidden for other values, but for those that only a record shows which is replaced and has the
        owner among what it is `keeping`."""
        claimed = {name: self._property(name).python(each) for name, each in self.bound.items()}
        found = {**self._checked(values), **claimed}
        if self.owners is None:
            return found
        given = [name for name in self.owners if found.get(name) is not None]
        if not given and len(self.owners) == 1:
            found[self.owners[0]] = self.caller.subject
            return found
        unsaid = [name for name in self.owners if name in keeping and name not in found]
        if not unsaid and not any(found[name] == self.caller.subject for name in given):
            raise Forbidden("the record would not be the caller's", where=", ".join(self.owners), fix=NOT_YOURS)
        return found

    def started(self, identity: Item, values: Mapping[str, Any]) -> dict[str, Any]:
        """The properties (stored names) of a record that the caller makes by an upsert if there is none, as in `made`.
        Raises NotFound for an identity that no record of the caller's can have, also if there is such a record."""
        subject, owners = self.caller.subject, self.owners or ()
        owned = not owners or any(identity.get(name, subject) == subject for name in owners)
        if not (owned and self.names_it(identity)):
            raise self._not_found()
        return self.made({**{name: identity[name] for name in owners if name in identity}, **values})

    def changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The changes (stored names) that the caller makes. Raises Forbidden for one that gives the record away."""
        for name in self.owners or ():
            if name in values and values[name] != self.caller.subject:
                raise Forbidden("the record would not be the caller's", where=name, fix=NOT_YOURS)
        return {name: value for name, value in self._checked(values).items() if name not in self.bound}

    def _checked(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, value in self.bound.items():
            if values.get(name) is not None and self._stored(name, values[name]) != value:
                raise self._another(name)
        return values

    # -- what is asked

    def narrowed(self, spec: QuerySpec) -> QuerySpec:
        """The query over the caller's records alone, its cursor bound to the caller. Raises Forbidden for one that asks
        for those of others, or by an index that the caller may not use; UnknownName for private properties."""
        self._refuse_private(spec)
        branches = _branches(spec)
        owners = {view.owner for each in branches if (view := self.entity.views.get(each.index)) and view.owner}
        for each in branches:
            view = self.entity.views.get(each.index)
            if view is not None and view.groups and not is_member(self.caller, view.groups):
                raise Forbidden("the index is for others", where="index", fix="use another one")
        narrowed = tuple(replace(each, conditions=self._conditions(each.conditions)) for each in branches)
        filters = [*([] if spec.filter is None else [spec.filter])]
        filters += [] if self.owners is None else [self._owned(self.owners)]
        filters += [self._owned((owner,)) for owner in sorted(owners)]
        whole = filters[0] if len(filters) == 1 else (filters[0] & _all(filters[1:]) if filters else None)
        visibility = self._among(owners) if owners or self.owners is not None else None
        tells = not (self.is_limited or owners)
        found = replace(spec, filter=whole, scope=self.caller.scope, visibility=visibility, tells_unreadable=tells)
        if spec.branches is not None:
            return replace(found, branches=narrowed)
        return replace(found, conditions=narrowed[0].conditions)

    def check_filter(self, filter: Condition | None) -> None:
        """That a filter of a list by a lookup tests nothing private. Raises UnknownName."""
        if filter is not None:
            self._refuse_private(QuerySpec(self.entity.token, {}, filter=filter))

    def check_costs(self, spec: QuerySpec, told: Mapping[str, bool]) -> None:
        """That what a query reads may be told, where it is asked for (`told`, by the name of what asks), and may end a
        page. Raises UnsupportedQuery where records are read that the caller may not see, or not whole: what they cost
        would tell of them."""
        asked = [name for name, is_asked in {**told, "budget": spec.budget is not None}.items() if is_asked]
        if not asked:
            return
        fix = f"leave {asked[0]} out"
        if any(each.private for each in self.entity.properties.values()):
            message = "what is read is not told here, since records have properties that are not shown"
            raise UnsupportedQuery(message, where=asked[0], fix=fix)
        if not all(self._reads_own(each) for each in _branches(spec)):
            message = "what is read is not told here, since records are read that are not shown"
            more = f", or fix {self.owners[0]}" if self.owners else ""
            raise UnsupportedQuery(message, where=asked[0], fix=fix + more)

    def hidden_indexes(self, spec: QuerySpec) -> frozenset[str]:
        """The indexes that may not be chosen for a query."""
        named = {each.index for each in _branches(spec)}
        return frozenset(
            name
            for name, view in self.entity.views.items()
            if name is not None
            and not (
                view.exposed
                and (not view.groups or is_member(self.caller, view.groups))
                and (view.owner is None or name in named)
            )
        )

    def within(self, name: str, given: Any) -> Any:
        """The value of a property in a lookup: what was given, or what the claim says. Raises Forbidden."""
        if name not in self.bound:
            return given
        if given is not None and self._stored(name, given) != self.bound[name]:
            raise self._another(name)
        return self._property(name).python(self.bound[name])

    # -- parts

    def _conditions(self, given: Mapping[str, Constraint | OneOf]) -> dict[str, Constraint | OneOf]:
        found = dict(given)
        for name, constraint in given.items() if self.bound else ():
            stored = self.entity.stored_name(name)
            if stored not in self.bound:
                continue
            if not isinstance(constraint, Equal) or self._stored(stored, constraint.value) != self.bound[stored]:
                raise self._another(stored)
            del found[name]
        return {**found, **{name: Equal(self._property(name).python(each)) for name, each in self.bound.items()}}

    def shows_all(self, spec: QuerySpec) -> bool:
        """Whether a query reads records alone that the caller may see, and they are shown whole."""
        if any(each.private for each in self.entity.properties.values()):
            return False
        return all(self._reads_own(each) for each in _branches(spec))

    def _reads_own(self, branch: BranchSpec) -> bool:
        """Whether conditions keep a branch to records of the caller, so that no others are read."""
        view = self.entity.views.get(branch.index)
        index_owner = None if view is None else view.owner
        if self.owners is None and not index_owner:
            return True
        fixed = {
            stored
            for name, constraint in branch.conditions.items()
            if isinstance(constraint, Equal)
            and self._stored((stored := self.entity.stored_name(name)), constraint.value) == self.caller.subject
        }
        if index_owner and index_owner not in fixed:
            return False
        return self.owners is None or not fixed.isdisjoint(self.owners)

    def _among(self, owners: Collection[str]) -> Callable[[Item], bool]:
        """Which records there are, where each of `owners` must be the caller too."""
        return lambda item: self.sees(item) and all(item.get(name) == self.caller.subject for name in owners)

    def _owned(self, names: tuple[str, ...]) -> Condition:
        parts = tuple(Compare(name, "=", self.caller.subject) for name in names)
        return parts[0] if len(parts) == 1 else Or(parts)

    def _refuse_private(self, spec: QuerySpec) -> None:
        private = {each.stored for each in self.entity.properties.values() if each.private}
        if not private:
            return
        asked = [(name, "properties") for name in spec.properties or ()]
        for branch in (BranchSpec(spec.conditions, None, spec.filter), *(spec.branches or ())):
            asked += [(name, "conditions") for name in branch.conditions]
            asked += [(name, "filter") for name in (() if branch.filter is None else branch.filter.attributes())]
        for name, where in asked:
            if self.entity.stored_name(name.partition(".")[0]) in private:
                known = ", ".join(each for each in self.entity.properties if each not in private)
                message = f"the entity {self.entity.token!r} has no property {name[:80]!r}"
                raise UnknownName(message, where=where, fix=f"use one of {known}")

    def _another(self, name: str) -> Forbidden:
        return Forbidden("it is what the caller's claim says, and nothing else", where=name, fix="leave it out")

    def _property(self, name: str) -> Any:
        return self.entity.properties[name]

    def _stored(self, name: str, value: Any) -> Value:
        try:
            return stored_form(value) if isinstance(value, str) else self._property(name).parse(value)
        except InputError:
            raise self._another(name) from None


def both_see(grant: Grant, other: Grant) -> Among | None:
    """Tells which records there are for a caller by both grants, None when all are."""
    if not (grant.is_limited or other.is_limited):
        return None
    return lambda item: grant.sees(item) and other.sees(item)


def _branches(spec: QuerySpec) -> tuple[BranchSpec, ...]:
    return (BranchSpec(spec.conditions, spec.index),) if spec.branches is None else spec.branches


def _all(conditions: list[Condition]) -> Condition:
    first, *rest = conditions
    for each in rest:
        first = first & each
    return first
