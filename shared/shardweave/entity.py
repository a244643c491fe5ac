"""What a user writes: entities, their properties' roles, their generated keys.

An entity is a pydantic model. Python names are snake_case, stored attributes and JSON camelCase (`user_id` <->
`userId`). Class keywords say how it is keyed and sharded; class attributes that are `HashKey` or `RangeKey` declare
generated properties. Nothing is checked against a table here: `Schema` checks everything at once when it is built.
A record is a value: it is frozen, and `model_copy(update=...)` or the store's `update` makes a changed one.
"""

from __future__ import annotations

import enum
import inspect
import secrets
import string
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from .access.rules import Allow
from .errors import InvalidShardArguments
from .keywords import Descending, EntityDeclaration, declaration_of, name_of, names_of
from .model_faults import check_names
from .shard_key.key import AnyKey, key_of
from .sharding import ShardBump

_URL_SAFE = string.ascii_letters + string.digits + "-_"


def nanoid() -> str:
    """A random identifier of 21 URL-safe characters (126 bits)."""
    return "".join(_URL_SAFE[byte & 63] for byte in secrets.token_bytes(21))


def now_ms() -> int:
    """The wall clock in epoch milliseconds."""
    return time.time_ns() // 1_000_000


class Role(enum.Enum):
    """What a property is for, beyond holding a value."""

    UNIQUE = "unique"
    TIMESTAMP = "timestamp"
    UPDATED = "updated"
    TTL = "ttl"


def unique_property(**field: Any) -> Any:
    """The property that identifies a record; it never changes. With `default_factory=nanoid` ids are generated."""
    return _with_role(Role.UNIQUE, field)


def timestamp_property(**field: Any) -> Any:
    """When the record was created; it never changes, and picks the generation. Set by the store when not given."""
    return _with_role(Role.TIMESTAMP, _optional(field))


def updated_property(**field: Any) -> Any:
    """When the record was last written. Set by the store on every write."""
    return _with_role(Role.UPDATED, _optional(field))


def ttl_property(**field: Any) -> Any:
    """When the record expires, in epoch seconds. An expired record is hidden from reads at once."""
    return _with_role(Role.TTL, _optional(field))


def _optional(field: dict[str, Any]) -> dict[str, Any]:
    return field if "default" in field or "default_factory" in field else {"default": None, **field}


def _with_role(role: Role, field: dict[str, Any]) -> Any:
    info: FieldInfo = Field(**field)
    info.metadata.append(role)
    return info


@dataclass(frozen=True)
class CanonicalBegin:
    """In the annotation of a text property that is stored in a canonical form: brings what a value begins with into
    that form, so that a prefix or a bound can be given as people write it: `Annotated[str, CanonicalBegin(str.lower)]`.
    """

    canonical: Callable[[str], str]


class Declaration:
    """Base of what stands in an entity's class body and is no property."""


def desc(name: str) -> Descending:
    """`RangeKey("state", desc("num"))`: state ascending, number descending."""
    return Descending(name_of(name))


class HashKey(Declaration):
    """A sharded generated property: the record's hash key, then these properties. Whole or absent.

    `stored` is the attribute's name, where it is not the camelCase of the Python name.
    """

    def __init__(self, *elements: str, stored: str | None = None) -> None:
        self.elements: tuple[str, ...] = names_of(elements)
        self.stored = None if stored is None else name_of(stored)


class RangeKey(Declaration):
    """An unsharded generated property: these properties, in order. `desc(name)` reverses one; `stored` is as in
    HashKey."""

    def __init__(self, *elements: str | Descending, stored: str | None = None) -> None:
        self.elements = tuple(each if isinstance(each, Descending) else name_of(each) for each in elements)
        self.stored = None if stored is None else name_of(stored)


class Entity(BaseModel):
    """Base of every record type. `rev` is the stored revision, None for a record that was never stored. A record of an
    entity with an origin has a `key`, its shard key, which says where it was when it was read or written."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        ignored_types=(Declaration,),
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

    declaration: ClassVar[EntityDeclaration]
    _rev: str | None = PrivateAttr(default=None)
    _shard: str | None = PrivateAttr(default=None)

    @property
    def rev(self) -> str | None:
        return self._rev

    def __eq__(self, other: object) -> bool:
        """Whether another record is of the same entity and has the same properties. The revision that it was read at
        is none: what was stored is equal to what was given."""
        if not isinstance(other, Entity):
            return NotImplemented
        names = type(self).model_fields
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in type(self).model_fields)))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some properties changed, by stored or Python name. Each new value is read as its type, without
        the validators of the class. Raises ValidationFailed for a name that the entity does not have, one that is given
        twice, and a value that is none of the type."""
        from .copying import checked_update

        return super().model_copy(update=checked_update(type(self), update) if update else None, deep=deep)

    if TYPE_CHECKING:

        @property
        def key(self) -> AnyKey: ...

    @classmethod
    def __init_subclass__(
        cls,
        *,
        token: str | None = None,
        shard_bumps: Sequence[ShardBump] = (),
        partition: str | Sequence[str] = (),
        sort: str | Sequence[str] = (),
        shard_by: str | Sequence[str] = (),
        singleton: bool = False,
        collection: str | None = None,
        origin: str | None = None,
        separator: str = "/",
        access: Sequence[Allow] = (),
        read_only: bool = False,
        **rest: Any,
    ) -> None:
        super().__init_subclass__()
        check_names(cls, Entity)
        given = {
            "token": token,
            "shard_bumps": shard_bumps,
            "partition": partition,
            "sort": sort,
            "shard_by": shard_by,
            "singleton": singleton,
            "collection": collection,
            "origin": origin,
            "separator": separator,
            "access": access,
            "read_only": read_only,
        }
        cls.declaration = declaration_of(cls.__name__, given | rest)
        # Only here, so that other entities may have a property of this name.
        if origin is not None and "key" not in inspect.get_annotations(cls):
            cls.key = property(_key_of_record)  # type: ignore[assignment]

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Called by the store with the properties (stored names) of every record to be created, put or updated, before
        they are validated: the place to derive one property from others. The library's own does nothing."""
        return values

    @classmethod
    def declared(cls) -> Mapping[str, Declaration]:
        """The generated keys (and what else is declared) by Python name, base classes first."""
        return _declared_by(cls)


@cache
def _declared_by(model: type[Entity]) -> Mapping[str, Declaration]:
    found: dict[str, Declaration] = {}
    for base in reversed(model.__mro__):
        found |= {name: value for name, value in vars(base).items() if isinstance(value, Declaration)}
    return found


def identity_of(model: type[Entity]) -> tuple[str, ...]:
    """The Python names of the properties that identify a record."""
    declaration = model.declaration
    if declaration.singleton:
        return ()
    unique = [name for name, each in model.model_fields.items() if Role.UNIQUE in each.metadata]
    return (*declaration.partition, *(declaration.sort or unique))


def _key_of_record(record: Entity) -> AnyKey:
    origin = record.declaration.origin
    if origin is None or record._shard is None:
        raise InvalidShardArguments(
            "a record that was not stored has no key", where="key", fix="take the one that the store answers"
        )
    return key_of(origin, record._shard, *(plain_id(getattr(record, name)) for name in identity_of(type(record))))


def plain_id(value: Any) -> Any:
    """An identifying value as it stands in a shard key."""
    return value.value if isinstance(value, enum.Enum) else value
