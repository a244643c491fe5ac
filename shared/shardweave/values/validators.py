"""Validators in type annotations, and the type without them."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Union

from pydantic import AfterValidator, BeforeValidator, PlainValidator, WrapValidator

from .codecs import NO_BOOL, stands_for

_FUNCTIONS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)


def is_validated(annotation: Any, within: frozenset[int] = frozenset()) -> bool:
    """Whether a type contains a validator at any depth."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        noted = any(isinstance(each, _FUNCTIONS) and each is not NO_BOOL for each in annotation.__metadata__)
        return noted or is_validated(arguments[0], within)
    meant = stands_for(annotation if origin is None else origin)
    if meant is not None:
        return id(meant) not in within and is_validated(meant, within | {id(meant)})
    return any(is_validated(each, within) for each in arguments)


def without_validators(annotation: Any) -> Any:
    """A type without its validators."""
    if not is_validated(annotation):
        return annotation
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        inner = without_validators(arguments[0])
        noted = [each for each in arguments[1:] if not isinstance(each, _FUNCTIONS) or each is NO_BOOL]
        return Annotated[(inner, *noted)] if noted else inner
    meant = stands_for(annotation if origin is None else origin)
    if meant is not None:
        return without_validators(meant)
    plain = tuple(without_validators(each) for each in arguments)
    return Union[plain] if origin in (Union, types.UnionType) else origin[plain]  # noqa: UP007 - made, not written
