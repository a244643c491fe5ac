"""The compiled form of an entity's lookups, sequences and relations, which the store uses.

Pure values, made once with the schema. Names in them are stored (camelCase) ones.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from ..errors import ValueRefused
from ..keys.key_design import Element
from ..table.values import Item, Value
from ..values.codecs import Codec, StringCodec
from .declarations import BelongsTo, HasMany, Index, Lookup, OnDelete, OrderedLookup, Unique
from .declarations import Sequence as SequenceDeclaration
from .entity import Entity, identity_of
from .property import Property, properties_of
from .resolve import key_properties

Properties = Mapping[str, Property]
COUNTED = "_counted"
"""The attribute of a stored record with the relations by which its parents count it."""
_LISTS = (list, tuple, set, frozenset, Sequence)


@dataclass(frozen=True)
class LookupType:
    """A lookup: `element` is the property that it finds by, `within` what separates its values. `members`: the property
    is a list or set, and the lookup finds a record by each of its members. `ordered`: it lists records in the order of
    the values, and of `then` where those are equal. `entries`: the property is a mapping, with a list for each name."""

    name: str
    element: Element
    within: tuple[Element, ...]
    unique: bool
    canonical: Callable[[Any], Any] | None = None
    members: bool = False
    ordered: bool = False
    then: tuple[Element, ...] = ()
    entries: bool = False

    @property
    def property_name(self) -> str:
        return self.element.name

    @property
    def elements(self) -> tuple[Element, ...]:
        return (*self.within, self.element, *self.then)

    @property
    def lists(self) -> tuple[Element, ...]:
        """What has a list of its own in an ordered lookup: the values of `within`, and the name of an entry."""
        return (*self.within, Element(self.entry_name, StringCodec())) if self.entries else self.within

    @property
    def entry_name(self) -> str:
        """What the name of an entry is called."""
        return f"{self.property_name}.name"

    def property_in(self, properties: Mapping[str, Property], stored: str) -> Property:
        """The property that a value of `stored` is given for: of a list or set, that of its members, and of a mapping,
        that of its entries."""
        found = properties[stored]
        if self.entries and stored == self.property_name and found.entries is not None:
            return found.entries
        members = found.members if self.members and stored == self.property_name else None
        return found if members is None else members

    def values_of(self, item: Item) -> Iterator[Item]:
        """The values in the keys of the lookup records of a record with these properties. Raises ValueRefused."""
        given = item.get(self.property_name)
        if self.entries:
            yield from self._entries_of(item, given)
            return
        if self.members and not isinstance(given, (list, tuple, set, frozenset, type(None))):
            raise ValueRefused("it must be a list or a set", where=self.property_name, fix="correct it")
        for value in (given or ()) if self.members else (given,):
            found = self.values({**item, self.property_name: value})
            if found is not None:
                yield found

    def _entries_of(self, item: Item, given: Value) -> Iterator[Item]:
        if not isinstance(given, (Mapping, type(None))):
            raise ValueRefused("it must be a mapping", where=self.property_name, fix="correct it")
        for name, value in (given or {}).items():
            found = self.values({**item, self.property_name: value})
            if found is not None:
                yield {**found, self.entry_name: name}

    def values(self, item: Item) -> Item | None:
        """The values in the key of a lookup record, None if a record with these properties has none; of a list or set,
        `item` has one member. Raises ValueRefused."""
        found = {element.name: item.get(element.name) for element in (*self.within, self.element)}
        if self.canonical is not None and found[self.property_name] is not None:
            found[self.property_name] = self._canonical(found[self.property_name])
        return None if None in found.values() else found

    def _canonical(self, value: Value) -> Value:
        assert self.canonical is not None
        try:
            return self.canonical(value)
        except ValueError as error:
            raise ValueRefused("the value has no canonical form", where=self.property_name, fix="correct it") from error


@dataclass(frozen=True)
class SequenceType:
    """A property that is numbered `within` others."""

    property_name: str
    within: tuple[Element, ...]


@dataclass(frozen=True)
class RelationType:
    """A relation of an entity to `target` (a token). `by` are the properties with the reference; they correspond to the
    target's identity, its lookup `lookup`, or its property `on` in `index`. `many`: the property at the position
    `listed` of `by` is a list. `private`: the relation uses a private property, in `by` or to find the target, so it is
    not available over HTTP."""

    name: str
    target: str
    by: tuple[str, ...]
    many: bool = False
    enforced: bool = False
    lookup: str | None = None
    index: str | None = None
    on: str | None = None
    private: bool = False
    listed: int = 0


@dataclass(frozen=True)
class ChildLink:
    """An enforced relation from the side of its target: records of `token` belong to it by their relation `relation`.
    `on_delete` needs the lookup `found_by`; detaching sets the properties `detached` to None."""

    token: str
    relation: str
    on_delete: OnDelete = "restrict"
    found_by: str = ""
    detached: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        """The attribute with the number of children in the parent's counter record."""
        return f"{self.token}_{self.relation}"


def lookups_of(model: type[Entity], properties: Properties) -> dict[str, LookupType]:
    """A model's lookups by name."""
    found = [
        LookupType(
            name=each.name or properties[each.property].stored,
            element=_element(properties, each.property, keyed_by(properties[each.property], each)),
            within=tuple(_element(properties, name) for name in each.within),
            unique=isinstance(each, Unique),
            canonical=each.canonical,
            members=properties[each.property].codec is None and not isinstance(each, OrderedLookup),
            ordered=isinstance(each, OrderedLookup),
            then=tuple(_element(properties, name) for name in getattr(each, "then", ())),
            entries=properties[each.property].codec is None and isinstance(each, OrderedLookup),
        )
        for each in model.declared().values()
        if isinstance(each, (Unique, Lookup))
    ]
    return {each.name: each for each in found}


def sequences_of(model: type[Entity], properties: Properties) -> tuple[SequenceType, ...]:
    """A model's sequences."""
    return tuple(
        SequenceType(properties[each.property].stored, tuple(_element(properties, name) for name in each.within))
        for each in model.declared().values()
        if isinstance(each, SequenceDeclaration)
    )


def relations_of(
    model: type[Entity], models: Sequence[type[Entity]], indexes: Sequence[Index] = ()
) -> dict[str, RelationType]:
    """A model's relations by name. `indexes` are the schema's, which decide whether one is private."""
    own = properties_of(model)
    found = {}
    for python_name, each in model.declared().items():
        name = to_camel(python_name)
        if isinstance(each, HasMany) and each.via is None:
            by = tuple(own[one].stored for one in each.by)
            private = any(own[one].private for one in each.by)
            listed = next(at for at, one in enumerate(each.by) if is_list(own[one].annotation))
            found[name] = RelationType(name, target_of(each), by, many=True, private=private, listed=listed)
        elif isinstance(each, BelongsTo):
            target = next(other for other in models if other.declaration.token == target_of(each))
            by = tuple(own[one].stored for one in each.by)
            lookup = None if each.on is None or each.index is not None else _lookup_on(target, each.on)
            found[name] = RelationType(
                name,
                target.declaration.token,
                by,
                enforced=each.enforced,
                lookup=None if lookup is None else lookup.name,
                index=each.index,
                on=None if each.on is None else properties_of(target)[each.on].stored,
                private=any(own[one].private for one in each.by) or _finds_by_private(target, each, lookup, indexes),
            )
    return found


def target_of(relation: BelongsTo | HasMany) -> str:
    """The token of a relation's target."""
    return relation.target if isinstance(relation.target, str) else relation.target.declaration.token


def children_of(model: type[Entity], models: Sequence[type[Entity]]) -> tuple[ChildLink, ...]:
    """The enforced relations whose target is a model."""
    token = model.declaration.token
    return tuple(
        _child_link(child, name, each)
        for child in models
        for name, each in child.declared().items()
        if isinstance(each, BelongsTo) and each.enforced and target_of(each) == token
    )


def _child_link(child: type[Entity], name: str, relation: BelongsTo) -> ChildLink:
    own, finding = properties_of(child), finding_lookup(child, relation)
    return ChildLink(
        child.declaration.token,
        to_camel(name),
        relation.on_delete,
        "" if finding is None else finding.name or own[finding.property].stored,
        tuple(own[each].stored for each in detachable(child, relation)),
    )


def finding_lookup(child: type[Entity], relation: BelongsTo) -> Lookup | None:
    """The lookup that finds a parent's children, by exactly the properties of the relation's `by`."""
    for each in child.declared().values():
        if isinstance(each, OrderedLookup):
            continue
        if isinstance(each, Lookup) and each.canonical is None and {*each.within, each.property} == set(relation.by):
            return each
    return None


def detachable(child: type[Entity], relation: BelongsTo) -> tuple[str, ...]:
    """The properties of `by` that may become None."""
    own = properties_of(child)
    kept = {*identity_of(child), *child.declaration.shard_by}
    return tuple(
        name
        for name in relation.by
        if name not in kept and own[name].claim is None and _may_be_none(own[name].annotation)
    )


def is_list(annotation: Any) -> bool:
    """Whether a type allows lists or sets."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return is_list(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return any(is_list(each) for each in typing.get_args(annotation))
    return annotation in _LISTS or origin in _LISTS


def _may_be_none(annotation: Any) -> bool:
    return annotation in (None, type(None), Any) or any(map(_may_be_none, typing.get_args(annotation)))


def _lookup_on(target: type[Entity], name: str) -> LookupType | None:
    lookups = lookups_of(target, properties_of(target)).values()
    stored = properties_of(target)[name].stored
    return next((each for each in lookups if each.unique and each.property_name == stored), None)


def _finds_by_private(
    target: type[Entity], relation: BelongsTo, lookup: LookupType | None, indexes: Sequence[Index]
) -> bool:
    """Whether a target is found by one of its private properties, or is the first in the order of one."""
    stored = {element.name for element in lookup.elements} if lookup is not None else set()
    names = {relation.on}
    for index in indexes:
        if index.name == relation.index:
            names.update(key_properties(target, index.hash_key), key_properties(target, index.range_key))
    return any(
        each.private and (each.name in names or each.stored in stored) for each in properties_of(target).values()
    )


def keyed_by(found: Property, lookup: Unique | Lookup) -> Codec | None:
    """The codec of the values by which a lookup finds: those of a property, or of the members of a list or set, or, in
    order, of the entries of a mapping."""
    if isinstance(lookup, OrderedLookup):
        return found.entries.codec if found.codec is None and found.entries is not None else found.codec
    return found.members.codec if found.codec is None and found.members is not None else found.codec


def _element(properties: Properties, name: str, codec: Codec | None = None) -> Element:
    found = properties[name]
    codec = codec or found.codec
    assert codec is not None
    return Element(found.stored, codec)
