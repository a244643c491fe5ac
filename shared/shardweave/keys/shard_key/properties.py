"""KeyProperties: a key that lies in separate properties of a record, and what a null there means.

A record may hold another record's shard and id, each in a property of its own: they can be indexed, filtered and read
by other programs, which a signed text can't. This says which properties they are, and reads and writes them.

A part is null when its property is missing or None. A null part is an error, unless the key is declared
    optional    the key is None
    required    the key is None, and so is the whole record that it stands in (`read_keys`)

Guarantees: `decode(encode(key)) == key`, also when `encode`'s values went through the stored form of a record. (A table
keeps a number's value, not its form: there `Decimal("1.50")` becomes `Decimal("1.5")`, and so another key.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Strict, TypeAdapter, ValidationError

from ...errors import InvalidShardArguments
from .identifiers import Id, is_id_type
from .key import AnyKey, is_entity_origin

K = TypeVar("K", bound=AnyKey)

_STORED_AS_THEY_ARE = (str, int, bool, bytes)


@dataclass(frozen=True)
class KeyProperties(Generic[K]):
    """The properties that hold the parts of one key, by the names that they have in what is read. `shard` is the one of
    the shard's suffix; `ids` are those of the ids, outermost first, each with its type. Raises InvalidShardArguments
    for a declaration that contradicts itself."""

    kind: type[K]
    origin: str = field(kw_only=True)
    shard: str = field(kw_only=True)
    ids: Mapping[str, type] = field(kw_only=True)
    optional: bool = field(kw_only=True, default=False)
    required: bool = field(kw_only=True, default=False)

    def __post_init__(self) -> None:
        if not is_entity_origin(self.origin):
            raise InvalidShardArguments(
                "no entity has this origin", where="origin", fix="use one ASCII letter or digit other than 0"
            )
        if len(self.ids) != len(self.kind.id_names):
            message = f"{len(self.ids)} ids, a {self.kind.__name__} has {len(self.kind.id_names)}"
            raise InvalidShardArguments(message, where="ids", fix="name a property for each id")
        for name, python in self.ids.items():
            if not is_id_type(python):
                message = f"a {getattr(python, '__name__', 'type like this')} can't be an id"
                raise InvalidShardArguments(message, where=name, fix="use a type of ids")
        if self.optional and self.required:
            message = "a key can't be both optional and required"
            raise InvalidShardArguments(message, where="required", fix="keep one of the two")

    def encode(self, key: K | None) -> dict[str, Any]:
        """The properties of a key; all None for None. Raises InvalidShardArguments for a key of another origin, and for
        None where a key must be."""
        if key is None:
            if not self.optional:
                raise self._null(self.shard)
            return dict.fromkeys((self.shard, *self.ids))
        if not isinstance(key, self.kind) or key.origin != self.origin:
            raise InvalidShardArguments(
                "the key is of another kind or entity", where=self.shard, fix="give a key of the declared origin"
            )
        return {self.shard: key.shard, **dict(zip(self.ids, key.ids, strict=True))}

    def decode(self, values: Mapping[str, Any]) -> K | None:
        """The key in an item or in a record's properties. Raises InvalidShardArguments naming the property."""
        null = self.null_part(values)
        if null is not None:
            if self.optional or self.required:
                return None
            raise self._null(null)
        ids = [_id(name, python, values[name]) for name, python in self.ids.items()]
        try:
            return self.kind(self.origin, values[self.shard], *ids)  # type: ignore[call-arg]
        except InvalidShardArguments as error:
            names = dict(zip(self.kind.id_names, self.ids, strict=True)) | {"shard": self.shard}
            error.where = names.get(error.where, error.where)
            raise

    def null_part(self, values: Mapping[str, Any]) -> str | None:
        """The first property of the key that is null, or None."""
        return next((name for name in (self.shard, *self.ids) if values.get(name) is None), None)

    def _null(self, name: str) -> InvalidShardArguments:
        return InvalidShardArguments(
            "a part of a key is null", where=name, fix="give it a value, or declare the key optional or required"
        )


def read_keys(values: Mapping[str, Any], declared: Mapping[str, KeyProperties[Any]]) -> dict[str, AnyKey | None] | None:
    """Every declared key of a record by its name, or None for a record that a required key makes None, whatever else is
    wrong with it. Raises InvalidShardArguments."""
    if any(each.required and each.null_part(values) is not None for each in declared.values()):
        return None
    return {name: each.decode(values) for name, each in declared.items()}


def _id(name: str, python: type, value: Any) -> Id:
    """An id of the declared type, from its stored form or from itself."""
    try:
        found: Id = _adapter(python).validate_python(value)
    except ValidationError:
        raise InvalidShardArguments(
            f"the property holds no {python.__name__}", where=name, fix="declare the type that it has"
        ) from None
    return found


@cache
def _adapter(python: type) -> TypeAdapter[Any]:
    """What is stored as it is must be of its very type; the rest is stored as text or as a number."""
    annotation: Any = Annotated[python, Strict()] if python in _STORED_AS_THEY_ARE else python
    return TypeAdapter(annotation)
