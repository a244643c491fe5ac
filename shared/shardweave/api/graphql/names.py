"""The names of the fields and types of a service's GraphQL API.

    order(id)                    one record                     createOrder updateOrder putOrder deleteOrder addToOrder
    ordersById(id)               those of one partition         where the key has a sort part
    orders                       all of them, by id             where it has none
    ordersByCustomer(customerId) those that an index finds      of the index `customer`, or `byCustomer`
    ordersInOrderOfDue(due)      those of an ordered lookup     of the lookup `due`, or `byDue`
    customerOrders(id)           those that lead to a customer  of its `orders = has_many(..., via=...)`
    customerHistory(customer)    those of several entities      of the collection `customer-history`

With `GraphQL(name_prefix="Shop_", capitalised=True)`: `Shop_Order`, `Shop_OrderById`, `Shop_OrderList`,
`Shop_OrderByCustomer`, `Shop_OrderInOrderOfDue`, `Shop_CustomerOrders`, `Shop_CreateOrder`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigurationError
from ...schema.entity_type import EntityType
from ...schema.relations import LookupType
from ...store.operations import can_be_added_to
from .options import GraphQL

RESERVED = frozenset({"filter", "reverse", "limit", "nextToken", "prevToken"})
"""Arguments of every list; a property of such a name has an underscore behind it."""
OWN_FIELDS = ("rev", "key")
"""Fields of a record's type that are no properties."""
SHARED_TYPES = frozenset(
    {"Query", "Mutation", "Boolean", "Float", "ID", "Int", "String", "Long", "Decimal", "DateTime", "Date", "Bytes"}
    | {"JSON", "Timestamp", "SizeTests"}
)
VERBS = ("create", "update", "put", "delete", "addTo")
_WORDS = re.compile("[0-9A-Za-z]+")
_BY = re.compile("^by(?=[A-Z])")


@dataclass(frozen=True)
class Names:
    """The names of one service."""

    options: GraphQL = GraphQL()  # noqa: RUF009 - it is frozen

    def type(self, entity: EntityType[Any], suffix: str = "") -> str:
        """The type of an entity's records, or one that goes with it."""
        return f"{self.options.name_prefix}{entity.model.__name__}{suffix}"

    def one(self, entity: EntityType[Any]) -> str:
        """The field that gives one record."""
        return self._field(entity.model.__name__)

    def by_id(self, entity: EntityType[Any]) -> str:
        """The field that lists a partition."""
        return f"{self._many(entity)}ById"

    def every(self, entity: EntityType[Any]) -> str:
        """The field that lists all records by id."""
        many = self._many(entity)
        return f"{many}List" if many == self.one(entity) else many

    def by_index(self, entity: EntityType[Any], index: str) -> str:
        """The field that lists what an index finds."""
        return f"{self._many(entity)}By{_capital(_BY.sub('', index))}"

    def by_lookup(self, entity: EntityType[Any], lookup: str) -> str:
        """The field that lists what an ordered lookup has."""
        return f"{self._many(entity)}InOrderOf{_capital(_BY.sub('', lookup))}"

    def related(self, entity: EntityType[Any], relation: str) -> str:
        """The field that lists what leads to one record."""
        return f"{self.one(entity)}{_capital(relation)}"

    def collection(self, name: str) -> str:
        """The field that lists a collection of several entities."""
        return self._field("".join(map(_capital, _WORDS.findall(name))))

    def of_collection(self, name: str, suffix: str) -> str:
        """A type that goes with a collection of several entities."""
        return f"{self.options.name_prefix}{''.join(map(_capital, _WORDS.findall(name)))}{suffix}"

    def mutation(self, verb: str, entity: EntityType[Any]) -> str:
        """The field that writes a record."""
        return self._field(f"{_capital(verb)}{entity.model.__name__}")

    def _many(self, entity: EntityType[Any]) -> str:
        if self.options.capitalised:
            return self.one(entity)
        return self._field("".join(map(_capital, _WORDS.findall(entity.collection))))

    def _field(self, name: str) -> str:
        return self.options.name_prefix + (_capital(name) if self.options.capitalised else name[0].lower() + name[1:])


def argument_name(stored: str) -> str:
    """The argument of a list that is about a property, or about a member of a model: `address_country`."""
    return f"{stored}_" if stored in RESERVED else stored.replace(".", "_")


def entry_argument(lookup: LookupType) -> str:
    """The argument of the list of an ordered lookup that names the entry of a mapping."""
    return f"{lookup.property_name}Name"


def has_sort(entity: EntityType[Any]) -> bool:
    """Whether the records of an entity lie in partitions, each sorted."""
    return bool(entity.keys.design.partition and entity.keys.design.sort)


def check_names(names: Names, entities: Iterable[EntityType[Any]], collections: Iterable[str] = ()) -> None:
    """Refuses names that two things would have. `entities` are as they are over HTTP, `collections` the names of those
    of several. Raises ConfigurationError."""
    taken: dict[str, str] = {}
    several = (each for name in collections for each in _of_collection(names, name))
    for name, meant in (*(each for entity in entities for each in _of_entity(names, entity)), *several):
        other = taken.setdefault(name, meant)
        if other != meant or name in SHARED_TYPES:
            raise ConfigurationError(
                f"{meant} would be called {name!r} as {other if other != meant else 'a type of GraphQL'} is",
                where="graphql",
                fix="rename the entity, the collection or the index, or give GraphQL(name_prefix=...)",
            )


def _of_collection(names: Names, name: str) -> Iterator[tuple[str, str]]:
    yield names.collection(name), f"the collection {name}"
    for suffix in ("Item", "Connection", "Filter"):
        yield names.of_collection(name, suffix), f"the {suffix.lower()} of the collection {name}"


def _of_entity(names: Names, entity: EntityType[Any]) -> Iterator[tuple[str, str]]:
    token, own = entity.token, names.options
    yield names.one(entity), f"one {token}" if not own.capitalised else f"the type of {token}"
    if names.type(entity) != names.one(entity):
        yield names.type(entity), f"the type of {token}"
    if None in entity.views:
        yield (names.by_id if has_sort(entity) else names.every)(entity), f"the list of {token}"
    for index in filter(None, entity.views):
        yield names.by_index(entity, index), f"the list of {token} by {index}"
    for lookup in entity.lookups.values():
        if lookup.ordered:
            yield names.by_lookup(entity, lookup.name), f"the list of {token} in the order of {lookup.name}"
    for related in entity.related_lists.values():
        if not related.private:
            yield names.related(entity, related.name), f"the {related.name} of one {token}"
    adds = any(can_be_added_to(entity, each) for each in entity.properties.values())
    for verb in () if entity.read_only else VERBS:
        if adds or verb != "addTo":
            yield names.mutation(verb, entity), f"{verb} of {token}"
    for suffix in ("Connection", "Filter", "Input", "Put", "Patch", *(("Amounts",) if adds else ())):
        yield names.type(entity, suffix), f"the {suffix.lower()} of {token}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
