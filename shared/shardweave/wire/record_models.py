"""The JSON forms of an entity, derived from it: what is read, written whole, and patched.

Each is a pydantic model whose fields are the entity's properties with their types and constraints, and nothing else of
the entity: validators of the whole record run later, in the store. A body is validated strictly (a number in quotes is
no number) and completely: every fault is found at once, an unknown property is one of them.

    read    every property of a record; one without a value is left out
    part    the same when an index gives only some properties
    write   what makes a record: not required is what has a default, and what is read-only
    put     what makes or replaces one: nor is what is private, which stays as it is where it is left out
    patch   what changes a record: nothing is required, and null removes what may be missing
    list    a page of records

Read-only is what is derived (declared `readOnly`, or a computed field) and the time of the last write. In a body it is
passed over, whatever stands there, so that a record can be sent back as it was read. A `key` says whose record it
is (see `keys`).

Models are made when they are first asked for: once an entity, and only those that a process uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import ComputedFieldInfo, FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from ..errors import RecordUnreadable, Unreadable, ValidationFailed
from ..keys.shard_key import AnyKey, ExternalKeys
from ..query.results import Part
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.identities import given_identity, with_identity
from ..schema.property import Property
from ..schema.property_options import Role
from ..values.codecs import TimestampCodec
from ..values.derived_models import derived_model
from ..values.json_types import JSON_CONFIG, json_type, left_out, without_none
from ..values.json_validation import field_faults, read_model
from ..values.validators import without_validators
from .record_json import part_json, record_json
from .record_keys import KEY, RecordKeys
from .stored_json import StoredJson
from .unreadable import TOLD, UNREADABLE

_NAMES_IT: dict[str, Any] = {"description": "Names the record.", "json_schema_extra": {"readOnly": True}}
EXPANDED = "expanded"
ENTITY, RELATIONS = "x-entity", "x-relations"
"""Marks in the schemas of records, from which the OpenAPI document gets the types of `expanded`."""
PATCH = "x-patch"
"""Marks the schemas of merge patches, in which models have other forms."""
_EMPTY = (dict, list, set, frozenset, tuple)
_COMPUTED = "computed:"
_KEY: Any = Field(**_NAMES_IT)
_MAY_HAVE_KEY: Any = Field(default_factory=lambda: None, **_NAMES_IT)


@dataclass(frozen=True)
class RecordModels:
    """The JSON forms of one entity. `external` has the secrets for the keys of one with an origin; without them
    its records are shown without their keys."""

    entity: EntityType[Any]
    external: ExternalKeys | None = None

    @cached_property
    def keys(self) -> RecordKeys:
        """How its records are named."""
        return RecordKeys(self.entity, self.external)

    @property
    def name(self) -> str:
        return self.entity.model.__name__

    @cached_property
    def read(self) -> type[BaseModel]:
        return self._derived("", self._always_there, answered=True, shown=True)

    @cached_property
    def part(self) -> type[BaseModel]:
        return self._derived("Part", lambda each: False, shown=True)

    @cached_property
    def _some(self) -> type[BaseModel]:
        """As `part`, of values as they are read: models and dataclasses are instances of the declared classes."""
        return self._derived("Part", lambda each: False, shown=True, typed=True)

    @cached_property
    def write(self) -> type[BaseModel]:
        return self._derived("Write", self._must_be_written, defaults=True)

    @cached_property
    def put(self) -> type[BaseModel]:
        if not any(each.private and self._must_be_written(each) for each in self.entity.properties.values()):
            return self.write
        return self._derived("Put", lambda each: self._must_be_written(each) and not each.private, defaults=True)

    @cached_property
    def patch(self) -> type[BaseModel]:
        return self._derived("Patch", lambda each: False, lambda each: each.has_default, patched=True)

    def written(self, document: Mapping[str, Any], form: type[BaseModel] | None = None) -> dict[str, Any]:
        """What a body says of a whole record, by JSON name, in Python types; its `key` stands for what identifies it.
        `form` is `write` (the default) or `put`. Raises ValidationFailed, InvalidShardKey, and ValueRefused when the
        key is another record's."""
        form = form or self.write
        named = None if self.entity.origin is None else self.keys.named(document)
        if named is None:
            return self._checked(form, document)
        values = self._checked(form, with_identity(self.entity, to_jsonable_python(named), document))
        if self.entity.identify(given_identity(self.entity, values)) != named:
            raise self.keys.contradicted()
        return values

    def patched(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """What a merged patch changes, alike. Raises ValidationFailed."""
        return self._checked(self.patch, document)

    def _checked(self, form: type[BaseModel], document: Mapping[str, Any]) -> dict[str, Any]:
        return as_given(self.entity, validated(form, self._writable(document)), document)

    @cached_property
    def stored_json(self) -> StoredJson:
        """Its stored items as JSON text, where no record has to be made of them."""
        return StoredJson(self.entity)

    def json(self, record: Entity, hidden: Set[str] = frozenset()) -> bytes:
        """The JSON text of a record, without what is private or `hidden` (Python names). Raises RecordUnreadable."""
        key = self._key(record.key) if self.entity.origin is not None else ""
        try:
            return record_json(record, key, self._private | hidden)
        except Exception as error:
            raise self.unanswerable(record, "not_answerable") from error

    def unanswerable(self, record: Entity | Part, code: str) -> RecordUnreadable:
        """What is said of a record, or of some properties of one, that was read, and can't be answered."""
        entity = self.entity
        if isinstance(record, Part):
            return entity.unreadable(record, code)
        named = self.keys.identity_of(record)
        key = {} if entity.origin is None else entity.keys.primary_key(named, record.key.shard)
        return entity.unreadable({**named, **key}, code)

    def part_json(self, part: Part) -> bytes:
        """The JSON text of some properties of a record. Raises RecordUnreadable."""
        nulls = self._null_stored
        shown = {
            name: value
            for name, value in part.items()
            if name not in self._private_stored and (value is not None or name in nulls)
        }
        try:
            return part_json(self._some.model_validate(shown), "" if part.key is None else self._key(part.key))
        except ValidationError as error:
            raise self.entity.unreadable(part, "invalid", field_faults(error)) from None

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]:
        """The member of an answer that lists stored records that can't be read, where there are any."""
        listed = [self.unreadable_json(each) for each in found]
        return {UNREADABLE: listed} if listed else {}

    def unreadable_json(self, found: Unreadable) -> dict[str, Any]:
        """A stored record that can't be read, as JSON."""
        document = {"entity": found.entity, "key": self._key_of_unreadable(found), "code": found.code}
        more = {"properties": list(found.properties), "position": found.position}
        return document | {name: value for name, value in more.items() if value not in (None, [])}

    def _key_of_unreadable(self, found: Unreadable) -> Any:
        if not found.key:
            return None
        if self.entity.origin is not None:
            design = self.entity.keys.design
            key = self.entity.key_in(dict(zip((design.hash_name, design.range_name), found.stored_key, strict=True)))
            return None if key is None else self._key(key) or None
        members = {name: value for name, value in found.key.items() if name in self.entity.nested}
        try:
            named = json.loads(self.part_json(Part({name: found.key[name] for name in found.key.keys() - members})))
        except RecordUnreadable:
            return None
        named |= to_jsonable_python(members)
        return named if len(found.key) > 1 else next(iter(named.values()), None)

    def _key(self, key: AnyKey) -> str:
        return "" if self.external is None else self.keys.text(key)

    def _writable(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in document.items() if name not in self.passed_over}

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """What an answer has that a body need not say."""
        key = [KEY] if self.entity.origin is not None else []
        expanded = [EXPANDED] if self._expands else []
        return frozenset((*key, *expanded, *self._read_only, *self.entity.computed))

    @cached_property
    def _read_only(self) -> frozenset[str]:
        return frozenset(each.stored for each in self.entity.properties.values() if self._is_read_only(each))

    @property
    def _expands(self) -> bool:
        """Whether its records can be shown with others."""
        return any(not each.private for each in self.entity.relations.values())

    @cached_property
    def kept(self) -> frozenset[str]:
        """The properties (stored names) that stay as they are where a body leaves them out, since it can't say what
        they are: the caller does not see them, or they are read-only."""
        return self._private_stored | self._read_only

    @cached_property
    def _private(self) -> frozenset[str]:
        return frozenset(each.name for each in self.entity.properties.values() if each.private)

    @cached_property
    def _private_stored(self) -> frozenset[str]:
        return frozenset(each.stored for each in self.entity.properties.values() if each.private)

    @cached_property
    def _null_stored(self) -> frozenset[str]:
        return frozenset(each.stored for each in self.entity.properties.values() if each.null_stored)

    def _must_be_written(self, each: Property) -> bool:
        given_by_caller = each.claim is not None or any(rule.owner == each.name for rule in self.entity.access)
        return each.required and not given_by_caller and not self._is_read_only(each)

    def _is_read_only(self, each: Property) -> bool:
        return each.role is Role.UPDATED or is_derived(self._declared(each))

    @cached_property
    def page(self) -> type[BaseModel]:
        return page_model(self.name, self.read | self.part)

    def _derived(
        self,
        suffix: str,
        required: Callable[[Property], bool],
        nullable: Callable[[Property], bool] = lambda each: False,
        *,
        answered: bool = False,
        shown: bool = False,
        typed: bool = False,
        defaults: bool = False,
        patched: bool = False,
    ) -> type[BaseModel]:
        fields: dict[str, Any] = {}
        computed = self.entity.computed
        if self.entity.origin is not None:
            fields[KEY] = (str, _KEY if answered else _MAY_HAVE_KEY)
        if answered and self._expands:
            relations = {
                name: [each.target, each.many] for name, each in self.entity.relations.items() if not each.private
            }
            expanded = left_out("The relations that `expand` names.", json_schema_extra={RELATIONS: relations})
            fields[EXPANDED] = (dict[str, Any], expanded)
        for each in self.entity.properties.values():
            if shown and each.private:
                continue
            annotation = without_validators(each.annotation) if shown else each.annotation
            annotation = without_none(annotation) if shown and not each.shows_none else annotation
            annotation = annotation if typed else json_type(annotation)
            annotation = annotation | None if nullable(each) else annotation
            fields[each.name] = (annotation, self._field(each, required=required(each), default=defaults))
        if answered or not shown:
            fields |= {_COMPUTED + name: _computed(name, info, required=answered) for name, info in computed.items()}
        marks: dict[str, Any] = {ENTITY: self.entity.token} if answered else {PATCH: True} if patched else {}
        config: ConfigDict = {**JSON_CONFIG, "json_schema_extra": marks} if marks else JSON_CONFIG
        return derived_model(self.name + suffix, config, fields, self.entity.model.__doc__)

    def _field(self, each: Property, *, required: bool, default: bool) -> Any:
        declared = self._declared(each)
        extra = dict(declared.json_schema_extra) if isinstance(declared.json_schema_extra, dict) else {}
        if each.role is Role.UPDATED:
            extra["readOnly"] = True
        if each.private:
            extra["writeOnly"] = True
        if default:
            extra |= self._default(each)
        given: dict[str, Any] = {
            "alias": each.stored,
            "title": declared.title,
            "description": self._description(each),
            "examples": declared.examples,
            "json_schema_extra": extra or None,
        }
        return Field(**given) if required else Field(default_factory=lambda: None, **given)

    def _default(self, each: Property) -> dict[str, Any]:
        """What is stored for a property that is left out, as JSON, where that is always the same."""
        declared = self._declared(each)
        factory: Any = declared.default_factory
        value = factory() if factory in _EMPTY else declared.default
        numbered = any(each.stored == sequence.property_name for sequence in self.entity.sequences)
        if value in (None, PydanticUndefined) or numbered or each.stored in self.kept:
            return {}
        shown = json.loads(part_json(self._some.model_validate({each.stored: each.stored_value(value)})))
        return {"default": shown[each.stored]}

    def _declared(self, each: Property) -> FieldInfo:
        declared: FieldInfo = self.entity.model.model_fields[each.name]
        return declared

    def _always_there(self, each: Property) -> bool:
        declared = self._declared(each)
        filled = each.role in (Role.UNIQUE, Role.TIMESTAMP, Role.UPDATED)
        return each.required or filled or declared.default_factory is not None or declared.default is not None

    def _description(self, each: Property) -> str | None:
        sentences = [self._declared(each).description or ""]
        if isinstance(each.codec, TimestampCodec) and each.epoch is None:
            sentences.append("Epoch milliseconds." if each.codec.unit == "ms" else "Epoch seconds.")
        elif each.role is Role.TTL and each.epoch is None:
            sentences.append("Epoch seconds.")
        if each.role is Role.UPDATED:
            sentences.append("Set by every write.")
        elif each.stored in self.entity.immutable:
            filled = "Made when it is not given; it" if each.has_default else "It"
            sentences.append(f"{filled} never changes.")
        return " ".join(sentence for sentence in sentences if sentence) or None


def is_derived(declared: FieldInfo) -> bool:
    """Whether a property is declared `readOnly`: the service makes it from others, whatever is given for it."""
    extra = declared.json_schema_extra
    return isinstance(extra, dict) and extra.get("readOnly") is True


def _computed(name: str, info: ComputedFieldInfo, *, required: bool) -> tuple[Any, Any]:
    """A computed field as a field that is shown, and passed over in a body."""
    declared = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    given: dict[str, Any] = {
        "alias": name,
        "title": info.title,
        "description": info.description,
        "examples": info.examples,
        "json_schema_extra": {**declared, "readOnly": True},
    }
    return info.return_type, Field(**given) if required else Field(default_factory=lambda: None, **given)


def as_given(entity: EntityType[Any], values: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Properties that a form has taken, those with validators in their types as they were given: the validators have
    said what is wrong, and are run once more by the store."""
    given = dict(values)
    for name in given.keys() & document.keys():
        each = entity.properties.get(name)
        if each is not None and each.has_validators and document[name] is not None:
            with suppress(ValidationFailed):
                given[name] = each.read_plain_json(document[name])
    return given


def validated(
    model: type[BaseModel], document: Mapping[str, Any], *, every_digit: Collection[str] = ()
) -> dict[str, Any]:
    """The properties of a JSON object that were given, by JSON name, in their Python types, those of `every_digit` but
    for the digits of their numbers. Raises ValidationFailed that lists every fault."""
    try:
        record = read_model(model, document, every_digit)
    except ValidationFailed as failed:
        failed.where = "body"
        raise
    fields = type(record).model_fields
    return {fields[name].alias or name: getattr(record, name) for name in record.model_fields_set}


LATE = "How many of the first records (of a page before: of the last ones) were kept back earlier."


def page_model(name: str, item: Any, members: Mapping[str, Any] | None = None) -> type[BaseModel]:
    """A page of some form of records, with more members where there are any."""
    made: type[BaseModel] = create_model(
        f"{name}List",
        __config__=JSON_CONFIG,
        __doc__="A page of records, in the order of the index.",
        items=(list[item], Field(description="The records of this page.")),
        nextToken=(str | None, Field(description="What asks for the next page; null when nothing follows.")),
        prevToken=(
            str | None,
            Field(
                description="What asks for the page before; null when nothing stands before, and where the page was "
                "asked for without a token."
            ),
        ),
        complete=(bool, Field(description="False when the page was cut short; the token goes on from there.")),
        failed=(list[str], left_out("Lanes that failed; left out when none did.")),
        late=(int, left_out(LATE)),
        unreadable=TOLD,
        **(members or {}),
    )
    return made
