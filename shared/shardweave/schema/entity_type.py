"""An entity compiled for one schema: its properties, keys, index views, shard map, and its stored form.

Guarantees: immutable and shared by all threads; `load(complete(dump(record)))` is the record; every generated
attribute of a stored item is computed here and nowhere else; an item that `complete` returns fits DynamoDB's limits
and has no key attribute that is null, empty or of the wrong type.

The stored form of a record is an item: camelCase properties that have a value (a None is left out, or a null where
leaving it out would bring back a default; what has to be given and is missing is None), the generated attributes, and
`rev`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic.fields import ComputedFieldInfo

from ..errors import (
    FieldFault,
    RecordUnreadable,
    ShardweaveError,
    UnknownName,
    Unreadable,
    ValidationFailed,
    ValueRefused,
)
from ..keys.entity_keys import EntityKeys
from ..keys.key_design import Element
from ..keys.shard_key.key import AnyKey, key_of
from ..keys.sharding import WRITE_AHEAD_MS, ShardMap
from ..table.values import Item, Value, too_deep
from ..values.codecs import Codec, TimestampCodec
from ..values.instances import check_instances
from ..values.json_validation import field_faults
from ..values.stored_form import STORED_AS_IT_IS
from ..values.untyped import Walk
from .access_rules import Allow
from .entity import Entity, plain_id
from .entity_names import EntityNames
from .item_limits import check_raw_keys, check_size
from .nested_elements import root_of
from .property import Property
from .record_validation import Kept, Validation, has_validators
from .related_lists import RelatedList
from .relations import ChildLink, LookupType, RelationType, SequenceType
from .upgrades import NotUpgraded, Upgrades

E = TypeVar("E", bound=Entity)

REVISION = "rev"
"""The stored attribute with the revision, which every write changes."""

MARK = "_mark"
"""The stored attribute with the mark of a re-shard; not visible outside of the store."""

PREPARE_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions that `prepare` raises for unexpected properties."""

MARK_RESERVE_BYTES = len(MARK) + 21
"""The bytes reserved in every record for that attribute."""


@dataclass(frozen=True)
class IndexView:
    """An index (or, with `index` None, the table itself) as one entity sees it.

    `hash_elements` follow the shard in the hash key, which is one of at most `shards`, or, with None, the table's.
    `range_elements` are those of a generated range key, or, when `raw`, the one property that is the range key itself.
    `projected` is None when reads see every attribute. `page_key` lists the attributes of a start key. Over HTTP it can
    be used if it is `exposed`, by callers in one of its `groups` (by all, if it has none), for records whose property
    `owner` is the caller's subject.
    """

    index: str | None
    hash_name: str
    hash_elements: tuple[Element, ...]
    range_name: str
    range_elements: tuple[Element, ...]
    raw: bool
    projected: frozenset[str] | None
    page_key: tuple[str, ...]
    reversed: bool = False
    shards: int | None = None
    exposed: bool = True
    groups: tuple[str, ...] = ()
    owner: str | None = None

    @property
    def title(self) -> str:
        return self.index or "the table"

    def begins(self, name: str) -> bool:
        """Whether it answers a prefix of a property: of text in its range key, in ascending order."""
        return any(each.name == name and each.codec.is_text for each in self.range_elements)


@dataclass(frozen=True)
class EntityType(EntityNames, Generic[E]):
    """One entity of a schema. Names in it are stored (camelCase) ones unless it says otherwise.

    `identity` are what identifies a record, properties or members of models; `immutable` never change; `lookup_placed`:
    `shard_by` is outside the identity, so that a lookup record contains the properties that determine the record's
    shard; `raw_keys` are the properties whose attribute is the range key of an index, of this entity or of another;
    `origin` represents the entity in shard keys; `separator` separates the parts of a composite key; `children` are the
    enforced relations of other entities to this one; `access` are its rules; the operations of a `read_only` entity's
    collection don't write records; `nested` are the members of models that are elements of its keys.
    """

    model: type[E]
    token: str
    collection: str
    properties: Mapping[str, Property]
    keys: EntityKeys
    shard_map: ShardMap
    identity: tuple[str, ...]
    immutable: frozenset[str]
    views: Mapping[str | None, IndexView]
    raw_keys: tuple[Property, ...]
    unique: str | None = None
    timestamp: str | None = None
    updated: str | None = None
    ttl: str | None = None
    lookup_placed: bool = False
    origin: str | None = None
    separator: str = "/"
    lookups: Mapping[str, LookupType] = field(default_factory=dict)
    sequences: tuple[SequenceType, ...] = ()
    relations: Mapping[str, RelationType] = field(default_factory=dict)
    related_lists: Mapping[str, RelatedList] = field(default_factory=dict)
    children: tuple[ChildLink, ...] = ()
    access: tuple[Allow, ...] = ()
    read_only: bool = False
    nested: Mapping[str, Property] = field(default_factory=dict)

    # -- access

    @cached_property
    def claims(self) -> Mapping[str, str]:
        """The properties that are bound to claims, and their claims."""
        return {each.stored: each.claim for each in self.properties.values() if each.claim is not None}

    @property
    def shares_ids(self) -> bool:
        """Whether the records of different tenants could have the same identity."""
        return not self.claims.keys() <= set(self.identity)

    # -- names

    def view(self, index: str | None, where: str = "index") -> IndexView:
        """An index of the entity by name, None for the table. Raises UnknownName that lists the indexes."""
        found = self.views.get(index)
        if found is None:
            raise UnknownName(
                f"the entity {self.token!r} has no index {str(index)[:80]!r}",
                where=where,
                fix=f"use one of {', '.join(filter(None, self.views))}" if len(self.views) > 1 else "leave it out",
            )
        return found

    @property
    def time_unit(self) -> Literal["ms", "s"]:
        """The unit of the timestamp property."""
        codec = self.properties[self.timestamp].codec if self.timestamp else None
        return codec.unit if isinstance(codec, TimestampCodec) else "ms"

    def in_unit(self, milliseconds: int) -> int:
        """Epoch milliseconds in the unit of the timestamp property."""
        return milliseconds if self.time_unit == "ms" else milliseconds // 1000

    @cached_property
    def computed(self) -> Mapping[str, ComputedFieldInfo]:
        """The computed fields, which are shown but neither stored nor accepted as input, by their shown names."""
        return {info.alias or name: info for name, info in self.model.model_computed_fields.items()}

    # -- stored form

    def validate(self, values: Mapping[str, Any]) -> E:
        """A record from properties by stored or Python name. Raises ValidationFailed that lists every fault."""
        try:
            return self.model.model_validate(values)
        except ValidationError as error:
            raise ValidationFailed(field_faults(error), where=self.token) from None

    @cached_property
    def _validation(self) -> Validation[E] | None:
        properties = {each.name: each for each in self.properties.values()}
        return Validation(self.model, properties) if has_validators(self.model, properties) else None

    @cached_property
    def derives(self) -> bool:
        """Whether writing a property may change other properties, or be refused because of them."""
        return self._validation is not None or self.model.prepare.__func__ is not Entity.prepare.__func__  # type: ignore[attr-defined]

    @property
    def reading_model(self) -> type[BaseModel] | None:
        """The model that reads stored items; None if they are read with validators."""
        return self.model if self._validation is None else self._validation.stored

    def revalidate(self, values: Mapping[str, Any], stored: Mapping[str, Any]) -> E:
        """A record from properties by stored name; the validators of properties that equal their `stored` value don't
        run again. Raises ValidationFailed like `validate`."""
        if self._validation is None:
            return self.validate(values)
        try:
            return self._validation.validate(values, self._kept(stored))
        except ValidationError as error:
            raise ValidationFailed(field_faults(error), where=self.token) from None

    def prepared(self, values: Mapping[str, Any], stored: Mapping[str, Any] | None) -> dict[str, Any]:
        """The properties by stored name after the entity's `prepare`. If `prepare` fails, the properties are validated
        as they are (unless `stored` is None), to report missing or invalid ones. Raises ValidationFailed."""
        try:
            found: Any = self.model.prepare(dict(values))
        except PREPARE_FAULTS as error:
            if stored is not None:
                self.revalidate(values, stored)
            raise self._not_prepared(f"prepare ended with {type(error).__name__}") from error
        if not isinstance(found, Mapping):
            raise self._not_prepared(f"prepare must return the properties, got {type(found).__name__}")
        return dict(found)

    def _not_prepared(self, message: str) -> ValidationFailed:
        return ValidationFailed([FieldFault((), message, "prepare")], where=self.token)

    def _kept(self, stored: Mapping[str, Any]) -> Kept:
        kept = {}
        for each in (self.properties[name] for name in stored if name in self.properties):
            try:
                kept[each.name] = (stored[each.stored], each.python(stored[each.stored]))
            except ValidationError:
                continue
        return kept

    def dump(self, record: E) -> dict[str, Value]:
        """The record's properties in stored form, without generated attributes and revision."""
        item: dict[str, Value] = {}
        for each in self.properties.values():
            try:
                value = getattr(record, each.name)
            except AttributeError:
                fix = "make the record with its constructor"
                raise ValueRefused("the record lacks it", where=each.stored, fix=fix) from None
            if value is None:
                if each.null_stored:
                    item[each.stored] = None
                elif each.refills:
                    raise ValueRefused(
                        "None is not a value of its type, and would be read as its default",
                        where=each.stored,
                        fix="let the type allow None, or give another value",
                    )
                continue
            if type(value) in STORED_AS_IT_IS and each.check_untyped is None:
                item[each.stored] = value
                continue
            if each.empty_when_missing and value == set():
                continue
            try:
                if each.check_untyped is not None:
                    each.check_untyped(value)
                if each.holds_models:
                    check_instances(each.annotation, value, (each.stored,))
                item[each.stored] = each.stored_value(value)
            except ValueRefused as error:
                error.where = error.where or each.place_of_refusal(value)
                raise
            except RecursionError:
                raise too_deep(each.stored) from None
        return item

    def load(self, item: Item) -> E:
        """The record of a whole stored item. Raises RecordUnreadable."""
        with self.reading(item):
            return self.record_of(self.current(item))

    @cached_property
    def upgrades(self) -> Upgrades:
        """The versions of its stored form."""
        owners = {each.owner for each in self.access} | {each.owner for each in self.views.values()}
        owned = {self.stored_name(name) for name in owners if name is not None}
        placing = owned | {*self.identity, *self.immutable, *self.claims}
        kept = self.relied_on | {each.stored for each in self.raw_keys}
        internal = frozenset((*self.keys.names, REVISION))
        return Upgrades(self.model.declaration.upgrades, frozenset(map(root_of, placing)), kept, internal)

    @cached_property
    def relied_on(self) -> frozenset[str]:
        """The properties of which generated keys, lookups, sequences, relations and the expiry are made."""
        design = self.keys.design
        elements = [*design.partition, *design.sort, *design.shard_by, *(e for s in self.sequences for e in s.within)]
        elements += [element for key in design.generated for element in key.elements]
        elements += [element for each in self.lookups.values() for element in each.elements]
        names = {element.root for element in elements} | {each.property_name for each in self.sequences}
        names |= {name for each in self.relations.values() for name in each.by}
        return frozenset(names | {name for name in (self.timestamp, self.ttl) if name is not None})

    def current(self, item: Item) -> Item:
        """A stored item in the current form of the entity. Raises RecordUnreadable."""
        try:
            return self.upgrades.current(item)
        except NotUpgraded as error:
            faults = [FieldFault((name,), "", "changed by an upgrade") for name in error.names]
            raise self.unreadable(item, error.code, faults) from error.__cause__

    def as_known(self, item: Item) -> Item:
        """A stored item in the current form, or as it is if an upgrade fails: a put replaces it whole. Raises
        RecordUnreadable for a version that is not known, which a newer program wrote."""
        try:
            return self.current(item)
        except RecordUnreadable as error:
            if error.record.code != "not_upgraded":
                raise
            return item

    @contextmanager
    def reading(self, item: Item) -> Iterator[None]:
        """A context that converts errors of reading a stored item to RecordUnreadable."""
        try:
            yield
        except RecordUnreadable:
            raise
        except ValidationFailed as error:
            raise self.unreadable(item, self.keys.fault_in(item) or "invalid", error.fields) from None
        except Exception as error:
            raise self.unreadable(item, self.keys.fault_in(item) or "invalid") from error
        code = self.keys.fault_in(item)
        if code or not isinstance(item.get(REVISION, ""), str):
            raise self.unreadable(item, code or "wrong_revision")

    def unreadable(self, item: Item, code: str, faults: Iterable[FieldFault] = ()) -> RecordUnreadable:
        """The error of an unreadable stored record: its key, and the faulty properties without values."""
        design, private = self.keys.design, {name for name, each in self.properties.items() if each.private}
        shown = [each for each in faults if each.location and each.location[0] not in private]
        told = code in ("invalid", "not_upgraded")
        names = dict.fromkeys(f"{each.location[0]} ({each.type})" for each in shown if told)
        key = {} if code == "another_entity" else self.identity_in(item)
        stored = tuple(item[name] for name in (design.hash_name, design.range_name) if name in item)
        more: dict[str, Any] = {"collection": self.collection or self.token, "stored_key": stored}
        return RecordUnreadable(Unreadable(self.token, key, code, tuple(names), **more))

    def identity_in(self, item: Item) -> dict[str, Any]:
        """The identity of a stored item by stored name, from its key if it has one; empty if it can't be read."""
        keyed = self.keys.design.hash_name in item
        try:
            values = self.keys.identity_in(item) if keyed else item
            return {name: self.identifying[name].python(each) for name, each in self.identity_from(values).items()}
        except (ShardweaveError, KeyError, TypeError, ValueError):
            return {}

    def record_of(self, item: Item) -> E:
        """The record of properties in stored form. Raises ValidationFailed."""
        values = self.whole({name: item[name] for name in self.properties if name in item})
        record = self._validation.read(values) if self._validation is not None else None
        record = self.validate(values) if record is None else record
        record._rev = cast("str | None", item.get(REVISION))
        if self.origin is not None:
            hash_key = item.get(self.keys.design.hash_name)
            record._shard = None if hash_key is None else self.keys.suffix_of_key(hash_key)
        return record

    @cached_property
    def declared_codecs(self) -> tuple[tuple[str, Codec], ...]:
        """The properties (stored names) whose codec is declared in their type, and so restricts their values."""
        found = ((each.stored, each.codec) for each in self.properties.values() if each.has_declared_codec)
        return tuple((name, codec) for name, codec in found if codec is not None)

    @cached_property
    def _untyped(self) -> tuple[tuple[str, Walk], ...]:
        found = ((each.stored, each.read_untyped) for each in self.properties.values())
        return tuple((name, walk) for name, walk in found if walk is not None)

    def readable(self, values: dict[str, Any]) -> dict[str, Any]:
        """Properties in stored form, with parts without a declared type in their original form. A value that does not
        fit its type is kept, so that validation reports it."""
        for name, walk in self._untyped:
            if values.get(name) is not None:
                try:
                    values[name] = walk(values[name])
                except (TypeError, AttributeError):
                    continue
        return values

    @cached_property
    def _none_when_missing(self) -> tuple[str, ...]:
        return tuple(each.stored for each in self.properties.values() if each.none_when_missing)

    def whole(self, values: dict[str, Any]) -> dict[str, Any]:
        """All properties of a record in stored form, in the form for validation."""
        for name in self._none_when_missing:
            values.setdefault(name, None)
        return self.readable(values)

    def visible(self, item: Item) -> dict[str, Value]:
        """The properties of a stored item in the current form, without generated and internal attributes. Raises
        RecordUnreadable if it can't be upgraded."""
        item = self.current(item)
        return {name: item[name] for name in self.properties if name in item}

    def is_expired(self, item: Item, now: float) -> bool:
        """Whether the record's TTL has passed. `now` is in epoch seconds. A TTL that is not a number never expires, as
        in the table."""
        expires = item.get(self.ttl) if self.ttl else None
        return isinstance(expires, (int, Decimal)) and not isinstance(expires, bool) and expires <= now

    # -- generated attributes and limits

    @cached_property
    def _nulls(self) -> tuple[str, ...]:
        return tuple(each.stored for each in self.properties.values() if each.null_stored)

    def complete(self, item: Item, shard_map: ShardMap | None = None) -> dict[str, Value]:
        """The whole stored item: properties, generated attributes, revision when it has one. Raises ValueRefused,
        KeyTooLong or RecordTooLarge naming the property."""
        properties = {name: item[name] for name in self.properties if item.get(name) is not None}
        nulls = {name: None for name in self._nulls if name in item and item[name] is None}
        completed = properties | nulls | self.keys.build(properties, shard_map or self.shard_map) | self.upgrades.stamp
        if REVISION in item:
            completed[REVISION] = item[REVISION]
        check_size(completed, MARK_RESERVE_BYTES + self.keys.reserve_bytes)
        check_raw_keys(self.raw_keys, self.keys.format, properties)
        return completed

    def make_key(self, record: E | Mapping[str, Any]) -> dict[str, Value]:
        """The primary key of a record (or of its stored properties)."""
        item = record if isinstance(record, Mapping) else self.dump(record)
        return self.keys.primary_key(item, self.keys.shard(item, self.shard_map).suffix)

    def key_in(self, item: Item) -> AnyKey | None:
        """The shard key in a stored item's primary key; None for an entity without an origin."""
        if self.origin is None:
            return None
        hash_key, values = item[self.keys.design.hash_name], self.keys.identity_in(item)
        ids = (plain_id(each.python(values[name])) for name, each in self.identifying.items())
        return key_of(self.origin, self.keys.suffix_of_key(hash_key), *ids)

    def check_timestamp(self, item: Item, now_ms: int) -> None:
        """Refuse a creation time in the wrong unit, or more than five minutes ahead of the clock."""
        if self.timestamp is None or self.timestamp not in item:
            return
        codec, value = self.properties[self.timestamp].codec, item[self.timestamp]
        if codec is not None:
            self.keys.encode(Element(self.timestamp, codec), value)
        if not self.keys.format.raw_timestamps and value > self.in_unit(now_ms + WRITE_AHEAD_MS):
            raise ValueRefused(
                "the timestamp lies more than 5 minutes ahead", where=self.timestamp, fix="check the clock, or the unit"
            )
