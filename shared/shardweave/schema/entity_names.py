"""The names of an entity: its properties by stored or Python name, and what identifies a record.

An identity is a mapping by the names of properties and of members of models, whose name is their path:

    {"orderId": "o1"}        {"address.country": "de", "num": 7}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import FieldFault, InvalidShardKey, UnknownName, ValidationFailed
from ..keys.key_design import Element
from ..keys.shard_key.key import AnyKey
from ..table.values import Item, Value
from .nested_elements import is_nested, way_to
from .property import GIVEN_TWICE, Property, properties_of

if TYPE_CHECKING:
    from ..keys.entity_keys import EntityKeys
    from .entity import Entity


class EntityNames:
    """What an EntityType knows of names."""

    if TYPE_CHECKING:

        @property
        def model(self) -> type[Entity]: ...

        @property
        def token(self) -> str: ...

        @property
        def origin(self) -> str | None: ...

        @property
        def keys(self) -> EntityKeys: ...

        @property
        def properties(self) -> Mapping[str, Property]: ...

        @property
        def nested(self) -> Mapping[str, Property]: ...

        @property
        def identity(self) -> tuple[str, ...]: ...

        @property
        def immutable(self) -> frozenset[str]: ...

    @cached_property
    def _by_python_name(self) -> Mapping[str, Property]:
        return {each.name: each for each in self.properties.values()}

    def property_of(self, name: str, where: str = "") -> Property:
        """A property by its stored or its Python name. Raises UnknownName that lists the properties, naming `where`, or
        the name where there is no other place."""
        found = self.properties.get(name) or self._by_python_name.get(name)
        if found is None:
            raise UnknownName(
                f"the entity {self.token!r} has no property {name[:80]!r}",
                where=where or name[:80],
                fix=f"use one of {', '.join(self.properties)}",
            )
        return found

    def condition_property(self, name: str, where: str = "") -> Property:
        """As `property_of`, also of a member of a model that is an element of a key."""
        found = self.nested.get(name) or self._by_path.get(name)
        root, _, member = name.partition(".")
        if found is None and member and (root in self.properties or root in self._by_python_name):
            known = f"use one of {', '.join(self.nested)}, or " if self.nested else ""
            raise UnknownName(
                f"no key of the entity {self.token!r} has the member {name[:80]!r}",
                where=where or name[:80],
                fix=f"{known}test a member with a filter",
            )
        return found or self.property_of(name, where)

    @cached_property
    def _by_path(self) -> Mapping[str, Property]:
        return {each.name: each for each in self.nested.values()}

    def stored_name(self, name: str) -> str:
        """The stored name of a property given by either name; another name as it is."""
        found = self._by_python_name.get(name)
        return name if found is None or name in self.properties else found.stored

    def by_stored_name(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values by stored name, from values by stored or Python name; unknown names stay. Raises ValidationFailed for
        a property that is given by both names."""
        found = {self.stored_name(name): value for name, value in given.items()}
        if len(found) < len(given):
            raise ValidationFailed([FieldFault((n,), GIVEN_TWICE, "duplicate") for n in self.repeated(given)])
        return found

    def repeated(self, given: Iterable[str]) -> list[str]:
        """The Python names among some names whose stored names are among them too."""
        names = set(given)
        return [name for name in names if (stored := self.stored_name(name)) != name and stored in names]

    # -- identity

    def identify(self, values: Any) -> dict[str, Value]:
        """The identity in stored form, from a mapping, from a shard key, or, when one property identifies, from its
        value. Raises UnknownName, ValidationFailed, InvalidShardKey."""
        if isinstance(values, AnyKey):
            if values.origin != self.origin or len(values.ids) != len(self.identity):
                raise InvalidShardKey("the key is of another entity", where="key", fix=f"give one of a {self.token}")
            values = dict(zip(self.identity, values.ids, strict=True))
        if not isinstance(values, Mapping):
            if len(self.identity) != 1:
                message = f"one value does not identify the entity {self.token!r}"
                raise UnknownName(message, where="key", fix=f"give {', '.join(self.identity)}")
            values = {self.identity[0]: values}
        given = self._of_elements(values)
        fix = f"give {' and '.join(self.identity)}"
        more = [name for name in given if name not in self.identity]
        if more:
            raise UnknownName(f"{', '.join(more)} identifies no record", where="key", fix=f"{fix}, and nothing else")
        missing = [name for name in self.identity if given.get(name) is None]
        if missing:
            raise UnknownName(f"{', '.join(missing)} is missing", where="key", fix=fix)
        return {name: each.parse(given[name]) for name, each in self.identifying.items()}

    def _of_elements(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            self.condition_property(name)
        found = self.by_stored_name({name: value for name, value in values.items() if not is_nested(name)})
        for name, value in values.items():
            if is_nested(name):
                stored = self.condition_property(name).stored
                if stored in found:
                    raise ValidationFailed([FieldFault((name,), GIVEN_TWICE, "duplicate")])
                found[stored] = value
        return found

    @cached_property
    def identifying(self) -> Mapping[str, Property]:
        """What identifies a record, by name: properties, and members of models."""
        return {name: self.condition_property(name) for name in self.identity}

    @cached_property
    def placing_members(self) -> tuple[Element, ...]:
        """The members of models that identify or place a record."""
        design = self.keys.design
        elements = {each.name: each for each in (*design.partition, *design.sort, *design.shard_by) if each.path}
        return tuple(elements.values())

    @cached_property
    def _identified_by(self) -> tuple[Element, ...] | None:
        """The elements of the identity, None if all are properties."""
        elements = (*self.keys.design.partition, *self.keys.design.sort)
        return elements if any(each.path for each in elements) else None

    def identity_from(self, item: Item) -> dict[str, Value]:
        """The identity in the properties of a stored item. Raises KeyError if it is not whole."""
        if self._identified_by is None:
            return {name: item[name] for name in self.identity}
        found = {each.name: each.value_in(item) for each in self._identified_by}
        for name, value in found.items():
            if value is None:
                raise KeyError(name)
        return found

    def unlike(self, item: Item, other: Item) -> list[str]:
        """What never changes and has other values in one item than in another."""
        names = [name for name in self.properties if name in self.immutable and item.get(name) != other.get(name)]
        return names + [each.name for each in self.placing_members if each.value_in(item) != each.value_in(other)]

    def steps_to(self, name: str) -> Sequence[Property]:
        """The property and the members of models that lead to a member in a key."""
        way = way_to(properties_of(self.model), self.nested[name].name)
        assert not isinstance(way, str)
        return way
