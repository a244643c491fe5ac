"""Checks of an entity's identity, keys and shards. Generators of faults, as in `all_faults`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import Fault, ValueRefused
from ...keys.shard_key.key import KINDS
from ...keys.sharding import MAX_SHARDS, bump_faults
from ...values.codecs import IntegerCodec, TimestampCodec
from ..declarations import BelongsTo, HasMany
from ..declared_bumps import declared_bumps
from ..entity import Entity, HashKey, RangeKey, identity_of
from ..entity_options import Descending, kind_fault
from ..nested_elements import fault_at, is_nested, may_be_missing, property_at, root_of
from ..parts import SchemaParts
from ..property import Property, is_optional, properties_of
from ..property_options import Role
from ..resolve import generated_keys


def entity_faults(parts: SchemaParts, model: type[Entity]) -> Iterator[Fault]:
    """Every fault of a model's identity, keys and shards."""
    where = f"entity {model.__name__}"
    properties = properties_of(model)
    declaration = model.declaration
    yield from _role_faults(where, properties)
    yield from _bump_faults(parts, where, model, properties)
    yield from _identity_faults(where, model, properties)
    yield from _parameter_faults(where, model, properties)
    yield from _member_faults(where, model, properties)
    for keyword in ("partition", "sort", "shard_by"):
        elements = declaration.sort_elements if keyword == "sort" else getattr(declaration, keyword)
        yield from element_faults(f"{where}, {keyword}", elements, properties)
        yield from _member_element_faults(f"{where}, {keyword}", elements, properties)
    for name, (_, key) in generated_keys(model).items():
        yield from _shards_faults(parts, f"{where}.{name}", key, declaration.partition)
        yield from element_faults(f"{where}.{name}", key.elements, properties)


def _member_element_faults(
    where: str, elements: Sequence[str | Descending], properties: Mapping[str, Property]
) -> Iterator[Fault]:
    """Faults of members of models that say which record it is, or where it is stored: each record must have them."""
    for each in elements:
        name = each.name if isinstance(each, Descending) else each
        if not is_nested(name) or property_at(properties, name) is None:
            continue
        if may_be_missing(properties, name):
            message = f"{name!r} identifies or places a record, and a record may be without it"
            fix = "let it be required, and remove None from its type and from those of the models in which it stands"
            yield Fault(where, message, fix)
        if properties[root_of(name)].private:
            yield Fault(where, f"{name!r} is of a private property", "use a property or member that is shown")


def _shards_faults(
    parts: SchemaParts, where: str, key: HashKey | RangeKey, partition: Sequence[str]
) -> Iterator[Fault]:
    """Faults of a generated key's own number of shards, or of a key with neither elements nor its own shards. Without a
    partition, a hash key of nothing but the table's shards would be the table's."""
    shards: Any = key.shards if isinstance(key, HashKey) else None
    lists_all = isinstance(key, HashKey) and partition and not parts.key_format.of_others
    if not key.elements and shards is None and not lists_all:
        fix = "name at least one property"
        fix += ", or give shards=4, say, to list the entity over so many" if isinstance(key, HashKey) else ""
        yield Fault(where, "it has no elements", fix)
    if shards is None:
        return
    if type(shards) is not int:
        yield kind_fault(f"{where}, shards", shards, "a whole number", "give a power of two, such as 4")
    elif not 1 <= shards <= MAX_SHARDS or shards & (shards - 1):
        message = f"shards must be a power of two from 1 to {MAX_SHARDS}, and is {shards}"
        yield Fault(where, message, f"give {_power_near(shards)}")
    if parts.key_format.of_others:
        message = f"the key format {parts.key_format.name!r} has the keys of another library, without such shards"
        yield Fault(where, message, "leave shards out, or use the key format 'ordered'")


def _power_near(number: int) -> int:
    """The greatest possible number of shards that is not above a number."""
    return 1 << max(1, min(number, MAX_SHARDS)).bit_length() - 1


def _role_faults(where: str, properties: Mapping[str, Property]) -> Iterator[Fault]:
    for role in Role:
        holders = [each.name for each in properties.values() if each.role is role]
        if len(holders) > 1:
            yield Fault(where, f"{', '.join(holders)} are all the {role.value} property", "keep one")
    for each in properties.values():
        if each.role in (Role.TIMESTAMP, Role.UPDATED) and not isinstance(each.codec, TimestampCodec):
            yield Fault(
                f"{where}.{each.name}",
                "a time property must be a Timestamp or a datetime",
                "annotate it with Timestamp, or datetime",
            )
        is_seconds = isinstance(each.codec, IntegerCodec) or (
            isinstance(each.codec, TimestampCodec) and each.codec.unit == "s"
        )
        if each.role is Role.TTL and each.null_stored:
            yield Fault(f"{where}.{each.name}", "a TTL that may be None has no other default", "let it be None")
        if each.role is Role.TTL and not is_seconds:
            yield Fault(
                f"{where}.{each.name}", "a TTL is epoch seconds", "annotate it with TimestampSeconds, int or datetime"
            )


def _bump_faults(
    parts: SchemaParts, where: str, model: type[Entity], properties: Mapping[str, Property]
) -> Iterator[Fault]:
    bumps = declared_bumps(model)
    for message, fix in bump_faults(bumps):
        yield Fault(where, message, fix)
    timestamps = [each for each in properties.values() if each.role is Role.TIMESTAMP]
    if any(bump.timestamp > 0 for bump in bumps) and not timestamps:
        yield Fault(where, "shard bumps need a timestamp property", "add created: Timestamp = timestamp_property()")
    for each in timestamps:
        if parts.key_format.raw_timestamps or not isinstance(each.codec, TimestampCodec):
            continue
        for bump in bumps:
            try:
                each.codec.encode(max(bump.timestamp, 0))
            except ValueRefused:
                message = f"the bump at {bump.timestamp} is not in the unit of {each.name}"
                yield Fault(where, message, f"give it in {each.codec.unit}")


def _identity_faults(where: str, model: type[Entity], properties: Mapping[str, Property]) -> Iterator[Fault]:
    declaration = model.declaration
    unique = [each for each in properties.values() if each.role is Role.UNIQUE]
    if declaration.singleton:
        if declaration.partition or declaration.sort or unique or declaration.shard_by:
            yield Fault(where, "a singleton has a fixed key", "leave out partition, sort, shard_by and unique_property")
        if any(bump.chars for bump in declaration.shard_bumps):
            yield Fault(where, "a singleton has one shard", "leave out shard_bumps")
        return
    if not unique and not declaration.sort:
        yield Fault(where, "nothing identifies a record", "add a unique_property(), or sort=(...), or singleton=True")
    if declaration.sort and not declaration.partition and not {e.name for e in unique} & set(declaration.sort):
        message = "sort without partition does not identify a record"
        yield Fault(where, message, "add partition=(...), or the unique property to sort")
    sorted_by = {_spelled(name, properties) for name in declaration.sort}
    both = [name for name in declaration.partition if _spelled(name, properties) in sorted_by]
    if both:
        yield Fault(where, f"{', '.join(both)} stands in partition and in sort", "name each property once")
    placing = [*declaration.partition, *declaration.sort, *declaration.shard_by, *(each.name for each in unique)]
    for each in (properties[name] for name in dict.fromkeys(placing) if name in properties):
        if each.role is not Role.TIMESTAMP and is_optional(each.annotation):
            yield Fault(f"{where}.{each.name}", "a property of the key can't be optional", "remove None from its type")
    for name in dict.fromkeys((*declaration.partition, *declaration.sort)):
        if name in properties and properties[name].role in (Role.UPDATED, Role.TTL):
            yield Fault(f"{where}.{name}", "a property of the key never changes, this one does", "use another")


def _spelled(name: str, properties: Mapping[str, Property]) -> str:
    """A name, or the stored path of a member, whose steps may be given by either name."""
    found = property_at(properties, name) if is_nested(name) else None
    return name if found is None else found.stored


def _parameter_faults(where: str, model: type[Entity], properties: Mapping[str, Property]) -> Iterator[Fault]:
    """Faults of identities two parts of which have one name where names have no points."""
    names = Counter(_spelled(name, properties).replace(".", "_") for name in identity_of(model))
    for name, times in names.items():
        if times > 1:
            yield Fault(where, f"{times} parts of the identity are called {name} in paths of URLs", "rename one")


def _member_faults(where: str, model: type[Entity], properties: Mapping[str, Property]) -> Iterator[Fault]:
    """Faults of members of a record's JSON form beside the properties."""
    stored = {each.stored for each in properties.values()}
    if model.declaration.origin is not None:
        if "key" in stored:
            yield Fault(f"{where}.key", "it would be the name of the shard key too", "rename it, or leave origin out")
        count = len(identity_of(model))
        if count not in KINDS:
            message = f"{count} properties identify a record, a shard key has 1 to {max(KINDS)} ids"
            yield Fault(f"{where}, origin", message, "leave origin out")
    if "expanded" in stored and any(isinstance(each, (BelongsTo, HasMany)) for each in model.declared().values()):
        yield Fault(f"{where}.expanded", "it would be the name of the expanded relations too", "rename it")


def unknown_property(where: str, name: str, properties: Iterable[str]) -> Fault:
    """The fault of an unknown property name. (Several names instead of one were joined to one text.)"""
    known = ", ".join(properties)
    if name.startswith(("(", "[", "{")):
        return Fault(where, f"it takes the name of one property, and {name} is given", f"use one of {known}")
    return Fault(where, f"there is no property {name!r}", f"use one of {known}")


def element_faults(
    where: str, elements: Sequence[str | Descending], properties: Mapping[str, Property]
) -> Iterator[Fault]:
    """Faults of properties that can't be elements of a key."""
    names = [each.name if isinstance(each, Descending) else each for each in elements]
    for name, times in Counter(_spelled(name, properties) for name in names).items():
        if times > 1:
            yield Fault(where, f"{name!r} stands {times} times", "name each property once")
    for element, name in zip(elements, names, strict=True):
        found = property_at(properties, name)
        if found is None and name.startswith("desc("):
            yield Fault(
                where,
                "desc() belongs in a RangeKey, in sort, or around an index's range key",
                "name the property alone",
            )
        elif found is None and is_nested(name) and isinstance(fault := fault_at(properties, name), str):
            fix = "name a property, or a member of a model by its path, such as 'address.country'"
            yield Fault(where, fault, fix)
        elif found is None:
            yield unknown_property(where, name, properties)
        elif found.codec is None or not found.codec.sortable:
            fix = "use str, int, a Decimal with DecimalCodec(places=...), Timestamp, datetime, date, bool, UUID or Enum"
            yield Fault(where, f"the type of {name!r} has no order-preserving text", fix)
        elif isinstance(element, Descending) and found.codec.complement is None:
            yield Fault(where, f"desc({name!r}) needs a type of fixed width", "use int, Timestamp, date, bool or Enum")
