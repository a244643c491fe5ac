"""Checks of claims, rules and private properties. Generators of faults, as in `all_faults`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import Fault
from ...values.codecs import StringCodec
from ..access_rules import EVERY, GROUP_NAME, OPERATIONS
from ..declarations import Index, Lookup, Sequence, Unique
from ..entity import Entity, identity_of
from ..entity_type import EntityType
from ..nested_elements import is_nested, property_at
from ..parts import SchemaParts
from ..property import Property, properties_of
from ..property_options import Role
from ..resolve import generated_keys, index_models, key_properties

Properties = dict[str, Property]


def access_advice(entities: Iterable[EntityType[Any]]) -> Iterator[Fault]:
    """Advice about indexes that read the records of all owners to return only the caller's: the time of a query reveals
    something about others' records, and it costs more reads."""
    for entity in entities:
        rules = {entity.stored_name(rule.owner) for rule in entity.access if rule.owner is not None}
        for name, view in entity.views.items():
            owners = {view.owner} if view.owner else rules
            if name is None or not view.exposed or not owners or owners & {each.name for each in view.hash_elements}:
                continue
            message = f"it reads the records of all owners of {entity.collection}, to show callers their own"
            yield Fault(f"index {name}", message, f"put {' or '.join(sorted(owners))} into its hash key")


def access_faults(parts: SchemaParts) -> Iterator[Fault]:
    """Every fault of a schema's claims, rules and private properties."""
    for model in parts.models:
        properties = properties_of(model)
        yield from _claim_faults(model, properties)
        yield from _private_faults(model, properties)
        yield from _rule_faults(model, properties)
    for index in parts.indexes:
        yield from _index_faults(parts, index)


def _claims(properties: Properties) -> list[str]:
    return [name for name, each in properties.items() if each.claim is not None]


def _claim_faults(model: type[Entity], properties: Properties) -> Iterator[Fault]:
    where, claims, declaration = f"entity {model.__name__}", _claims(properties), model.declaration
    for name in claims:
        each = properties[name]
        if not each.claim:
            yield Fault(f"{where}.{name}", "the claim has no name", 'use claim_property("tenant"), say')
        if not each.required or each.codec is None or not each.codec.sortable:
            message = "a property that is bound to a claim is required, and of a type for keys"
            yield Fault(f"{where}.{name}", message, "use str, without a default")
        if each.role not in (None, Role.UNIQUE):
            yield Fault(f"{where}.{name}", "it has another role already", "bind another property to the claim")
    names = [properties[name].claim for name in claims]
    if len(set(names)) < len(names):
        yield Fault(where, "two properties are bound to one claim", "bind one")
    identity = [name for name in identity_of(model) if property_at(properties, name) is not None]
    if claims and not set(claims) <= set(identity):
        made = [name for name in identity if is_nested(name) or properties[name].required]
        if declaration.singleton or made:
            message = "callers of several tenants would give records the same identity"
            fix = f"put {', '.join(claims)} into the partition, or let the unique property have a default_factory"
            yield Fault(where, message, fix)
    for place, declared in model.declared().items():
        if isinstance(declared, (Lookup, Unique, Sequence)) and not set(claims) <= set(declared.within):
            kind = "numbers" if isinstance(declared, Sequence) else "values"
            message = f"the {kind} of different tenants are not apart"
            yield Fault(f"{where}.{place}", message, f"declare it within {', '.join(claims)} too")


def _private_faults(model: type[Entity], properties: Properties) -> Iterator[Fault]:
    declaration = model.declaration
    placing = {*identity_of(model), *declaration.shard_by}
    for name, each in properties.items():
        if each.private and (name in placing or each.role is not None or each.claim is not None):
            message = "a private property can't be in a record's key, nor have another role"
            yield Fault(f"entity {model.__name__}.{name}", message, "use another property there")
    for place, declared in model.declared().items():
        if isinstance(declared, Sequence):
            hidden = [name for name in (*declared.within, declared.property) if _is_private(properties, name)]
            if hidden:
                message = f"{', '.join(hidden)} is private, and a change tells whether a guess of it is right"
                yield Fault(f"entity {model.__name__}.{place}", message, "number, and number within, what is shown")


def _rule_faults(model: type[Entity], properties: Properties) -> Iterator[Fault]:
    for number, rule in enumerate(model.declaration.access):
        where = f"entity {model.__name__}, access[{number}]"
        unknown = [name for name in rule.operations if name != EVERY and name not in OPERATIONS]
        if unknown or not rule.operations:
            message = f"there is no operation {', '.join(map(repr, unknown))}" if unknown else "it allows nothing"
            yield Fault(where, message, f"use some of {', '.join(OPERATIONS)}, or *")
        yield from _group_faults(where, rule.groups)
        yield from _owner_faults(where, rule.owner, properties)


def _index_faults(parts: SchemaParts, index: Index) -> Iterator[Fault]:
    where = f"index {index.name}"
    yield from _group_faults(where, index.groups)
    for model in index_models(parts.models, index):
        properties, generated = properties_of(model), generated_keys(model)
        yield from _owner_faults(where, index.owner, properties)
        if not index.exposed:
            continue
        hashed, ranged = key_properties(model, index.hash_key), key_properties(model, index.range_key)
        missing = [name for name in _claims(properties) if name not in hashed]
        if missing and (index.hash_key == "hash_key" or index.hash_key in generated):
            message = f"{', '.join(missing)} of {model.__name__} is bound to a claim, and not in the index's hash key"
            yield Fault(where, message, "put it there, or keep the index from HTTP with exposed=False")
        hidden = [name for name in (*hashed, *ranged) if _is_private(properties, name)]
        if hidden:
            message = f"{', '.join(hidden)} of {model.__name__} is private, and the index would sort or find by it"
            yield Fault(where, message, "use another property, or keep the index from HTTP with exposed=False")


def _is_private(properties: Properties, name: str) -> bool:
    root = name.partition(".")[0]
    return root in properties and properties[root].private


def _group_faults(where: str, groups: object) -> Iterator[Fault]:
    if not isinstance(groups, tuple) or not all(isinstance(group, str) and group for group in groups):
        yield Fault(where, "groups must be a tuple of names", 'write groups=("reader",)')
        return
    for group in groups:
        if not GROUP_NAME.fullmatch(group):
            message = f"the group {group[:80]!r} has a space, a comma, a quote or a bracket in its name"
            yield Fault(where, message, "use a name without: flattened claims do not tell such names apart")


def _owner_faults(where: str, owner: str | None, properties: Properties) -> Iterator[Fault]:
    if owner is None:
        return
    found = properties.get(owner) if isinstance(owner, str) else None
    if found is None:
        yield Fault(where, f"there is no property {owner!r}", f"use one of {', '.join(properties)}")
    elif not isinstance(found.codec, StringCodec) or found.private:
        yield Fault(where, f"{owner!r} can't be an owner", "use a property of type str that is not private")
    elif found.refills:
        message = f"{owner!r} has a default, which would make a record that says no owner somebody's"
        yield Fault(where, message, "leave the default out, or let it be None")
