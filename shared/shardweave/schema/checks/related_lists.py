"""Checks of lists of related records: `has_many` by `via`. Generators of faults, as in `all_faults`."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import Fault
from ..declarations import BelongsTo, HasMany
from ..entity import Entity, identity_of
from ..property import properties_of
from ..related_lists import lookups_via
from ..relations import target_of


def has_many_faults(where: str, relation: HasMany) -> Iterator[Fault]:
    """A `has_many` lists ids, or goes back by a relation of the other entity, and not both."""
    if (relation.via is None) == (not relation.by):
        message = "must have one of by= and via="
        yield Fault(where, message, "name the property that lists ids with by=, or the target's relation with via=")


def related_list_faults(where: str, model: type[Entity], target: type[Entity], via: str) -> Iterator[Fault]:
    """Faults of a list of the records whose relation `via` leads to a record of a model."""
    token, name = model.declaration.token, target.__name__
    back = {
        each: found
        for each, found in target.declared().items()
        if isinstance(found, (BelongsTo, HasMany)) and target_of(found) == token and found.by
    }
    relation = back.get(via)
    if relation is None:
        known = ", ".join(back) or f"none: declare one in {name}"
        yield Fault(where, f"{name} has no relation {via!r} to this entity", f"use one of {known}")
        return
    if isinstance(relation, BelongsTo) and (relation.on is not None or relation.index is not None):
        yield Fault(where, f"{via!r} does not lead by the identity", "let it, or list the records with a query")
        return
    if len(relation.by) != len(identity_of(model)):
        return  # The relation itself has a fault.
    if next(lookups_via(model, target, via), None) is None:
        *within, last = sorted(relation.by, key=lambda each: each == _listed(target, relation))
        bound = [each.name for each in properties_of(target).values() if each.claim and each.name not in relation.by]
        scope = (*bound, *within)
        lookup = f"Lookup({last!r}, within={scope!r})" if scope else f"Lookup({last!r})"
        yield Fault(where, f"no lookup of {name} finds records by {', '.join(relation.by)}", f"declare {lookup} there")


def _listed(target: type[Entity], relation: BelongsTo | HasMany) -> str:
    """The property of a relation that a lookup finds by: the list, or the last."""
    properties = properties_of(target)
    listed = [name for name in relation.by if name in properties and properties[name].codec is None]
    return listed[0] if listed else relation.by[-1]
