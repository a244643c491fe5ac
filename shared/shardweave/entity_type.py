"""An entity compiled for one schema: its properties, keys, index views, shard map, and its stored form.

Guarantees: immutable and shared by all threads; `load(complete(dump(record)))` is the record; every generated
attribute of a stored item is computed here and nowhere else; an item that `complete` returns fits DynamoDB's limits
and has no key attribute that is null, empty or of the wrong type.

The stored form of a record is an item: camelCase properties that have a value (a None is left out, or a null where
leaving it out would bring back a default), the generated attributes, and `rev`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from .access.rules import Allow
from .codecs import (
    BinaryCodec,
    Codec,
    DateTimeCodec,
    DecimalCodec,
    EnumCodec,
    IntegerCodec,
    NumberCodec,
    SemanticVersionCodec,
    StringCodec,
    TimestampCodec,
    codec_of,
    is_number,
)
from .declared import ChildLink, LookupType, RelationType, SequenceType
from .entity import CanonicalBegin, Entity, Role, plain_id
from .errors import (
    FieldFault,
    InvalidShardKey,
    KeyTooLong,
    MalformedRequest,
    RecordTooLarge,
    StoredRecordInvalid,
    UnknownName,
    ValidationFailed,
    ValueRefused,
    location_text,
)
from .json_reading import field_faults, read_model
from .keys import Element, EntityKeys
from .property_json import decimal_of, integral, json_model, json_of_text, member_type, metadata_of
from .shard_key.key import AnyKey, key_of
from .sharding import WRITE_AHEAD_MS, ShardMap
from .stored_form import datetime_begin, stored_form
from .table.values import MAX_ITEM_BYTES, MAX_RANGE_KEY_BYTES, Item, Value, to_attribute_value, value_bytes

E = TypeVar("E", bound=Entity)

REVISION = "rev"
"""The stored attribute that every write sets anew."""

MARK = "_mark"
"""The stored attribute by which a re-shard tells the copies that it knows; never seen outside."""

MARK_RESERVE_BYTES = len(MARK) + 21
"""Kept free in every record for that attribute."""


@dataclass(frozen=True)
class Property:
    """One property. `name` is the Python name, `stored` the attribute; `codec` is None when it can't be in a key.
    `null_stored`: its None is stored as a null, since a missing attribute would be read as the default.
    `empty_when_missing`: it is a set that reads back empty where nothing is stored. `claim` is the one that it is bound
    to; a `private` one is neither shown nor asked about over HTTP."""

    name: str
    stored: str
    annotation: Any
    codec: Codec | None
    role: Role | None
    required: bool
    has_default: bool
    null_stored: bool = False
    empty_when_missing: bool = False
    claim: str | None = None
    private: bool = False

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    @cached_property
    def members(self) -> Property | None:
        """What a member of a list or set of this property would be as a property; None where it has no members."""
        member = member_type(self.annotation)
        if member is None:
            return None
        return Property(self.name, self.stored, member, codec_of(member), None, required=False, has_default=False)

    @property
    def is_number(self) -> bool:
        """Whether any number has a place in the order of its values."""
        if isinstance(self.codec, EnumCodec):
            return self.codec.by_value
        return isinstance(self.codec, (IntegerCodec, DecimalCodec, NumberCodec))

    @property
    def has_beginning(self) -> bool:
        """Whether its values may be texts or bytes."""
        if isinstance(self.codec, EnumCodec):
            return any(isinstance(value, str) for value in self.codec.values)
        if self.codec is None:
            return self.members is None
        return self.codec.is_text or isinstance(self.codec, (BinaryCodec, SemanticVersionCodec))

    @property
    def has_members(self) -> bool:
        """Whether its values may be lists, sets or mappings."""
        return self.codec is None

    @cached_property
    def _json_model(self) -> type[BaseModel]:
        return json_model(self.annotation)

    def read_json(self, value: Any, where: tuple[str | int, ...] = (), *, every_digit: bool = False) -> Any:
        """The Python value that a JSON value stands for. Numbers that are more than a float are taken where the caller
        sees to their digits. Raises ValidationFailed naming the place, by default the property."""
        place = where or (self.stored,)
        try:
            read = read_model(self._json_model, {"value": value}, ("value",) if every_digit else ())
        except MalformedRequest as error:
            error.where = location_text(place)
            raise
        except ValidationFailed as failed:
            faults = [replace(each, location=(*place, *each.location[1:])) for each in failed.fields]
            raise ValidationFailed(faults, where=location_text(place)) from None
        return read.value  # type: ignore[attr-defined]

    def bound(self, value: Any) -> Value:
        """The stored form of a bound of a range, or of what a text begins with. For text it is any text, since it is a
        place in the order and no value; and for a number any number. Raises ValidationFailed naming the property."""
        if self.is_number and is_number(value):
            return stored_form(value)
        if not isinstance(self.codec, StringCodec) or not isinstance(value, str):
            return self.parse(value)
        form = next(metadata_of(self.annotation, CanonicalBegin), None)
        return str.__str__(value) if form is None else form.canonical(value)

    def begin(self, text: str) -> str:
        """What the stored text of a value begins with, from what people write. Raises ValidationFailed."""
        if isinstance(self.codec, StringCodec):
            return str(self.bound(text))
        return datetime_begin(text) if isinstance(self.codec, DateTimeCodec) else text

    def read_bound(self, value: Any, where: tuple[str | int, ...] = ()) -> Any:
        """A bound from its JSON value. Raises as `read_json` does."""
        if isinstance(self.codec, StringCodec) and isinstance(value, str):
            return value
        if self.is_number and isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            return integral(Decimal(repr(value)) if isinstance(value, float) else value)
        return self.read_json(value, where)

    def read_text(self, text: str, where: tuple[str | int, ...] = ()) -> Any:
        """The Python value that a text in a URL stands for. Raises as `read_json` does."""
        return self.read_json(json_of_text(self.annotation, self.codec, text), where)

    def read_bound_text(self, text: str, where: tuple[str | int, ...] = ()) -> Any:
        """A bound from its text in a URL. Raises as `read_json` does."""
        found = decimal_of(text) if self.is_number else None
        return self.read_text(text, where) if found is None else integral(found)

    def python(self, value: Value) -> Any:
        """The Python value of a stored one."""
        return self._adapter.validate_python(value)

    def parse(self, value: Any) -> Value:
        """The stored form of a value given in a condition or filter. Raises ValidationFailed naming the property."""
        if isinstance(value, bool) and isinstance(self.codec, (IntegerCodec, DecimalCodec, NumberCodec)):
            fault = FieldFault((self.stored,), "Input should be a number, not true or false", "number_type")
            raise ValidationFailed([fault])
        try:
            return stored_form(self._adapter.validate_python(value))
        except ValidationError as error:
            raise ValidationFailed(field_faults(error, (self.stored,))) from None
        except ValueRefused as error:
            error.where = error.where or self.stored
            raise


@dataclass(frozen=True)
class IndexView:
    """An index (or, with `index` None, the table itself) as one entity sees it.

    `hash_elements` follow the shard in the hash key. `range_elements` are those of a generated range key, or, when
    `raw`, the one property that is the range key itself. `projected` is None when reads see every attribute.
    `page_key` lists the attributes of a start key. Over HTTP it is used where it is `exposed`, by callers in one of its
    `groups` (by all, where it names none), for the records whose property `owner` is the caller.
    """

    index: str | None
    hash_name: str
    hash_elements: tuple[Element, ...]
    range_name: str
    range_elements: tuple[Element, ...]
    raw: bool
    projected: frozenset[str] | None
    page_key: tuple[str, ...]
    exposed: bool = True
    groups: tuple[str, ...] = ()
    owner: str | None = None

    @property
    def title(self) -> str:
        return self.index or "the table"


@dataclass(frozen=True)
class EntityType(Generic[E]):
    """One entity of a schema. Names in it are stored (camelCase) ones unless it says otherwise.

    `identity` is what a record is found by; `immutable` is what never changes; `lookup_placed` says that `shard_by`
    lies outside the identity, so that a lookup record holds what decides the record's shard; `raw_keys` are the
    properties whose attribute is the range key of an index, of this entity or of another; `origin` stands for the
    entity in shard keys; `separator` stands between the parts of a key that is one value; `children` are the enforced
    relations of other entities that lead here; `access` are its rules; records of a `read_only` one are not written by
    the operations of its collection.
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
    children: tuple[ChildLink, ...] = ()
    access: tuple[Allow, ...] = ()
    read_only: bool = False
    _by_python_name: dict[str, Property] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_python_name.update({each.name: each for each in self.properties.values()})

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

    def property_of(self, name: str, where: str = "") -> Property:
        """A property by its stored or its Python name. Raises UnknownName that lists the properties, naming `where`, or
        the name where there is no other place."""
        found = self.properties.get(name) or self._by_python_name.get(name)
        if found is None:
            raise UnknownName(
                f"the entity {self.token!r} has no property {name[:80]!r}",
                where=where or name[:80],
                fix=f"use one of {', '.join(self.properties)}",
            )
        return found

    def stored_name(self, name: str) -> str:
        """The stored name of a property given by either name; another name as it is."""
        found = self._by_python_name.get(name)
        return name if found is None or name in self.properties else found.stored

    def view(self, index: str | None, where: str = "index") -> IndexView:
        """An index of the entity by name, None for the table. Raises UnknownName that lists the indexes."""
        found = self.views.get(index)
        if found is None:
            raise UnknownName(
                f"the entity {self.token!r} has no index {str(index)[:80]!r}",
                where=where,
                fix=f"use one of {', '.join(name for name in self.views if name)}",
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

    # -- stored form

    def validate(self, values: Mapping[str, Any]) -> E:
        """A record from properties by stored or Python name. Raises ValidationFailed that lists every fault."""
        try:
            return self.model.model_validate(values)
        except ValidationError as error:
            raise ValidationFailed(field_faults(error), where=self.token) from None

    def dump(self, record: E) -> dict[str, Value]:
        """The record's properties in stored form, without generated attributes and revision."""
        item: dict[str, Value] = {}
        for each in self.properties.values():
            value = getattr(record, each.name)
            if value is None:
                if each.null_stored:
                    item[each.stored] = None
                continue
            if value == set() and each.has_default:
                continue
            try:
                item[each.stored] = stored_form(value)
            except ValueRefused as error:
                error.where = error.where or each.stored
                raise
        return item

    def load(self, item: Item) -> E:
        """The record of a whole stored item. Raises StoredRecordInvalid."""
        try:
            return self.record_of(item)
        except ValidationFailed as error:
            raise self.unfit(item, error.fields) from None

    def unfit(self, item: Item, faults: Iterable[FieldFault]) -> StoredRecordInvalid:
        """What is said of a stored record that does not fit: its key, and the properties at fault without values."""
        names = ", ".join(dict.fromkeys(f"{each.location[0]} ({each.type})" for each in faults if each.location))
        design = self.keys.design
        key = [item.get(name) for name in self.identity] or [self.token]
        if None in key:
            key = [item.get(name) for name in (design.hash_name, design.range_name)]
        shown = "/".join(str(part)[:200] for part in key if part is not None) or "(its key was not read)"
        return StoredRecordInvalid(
            f"a stored {self.token} does not fit its entity: {names or 'as a whole'}",
            where=f"{self.token} {shown}",
            fix="put it whole, delete it, or let the entity take what is stored; until then queries that would show it "
            "can ask for other properties",
        )

    def record_of(self, item: Item) -> E:
        """The record of properties in stored form. Raises ValidationFailed."""
        record = self.validate({name: item[name] for name in self.properties if name in item})
        record._rev = cast("str | None", item.get(REVISION))
        if self.origin is not None:
            hash_key = item.get(self.keys.design.hash_name)
            record._shard = None if hash_key is None else self.keys.suffix_of_key(hash_key)
        return record

    def visible(self, item: Item) -> dict[str, Value]:
        """The properties of an item, generated and internal attributes left out."""
        return {name: item[name] for name in self.properties if name in item}

    def is_expired(self, item: Item, now: float) -> bool:
        """Whether the record's TTL has passed. `now` is in epoch seconds."""
        expires = item.get(self.ttl) if self.ttl else None
        return expires is not None and expires <= now

    # -- generated attributes and limits

    @cached_property
    def _nulls(self) -> tuple[str, ...]:
        return tuple(each.stored for each in self.properties.values() if each.null_stored)

    def complete(self, item: Item, shard_map: ShardMap | None = None) -> dict[str, Value]:
        """The whole stored item: properties, generated attributes, revision when it has one. Raises ValueRefused,
        KeyTooLong or RecordTooLarge naming the property."""
        properties = {name: item[name] for name in self.properties if item.get(name) is not None}
        nulls = {name: None for name in self._nulls if name in item and item[name] is None}
        completed = properties | nulls | self.keys.build(properties, shard_map or self.shard_map)
        if REVISION in item:
            completed[REVISION] = item[REVISION]
        self._check_values(completed)
        self._check_raw_keys(properties)
        return completed

    def make_key(self, record: E | Mapping[str, Any], shard_map: ShardMap | None = None) -> dict[str, Value]:
        """The primary key of a record (or of its stored properties)."""
        item = record if isinstance(record, Mapping) else self.dump(record)
        return self.keys.primary_key(item, self.keys.suffix(item, shard_map or self.shard_map))

    def key_in(self, item: Item) -> AnyKey | None:
        """The shard key in a stored item's primary key; None for an entity without an origin."""
        if self.origin is None:
            return None
        design = self.keys.design
        hash_key, parts = item[design.hash_name], item[design.hash_name].split(design.key_format.element_delimiter)
        values = self.keys.parse_elements(design.hash_name, design.partition, parts[1:])
        values |= self.keys.parse_range_key(item[design.range_name])
        ids = (plain_id(self.properties[name].python(values[name])) for name in self.identity)
        return key_of(self.origin, self.keys.suffix_of_key(hash_key), *ids)

    def identify(self, values: Any) -> dict[str, Value]:
        """The identity in stored form, from a mapping, from a shard key, or, when one property identifies, from its
        value. Raises UnknownName, ValidationFailed, InvalidShardKey."""
        if isinstance(values, AnyKey):
            if values.origin != self.origin or len(values.ids) != len(self.identity):
                raise InvalidShardKey("the key is of another entity", where="key", fix=f"give one of a {self.token}")
            values = dict(zip(self.identity, values.ids, strict=True))
        if not isinstance(values, Mapping):
            if len(self.identity) != 1:
                raise UnknownName(
                    f"one value does not identify a {self.token}", where="key", fix=f"give {', '.join(self.identity)}"
                )
            values = {self.identity[0]: values}
        given = {self.property_of(name).stored: value for name, value in values.items()}
        missing = [name for name in self.identity if given.get(name) is None]
        if missing:
            raise UnknownName(f"{', '.join(missing)} is missing", where="key", fix=f"give {', '.join(self.identity)}")
        return {name: self.properties[name].parse(given[name]) for name in self.identity}

    def check_timestamp(self, item: Item, now_ms: int) -> None:
        """Refuses a creation time of the wrong unit or over five minutes ahead of the clock."""
        if self.timestamp is None or self.timestamp not in item:
            return
        codec = self.properties[self.timestamp].codec
        value = item[self.timestamp]
        if codec is not None:
            self.keys.encode(Element(self.timestamp, codec), value)
        if not self.keys.format.raw_timestamps and value > self.in_unit(now_ms + WRITE_AHEAD_MS):
            raise ValueRefused(
                "the timestamp lies more than 5 minutes ahead", where=self.timestamp, fix="check the clock, or the unit"
            )

    def _check_raw_keys(self, item: Item) -> None:
        for each in self.raw_keys:
            value = item.get(each.stored)
            if isinstance(value, (str, bytes)):
                size = value_bytes(value)
                if not size:
                    raise ValueRefused("a range key can't be empty", where=each.stored, fix="leave it out")
                if size > MAX_RANGE_KEY_BYTES:
                    message = f"a range key would have {size} bytes, {MAX_RANGE_KEY_BYTES} are possible"
                    raise KeyTooLong(message, where=each.stored, fix="shorten the value")
            elif value is not None and each.codec is not None:
                try:
                    self.keys.format.hashed_text(each.codec, value)
                except ValueRefused as error:
                    error.where = error.where or each.stored
                    raise

    def _check_values(self, item: Item) -> None:
        size = sum(_checked_bytes(name, value) for name, value in item.items())
        limit = MAX_ITEM_BYTES - MARK_RESERVE_BYTES - self.keys.reserve_bytes
        if size > limit:
            largest = max(item, key=lambda name: value_bytes(item[name]))
            message = (
                f"the record has {size} bytes, {limit} are possible"
                f" ({MAX_ITEM_BYTES - limit} bytes of 400 KB are kept free for a move to more shards)"
            )
            raise RecordTooLarge(message, where=largest, fix="shorten it; it is the largest")


def _checked_bytes(name: str, value: Value) -> int:
    """The size of an attribute that can be stored. Raises ValueRefused naming it."""
    if type(value) is str and value.isascii():
        return len(name) + len(value)
    try:
        to_attribute_value(value)
    except ValueRefused as error:
        error.where = error.where or name
        raise
    return len(name) + value_bytes(value)
