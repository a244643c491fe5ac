"""The values of properties as JSON, and as text in a URL: one set of rules for bodies, conditions, filters, list
parameters, paths and the command line.

    number          a JSON number; an integral one is a whole number, however it is written (1.0, 1.5e12), up to 2^53;
                    one that is not whole is refused where a float would be another number
    Decimal         text of ASCII digits ("1.10", "-2", "1E-7"), or a JSON number of at most 15 digits
    bytes           base64url with padding (RFC 4648), the one text that is answered for them
    bool            true or false, which stand for no number, nor for an enumeration's
    date, time      ISO 8601 text to the microsecond; in conditions a timestamp too
    model           an object, each of its fields by these rules, also of a model inside itself at any depth
    all else        as pydantic's strict mode has it: nothing is converted, "1" is no number and 1 no text

In a URL each is the text that stands in JSON, without quotes. What is written is what is read.
"""

from __future__ import annotations

import base64
import collections.abc
import datetime as dt
import enum
import functools
import json
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FutureDatetime,
    JsonValue,
    NaiveDatetime,
    PastDatetime,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
)
from pydantic_core import PydanticCustomError

from ..errors import MalformedRequest
from ..table.values import Value, number_text
from .codecs import BooleanCodec, Codec, EnumCodec, IntegerCodec, NumberCodec, TimestampCodec, stands_for
from .derived_models import changed_model
from .nested_types import converter, model_of

JSON_CONFIG = ConfigDict(
    extra="forbid", frozen=True, defer_build=True, val_json_bytes="base64", ser_json_bytes="base64"
)

MAX_NUMBER_DIGITS = 15
"""Digits that every reader of JSON keeps."""

MAX_WHOLE_FLOAT = 2**53

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,60}", re.ASCII)
_GENERIC = (list, set, frozenset, tuple, dict)
_TIME_CLASSES = (dt.date, dt.time, dt.timedelta)
_TIMES = (dt.datetime, dt.date, dt.time, dt.timedelta, AwareDatetime, NaiveDatetime, PastDatetime, FutureDatetime)
_BELOW_MICROSECONDS = re.compile(r"[.,][0-9]{6,}?[1-9][0-9]*(?![0-9DHMWYdhmwy])", re.ASCII)


# -- types ------------------------------------------------------------------------------------------------------------


def json_type(annotation: Any, within: tuple[type[BaseModel], ...] = ()) -> Any:
    """The type of a property as JSON gives it: the same, with the rules for numbers wherever a number stands in it.
    `within` are the models that it stands in."""
    for kind, read in ((int, _as_integer), (float, _as_float), (Decimal, _as_decimal), (bytes, _as_bytes)):
        if annotation is kind:
            return Annotated[annotation, BeforeValidator(read)]
    if annotation in _TIMES:
        return Annotated[annotation, BeforeValidator(_time_reader(annotation))]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Annotated[annotation, BeforeValidator(_among(*(member.value for member in annotation)))]
    if (model := model_of(annotation)) is not None:
        convert = converter(annotation) or functools.partial(as_declared, model)
        if model in within:
            return Annotated[model, WrapValidator(_reader_inside(model)), AfterValidator(convert)]
        return Annotated[json_form(model, within), AfterValidator(convert)]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[(json_type(arguments[0], within), *arguments[1:])]
    if origin is Literal and any(isinstance(member, int) for member in arguments):
        return Annotated[annotation, BeforeValidator(_among(*arguments))]
    if origin in (Union, types.UnionType):
        return Union[tuple(json_type(each, within) for each in arguments)]  # noqa: UP007 - made, not written
    if arguments and _is_generic(origin):
        first = _key_type if _is_mapping(origin) else functools.partial(json_type, within=within)
        return origin[(first(arguments[0]), *(json_type(each, within) for each in arguments[1:]))]
    meant = None if annotation is JsonValue else stands_for(annotation)
    return annotation if meant is None else json_type(meant, within)


def without_none(annotation: Any) -> Any:
    """A type without the None that it allows beside others."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[(without_none(arguments[0]), *arguments[1:])]
    others = tuple(each for each in arguments if each is not type(None))
    if origin in (Union, types.UnionType) and others:
        return Union[others]  # noqa: UP007 - made, not written
    return annotation


def _is_generic(kind: Any) -> bool:
    return kind in _GENERIC or _is_mapping(kind) or getattr(kind, "__module__", "") == collections.abc.__name__


def _is_mapping(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, collections.abc.Mapping)


def _key_type(annotation: Any) -> Any:
    """The type of the keys of a mapping, which are text in JSON: a number is written as it is in JSON."""
    if annotation is int:
        return Annotated[int, BeforeValidator(_integer_in_key)]
    if annotation is float:
        return Annotated[float, BeforeValidator(_float_in_key)]
    if typing.get_origin(annotation) is Annotated:
        kind, *rest = typing.get_args(annotation)
        return Annotated[(_key_type(kind), *rest)]
    meant = stands_for(annotation)
    return json_type(annotation) if meant is None else _key_type(meant)


M = TypeVar("M", bound=BaseModel)


def json_form(model: type[M], within: tuple[type[BaseModel], ...] = ()) -> type[M]:
    """The model for reading JSON: the same model, including its checks, with these rules for its fields, and without
    names that it does not declare. `as_declared` converts its result to the declared model."""
    model.model_rebuild()
    fields: dict[str, Any] = {}
    for name, declared in model.model_fields.items():
        fields[name] = (json_type(declared.annotation, (*within, model)), copy(declared))
    return changed_model(model, fields, strict_names=model.model_config.get("extra") != "allow")


@functools.cache
def _whole_form(model: type[BaseModel]) -> type[BaseModel]:
    return json_form(model)


def _reader_inside(model: type[BaseModel]) -> Callable[[Any, Any], BaseModel]:
    """What reads a model inside itself: by a form of its own, which is made when it is needed."""

    def read(value: Any, handler: Any) -> BaseModel:
        return _whole_form(model).model_validate_json(json_bytes(value), strict=True, by_alias=True, by_name=False)

    return read


def as_declared(model: type[M], read: M) -> M:
    """The result of a model's JSON form, converted to an instance of the declared model."""
    object.__setattr__(read, "__class__", model)
    return read


def integral(value: Any) -> Any:
    """A JSON number that is integral as an int, anything else as it is."""
    if isinstance(value, (float, Decimal)) and -MAX_WHOLE_FLOAT < value < MAX_WHOLE_FLOAT and value == int(value):
        return int(value)
    return value


def decimal_of(text: str) -> Decimal | None:
    """The number of a text of ASCII digits, None of another text."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def json_number(text: str) -> float | Decimal:
    """The number in a JSON text with a fraction or an exponent: a float if it is exact, else a Decimal. Raises
    ArithmeticError for an exponent beyond all bounds."""
    exact, near = Decimal(text), float(text)
    return exact if is_inexact(exact) else near


def is_inexact(value: int | Decimal) -> bool:
    """Whether a number changes as a float: it has too many digits, or is too large or too small."""
    try:
        return Decimal(repr(float(value))) != value
    except OverflowError:
        return True


def is_open(annotation: Any) -> bool:
    """Whether some part of a type accepts values of any type."""
    return _holds(annotation, Any, object)


def _holds(annotation: Any, *wanted: Any, within: frozenset[int] = frozenset()) -> bool:
    if any(annotation is each for each in wanted):
        return True
    meant = stands_for(annotation)
    if meant is not None and id(meant) not in within:
        return _holds(meant, *wanted, within=within | {id(meant)})
    return any(_holds(each, *wanted, within=within) for each in typing.get_args(annotation))


T = TypeVar("T")


def metadata_of(annotation: Any, kind: type[T]) -> Iterator[T]:
    """The metadata of a kind anywhere in a type."""
    if typing.get_origin(annotation) is Annotated:
        yield from (each for each in annotation.__metadata__ if isinstance(each, kind))
    for each in typing.get_args(annotation):
        yield from metadata_of(each, kind)


def member_type(annotation: Any) -> Any:
    """The type of the members of a list or set, or a union of several; None for other types."""
    found = tuple(_member_types(annotation, ()))
    return Union[found] if found else None  # noqa: UP007 - made, not written


def _member_types(annotation: Any, within: tuple[Any, ...]) -> Iterator[Any]:
    """`within` are the type aliases around a type, since an alias may be recursive."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        yield from _member_types(arguments[0], within)
    elif origin in (Union, types.UnionType):
        for each in arguments:
            yield from _member_types(each, within)
    elif isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        if not issubclass(origin, collections.abc.Mapping):
            yield from (each for each in arguments if each is not Ellipsis)
    elif (meant := stands_for(annotation)) is not None and annotation not in within:
        yield from _member_types(meant, (*within, annotation))


def entry_type(annotation: Any) -> Any:
    """The type of the values of a mapping from texts; None for other types."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return entry_type(arguments[0])
    if origin in (Union, types.UnionType):
        found = [entry_type(each) for each in arguments if each is not type(None)]
        return found[0] if len(found) == 1 else None
    is_mapping = isinstance(origin, type) and issubclass(origin, collections.abc.Mapping) and len(arguments) == 2
    return arguments[1] if is_mapping else None


def is_set(annotation: Any) -> bool:
    """Whether values of a type may be sets."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Annotated, Union, types.UnionType):
        return any(is_set(each) for each in (arguments[:1] if origin is Annotated else arguments))
    meant = stands_for(annotation if origin is None else origin)
    kind = annotation if origin is None else origin
    return is_set(meant) if meant is not None else isinstance(kind, type) and issubclass(kind, collections.abc.Set)


def _as_integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) >= MAX_WHOLE_FLOAT:
        raise PydanticCustomError("int_inexact", "Write a whole number of this size without point and exponent")
    return integral(value)


def _as_float(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and is_inexact(value):
        raise PydanticCustomError("float_inexact", "Input should be a number of no more digits than a float holds")
    return value


def _integer_in_key(value: Any) -> Any:
    """An int from its canonical digits, so that two texts can't be the same key."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) and str(int(value)) == value else value


def _float_in_key(value: Any) -> Any:
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value):
        return value
    if is_inexact(Decimal(value)):
        raise PydanticCustomError("float_inexact", "Input should be a number of no more digits than a float holds")
    return float(value)


def _as_decimal(value: Any) -> Any:
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise PydanticCustomError("decimal_parsing", "Input should be a decimal in ASCII digits")
        return Decimal(value)
    if isinstance(value, bool):
        raise PydanticCustomError("decimal_type", "Input should be a decimal, as text or number")
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        found = Decimal(repr(value))
        if not found.is_finite() or len(found.as_tuple().digits) > MAX_NUMBER_DIGITS:
            raise PydanticCustomError(
                "decimal_inexact", f"Write a decimal of more than {MAX_NUMBER_DIGITS} digits as text"
            )
        return found
    return value


def _as_bytes(value: Any) -> Any:
    """Bytes from their canonical text, since base64 would accept several texts for the same bytes."""
    if not isinstance(value, str):
        return value
    try:
        found = base64.urlsafe_b64decode(value)
    except ValueError:
        found = None
    if found is None or base64.urlsafe_b64encode(found).decode() != value:
        raise PydanticCustomError("bytes_invalid_encoding", "Input should be base64url (RFC 4648), with its padding")
    return found


def is_time(annotation: Any) -> bool:
    """Whether the values of a type, except None, are times or durations."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return is_time(arguments[0])
    if origin in (Union, types.UnionType):
        return all(is_time(each) for each in arguments if each is not type(None))
    meant = stands_for(annotation)
    if meant is not None:
        return is_time(meant)
    return annotation in _TIMES or (isinstance(annotation, type) and issubclass(annotation, _TIME_CLASSES))


def _among(*members: Any) -> Callable[[Any], Any]:
    """A validator that distinguishes values that are equal in Python: 1 and true, 0 and false."""

    def read(value: Any) -> Any:
        if any(member == value and isinstance(member, bool) != isinstance(value, bool) for member in members):
            kind = "a number" if isinstance(value, bool) else "true or false"
            raise PydanticCustomError("enum", f"Input should be {kind}")
        return value

    return read


@functools.cache
def _time_reader(kind: type) -> Callable[[Any], Any]:
    """A validator that accepts only text with at most microseconds, since pydantic accepts numbers in quotes and
    truncates smaller fractions."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if decimal_of(value) is not None:
            raise PydanticCustomError("time_parsing", "Input should be ISO 8601 text, not a number in quotes")
        if below_microseconds(value):
            raise PydanticCustomError("time_inexact", "Input should have at most six decimals of a second")
        try:
            return adapter.validate_json(json_bytes(value), strict=True)
        except ValidationError as error:
            (fault,) = error.errors(include_url=False, include_context=False, include_input=False)
            raise PydanticCustomError(fault["type"], fault["msg"]) from None

    return read


def below_microseconds(text: str) -> bool:
    """Whether ISO 8601 text has a smaller fraction of a second than Python's times."""
    return _BELOW_MICROSECONDS.search(text) is not None


# -- values -----------------------------------------------------------------------------------------------------------


def json_model(annotation: Any) -> type[BaseModel]:
    """A model of a JSON object with a member `value` of a type."""
    return create_model("Value", __config__=JSON_CONFIG, value=(json_type(annotation), ...))


def json_of_text(annotation: Any, codec: Codec | None, text: str) -> Any:
    """The JSON value of a text in a URL, by the type of its property; the text itself if it can't be converted."""
    if isinstance(codec, EnumCodec):
        return next((member.value for member in codec.members if text_of(member.value) == text), text)
    if isinstance(codec, BooleanCodec):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(codec, (IntegerCodec, TimestampCodec)):
        return int(text) if _WHOLE.fullmatch(text) else text
    if isinstance(codec, NumberCodec) and not _holds(annotation, Decimal):
        return json_number(text) if _DECIMAL.fullmatch(text) else text
    return text


def is_untyped(annotation: Any) -> bool:
    """Whether a type says nothing of its values."""
    return annotation in (Any, object)


def untyped_of_text(text: str) -> Any:
    """The value of a text in a URL where no type is declared: a number, `true` or `false` as in JSON, a text in quotes;
    else the text itself."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if len(text) > 1 and text[0] == text[-1] == '"':
        with suppress(ValueError):
            return str(json.loads(text))
    return text


def text_of(value: Value) -> str:
    """A stored value as text in a URL: the inverse of `json_of_text`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, (int, Decimal)) else str(value)


def json_value(value: Value) -> Any:
    """A stored value as JSON, without its property at hand: a number of more than 15 digits that is not whole is text,
    as are bytes; a set is a list in order."""
    if isinstance(value, Decimal):
        return float(value) if len(value.as_tuple().digits) <= MAX_NUMBER_DIGITS else number_text(value)
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: json_value(each) for name, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return [json_value(each) for each in sorted(value)]
    return [json_value(each) for each in value] if isinstance(value, list) else value


def json_bytes(value: Any) -> bytes:
    """A JSON value as UTF-8; decimals are numbers. Raises MalformedRequest for text that has no UTF-8."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number).encode()
    except UnicodeEncodeError:
        raise MalformedRequest("it holds half of a surrogate pair", where="body", fix="give Unicode text") from None


def _number(value: Any) -> float | int:
    if not isinstance(value, Decimal):
        raise TypeError(f"a {type(value).__name__} has no JSON form")
    return float(value)


def left_out(description: str, **options: Any) -> Any:
    """The field of an answer's member that is left out if it is empty, and is never null."""
    return Field(default_factory=lambda: None, description=description, **options)
