"""Keys of records over HTTP: in paths, in bodies, and as `key` in answers.

An entity with an origin names its records by shard keys: `key` is in every answer, and only this text is used as
`{key}` in paths and as a key in bodies. It is signed, so an altered key, or one of another entity, is refused; it
contains the record's shard, so that a read needs no search; and it also finds a record that has moved.

In a record that is written, `key` may stand for the properties that identify it. If it contradicts them, or the path,
the request is refused.

Records of other entities are named by their identity: the unique property as `{key}`; if several properties identify a
record, each is a segment of the path, and a key in a body is an object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from ..errors import ConfigurationError, InputError, ValueRefused, location_text
from ..keys.shard_key import ExternalKeys
from ..keys.shard_key.key import KINDS, AnyKey
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.nested_elements import reader_of
from ..schema.property import properties_of
from ..table.values import Item, Value
from ..values.derived_models import derived_model
from ..values.json_types import JSON_CONFIG, json_type, left_out, text_of
from .key_paths import key_part
from .parameter import Parameter

NOTHING: Mapping[str, Any] = MappingProxyType({})
ROOT = "/v1"
KEY = "key"


def parameter_name(name: str) -> str:
    """The parameter of a path for a part of an identity; that of a member of a model is `address_country`."""
    return name.replace(".", "_")


@dataclass(frozen=True)
class RecordKeys:
    """The keys of one entity's records. Raises ConfigurationError for an origin without secrets."""

    entity: EntityType[Any]
    external: ExternalKeys | None = None

    def __post_init__(self) -> None:
        if self.entity.origin is not None and self.external is None:
            raise ConfigurationError(
                f"the entity {self.entity.token!r} has an origin, and there are no secrets for its keys",
                where="external keys",
                fix="give Settings(external_keys=...), or leave the origin out",
            )

    # -- in paths

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of a record's path."""
        if self.entity.origin is not None:
            return (Parameter(KEY, "The record's `key`.", required=True),)
        return tuple(
            Parameter(parameter, f"The record's `{identity}`.", required=True)
            for parameter, identity in zip(self._names, self.entity.identity, strict=True)
        )

    @property
    def template(self) -> str:
        """The path of a record."""
        return self._path([f"{{{each.name}}}" for each in self.parameters])

    @property
    def claims(self) -> Mapping[str, str]:
        """The parameters of a path that are bound to claims, and their claims, if the others name a record of the
        caller; empty if no parameter can be left out."""
        if self.entity.origin is not None or len(self.entity.identity) == 1:
            return NOTHING
        found = {name: self.entity.claims[name] for name in self.entity.identity if name in self.entity.claims}
        return found if len(found) < len(self.entity.identity) else NOTHING

    @property
    def short_template(self) -> str:
        """The path of a record of the caller, without what the token says."""
        return self._path([f"{{{each.name}}}" for each in self.parameters if each.name not in self.claims])

    def of_path(self, given: Mapping[str, str]) -> Any:
        """The store's key in the parameters of a path. Raises ValidationFailed, InvalidShardKey."""
        if self.entity.origin is not None:
            return self._decoded(given[KEY])
        return {
            name: each.read_text(given[parameter], (parameter,))
            for (name, each), parameter in zip(self.entity.identifying.items(), self._names, strict=True)
        }

    def path(self, record: Entity) -> str:
        """The path of a record."""
        if self.entity.origin is not None:
            return self._path([self.text(record.key)])
        return self._path_of(self.identity_of(record))

    def identity_of(self, record: Entity) -> dict[str, Value]:
        """The identity of a record, in stored form."""
        named = self.entity.identifying.items()
        return {name: each.stored_value(read(record)) for (name, each), read in zip(named, self._readers, strict=True)}

    @cached_property
    def _readers(self) -> tuple[Callable[[Any], Any], ...]:
        model: type[Entity] = self.entity.model
        return tuple(reader_of(properties_of(model), each.name) for each in self.entity.identifying.values())

    def path_of_json(self, given: Any, said: Mapping[str, Any] = NOTHING) -> str:
        """The path of the record whose key is in a body, see `of_json`."""
        if self.entity.origin is not None:
            return self._path([given])
        return self._path_of(self.entity.identify(self.of_json(given, (), said)))

    def _path_of(self, identity: Mapping[str, Any]) -> str:
        last = len(self.entity.identity) - 1
        texts = [text_of(identity[name]) for name in self.entity.identity]
        return self._path([quote(key_part(text, last=place == last), safe="") for place, text in enumerate(texts)])

    def _path(self, parts: list[str]) -> str:
        return "/".join((ROOT, self.entity.collection, *(parts or [self.entity.token])))

    @property
    def _names(self) -> tuple[str, ...]:
        return (KEY,) if len(self.entity.identity) == 1 else tuple(map(parameter_name, self.entity.identity))

    # -- in bodies

    @property
    def json_type(self) -> Any:
        """The type of a key in a body."""
        if self.entity.origin is not None:
            return str
        types = {name: json_type(each.annotation) for name, each in self.entity.identifying.items()}
        if len(types) == 1:
            return next(iter(types.values()))
        claimed = self.entity.claims
        fields: dict[str, Any] = {
            name: (annotation, left_out("What the token says.") if name in claimed else ...)
            for name, annotation in types.items()
        }
        whole = derived_model(f"{self.entity.model.__name__}Key", JSON_CONFIG, fields)
        left = [annotation for name, annotation in types.items() if name not in claimed]
        return left[0] | whole if len(left) == 1 else whole

    def of_json(self, given: Any, where: tuple[str | int, ...], said: Mapping[str, Any] = NOTHING) -> Any:
        """The store's key in a body, in which what is `said` of it otherwise may be left out. Raises ValidationFailed,
        InvalidShardKey, InputError naming the place."""
        entity = self.entity
        place = location_text(where)
        if entity.origin is not None:
            if not isinstance(given, str):
                raise InputError("must be a text", where=place, fix="give the `key` of a record")
            return self._decoded(given, place)
        if len(entity.identity) == 1:
            (name,) = entity.identity
            return {name: entity.identifying[name].read_json(given, where)}
        left = [name for name in entity.identity if name not in said]
        if len(left) == 1 and not isinstance(given, Mapping):
            given = {left[0]: given}
        if not isinstance(given, Mapping) or not set(left) <= given.keys() <= set(entity.identity):
            wanted = f"an object of {', '.join(left)}" if left else "the empty object, since there is one record"
            raise InputError(f"must be {wanted}", where=place, fix=f"give {wanted if left else '{}'}")
        read = {name: entity.identifying[name].read_json(given[name], (*where, name)) for name in given}
        return {**said, **read}

    def named(self, document: Mapping[str, Any]) -> Item | None:
        """The identity, in stored form, that `key` in a written record stands for, None where it has none. Raises
        InvalidShardKey, InputError."""
        if self.entity.origin is None or document.get(KEY) is None:
            return None
        return self.entity.identify(self.of_json(document[KEY], (KEY,)))

    def contradicted(self) -> ValueRefused:
        """The error that a `key` in a body belongs to another record."""
        return ValueRefused("it names another record", where=KEY, fix="leave it out, or give the record's own")

    # -- in answers

    def text(self, key: AnyKey) -> str:
        """The text of a shard key."""
        assert self.external is not None
        return self.external.encode(key)

    def _decoded(self, text: str, where: str = KEY) -> AnyKey:
        assert self.external is not None
        kind = KINDS[len(self.entity.identity)]
        try:
            return self.external.decode(text, kind, origin=self.entity.origin)
        except InputError as error:
            error.where = where
            raise
