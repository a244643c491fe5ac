"""The specification of a read by a lookup: a value, or, with an ordered lookup, a list and a condition on its values;
a direction, and a filter.

Pure. `lookup_spec` checks the arguments and converts them to stored form. `listed` returns the range of lookup records
to read: with a plain lookup those of a value, in the order of the owners' ids; with an ordered one those of a list
whose values meet the condition, in the order of the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ...errors import InputError, ShardweaveError, UnknownName, UnsupportedQuery, use_one_of
from ...query.conditions import Match, normalized_constraint, range_interval
from ...query.filters import NO_FILTER, SplitFilter, compile_filter, signature
from ...query.intervals import prefix_text
from ...query.spec import Constraint, Equal, OneOf, Prefix, Range
from ...schema.entity_type import EntityType, IndexView
from ...schema.relations import LookupType
from ...table.conditions import Condition
from ...table.operations import Interval
from ...table.values import Item
from .lookup_records import list_key, lookup_keys, ordered_elements, value_key, value_keys

_CONSTRAINTS = (*get_args(Constraint), OneOf)


@dataclass(frozen=True)
class LookupSpec:
    """A read by a lookup. `values` are in stored form; `constraint` is the condition on the value of an ordered one."""

    lookup: LookupType
    values: Item
    constraint: Constraint | None = None
    reverse: bool = False
    filter: SplitFilter = NO_FILTER

    def signature(self) -> list[Any]:
        """What tokens are bound to besides the values; empty for a plain value alone."""
        parts = [signature(self.filter.by_table), signature(self.filter.here)]
        if self.constraint is None and not self.reverse and parts == [None, None] and not self.lookup.ordered:
            return []
        return [type(self.constraint).__name__, _bounds(self.constraint), self.reverse, *parts]


@dataclass(frozen=True)
class Listed:
    """The lookup records to read: those of a hash key whose range key begins with `prefix` and lies in the
    `interval`. `owner_parts`: the last parts of the text behind the prefix are the owner's id; 0: all of it is."""

    hash_name: str
    hash_value: Any
    range_name: str
    prefix: str
    interval: Interval
    owner_parts: int = 0
    delimiter: str = ""

    def owner(self, text: str) -> str:
        """The owner's id in a text behind the prefix."""
        return self.delimiter.join(text.split(self.delimiter)[-self.owner_parts :]) if self.owner_parts else text

    def key(self, text: str) -> Item:
        """The key of the lookup record with a text behind the prefix."""
        return {self.hash_name: self.hash_value, self.range_name: self.prefix + text}

    def may_have(self, entity: EntityType[Any], lookup: LookupType, item: Item, text: str) -> bool:
        """Whether a stored record is in the list at this place, or may have been, since its present value is
        invalid."""
        try:
            if lookup.ordered:
                return self.key(text) in lookup_keys(entity, lookup, item)
            value = self.prefix.removesuffix(self.delimiter)
            return {self.hash_name: self.hash_value, self.range_name: value} in value_keys(entity, lookup, item)
        except (ShardweaveError, TypeError):
            return True


def lookup_of(entity: EntityType[Any], name: str, beside: Any = ()) -> LookupType:
    """A lookup by its own name or the name of its property. Raises UnknownName that lists the lookups, and the
    relations `beside` them."""
    found = None
    if isinstance(name, str):
        stored = entity.stored_name(name)
        named = (each for each in entity.lookups.values() if each.property_name == stored)
        found = entity.lookups.get(name) or next(named, None)
    if found is None:
        what = "lookup or enforced relation" if beside else "lookup"
        message = f"the entity {entity.token!r} has no {what} {name!r:.80}"
        raise UnknownName(message, where=str(name)[:80], fix=use_one_of((*entity.lookups, *beside), what=what))
    return found


def lookup_values(entity: EntityType[Any], name: str, value: Any, within: Mapping[str, Any]) -> Item:
    """The values of a lookup's properties, in stored form. Raises UnknownName, ValidationFailed, UnsupportedQuery."""
    lookup = lookup_of(entity, name)
    if lookup.ordered:
        fix = "use find_by"
        raise UnsupportedQuery("an ordered lookup finds lists of records", where=name[:80], fix=fix)
    given = _scope(entity, lookup, within)
    given[lookup.property_name] = value
    return {one: lookup.property_in(entity.properties, one).parse(each) for one, each in given.items()}


def lookup_spec(
    entity: EntityType[Any],
    name: str,
    value: Any,
    within: Mapping[str, Any],
    *,
    reverse: bool = False,
    filter: Condition | None = None,
) -> LookupSpec:
    """The specification, checked. Raises InputError's kinds."""
    if not isinstance(reverse, bool):
        raise InputError(f"must be true or false, got {type(reverse).__name__}", where="reverse", fix="give True")
    lookup = lookup_of(entity, name)
    tests = NO_FILTER if filter is None else compile_filter(entity, entity.view(None), [(filter, "filter")])
    if not lookup.ordered:
        if isinstance(value, _CONSTRAINTS):
            message = f"{lookup.name!r} finds by a value, and has no order"
            raise UnsupportedQuery(message, where=lookup.property_name, fix="give a value, or declare an OrderedLookup")
        return LookupSpec(lookup, lookup_values(entity, name, value, within), None, reverse, tests)
    given = _scope(entity, lookup, within)
    entry = given.pop(lookup.entry_name, None) if lookup.entries else None
    values = {one: entity.properties[one].parse(each) for one, each in given.items()}
    if lookup.entries:
        if not isinstance(entry, str):
            raise InputError("must be the name of an entry", where=lookup.entry_name, fix="give a text")
        values[lookup.entry_name] = entry
    for one, each in values.items():
        if each is None:
            raise InputError("a list has a value of it", where=one, fix="give one")
    return LookupSpec(lookup, values, _constraint(entity, lookup, value), reverse, tests)


def listed(entity: EntityType[Any], spec: LookupSpec) -> Listed | None:
    """Where the answer is; None if nothing can be in it. Raises KeyTooLong, ValueRefused."""
    design, lookup = entity.keys.design, spec.lookup
    delimiter = design.key_format.element_delimiter
    if not lookup.ordered:
        key = value_key(entity, lookup, spec.values)
        if key is None:
            return None
        prefix = str(key[design.range_name]) + delimiter
        interval = prefix_text(prefix)
        assert interval is not None, "the value's own text is within the limit"
        return Listed(design.hash_name, key[design.hash_name], design.range_name, prefix, interval, 0, delimiter)
    key = list_key(entity, lookup, spec.values)
    elements, name = ordered_elements(entity, lookup), lookup.property_name
    conditions: dict[str, Constraint] = {each.name: Equal(spec.values[each.name]) for each in lookup.lists}
    is_equal = isinstance(spec.constraint, Equal)
    if spec.constraint is not None:
        conditions[name] = spec.constraint
    matched = Match({}, len(lookup.lists) + is_equal, None if is_equal else spec.constraint)
    view = IndexView(None, design.hash_name, (), design.range_name, elements, False, None, ())
    interval = range_interval(entity.keys, view, conditions, matched)
    if interval is None:
        return None
    parts = len(design.partition) + len(design.sort)
    prefix = str(key[design.range_name])
    return Listed(design.hash_name, key[design.hash_name], design.range_name, prefix, interval, parts, delimiter)


# -- parts ------------------------------------------------------------------------------------------------------------


def _scope(entity: EntityType[Any], lookup: LookupType, within: Mapping[str, Any]) -> dict[str, Any]:
    """What `within` says, by stored name. Raises UnknownName."""
    names = {element.name for element in (lookup.lists if lookup.ordered else lookup.within)}
    renamed = {f"{entity.properties[lookup.property_name].name}.name": lookup.entry_name} if lookup.entries else {}
    plain = {renamed.get(one, one): each for one, each in within.items()}
    for one in plain:
        if one not in names:
            entity.property_of(one)
    given = entity.by_stored_name(plain)
    if given.keys() != names:
        listed = ", ".join(sorted(names)) or "nothing"
        raise UnknownName(f"{lookup.name!r} is asked within {listed}", where="within", fix=f"give {listed}")
    return given


def _constraint(entity: EntityType[Any], lookup: LookupType, value: Any) -> Constraint | None:
    if value is None:
        return None
    if isinstance(value, (OneOf, list, tuple, set, frozenset)):
        fix = "ask for one value after the other, or for a range"
        raise UnsupportedQuery("a list is read in one interval", where=lookup.property_name, fix=fix)
    each = lookup.property_in(entity.properties, lookup.property_name)
    return normalized_constraint(entity.keys, each, value if isinstance(value, _CONSTRAINTS) else Equal(value))


def _bounds(constraint: Constraint | None) -> list[Any]:
    if isinstance(constraint, Range):
        return [constraint.low, constraint.high]
    if isinstance(constraint, Prefix):
        return [constraint.text]
    return [] if constraint is None else [constraint.value]
