"""Mappings: documents (JSON) that say how another program keeps the records of a schema's entities.

Format, with templates as in `key_templates`:

    {"hashKey": "pk", "rangeKey": "sk", "entities": {"user": {
        "attributes": {"pk": "USER#${userId}", "sk": "PROFILE", "type": "User"},   what an item has beside properties
        "rename": {"mail": "email"},                        old attribute -> property
        "defaults": {"created": 0}}}}                       for items without the property

    {"preset": "electrodb", "service": "app", "entities": {"user": {
        "entity": "user", "version": "1",
        "indexes": [{"pk": {"field": "pk", "composite": ["userId"]}, "sk": {"field": "sk", "composite": []}}]}}}

    {"preset": "onetable", "entities": {"user": {"type": "User", "attributes": {"pk": "user#${userId}", ...}}}}

    {"preset": "entity_manager", "config": {...}, "entities": {"person": "user"}}     entity -> the configuration's

An item belongs to the first entity whose key templates and fixed attributes it has. A property that only occurs in the
key is read from it.

Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ConfigurationError, ShardweaveError
from ..table.values import Item, Value
from .entity_type import EntityType
from .key_templates import Slot, Template
from .old_forms import NOTHING, OldForm
from .relations import COUNTED
from .schema import Schema

PRESETS = ("electrodb", "onetable", "entity_manager")
OldForms = Mapping[str, OldForm]
"""The old forms of entities, by token."""


def forms_given(schema: Schema, given: Any) -> OldForms:
    """The old forms that a program gives: a mapping, or, by the tokens of new entities, the tokens of old entities of
    the same schema, or compiled entities of an old one (`old_schema["user"]`). Raises ConfigurationError."""
    if given is None:
        return NOTHING
    if not isinstance(given, Mapping) or "entities" in given:
        return old_forms(schema, given)
    forms: dict[str, OldForm] = {}
    for token, each in given.items():
        if token not in schema.entities:
            raise _wrong(f"entities.{token}", "there is no such entity", f"use one of {', '.join(schema.entities)}")
        if isinstance(each, str) and each in schema.entities:
            each = schema.entities[each]
        if isinstance(each, EntityType):
            each = declared_form(schema.entities[token], each)
        if not isinstance(each, OldForm):
            fix = f"give one of {', '.join(schema.entities)}, or a mapping"
            raise _wrong(f"entities.{token}", f"must be an old entity, got {type(each).__name__}", fix)
        forms[token] = each
    return forms


def beside_earlier(schema: Schema, given: Any) -> Schema:
    """The schema, with the compiled entities of an earlier one that a program gives (see `forms_given`) beside it."""
    each = given.values() if isinstance(given, Mapping) else ()
    earlier = [old for old in each if isinstance(old, EntityType) and schema.entities.get(old.token) is not old]
    return schema.beside(earlier) if earlier else schema


def old_forms(schema: Schema, mapping: Any) -> OldForms:
    """The old forms that a mapping declares. Raises ConfigurationError that names the place."""
    if not isinstance(mapping, Mapping) or not isinstance(mapping.get("entities"), Mapping):
        raise _wrong("entities", "a mapping has the entities that it is about", 'give {"entities": {"user": {...}}}')
    preset = mapping.get("preset")
    if preset is not None and preset not in PRESETS:
        raise _wrong("preset", "there is no such preset", f"use one of {', '.join(PRESETS)}, or leave it out")
    _check_names(mapping, {"preset", "entities", "hashKey", "rangeKey", "service", "typeField", "config"}, "")
    for token in mapping["entities"]:
        if token not in schema.entities:
            raise _wrong(f"entities.{token}", "there is no such entity", f"use one of {', '.join(schema.entities)}")
    if preset == "entity_manager":
        return _of_entity_manager(schema, mapping)
    expand = {"electrodb": _electrodb, "onetable": _onetable, None: _plain}[preset]
    names = (str(mapping.get("hashKey", schema.hash_key)), str(mapping.get("rangeKey", schema.range_key)))
    return {
        token: _template_form(schema.entities[token], names, expand(mapping, declared, f"entities.{token}"), token)
        for token, declared in mapping["entities"].items()
    }


# -- declarations of this library, which Entity Manager's configurations become ---------------------------------------


def declared_form(entity: EntityType[Any], old: EntityType[Any]) -> OldForm:
    """The form of records that an earlier declaration of the entity wrote, or Entity Manager. Raises
    ConfigurationError."""
    where = f"entities.{entity.token}"
    if old.token == entity.token:
        fix = f"give the new declaration another token, such as {entity.token}2"
        raise _wrong(where, "the old and the new declaration have one token, so that their keys could be equal", fix)
    _check_writable(entity, old, where)
    design, names = old.keys.design, frozenset(old.keys.names)
    key_names = (design.hash_name, design.range_name)
    lost = [name for name in old.identity if name not in entity.immutable]
    if lost:
        raise _wrong(where, f"{', '.join(lost)} identifies the old items and may change in the new ones", _IMMUTABLE)

    relations = [each for each in old.relations.values() if each.enforced]

    def make(content: Item) -> Mapping[str, Value]:
        built = old.keys.build({name: content[name] for name in old.properties if name in content}, old.shard_map)
        counted = [each.name for each in relations if all(content.get(name) is not None for name in each.by)]
        return {**built, COUNTED: counted} if counted else built

    def is_own(item: Item) -> bool:
        head, found, _ = str(item.get(design.hash_name, "")).partition(design.key_format.shard_delimiter)
        return head == old.token and bool(found)

    told = [old.token, *design.key_format.delimiters, design.key_format.name, sorted(names), repr(old.shard_map.bumps)]
    told += [repr([each.name for each in part]) for part in (design.partition, design.sort, design.shard_by)]
    made = names | {COUNTED} if relations else names
    return OldForm(entity, key_names, made, make, is_own, _fingerprint(told), keeps_revision=True, old=old)


def _check_writable(entity: EntityType[Any], old: EntityType[Any], where: str) -> None:
    """Refuse an old declaration that writes, with a record, what can't be repeated beside the record's new form."""
    other_format = old.keys.format != entity.keys.format
    same_relations = _enforced(old) == _enforced(entity)
    children = ", ".join(sorted({each.token for each in old.children}))
    reasons = (
        (
            old.lookup_placed,
            "places its records by a property outside the identity, so a lookup decides where an old item is",
            "export the records, and import them",
        ),
        (bool(old.upgrades.functions), "has versions of its stored form", "export the records, and import them"),
        (
            bool(old.children),
            f"is the parent of {children} by enforced relations, which would have two parents at once",
            "make these relations not enforced until the end",
        ),
        (
            bool(old.lookups) and old.ttl is not None,
            "has lookups and a TTL: values of expired old items would stay taken",
            "remove one of the two first",
        ),
        (
            bool(_enforced(old)) and not same_relations,
            "has other enforced relations than the new one, so it is not clear by which its children are counted",
            "let both have the same ones until the end, and change them afterwards",
        ),
        (
            bool(_enforced(old)) and other_format,
            "has enforced relations and another key format, in which the parents' numbers have other keys",
            "make these relations not enforced until the end",
        ),
        (
            bool(old.sequences) and _numbered(old) != _numbered(entity),
            "has other numbered properties than the new one, which is to continue their numbers",
            "let both number the same properties within the same ones",
        ),
    )
    for holds, reason, fix in reasons:
        if holds:
            raise _wrong(where, f"the old declaration {reason}", fix)


def _enforced(entity: EntityType[Any]) -> frozenset[tuple[str, str, tuple[str, ...]]]:
    return frozenset((each.name, each.target, each.by) for each in entity.relations.values() if each.enforced)


def _numbered(entity: EntityType[Any]) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((each.property_name, tuple(one.name for one in each.within)) for each in entity.sequences)


def _of_entity_manager(schema: Schema, mapping: Mapping[str, Any]) -> OldForms:
    config = mapping.get("config")
    if not isinstance(config, Mapping):
        raise _wrong("config", "it is not the configuration of Entity Manager", "give its JSON")
    old = Schema.from_entity_manager(config)
    forms = {}
    for token, old_token in mapping["entities"].items():
        if old_token not in old.entities:
            fix = f"use one of {', '.join(old.entities)}"
            raise _wrong(f"entities.{token}", "the configuration has no such entity", fix)
        forms[token] = declared_form(schema.entities[token], old.entities[old_token])
    return forms


# -- templates --------------------------------------------------------------------------------------------------------


def _plain(mapping: Mapping[str, Any], declared: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(declared, Mapping):
        raise _wrong(where, "it does not say how items are read", 'give {"attributes": {...}}')
    _check_names(declared, {"attributes", "rename", "defaults"}, where)
    return declared


def _onetable(mapping: Mapping[str, Any], declared: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(declared, Mapping) or not isinstance(declared.get("type"), str):
        raise _wrong(where, "it does not name the model", 'give {"type": "User", "attributes": {...}}')
    _check_names(declared, {"type", "attributes", "rename", "defaults"}, where)
    kind = str(mapping.get("typeField", "_type"))
    attributes = {
        name: value.replace("${" + kind + "}", declared["type"]) if isinstance(value, str) else value
        for name, value in _object(declared.get("attributes"), f"{where}.attributes").items()
    }
    return {**declared, "attributes": {kind: declared["type"], **attributes}}


def _electrodb(mapping: Mapping[str, Any], declared: Any, where: str) -> Mapping[str, Any]:
    """ElectroDB's keys: `$service#name_value...` and `$entity_version#name_value...`, or, in a collection,
    `$collection#entity_version#name_value...`, in lower case."""
    service = mapping.get("service")
    if not isinstance(service, str) or not isinstance(declared, Mapping):
        raise _wrong("service", "it is the name of ElectroDB's service", 'give {"service": "app", ...}')
    _check_names(declared, {"entity", "version", "indexes", "rename", "defaults"}, where)
    entity, version = str(declared.get("entity", "")), str(declared.get("version", "1"))
    indexes = declared.get("indexes")
    if not entity or not isinstance(indexes, list) or not indexes:
        raise _wrong(where, "it has ElectroDB's `entity`, `version` and `indexes`", "give them as in its model")
    attributes: dict[str, Any] = {"__edb_e__": entity, "__edb_v__": version}
    for at, index in enumerate(indexes):
        place = _object(index, f"{where}.indexes[{at}]")
        own = f"{entity}_{version}"
        head = f"${place['collection']}#{own}" if place.get("collection") else f"${own}"
        for part, prefix in (("pk", f"${service}"), ("sk", head)):
            if part == "sk" and part not in place:
                continue
            key = _object(place.get(part), f"{where}.indexes[{at}].{part}")
            names = key.get("composite", [])
            texts = "".join(f"#{str(name).lower()}_${{{name}:lower}}" for name in names)
            attributes[str(key.get("field", part))] = prefix.lower() + texts
    return {**declared, "attributes": attributes}


def _template_form(
    entity: EntityType[Any], key_names: tuple[str, str], declared: Mapping[str, Any], token: str
) -> OldForm:
    where = f"entities.{token}"
    given = _object(declared.get("attributes"), f"{where}.attributes")
    try:
        templates = {name: Template(text) for name, text in given.items() if isinstance(text, str)}
        slots = [part for each in templates.values() for part in each.parts if isinstance(part, Slot)]
    except ShardweaveError as error:
        raise _wrong(f"{where}.attributes", error.message, error.fix) from None
    fixed = {name: value for name, value in given.items() if not isinstance(value, str)}
    renamed = {new: old for old, new in _object(declared.get("rename", {}), f"{where}.rename").items()}
    defaults = dict(_object(declared.get("defaults", {}), f"{where}.defaults"))
    old_names = {renamed.get(name, name): name for name in entity.properties}
    for name in (*(each.name for each in slots), *(renamed.get(name, name) for name in defaults)):
        if name not in old_names:
            raise _wrong(where, f"{name!r} is no property", f"use one of {', '.join(sorted(old_names))}")
    for name in renamed:
        if name not in entity.properties:
            raise _wrong(f"{where}.rename", f"{name!r} is no property", f"use one of {', '.join(entity.properties)}")
    missing = [name for name in key_names if name not in templates]
    if missing:
        raise _wrong(f"{where}.attributes", f"{', '.join(missing)} has no template", "give the table's keys theirs")
    in_key = list(dict.fromkeys(name for key in key_names for name in templates[key].names))
    changing = [name for name in in_key if old_names[name] not in entity.immutable]
    if changing:
        raise _wrong(where, f"{', '.join(changing)} is in the old key and may change", _IMMUTABLE)
    told_by = {name: value for name, value in _constants(templates, fixed) if name not in key_names}
    readable = [slot.name for key in key_names for slot in templates[key].parts if isinstance(slot, Slot)]
    plain = {
        each.name for key in key_names for each in templates[key].parts if isinstance(each, Slot) and not each.form
    }

    def make(content: Item) -> Mapping[str, Value]:
        return {**fixed, **{name: each.render(content) for name, each in templates.items()}}

    def is_own(item: Item) -> bool:
        keyed = all(templates[name].parse(item.get(name)) is not None for name in key_names)
        return keyed and all(item.get(name) == value for name, value in told_by.items())

    def fill(item: Item) -> Mapping[str, Value]:
        found: dict[str, Value] = dict(defaults)
        for key in key_names:
            for name, text in (templates[key].parse(item.get(key)) or {}).items():
                if name in plain and item.get(name) is None:
                    found[old_names[name]] = entity.properties[old_names[name]].parse(text)
        return found

    filled = frozenset(defaults) | {old_names[name] for name in readable if name in plain}
    told = [key_names, {name: each.source for name, each in templates.items()}, fixed, renamed, defaults]
    made = frozenset(given)
    return OldForm(entity, key_names, made, make, is_own, _fingerprint(told), fill, filled, renamed)


def _constants(templates: Mapping[str, Template], fixed: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from fixed.items()
    yield from ((name, each.source) for name, each in templates.items() if not each.names)


# -- parts ------------------------------------------------------------------------------------------------------------

_IMMUTABLE = "make the new identity, partition, timestamp or `shard_by` of it, so that it can't change"


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, "it must be an object", 'give {"name": ...}')
    return value


def _check_names(given: Mapping[str, Any], possible: set[str], where: str) -> None:
    unknown = [str(name)[:80] for name in given if name not in possible]
    if unknown:
        raise _wrong(
            where or unknown[0], f"there is no setting {', '.join(unknown)}", f"use {', '.join(sorted(possible))}"
        )


def _wrong(where: str, message: str, fix: str) -> ConfigurationError:
    return ConfigurationError(message, where=f"mapping: {where}", fix=fix)


def _fingerprint(told: Any) -> str:
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=12, person=b"shardweave.old").hexdigest()
