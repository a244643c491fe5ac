"""Checks of lookups, sequences and relations. Generators of faults, as in `all_faults`."""

from __future__ import annotations

import types
import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic.alias_generators import to_camel

from ...errors import Fault
from ...values.codecs import Codec, IntegerCodec, codec_of
from ..declarations import ON_DELETE, BelongsTo, HasMany, Lookup, OrderedLookup, Unique
from ..declarations import Sequence as SequenceDeclaration
from ..entity import Entity, identity_of
from ..entity_options import kind_fault
from ..nested_elements import is_nested, property_at
from ..parts import SchemaParts
from ..property import Property, properties_of
from ..property_options import Role
from ..related_lists import lookups_via
from ..relations import detachable, finding_lookup, is_list, keyed_by, target_of
from ..resolve import index_models
from .entities import element_faults, unknown_property
from .names import is_name

Properties = dict[str, Property]
_KINDS = {"S": "text", "N": "a number", "B": "bytes"}


def relation_faults(parts: SchemaParts, model: type[Entity]) -> Iterator[Fault]:
    """Every fault of a model's lookups, sequences and relations."""
    properties = properties_of(model)
    yield from _lookup_faults(parts, model, properties)
    yield from _sequence_faults(model, properties)
    for name, each in model.declared().items():
        if isinstance(each, (BelongsTo, HasMany)):
            yield from _relation_faults(parts, model, name, each)


def _lookup_faults(parts: SchemaParts, model: type[Entity], properties: Properties) -> Iterator[Fault]:
    names = []
    for place, each in model.declared().items():
        if not isinstance(each, (Unique, Lookup)):
            continue
        where = f"entity {model.__name__}.{place}"
        yield from _own_element_faults(where, _found_by_value(each, properties), properties)
        if isinstance(each, OrderedLookup) and not parts.key_format.ordered:
            message = f"the key format {parts.key_format.name!r} has no order on what others follow"
            yield Fault(where, message, "use the key format 'ordered', or a Lookup")
        canonical: Any = each.canonical
        if canonical is not None and not callable(canonical):
            fix = "give a function from a value to its canonical form"
            yield kind_fault(f"{where}: canonical", canonical, "a function", fix)
        if model.declaration.singleton:
            yield Fault(where, "a singleton is found without a lookup", "remove it")
        found = properties.get(each.property)
        name = each.name or (each.property if found is None else found.stored)
        names.append(name)
        if not is_name(parts, name):
            yield Fault(where, f"{name!r} is not a valid name", "use a letter, then letters and digits")
    identified_by = (property_at(properties, name) for name in identity_of(model))
    identity = ".".join(each.stored for each in identified_by if each is not None)
    for name, times in Counter(names).items():
        if times > 1 or name == identity:
            taken = "the identity" if name == identity else f"{times} lookups"
            yield Fault(f"entity {model.__name__}", f"{name!r} names {taken}", "give each lookup a name=... of its own")


def _own_element_faults(where: str, names: Sequence[str], properties: Properties) -> Iterator[Fault]:
    """Faults of elements of lookups and sequences, which are properties of the entity itself."""
    for name in filter(is_nested, names):
        yield unknown_property(where, name, properties)
    yield from element_faults(where, [name for name in names if not is_nested(name)], properties)


def _found_by_value(each: Unique | Lookup, properties: Properties) -> tuple[str, ...]:
    """The properties of a lookup that must be elements of a key themselves: not a list or set whose members are."""
    found = properties.get(each.property)
    codec = None if found is None or found.codec is not None else keyed_by(found, each)
    beside = (*each.within, *each.then) if isinstance(each, OrderedLookup) else each.within
    return beside if codec is not None and codec.sortable else (*beside, each.property)


def _sequence_faults(model: type[Entity], properties: Properties) -> Iterator[Fault]:
    numbered: list[str] = []
    for place, each in model.declared().items():
        if not isinstance(each, SequenceDeclaration):
            continue
        where = f"entity {model.__name__}.{place}"
        yield from _own_element_faults(where, (*each.within, each.property), properties)
        found = properties.get(each.property)
        if found is not None and (not isinstance(found.codec, IntegerCodec) or found.role is not None):
            yield Fault(where, f"{each.property!r} can't be numbered", "use an int without another role")
        if each.property in numbered:
            yield Fault(where, f"{each.property!r} is numbered twice", "keep one sequence")
        numbered.append(each.property)


def _relation_faults(
    parts: SchemaParts, model: type[Entity], name: str, relation: BelongsTo | HasMany
) -> Iterator[Fault]:
    where = f"entity {model.__name__}.{name}"
    properties = properties_of(model)
    token = target_of(relation)
    target = next((each for each in parts.models if each.declaration.token == token), None)
    if target is None:
        yield Fault(where, f"its target {token!r} is not in the schema", "add it to Schema(entities=[...])")
    if any(each.stored == to_camel(name) for each in properties.values()):
        yield Fault(where, f"{to_camel(name)!r} is already a property", "rename the relation")
    if isinstance(relation, HasMany):
        yield from has_many_faults(where, relation)
    missing = [each for each in relation.by if each not in properties]
    for each in missing:
        yield unknown_property(where, each, properties)
    if target is None or missing:
        return
    if isinstance(relation, HasMany):
        if relation.via is not None:
            yield from related_list_faults(where, model, target, relation.via)
        elif relation.by:
            yield from _many_faults(where, target, [properties[each] for each in relation.by])
    else:
        yield from _one_faults(parts, where, model, target, relation)


def _many_faults(where: str, target: type[Entity], by: Sequence[Property]) -> Iterator[Fault]:
    lists = [each for each in by if is_list(each.annotation)]
    names = ", ".join(repr(each.name) for each in by)
    if len(lists) != 1:
        what = "is not a list" if len(by) == 1 else f"have {len(lists)} lists, and one is needed"
        yield Fault(where, f"{names} {what}", "name one property that lists ids")
    identity = identity_of(target)
    if len(identity) != len(by):
        message = f"its target is identified by {', '.join(identity) or 'nothing'}, and `by` names {names}"
        fix = f"let `by` name a property for each of {', '.join(identity)}, in that order, one of them the list"
        yield Fault(where, message, fix if identity else "remove it: there is one such record")
        return
    for each, name in zip(by, identity, strict=True):
        kinds = typing.get_args(_without_none(each.annotation))[:1] if each in lists else (each.annotation,)
        for kind in kinds:
            yield from _kind_faults(where, each.name, codec_of(kind), target, name)


def _without_none(annotation: Any) -> Any:
    """The type in an annotation beside an optional None."""
    while typing.get_origin(annotation) in (typing.Annotated, typing.Union, types.UnionType):
        annotation = next(each for each in typing.get_args(annotation) if each is not type(None))
    return annotation


def _kind_faults(where: str, by: str, codec: Codec | None, target: type[Entity], name: str) -> Iterator[Fault]:
    """Faults of relations between a number and a text: a value must have the kind of the target's property."""
    found = property_at(properties_of(target), name)
    codecs = (codec, None if found is None else found.codec)
    one, other = (None if each is None else _KINDS.get(each.key_type or "") for each in codecs)
    if one is not None and other is not None and one != other:
        message = f"{by!r} holds {one}, and the target's {name!r} {other}"
        yield Fault(where, message, "declare both of one type")


def _one_faults(
    parts: SchemaParts, where: str, model: type[Entity], target: type[Entity], relation: BelongsTo
) -> Iterator[Fault]:
    wanted = identity_of(target)
    if relation.on is not None and relation.on not in properties_of(target):
        yield Fault(where, f"the target has no property {relation.on!r}", "correct `on`")
    elif relation.index is not None:
        wanted = (relation.on or "",)
        indexes = [each.name for each in parts.indexes if target in index_models(parts.models, each)]
        if relation.index not in indexes or relation.on is None:
            fix = f"give on=, and one of {', '.join(indexes) or '(the target is in no index)'}"
            yield Fault(where, "it is resolved by an index without a property or name that fits", fix)
    elif relation.on is not None:
        found = [e for e in target.declared().values() if isinstance(e, Unique) and e.property == relation.on]
        wanted = (*found[0].within, relation.on) if found else wanted
        if not found:
            by_identity = identity_of(target) == (relation.on,)
            fix = "leave `on` out: it is the target's id" if by_identity else "declare one, or give index="
            yield Fault(where, f"no Unique finds the target by {relation.on!r}", fix)
    if len(relation.by) != len(wanted):
        message = f"its target is found by {', '.join(wanted)}, and `by` names {', '.join(relation.by)}"
        yield Fault(where, message, f"let `by` name a property for each of {', '.join(wanted)}, in that order")
    for by, name in zip(relation.by, wanted, strict=False):
        if property_at(properties_of(target), name) is not None:
            yield from _kind_faults(where, by, properties_of(model)[by].codec, target, name)
    enforced: Any = relation.enforced
    if not isinstance(enforced, bool):
        yield kind_fault(f"{where}: enforced", enforced, "a bool", "give one, or leave it out")
    if enforced:
        if relation.on is not None or relation.index is not None:
            yield Fault(where, "only a relation by identity can be enforced", "leave out on= and index=")
        if any(each.role is Role.TTL for each in properties_of(model).values()):
            message = "records that expire can't be enforced children: nobody counts them off"
            yield Fault(where, message, "leave out enforced=True, or the TTL")
    yield from _on_delete_faults(parts, where, model, target, relation)


def _on_delete_faults(
    parts: SchemaParts, where: str, model: type[Entity], target: type[Entity], relation: BelongsTo
) -> Iterator[Fault]:
    policy: Any = relation.on_delete
    if policy not in ON_DELETE:
        yield Fault(f"{where}: on_delete", f"must be one of {', '.join(ON_DELETE)}", "choose one, or leave it out")
        return
    if policy == "restrict":
        return
    if not relation.enforced:
        yield Fault(where, f"nothing keeps children that could be {policy}ed", "add enforced=True")
    if finding_lookup(model, relation) is None:
        message = f"there is no lookup by which {policy} finds the records of a parent"
        yield Fault(where, message, _finding_fix(model, target, relation))
    if policy == "detach" and not detachable(model, relation):
        message = f"none of {', '.join(relation.by)} can become None"
        yield Fault(where, message, "let one be None, or use cascade")
    if policy == "cascade":
        yield from _cascade_faults(parts, where, model, target)


def _finding_fix(model: type[Entity], target: type[Entity], relation: BelongsTo) -> str:
    """The fix for a missing lookup, with the claim-bound properties in `within`."""
    *within, last = relation.by
    bound = [each.name for each in properties_of(model).values() if each.claim and each.name not in relation.by]
    scope = tuple(bound + within)
    lookup = f"Lookup({last!r}, within={scope!r})" if scope else f"Lookup({last!r})"
    if not bound:
        return f"declare {lookup}"
    names = ", ".join(bound)
    return f"let {names} be in the partition of {target.__name__} and in `by`, before {last}, and declare {lookup}"


def _cascade_faults(parts: SchemaParts, where: str, model: type[Entity], target: type[Entity]) -> Iterator[Fault]:
    """Faults of cascades that don't end, or that another relation would refuse half way."""
    below, found = [model], [model]
    while below:
        parent = below.pop()
        for child, each in _enforced_to(parts, parent):
            if each.on_delete == "restrict":
                message = f"deleting a {parent.__name__} is refused while there are records of {child.__name__}"
                yield Fault(where, message, "let that relation cascade or detach, or this one restrict")
            if each.on_delete == "cascade" and child not in found:
                below.append(child)
                found.append(child)
    if target in found:
        yield Fault(where, "the cascade comes back to where it began", "let one of its relations restrict or detach")


def _enforced_to(parts: SchemaParts, parent: type[Entity]) -> Iterator[tuple[type[Entity], BelongsTo]]:
    for child in parts.models:
        for each in child.declared().values():
            if isinstance(each, BelongsTo) and each.enforced and target_of(each) == parent.declaration.token:
                yield child, each


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
