"""ShardKey, ShardChild, ShardGrandchild: an entity's origin, a shard, and one to three ids.

Guarantees: a key that exists is valid, frozen and hashable. Two keys are equal only when they are of the same kind with
the same origin, shard and ids, and ids are the same only when their types are too (`True` is not `1`, `Decimal("1.0")`
not `Decimal("1.00")`). Keys of all kinds are totally ordered by origin, shard and ids in turn, so a key stands
immediately before its children. Whatever can't be a key raises InvalidShardArguments naming the part.

`origin` is one ASCII letter or digit, which an entity declares; `shard` is the suffix of the shard ("1", "0a", "" for
the one shard of an entity that is not spread). EMPTY, the key of nothing, is the only key with origin "0".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import InvalidShardArguments
from ..sharding import is_suffix
from .identifiers import Id, encode_id, id_order, id_text

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

EMPTY_ORIGIN = "0"
"""The origin of EMPTY and of nothing else."""

_ORIGIN = re.compile("[A-Za-z0-9]")


def is_entity_origin(origin: object) -> bool:
    """Whether an entity can have this origin."""
    return isinstance(origin, str) and origin != EMPTY_ORIGIN and bool(_ORIGIN.fullmatch(origin))


class AnyKey:
    """What the three kinds share. `id_names` lists the fields that hold ids; there is a kind for each number of
    them."""

    id_names: ClassVar[tuple[str, ...]] = ()

    origin: str
    shard: str
    parts: tuple[str | bytes, ...]
    """Origin, shard, and the bytes of each id: what is equal, hashed and signed."""

    def __post_init__(self) -> None:
        origin, shard = self.origin, self.shard
        if not isinstance(origin, str) or not _ORIGIN.fullmatch(origin):
            message = "an origin must be one ASCII letter or digit"
            raise InvalidShardArguments(message, where="origin", fix="use the origin that the entity declares")
        if not isinstance(shard, str) or not is_suffix(shard):
            message = "a shard must be at most 16 characters of 0-9 and a-v"
            raise InvalidShardArguments(message, where="shard", fix="give the suffix of the record's hash key")
        parts: list[str | bytes] = [str.__str__(origin), str.__str__(shard)]
        for name in self.id_names:
            try:
                plain, encoded = encode_id(getattr(self, name))
            except InvalidShardArguments as error:
                error.where = name
                raise
            object.__setattr__(self, name, plain)
            parts.append(encoded)
        object.__setattr__(self, "parts", tuple(parts))
        if origin == EMPTY_ORIGIN and self.parts != _EMPTY_PARTS:
            message = "the origin 0 belongs to EMPTY, which has no other part"
            raise InvalidShardArguments(
                message, where="origin", fix="use the origin that the entity declares, or EMPTY"
            )

    @property
    def ids(self) -> tuple[Id, ...]:
        """The ids, outermost first."""
        return tuple(getattr(self, name) for name in self.id_names)

    @cached_property
    def _order(self) -> tuple[Any, ...]:
        return self.origin, self.shard, *map(id_order, self.ids)

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, AnyKey) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __lt__(self, other: AnyKey) -> bool:
        return self._order < other._order if isinstance(other, AnyKey) else NotImplemented

    def __le__(self, other: AnyKey) -> bool:
        return self._order <= other._order if isinstance(other, AnyKey) else NotImplemented

    def __gt__(self, other: AnyKey) -> bool:
        return self._order > other._order if isinstance(other, AnyKey) else NotImplemented

    def __ge__(self, other: AnyKey) -> bool:
        return self._order >= other._order if isinstance(other, AnyKey) else NotImplemented

    def __str__(self) -> str:
        ids = (f"{name.removesuffix('_id')} {id_text(getattr(self, name))}" for name in self.id_names)
        return ", ".join((f"origin {self.origin}", f"shard {self.shard!r}", *ids))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from .external import key_schema

        return key_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        from .external import TEXT_SCHEMA

        return handler(TEXT_SCHEMA)


_EMPTY_PARTS = (EMPTY_ORIGIN, "", encode_id("")[1])


@dataclass(frozen=True, eq=False)
class ShardKey(AnyKey):
    """A record that one id identifies."""

    id_names = ("record_id",)

    origin: str
    shard: str
    record_id: Id


@dataclass(frozen=True, eq=False)
class ShardChild(AnyKey):
    """A record that an id identifies inside another record."""

    id_names = ("record_id", "child_id")

    origin: str
    shard: str
    record_id: Id
    child_id: Id

    @property
    def parent(self) -> ShardKey:
        """The key without the last id."""
        return ShardKey(self.origin, self.shard, self.record_id)


@dataclass(frozen=True, eq=False)
class ShardGrandchild(AnyKey):
    """A record that an id identifies inside a child of another record."""

    id_names = ("record_id", "child_id", "grandchild_id")

    origin: str
    shard: str
    record_id: Id
    child_id: Id
    grandchild_id: Id

    @property
    def parent(self) -> ShardChild:
        """The key without the last id."""
        return ShardChild(self.origin, self.shard, self.record_id, self.child_id)


KINDS: Mapping[int, type[ShardKey] | type[ShardChild] | type[ShardGrandchild]] = MappingProxyType(
    {len(kind.id_names): kind for kind in (ShardKey, ShardChild, ShardGrandchild)}
)
"""The kind of key by its number of ids."""

EMPTY = ShardKey(EMPTY_ORIGIN, "", "")
"""The key of nothing; it sorts before every other."""


def key_of(origin: str, shard: str, *ids: Id) -> ShardKey | ShardChild | ShardGrandchild:
    """The key of the kind that has this number of ids. Raises InvalidShardArguments."""
    if len(ids) not in KINDS:
        raise InvalidShardArguments(
            f"a key has one to three ids, not {len(ids)}", where="ids", fix="identify the record by fewer properties"
        )
    return KINDS[len(ids)](origin, shard, *ids)
