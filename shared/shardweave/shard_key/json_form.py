"""Keys as fields of pydantic models: a key object in Python, its external text in JSON.

Guarantees: what `model_dump_json` writes, `model_validate_json` reads as the equal key; a text that is refused is a
fault of its field, listed with all others of its model. Both need the secrets, as context:

    Order.model_validate_json(body, context=json_context(external_keys))
    order.model_dump_json(context=json_context(external_keys))

and say so when it is missing. `Annotated[ShardKey, OfOrigin("u")]` is a key of one entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, SerializationInfo, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..errors import ConfigurationError, InvalidShardKey
from .external import MAX_TEXT_CHARACTERS, ExternalKeys
from .key import AnyKey

CONTEXT_NAME = "external_keys"
"""The name that the secrets have in a context, beside what else is in it."""

_FAULT = "invalid_shard_key"


def json_context(keys: ExternalKeys) -> dict[str, Any]:
    """The context that reads and writes keys."""
    return {CONTEXT_NAME: keys}


@dataclass(frozen=True)
class OfOrigin:
    """In an annotation: keys of this origin only."""

    origin: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, key: AnyKey) -> AnyKey:
        if key.origin != self.origin:
            raise PydanticCustomError(_FAULT, "the key belongs to another entity")
        return key


def key_schema(kind: type[AnyKey]) -> CoreSchema:
    """What pydantic needs to know of a kind of keys."""

    def read(value: Any, info: ValidationInfo) -> AnyKey:
        if isinstance(value, kind):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError(_FAULT, "a {kind}, or its text, is due", {"kind": kind.__name__})
        try:
            return _keys(info.context).decode(value, kind)
        except InvalidShardKey as error:
            raise PydanticCustomError(_FAULT, "{reason}", {"reason": error.message}) from None

    def write(key: AnyKey, info: SerializationInfo) -> AnyKey | str:
        return key if info.mode == "python" else _keys(info.context).encode(key)

    return core_schema.with_info_plain_validator_function(
        read,
        serialization=core_schema.plain_serializer_function_ser_schema(
            write, info_arg=True, return_schema=core_schema.any_schema(serialization=_AS_IT_IS)
        ),
    )


TEXT_SCHEMA = core_schema.str_schema(min_length=1, max_length=MAX_TEXT_CHARACTERS, pattern="^[A-Za-z0-9_-]+$")
"""What a JSON schema says of a key."""

_AS_IT_IS = core_schema.to_string_ser_schema(when_used="json")
"""Leaves a key object alone, which pydantic would take apart like any other dataclass. A text's string is itself."""


def _keys(context: Any) -> ExternalKeys:
    found = context.get(CONTEXT_NAME) if isinstance(context, Mapping) else None
    if not isinstance(found, ExternalKeys):
        raise ConfigurationError(
            "keys can't be read or written as JSON without their secrets",
            where=CONTEXT_NAME,
            fix="give context=json_context(external_keys)",
        )
    return found
