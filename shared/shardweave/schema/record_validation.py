"""Validation of records: validators run on given values, and not on stored ones.

A validator need not be idempotent: one that hashes, or adds a prefix, would change its own result at every read and at
every update of another property. So a stored record is read only by its types (with their constraints). In an update
the validators of a property run if it is given; those of the whole record always run, with the other values as they are
stored. A stored record that does not fit its types is read with the validators, which may convert an older form.

Entities without validators, which are most, have one model for all of that: their own.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.errors import PydanticUserError

from ..values.derived_models import changed_model, derived_model
from ..values.validators import without_validators
from .entity import Entity
from .property import Property

E = TypeVar("E", bound=Entity)

Kept = Mapping[str, tuple[Any, Any]]
"""The stored form and the value of properties, by Python name."""

_KEPT: ContextVar[Kept | None] = ContextVar("kept", default=None)


def has_validators(model: type[Entity], properties: Mapping[str, Property]) -> bool:
    """Whether a model has validators, in its class or in the types of its properties."""
    found = model.__pydantic_decorators__
    decorated = found.field_validators or found.model_validators or found.validators or found.root_validators
    return bool(decorated) or any(each.has_validators for each in properties.values())


class Validation(typing.Generic[E]):
    """Two further models for the records of a model with validators. `stored` reads only by types; it is None if a type
    has no meaning without its validators."""

    def __init__(self, model: type[E], properties: Mapping[str, Property]) -> None:
        self._model = model
        self.stored = _stored_model(model, properties)
        self._given = _given_model(model)

    def read(self, values: Mapping[str, Any]) -> E | None:
        """A record from properties in stored form, only by its types; None if they do not fit."""
        if self.stored is None:
            return None
        try:
            read: Any = self.stored.model_validate(values)
        except ValidationError:
            return None
        object.__setattr__(read, "__class__", self._model)
        read.model_post_init(None)
        return typing.cast("E", read)

    def validate(self, values: Mapping[str, Any], kept: Kept) -> E:
        """A record from properties, with the validators of those that differ from `kept`. Raises pydantic's
        ValidationError."""
        with _keeping(kept):
            return self._given.model_validate(values)


@contextmanager
def _keeping(kept: Kept) -> Iterator[None]:
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def _stored_model(model: type[Entity], properties: Mapping[str, Property]) -> type[BaseModel] | None:
    """The properties with their types, and nothing else of a model; None where a type is nothing without validators."""
    fields: dict[str, Any] = {}
    for name, each in properties.items():
        declared = model.model_fields[name]
        given: dict[str, Any] = {"alias": each.stored}
        if declared.default_factory is not None:
            given["default_factory"] = declared.default_factory
        elif not declared.is_required():
            given["default"] = declared.default
        fields[name] = (without_validators(each.annotation), Field(**given))
    left_out = ("alias_generator", "populate_by_name", "validate_default")
    config = {name: value for name, value in model.model_config.items() if name not in left_out}
    try:
        return derived_model(model.__name__, ConfigDict(**config), fields)  # type: ignore[typeddict-item]
    except PydanticUserError:
        return None


def _given_model(model: type[E]) -> type[E]:
    """A model whose validators, outside all others, give back what is kept."""
    made = changed_model(model, {}, {"_give_back": field_validator("*", mode="wrap")(_give_back)})
    made.declaration = model.declaration
    return made


def _give_back(cls: Any, value: Any, handler: Any, info: Any) -> Any:
    stored = (_KEPT.get() or {}).get(info.field_name)
    if stored is not None and type(value) is type(stored[0]) and value == stored[0]:
        return stored[1]
    return handler(value)
