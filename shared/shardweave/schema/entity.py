"""Entities: base class, roles of properties, generated keys.

An entity is a pydantic model. Python names are snake_case, stored attributes and JSON camelCase (`user_id` <->
`userId`). Class keywords determine its keys and shards; class attributes that are `HashKey` or `RangeKey` declare
generated properties. Nothing is checked against a table here: `Schema` checks everything at once when it is built. A
record is immutable; `model_copy(update=...)` or the store's `update` returns a changed one.
"""

from __future__ import annotations

import enum
import inspect
import secrets
import string
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, PrivateAttr, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from ..errors import Fault, FieldFault, InvalidShardArguments, SchemaError, ValidationFailed
from ..keys.shard_key.key import AnyKey, key_of
from ..keys.sharding import ShardBump
from ..values.json_validation import field_faults
from ..values.nested_types import keep_member_names
from .access_rules import Allow
from .entity_options import Descending, EntityOptions, name_of, names_of, options_of
from .nested_elements import reader_of
from .property import GIVEN_TWICE, properties_of
from .property_options import (
    Role,
    claim_property,
    private_property,
    unique_property,
)
from .upgrades import Upgrade

_URL_SAFE = string.ascii_letters + string.digits + "-_"

_SAFE_NAMES = frozenset(name for name in dir(BaseModel) if not name.startswith(("_", "model_")))
"""Old methods of pydantic (`copy`, `json`) that the library does not call: a property may have such a name."""


def nanoid() -> str:
    """A random identifier of 21 URL-safe characters (126 bits)."""
    return "".join(_URL_SAFE[byte & 63] for byte in secrets.token_bytes(21))


def now_ms() -> int:
    """The wall clock in epoch milliseconds."""
    return time.time_ns() // 1_000_000


class Declaration:
    """Base class of declarations in an entity's class body that are not properties."""


def desc(name: str) -> Any:
    """`RangeKey("state", desc("num"))`: state ascending, number descending. So too in an entity's `sort`, and as the
    range key of an index."""
    return Descending(name_of(name))


class HashKey(Declaration):
    """A sharded generated property: the record's hash key, then these properties. A record that lacks one of them does
    not have the key.

    With `shards`, a power of two, it is spread over at most this number of shards, even if the entity has more, and a
    query by it reads this number; `HashKey(shards=4)` without properties lists a whole entity. `stored` is the
    attribute's name, by default the Python name in camelCase.
    """

    def __init__(self, *elements: str, shards: int | None = None, stored: str | None = None) -> None:
        self.elements: tuple[str, ...] = names_of(elements)
        self.shards = shards
        self.stored = None if stored is None else name_of(stored)


class RangeKey(Declaration):
    """An unsharded generated property: these properties, in order. `desc(name)` reverses one; `stored` is as in
    HashKey."""

    def __init__(self, *elements: str | Descending, stored: str | None = None) -> None:
        self.elements = tuple(each if isinstance(each, Descending) else name_of(each) for each in elements)
        self.stored = None if stored is None else name_of(stored)


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    # Type information of a metaclass has priority over that of a base class, so that pydantic's would be used: a
    # property declared by one of these functions without a default would not be required.
    @dataclass_transform(
        kw_only_default=True, field_specifiers=(Field, PrivateAttr, unique_property, claim_property, private_property)
    )
    class _EntityMetaclass(ModelMetaclass):
        pass
else:
    _EntityMetaclass = type(BaseModel)


class Entity(BaseModel, metaclass=_EntityMetaclass):
    """Base of every record type. `rev` is the stored revision, None for a record that was never stored. A record of an
    entity with an origin has a `key`, its shard key, with the shard in which it was read or written."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        ignored_types=(Declaration,),
        hide_input_in_errors=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

    declaration: ClassVar[EntityOptions]
    _rev: str | None = PrivateAttr(default=None)
    _shard: str | None = PrivateAttr(default=None)

    @property
    def rev(self) -> str | None:
        return self._rev

    def __eq__(self, other: object) -> bool:
        """Whether another record is of the same entity and has the same properties. The revision is ignored, so that a
        stored record equals the record that was given."""
        if not isinstance(other, Entity):
            return NotImplemented
        names = type(self).model_fields
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in type(self).model_fields)))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some properties changed, by stored or Python name. Each new value is converted to its type,
        without the validators of the class. Raises ValidationFailed for an unknown name, a duplicate name, and a value
        of another type."""
        return super().model_copy(update=_checked_update(type(self), update) if update else None, deep=deep)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        for each in cls.__pydantic_fields__.values():
            keep_member_names(each.annotation)
        return handler(source)

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
        sort: str | Descending | Sequence[str | Descending] = (),
        shard_by: str | Sequence[str] = (),
        singleton: bool = False,
        collection: str | None = None,
        origin: str | None = None,
        separator: str = "/",
        access: Sequence[Allow] = (),
        read_only: bool = False,
        upgrades: Sequence[Upgrade] = (),
        **rest: Any,
    ) -> None:
        super().__init_subclass__()
        _check_names(cls)
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
            "upgrades": upgrades,
        }
        cls.declaration = options_of(cls.__name__, given | rest)
        # Defined only here, so that other entities may have a property of this name.
        if origin is not None and "key" not in inspect.get_annotations(cls):
            cls.key = property(_key_of_record)  # type: ignore[assignment]

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Called by the store with the properties (stored names) of every record to be created, put or updated, before
        they are validated, to derive properties from others. The default does nothing."""
        return values

    @classmethod
    def declared(cls) -> Mapping[str, Declaration]:
        """The generated keys and other declarations by Python name, base classes first."""
        return _declared_by(cls)


def _check_names(model: type[BaseModel]) -> None:
    """Refuse a class with a property or a key that has the name of a member of Entity, which would be lost. Raises
    SchemaError, since otherwise pydantic's own message would come first."""
    reserved = {name for name in (*dir(Entity), *Entity.__annotations__) if not name.startswith("_")} - _SAFE_NAMES
    given = [name for name in inspect.get_annotations(model) if name in reserved]
    given += [name for name, value in vars(model).items() if name in reserved and isinstance(value, Declaration)]
    faults = [
        Fault(
            f"entity {model.__name__}.{name}",
            f"every entity has a member {name!r} of its own",
            "rename it" if name == "rev" else f'rename it; a property is stored as before with Field(alias="{name}")',
        )
        for name in dict.fromkeys(given)
        if name != "model_config"
    ]
    if faults:
        raise SchemaError(faults)


def _checked_update(model: type[Entity], given: Mapping[str, Any]) -> dict[str, Any]:
    """The new values by Python name. Raises ValidationFailed that lists every fault."""
    properties = properties_of(model)
    python_names = {each.stored: name for name, each in properties.items()} | {name: name for name in properties}
    found: dict[str, Any] = {}
    faults: list[FieldFault] = []
    for name, value in given.items():
        python_name = python_names.get(name)
        if python_name is None:
            message = f"{model.__name__} has no such property: use one of {', '.join(properties)}"
            faults.append(FieldFault((name,), message, "extra_forbidden"))
        elif python_name in found:
            faults.append(FieldFault((name,), GIVEN_TWICE, "duplicate"))
        else:
            try:
                found[python_name] = properties[python_name].checked(value)
            except ValidationError as error:
                faults += field_faults(error, (name,))
    if faults:
        raise ValidationFailed(faults, where=model.__name__)
    return found


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
    readers = _identity_readers(type(record))
    return key_of(origin, record._shard, *(plain_id(read(record)) for read in readers))


@cache
def _identity_readers(model: type[Entity]) -> tuple[Callable[[Any], Any], ...]:
    return tuple(reader_of(properties_of(model), name) for name in identity_of(model))


def plain_id(value: Any) -> Any:
    """An identifying value as it stands in a shard key."""
    return value.value if isinstance(value, enum.Enum) else value
