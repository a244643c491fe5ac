"""ExternalKeys: a key as one URL-safe text with a keyed checksum, and back.

Guarantees: `decode(encode(key))` is the key, id types included. A text that was changed in any character, cut,
extended, made without a secret of ours, of another kind or of another origin is refused with InvalidShardKey. With one
secret each key has one text, and each text must equal its own re-encoding, so the bits that base64 ignores can't be
changed either. Texts made with any of the secrets stay valid as long as that secret is kept, which should be for ever:
they are in links and in other people's databases.

A text is signed, not encrypted, and grants nothing: it names a record, and access is decided as for any other name.

Format: base64url without padding of
    (number of ids - 1) * 32 + length of the shard (1 byte) | origin (1) | shard
    each id as `identifiers` has it, every one but the last with its length (2 bytes) before it
    BLAKE2b of all that, 64 bits, keyed
A first byte of 96 or more belongs to formats to come. Encoding hashes once, decoding at most once a secret.

A field of a pydantic model holds a key object in Python, and its text in JSON: what `model_dump_json` writes,
`model_validate_json` reads as the equal key; a text that is refused is a fault of its field, listed with all others of
its model. Both need the secrets, as context, and say so when it is missing:

    Order.model_validate_json(body, context=json_context(external_keys))
    order.model_dump_json(context=json_context(external_keys))
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, SerializationInfo, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ...errors import ConfigurationError, InvalidShardArguments, InvalidShardKey
from ..sharding import MAX_SUFFIX
from .identifiers import MAX_ID_BYTES, decode_id
from .key import KINDS, AnyKey

K = TypeVar("K", bound=AnyKey)

CHECKSUM_BYTES = 8
MAX_TEXT_CHARACTERS = -(-(2 + MAX_SUFFIX + 3 * (2 + 1 + MAX_ID_BYTES) + CHECKSUM_BYTES) * 8 // 6)
"""No text is longer; what is longer is refused unread."""

_KIND = 32
"""What the number of ids counts in the first byte."""

CONTEXT_NAME = "external_keys"
"""The name that the secrets have in a context, beside what else is in it."""

_FAULT = "invalid_shard_key"


@dataclass(frozen=True, eq=False)
class ExternalKeys:
    """The secrets for external keys: `current` names the one that signs, all of them verify. Each is at least 16 bytes.
    To rotate, add a secret everywhere, then make it current; never remove one."""

    current: str
    secrets: Mapping[str, bytes]
    _checksum_keys: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.current not in self.secrets:
            raise ConfigurationError(
                "the current external key is not among the keys", where="external keys", fix="add its secret"
            )
        for name, secret in self.secrets.items():
            if not 1 <= len(name.encode()) <= 16 or len(secret) < 16:
                raise ConfigurationError(
                    "an external key needs an id of 1 to 16 bytes and a secret of at least 16",
                    where="external keys",
                    fix="make one from 32 random bytes",
                )
        object.__setattr__(self, "secrets", MappingProxyType(dict(self.secrets)))
        names = sorted(self.secrets, key=lambda name: name != self.current)
        object.__setattr__(self, "_checksum_keys", tuple(_derived(self.secrets[name]) for name in names))

    def __repr__(self) -> str:
        return f"ExternalKeys(current={self.current!r}, ids={sorted(self.secrets)})"

    def encode(self, key: AnyKey) -> str:
        """The text of a key."""
        payload = _payload(key)
        return _text(payload + _checksum(payload, self._checksum_keys[0]))

    def decode(self, text: str, kind: type[K], *, origin: str | None = None) -> K:
        """The key of a text. Raises InvalidShardKey, also for a key of another kind, and for one of another origin than
        the one given."""
        key = _key(self._verified(text))
        if not isinstance(key, kind):
            message = f"the key is a {type(key).__name__}, a {kind.__name__} is due"
            raise InvalidShardKey(message, where="key", fix="give the key of a record of this kind")
        if origin is not None and key.origin != origin:
            raise InvalidShardKey("the key belongs to another entity", where="key", fix="give a key of this entity")
        return key

    def _verified(self, text: str) -> bytes:
        """The payload of a text, after its signature was verified."""
        if not isinstance(text, str) or len(text) > MAX_TEXT_CHARACTERS:
            raise _refusal()
        try:
            signed = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _refusal() from None
        payload, checksum = signed[:-CHECKSUM_BYTES], signed[-CHECKSUM_BYTES:]
        genuine = any(hmac.compare_digest(checksum, _checksum(payload, each)) for each in self._checksum_keys)
        if not genuine or _text(signed) != text:
            raise _refusal()
        return payload


def _refusal() -> InvalidShardKey:
    return InvalidShardKey("the key was altered, or was not made here", where="key", fix="give a key that was answered")


# -- the format -------------------------------------------------------------------------------------------------------


def _payload(key: AnyKey) -> bytes:
    origin, shard, *ids = (part.encode() if isinstance(part, str) else part for part in key.parts)
    *outer, last = ids
    framed = b"".join(len(each).to_bytes(2, "big") + each for each in outer)
    return bytes((len(outer) * _KIND + len(shard),)) + origin + shard + framed + last


def _key(payload: bytes) -> AnyKey:
    """The inverse of `_payload`. What was signed but never written by it, such as a number with idle zeros or a format
    to come, is refused."""
    try:
        count, width = divmod(payload[0], _KIND)
        start = 2 + width
        ids = []
        for _ in range(count):
            end = start + 2 + int.from_bytes(payload[start : start + 2], "big")
            ids.append(decode_id(payload[start + 2 : end]))
            start = end
        ids.append(decode_id(payload[start:]))
        key = KINDS[count + 1](payload[1:2].decode(), payload[2 : 2 + width].decode(), *ids)
    except (ValueError, ArithmeticError, LookupError, InvalidShardArguments):
        raise _refusal() from None
    if _payload(key) != payload:
        raise _refusal()
    return key


def _text(signed: bytes) -> str:
    return base64.urlsafe_b64encode(signed).rstrip(b"=").decode()


def _checksum(payload: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=CHECKSUM_BYTES, key=key).digest()


def _derived(secret: bytes) -> bytes:
    """The same secret may serve other purposes, and may be longer than BLAKE2b takes."""
    return hashlib.blake2b(secret, digest_size=32, person=b"shardweave.key").digest()


# -- fields of pydantic models -----------------------------------------------------------------------------------------


def json_context(keys: ExternalKeys) -> dict[str, Any]:
    """The context that reads and writes keys."""
    return {CONTEXT_NAME: keys}


@dataclass(frozen=True)
class OfOrigin:
    """In an annotation, keys of this origin only: `Annotated[ShardKey, OfOrigin("u")]` is a key of one entity."""

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
"""The JSON schema of a key."""

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
