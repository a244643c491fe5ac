"""The compiled form of a `has_many` by `via`: the list of the records whose relation leads to a record.

    class Tag:             conversations = has_many("conversation", via="tags")
    class Conversation:    tags = has_many(Tag, by=("tenant_id", "tag_ids"))
                           tag_lookup = Lookup("tag_ids", within="tenant_id", name="tag")

The list is read through a lookup of the other entity that has exactly the properties of the relation. It may have more
in its `within` if they are bound to claims that the record is bound to as well: their values are the record's own.

Pure. Names are stored (camelCase) ones unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic.alias_generators import to_camel

from .declarations import BelongsTo, HasMany, Lookup
from .entity import Entity, identity_of
from .nested_elements import property_at
from .property import properties_of
from .relations import target_of


@dataclass(frozen=True)
class RelatedList:
    """A list of records of `target` (a token) that the lookup `lookup` of the target finds. `values` are the properties
    of the lookup, each with the record's own property that has its value. `private`: it uses a private property, so it
    is not available over HTTP."""

    name: str
    target: str
    lookup: str
    values: Mapping[str, str]
    private: bool = False


def related_lists_of(model: type[Entity], models: Sequence[type[Entity]]) -> dict[str, RelatedList]:
    """A model's related lists by name."""
    found = {}
    for name, each in model.declared().items():
        if isinstance(each, HasMany) and each.via is not None:
            target = next(other for other in models if other.declaration.token == target_of(each))
            (listing, values) = next(lookups_via(model, target, each.via))
            own, theirs = properties_of(model), properties_of(target)
            mine = {key: property_at(own, value) for key, value in values.items()}
            stored = {theirs[key].stored: each.stored for key, each in mine.items() if each is not None}
            private = any(theirs[key].private or (each and each.private) for key, each in mine.items())
            lookup = listing.name or theirs[listing.property].stored
            found[to_camel(name)] = RelatedList(to_camel(name), target.declaration.token, lookup, stored, private)
    return found


def lookups_via(model: type[Entity], target: type[Entity], via: str) -> Iterator[tuple[Lookup, Mapping[str, str]]]:
    """The lookups of `target` that find the records whose relation `via` leads to a record of `model`, each with the
    properties (Python names) of the target and of the model that have the same value."""
    relation = target.declared().get(via)
    if not isinstance(relation, (BelongsTo, HasMany)) or len(relation.by) != len(identity_of(model)):
        return
    by = dict(zip(relation.by, identity_of(model), strict=True))
    claims = {each.claim: each.name for each in properties_of(model).values() if each.claim is not None}
    theirs = properties_of(target)
    for each in target.declared().values():
        if not isinstance(each, Lookup) or each.canonical is not None:
            continue
        names = {*each.within, each.property}
        more = {name: claims.get(theirs[name].claim or "") for name in names - by.keys() if name in theirs}
        bound = {name: own for name, own in more.items() if own is not None}
        if by.keys() <= names and len(bound) == len(names) - len(by):
            yield each, {**by, **bound}
