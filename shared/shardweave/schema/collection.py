"""Collections of several entities: what one question, with one order, reads records of more than one entity from.

    Collection("customer-history", (Order, Invoice), index="byCustomer")

Over HTTP the declared collections of a schema have a route each. Values without behaviour: `checks.collections` checks
them, the planner merges the entities' lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, overload

from pydantic.alias_generators import to_pascal

from .entity import Entity
from .entity_options import name_of

E_co = TypeVar("E_co", bound=Entity, covariant=True)
A = TypeVar("A", bound=Entity)
B = TypeVar("B", bound=Entity)
C = TypeVar("C", bound=Entity)
D = TypeVar("D", bound=Entity)


class Collection(Generic[E_co]):
    """The records of several entities in the order of an index that all of them are in. `name` is the collection's name
    in URLs; `entities` are two or more, whose order matters to no record but to page tokens; `index` is the index's
    name. The index must have the same properties in the hash keys of all of them, and elements of the same types, in
    the same order and direction, in their range keys."""

    @overload
    def __init__(self: Collection[A | B], name: str, entities: tuple[type[A], type[B]], *, index: str) -> None: ...

    @overload
    def __init__(
        self: Collection[A | B | C], name: str, entities: tuple[type[A], type[B], type[C]], *, index: str
    ) -> None: ...

    @overload
    def __init__(
        self: Collection[A | B | C | D], name: str, entities: tuple[type[A], type[B], type[C], type[D]], *, index: str
    ) -> None: ...

    @overload
    def __init__(self: Collection[Any], name: str, entities: Sequence[type[Entity]], *, index: str) -> None: ...

    def __init__(self, name: str, entities: Sequence[type[Entity]], *, index: str) -> None:
        self.name = name_of(name)
        self.entities: Sequence[type[Entity]] = tuple(entities) if isinstance(entities, (list, tuple)) else entities
        self.index = name_of(index)

    @property
    def title(self) -> str:
        """Its name in the names of operations and models: `customer-history` is `CustomerHistory`."""
        return to_pascal(self.name.replace("-", "_"))

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, index={self.index!r})"
