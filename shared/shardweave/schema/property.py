"""A compiled property of an entity: conversions of its values from Python, JSON, a URL's text and the stored form.

Guarantees: each conversion returns a value of the property's type, or raises an error that names the property;
conditions and filters accept the same values.
"""

from __future__ import annotations

import datetime as dt
import types
import typing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..errors import FieldFault, MalformedRequest, ValidationFailed, ValueRefused, location_text
from ..table.values import Value, too_deep
from ..values.codecs import (
    BinaryCodec,
    BooleanCodec,
    Codec,
    DateCodec,
    DateTimeCodec,
    DecimalCodec,
    EnumCodec,
    IntegerCodec,
    NumberCodec,
    StringCodec,
    TimestampCodec,
    UuidCodec,
    codec_of,
    is_number,
    stands_for,
)
from ..values.defaults import NO_DEFAULT, Default, default_of
from ..values.json_types import (
    decimal_of,
    entry_type,
    integral,
    is_set,
    is_time,
    json_model,
    json_of_text,
    member_type,
    metadata_of,
)
from ..values.json_validation import field_faults, read_model
from ..values.kept_members import holds_models
from ..values.refused_parts import refused_place
from ..values.stored_form import datetime_begin, epoch_number, stored_form
from ..values.times import parse_time
from ..values.untyped import Walk, check_untyped, read_untyped, walk_of
from ..values.validators import is_validated, without_validators
from .property_options import CanonicalBegin, Claim, EpochUnit, Private, Role

_OF_TYPES: frozenset[type[Codec]] = frozenset(
    {
        BinaryCodec,
        BooleanCodec,
        DateCodec,
        DateTimeCodec,
        EnumCodec,
        IntegerCodec,
        NumberCodec,
        StringCodec,
        UuidCodec,
    }
)
"""The default codecs of types."""

GIVEN_TWICE = "it is given twice, by its stored name and by its Python name: keep one"


@dataclass(frozen=True)
class Property:
    """One property. `name` is the Python name, `stored` the attribute; `codec` is None if it can't be in a key.
    `default` is its value if nothing is stored. `null_stored`: None is stored as a null, since a missing attribute
    would be read as the default. `refills`: a missing attribute is read as a default that is not None.
    `empty_when_missing`: it is a set that is read as empty if nothing is stored. `none_when_missing`: it is required
    and may be None, and is read as None if nothing is stored. `claim` is the claim that it is bound to; a `private`
    property is neither shown nor used in queries over HTTP."""

    name: str
    stored: str
    annotation: Any
    codec: Codec | None
    role: Role | None
    required: bool
    has_default: bool
    null_stored: bool = False
    refills: bool = False
    empty_when_missing: bool = False
    none_when_missing: bool = False
    claim: str | None = None
    private: bool = False
    default: Default = field(default=NO_DEFAULT, repr=False, compare=False)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    @property
    def has_declared_codec(self) -> bool:
        """Whether its codec was declared in its annotation, and is not the default codec of its type."""
        return self.codec is not None and type(self.codec) not in _OF_TYPES

    @cached_property
    def epoch(self) -> TimestampCodec | None:
        """The unit, if its values are datetimes stored as epoch numbers."""
        return self.codec if isinstance(self.codec, TimestampCodec) and self._is_time else None

    def stored_value(self, value: Any) -> Value:
        """The stored form of a value of its type. Raises ValueRefused."""
        if self.epoch is not None and isinstance(value, dt.datetime):
            return epoch_number(value, self.epoch.unit)
        return stored_form(value)

    def place_of_refusal(self, value: Any) -> str:
        """The place of the part for which a value is refused; for one without a declared type, that of the property."""
        try:
            if self.check_untyped is not None:
                self.check_untyped(value)
        except ValueRefused:
            return self.stored
        return refused_place(self.stored, value, stored_form)

    @cached_property
    def has_validators(self) -> bool:
        """Whether its type has validators."""
        return is_validated(self.annotation)

    @cached_property
    def _plain_adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(without_validators(self.annotation)) if self.has_validators else self._adapter

    @cached_property
    def members(self) -> Property | None:
        """A property for the members of this list or set; None if it has no members."""
        member = member_type(self.annotation)
        if member is None:
            return None
        return Property(self.name, self.stored, member, codec_of(member), None, required=False, has_default=False)

    @cached_property
    def entries(self) -> Property | None:
        """A property for the values of this mapping; None if it is no mapping from texts."""
        value = entry_type(self.annotation)
        if value is None:
            return None
        return Property(self.name, self.stored, value, codec_of(value), None, required=False, has_default=False)

    @cached_property
    def check_untyped(self) -> Walk | None:
        """A check that refuses a value with a part that has no declared type and would be read back as another value;
        None if every part has a type."""
        return walk_of(self.annotation, check_untyped)

    @cached_property
    def read_untyped(self) -> Walk | None:
        """A conversion of a stored value that restores parts without a declared type; None if every part has a type."""
        return walk_of(self.annotation, read_untyped)

    @cached_property
    def holds_models(self) -> bool:
        """Whether its values may contain models, dataclasses or TypedDicts."""
        return holds_models(self.annotation)

    @property
    def shows_none(self) -> bool:
        """Whether its None is shown as null, and not left out."""
        return self.null_stored or self.none_when_missing

    @cached_property
    def is_set(self) -> bool:
        """Whether its values may be sets."""
        return is_set(self.annotation)

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers, so that any number can be a bound."""
        if isinstance(self.codec, EnumCodec):
            return self.codec.by_value
        return isinstance(self.codec, (IntegerCodec, DecimalCodec, NumberCodec))

    @property
    def is_integer(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.codec, IntegerCodec)

    @property
    def holds_decimals(self) -> bool:
        """Whether its values are decimals."""
        return any(part is Decimal for part in _parts(self.annotation))

    @cached_property
    def _is_time(self) -> bool:
        return is_time(self.annotation)

    @cached_property
    def _json_model(self) -> type[BaseModel]:
        return json_model(self.annotation)

    @cached_property
    def _plain_json_model(self) -> type[BaseModel]:
        return json_model(without_validators(self.annotation))

    def read_json(self, value: Any, where: tuple[str | int, ...] = (), *, every_digit: bool = False) -> Any:
        """The Python value of a JSON value. Numbers that exceed a float's precision are accepted if the caller
        preserves their digits. Raises ValidationFailed naming the place, by default the property."""
        return self._read_json(self._json_model, value, where, every_digit=every_digit)

    def read_plain_json(self, value: Any) -> Any:
        """Like `read_json`, without the validators in the type, for callers that run them later."""
        return self._read_json(self._plain_json_model, value)

    def _read_json(
        self, model: type[BaseModel], value: Any, where: tuple[str | int, ...] = (), *, every_digit: bool = False
    ) -> Any:
        place = where or (self.stored,)
        try:
            read = read_model(model, {"value": value}, ("value",) if every_digit else ())
        except MalformedRequest as error:
            error.where = location_text(place)
            raise
        except ValidationFailed as failed:
            faults = [replace(each, location=(*place, *each.location[1:])) for each in failed.fields]
            raise ValidationFailed(faults, where=location_text(place)) from None
        return read.value  # type: ignore[attr-defined]

    def bound(self, value: Any) -> Value:
        """The stored form of a bound of a range, or of a prefix. For text it can be any text, and for a number any
        number, since it only marks a place in the order. Raises ValidationFailed naming the property."""
        if self.is_number and is_number(value):
            return stored_form(value)
        if not isinstance(self.codec, StringCodec) or not isinstance(value, str):
            return self.parse(value)
        form = next(metadata_of(self.annotation, CanonicalBegin), None)
        return str.__str__(value) if form is None else form.canonical(value)

    def begin(self, text: str) -> str:
        """The prefix of the stored text, from a prefix as people write it. Raises ValidationFailed."""
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
        """The Python value of a text in a URL. Raises as `read_json` does."""
        if self.epoch is not None:
            return self.python(parse_time(text, self.epoch, location_text(where or (self.stored,))))
        return self.read_json(json_of_text(self.annotation, self.codec, text), where)

    def read_bound_text(self, text: str, where: tuple[str | int, ...] = ()) -> Any:
        """A bound from its text in a URL. Raises as `read_json` does."""
        found = decimal_of(text) if self.is_number else None
        return self.read_text(text, where) if found is None else integral(found)

    def checked(self, value: Any) -> Any:
        """A Python value of its type, from one that is given. Raises pydantic's ValidationError."""
        return self._adapter.validate_python(value)

    def python(self, value: Value) -> Any:
        """The Python value of a stored one, by its type alone. Raises pydantic's ValidationError."""
        return self._plain_adapter.validate_python(value)

    def parse_plain(self, value: Any) -> Value:
        """As `parse`, by its type alone, without the validators that stand in it."""
        return self._parse(self._plain_adapter, value)

    def parse_given(self, value: Any) -> Value:
        """The stored form of a value that the validators in its type take, as it is before they have run: they run when
        the record is written. Raises as `parse` does."""
        parsed = self.parse(value)
        try:
            return self.parse_plain(value) if self.has_validators else parsed
        except ValidationFailed:
            return parsed

    def parse(self, value: Any) -> Value:
        """The stored form of a value given in a condition or filter. Raises ValidationFailed naming the property."""
        return self._parse(self._adapter, value)

    def _parse(self, adapter: TypeAdapter[Any], value: Any) -> Value:
        if isinstance(value, bool) and isinstance(self.codec, (IntegerCodec, DecimalCodec, NumberCodec)):
            fault = FieldFault((self.stored,), "Input should be a number, not true or false", "number_type")
            raise ValidationFailed([fault])
        if self.epoch is not None and isinstance(value, int):
            return value
        if self._is_time and isinstance(value, (int, float, Decimal)):
            fault = FieldFault((self.stored,), "Input should be a time of its type, not a number", "time_type")
            raise ValidationFailed([fault])
        try:
            return self.stored_value(adapter.validate_python(value))
        except ValidationError as error:
            raise ValidationFailed(field_faults(error, (self.stored,))) from None
        except ValueRefused as error:
            error.where = error.where or self.stored
            raise
        except RecursionError:
            raise too_deep(self.stored) from None


def _parts(annotation: Any) -> list[Any]:
    """A type, and the types that it contains."""
    return [annotation, *(part for each in typing.get_args(annotation) for part in _parts(each))]


@cache
def properties_of(model: type[BaseModel]) -> dict[str, Property]:
    """A model's properties by Python name. Read, and not changed: a schema asks for them a hundred times."""
    found = {}
    for name, info in model.model_fields.items():
        annotation = info.annotation
        for constraint in info.metadata:
            if not isinstance(constraint, (Role, EpochUnit, Codec, Claim, Private)):
                annotation = Annotated[annotation, constraint]  # type: ignore[assignment]
        found[name] = Property(
            name=name,
            stored=info.alias or name,
            annotation=annotation,
            codec=_codec_of_field(info),
            role=next((item for item in info.metadata if isinstance(item, Role)), None),
            required=info.is_required(),
            has_default=not info.is_required(),
            null_stored=_refills(info) and is_optional(info.annotation),
            refills=_refills(info),
            claim=next((item.name for item in info.metadata if isinstance(item, Claim)), None),
            private=bool(info.exclude) or any(isinstance(item, Private) for item in info.metadata),
            none_when_missing=info.is_required() and is_optional(info.annotation),
            empty_when_missing=not info.is_required() and _defaults_to_empty_set(info),
            default=default_of(info, _unit_of(info)),
        )
    return found


def _codec_of_field(info: FieldInfo) -> Codec | None:
    declared = next((item for item in info.metadata if isinstance(item, Codec)), None)
    found = declared or codec_of(info.annotation)
    unit = _unit_of(info)
    return TimestampCodec(unit, of_datetimes=True) if unit is not None and isinstance(found, DateTimeCodec) else found


def _unit_of(info: FieldInfo) -> Literal["ms", "s"] | None:
    return next((item.unit for item in info.metadata if isinstance(item, EpochUnit)), None)


def _refills(info: FieldInfo) -> bool:
    return not info.is_required() and info.default is not None


def _defaults_to_empty_set(info: FieldInfo) -> bool:
    factory: Any = info.default_factory
    return factory in (set, frozenset) or info.default in (set(), frozenset())


def is_optional(annotation: Any, within: frozenset[int] = frozenset()) -> bool:
    """Whether a type allows None, however it says so. `within` are the aliases that it stands in."""
    if annotation in (None, type(None), Any, object):
        return True
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return is_optional(arguments[0], within)
    if origin is Literal:
        return None in arguments
    if origin in (typing.Union, types.UnionType):
        return any(is_optional(each, within) for each in arguments)
    meant = stands_for(annotation if origin is None else origin)
    return meant is not None and id(meant) not in within and is_optional(meant, within | {id(meant)})
