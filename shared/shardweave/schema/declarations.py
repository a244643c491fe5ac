"""Declarations besides properties and keys: lookups, sequences and relations in an entity's class body, and the indexes
of the table.

    phone_lookup = Unique("phone")                              no two live records have the same phone
    city_lookup = Lookup("city")                                all records of a city, consistently
    due_list = OrderedLookup("due", within="project_id")        a project's records in the order of their due dates
    numbering = Sequence("num", within="project_id")            1, 2, 3, ... inside each project
    project = belongs_to(Project, by="project_id", enforced=True)
    products = has_many(Product, by="product_ids")
    orders = has_many("order", via="products")                  in Product: the orders that list it

    Index("city", hash_key="hash_key", range_key="city_range_key")

Values without behaviour: `relations` and `compile` compile them, `relations` and `indexes` check them, the
store carries them out.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, get_args

from typing_extensions import TypeVar

from .entity import Declaration, Entity
from .entity_options import Descending, name_of, names_of

Names = str | collections.abc.Sequence[str]
T = TypeVar("T", bound=Entity, default=Any)
OnDelete = Literal["restrict", "detach", "cascade"]
ON_DELETE: tuple[str, ...] = get_args(OnDelete)

TABLE_KEYS = ("hash_key", "range_key")
"""The names of the table's keys in indexes."""


class _ByValue(Declaration):
    """A lookup on one property. `within`: properties whose values separate it, such as the tenant. `canonical` maps
    values that count as equal to one value; it takes and returns the property's stored form, None for no value. `name`
    is the lookup's name, by default that of the property. The content of a lookup's records depends on all four:
    changing one of them makes a new lookup, which needs a new name.
    """

    def __init__(
        self,
        property: str,
        *,
        within: Names = (),
        canonical: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.property = name_of(property)
        self.within = names_of(within)
        self.canonical = canonical
        self.name = None if name is None else name_of(name)


class Unique(_ByValue):
    """No two live records of the entity have the same value. The store's `get_by` finds the record with a value."""


class Lookup(_ByValue):
    """Finds all live records with a value, consistently. The store's `find_by` returns them in pages."""


class OrderedLookup(Lookup):
    """An ordered list of the records that have a value, beside the table's indexes and in any number: `find_by` pages
    it in the order of the values, consistently, either way, from a value, up to one, or by a prefix. `within` are the
    properties whose values have a list of their own; `then` orders records with equal values. Of a mapping each entry
    is a value, and each name has a list of its own."""

    def __init__(self, property: str, *, within: Names = (), then: Names = (), name: str | None = None) -> None:
        super().__init__(property, within=within, name=name)
        self.then = names_of(then)


class Sequence(Declaration):
    """A whole-number property that the store numbers 1, 2, 3, ... in the order of creation, `within` other properties
    or over the whole entity. A record that is created with None, 0 or no value gets the next number."""

    def __init__(self, property: str, *, within: Names = ()) -> None:
        self.property = name_of(property)
        self.within = names_of(within)


class BelongsTo(Declaration, Generic[T]):
    """See `belongs_to`."""

    def __init__(
        self,
        target: type[Entity] | str,
        by: Names,
        on: str | None = None,
        index: str | None = None,
        *,
        enforced: bool,
        on_delete: OnDelete = "restrict",
    ) -> None:
        self.target = _target(target)
        self.by = names_of(by)
        self.on = None if on is None else name_of(on)
        self.index = None if index is None else name_of(index)
        self.enforced = enforced
        self.on_delete = on_delete


class HasMany(Declaration, Generic[T]):
    """See `has_many`."""

    def __init__(self, target: type[Entity] | str, by: Names, via: str | None = None) -> None:
        self.target = _target(target)
        self.by = names_of(by)
        self.via = None if via is None else name_of(via)


def belongs_to(
    target: type[T] | str,
    *,
    by: Names,
    on: str | None = None,
    index: str | None = None,
    enforced: bool = False,
    on_delete: OnDelete = "restrict",
) -> BelongsTo[T]:
    """A relation to one record of `target` (a model, or its token).

    `by` names the property with the reference (several properties for an identity or a lookup of several). `on` says
    which property of the target the value refers to: its identity (None), the property of a Unique, or, with `index`, a
    property that this index finds. `enforced` (by identity only): a record is written only if its parent exists.
    `on_delete` is the effect of deleting a parent on its children: `restrict` (it is refused while there are any),
    `detach` (their `by` becomes None) or `cascade` (they are deleted first).
    """
    return BelongsTo(target, by, on, index, enforced=enforced, on_delete=on_delete)


def has_many(target: type[T] | str, *, by: Names = (), via: str | None = None) -> HasMany[T]:
    """A relation to several records of `target` (a model, or its token).

    `by` names the property that lists their ids. If several properties identify a record of the target, `by` names one
    for each, in that order; one of them is the list, and the others are the same for all, such as the tenant.

    `via` names a relation of the target that leads to this entity, and the related records are those that it leads
    from: the conversations of a tag. They are read in pages (`Database.related`), through a `Lookup` of the target by
    that relation's properties.
    """
    return HasMany(target, by, via)


def _target(given: Any) -> type[Entity] | str:
    is_model = isinstance(given, type) and issubclass(given, Entity) and given is not Entity
    return given if is_model else name_of(given)


@dataclass(frozen=True)
class Index:
    """A secondary index, by Python names. `hash_key` is `hash_key` (the table's) or a HashKey; `range_key` is
    `range_key` (the table's), a RangeKey, or a property; with `desc(...)` around it, which `descending` says, records
    come from its end, newest first where it is a time. `entities` None: every entity that has both. `projection` is
    `ALL`, `KEYS_ONLY`, or the properties to project. Over HTTP it can be used if it is `exposed`, by callers in one of
    its `groups`; with `owner` only if the request names it, and only for records whose property of this name is the
    caller's subject."""

    name: str
    hash_key: str
    range_key: str
    entities: tuple[type[Entity], ...] | None = None
    projection: Literal["ALL", "KEYS_ONLY"] | collections.abc.Sequence[str] = "ALL"
    exposed: bool = True
    groups: tuple[str, ...] = ()
    owner: str | None = None
    descending: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.range_key, Descending):
            object.__setattr__(self, "descending", True)
            object.__setattr__(self, "range_key", self.range_key.name)
