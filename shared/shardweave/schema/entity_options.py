"""The class keywords of an entity, with the right types, for the checks.

Guarantees: each part of an `EntityOptions` has its type, whatever was given. Values of another type are left out, or
replaced by their text if a name is expected, and `faults` reports them; the schema raises them together with all
others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import Fault
from ..keys.sharding import ShardBump
from .access_rules import Allow
from .upgrades import Upgrade


@dataclass(frozen=True)
class EntityOptions:
    """The class keywords of an entity.

    `token` starts its hash keys. `shard_bumps` are in order of time (see `schema.declared_bumps`); without any there is
    one shard. `partition` adds
    properties to the hash key, `sort` replaces the range key's, `singleton` fixes it. `shard_by` names what is hashed:
    by default the partition, else the unique property. `collection` is the name in URLs. `origin` is the letter or
    digit that represents the entity in shard keys; without it the records have no shard keys. `separator` separates the
    parts of a composite key that is given as one value. `access` are the access rules, see `schema.access_rules`. Over
    HTTP, records of a `read_only` entity can only be read; the service's own operations write them. `descending` are
    the names in `sort` whose order is reversed. `upgrades` are the functions from each version of the stored form to
    the next, see `schema.upgrades`.
    """

    token: str
    shard_bumps: tuple[ShardBump, ...] = ()
    partition: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    shard_by: tuple[str, ...] = ()
    singleton: bool = False
    collection: str = ""
    origin: str | None = None
    separator: str = "/"
    access: tuple[Allow, ...] = ()
    read_only: bool = False
    upgrades: tuple[Upgrade, ...] = ()
    descending: frozenset[str] = frozenset()
    faults: tuple[Fault, ...] = ()

    @property
    def sort_elements(self) -> tuple[str | Descending, ...]:
        """The elements of `sort`, those in reverse order marked as such."""
        return tuple(Descending(name) if name in self.descending else name for name in self.sort)


KEYWORDS = tuple(each.name for each in fields(EntityOptions) if each.name not in ("descending", "faults"))


@dataclass(frozen=True)
class Descending:
    """An element of a range key in reverse order."""

    name: str

    def __repr__(self) -> str:
        return f"desc({self.name})"


def name_of(given: Any) -> str:
    """The given name. For another type it is the value's text, which is not a valid name."""
    text = given if isinstance(given, str) else repr(given)[:80]
    return text if isinstance(given, str) or not text.isidentifier() else f"({text})"


def names_of(given: Any) -> tuple[str, ...]:
    """The names that were given, one or several."""
    return tuple(name_of(each) for each in (given if isinstance(given, (list, tuple)) else (given,)))


def kind_fault(where: str, found: Any, wanted: str, fix: str) -> Fault:
    """The fault of a value with another type than expected; `wanted` is a noun with its article."""
    return Fault(where, f"must be {wanted}, got {type(found).__name__}", fix)


def options_of(name: str, given: Mapping[str, Any]) -> EntityOptions:
    """The options from the class keywords of a class with this name. `given` has each of `KEYWORDS`, and other given
    keywords."""
    faults: list[Fault] = []
    place = f"entity {name}"
    unknown = sorted(given.keys() - set(KEYWORDS))
    if unknown:
        faults.append(Fault(place, f"it has no keyword {', '.join(unknown)}", f"use one of {', '.join(KEYWORDS)}"))

    def checked(keyword: str, kind: type, wanted: str, missing: Any) -> Any:
        found = given[keyword]
        if isinstance(found, kind) or found is missing:
            return found
        faults.append(kind_fault(f"{place}: {keyword}", found, wanted, "give one, or leave it out"))
        return missing

    sort = given["sort"] if isinstance(given["sort"], (list, tuple)) else (given["sort"],)
    origin = given["origin"]
    if origin is not None and not isinstance(origin, str):
        fix = "use one ASCII letter or digit other than 0"
        faults.append(Fault(place, f"{name_of(origin)} is not a valid origin", fix))
        origin = None
    token = checked("token", str, "a text", None)
    token = name[:1].lower() + name[1:] if token is None else token
    return EntityOptions(
        token=token,
        shard_bumps=_bumps(f"{place}: shard_bumps", given["shard_bumps"], faults),
        partition=names_of(given["partition"]),
        sort=tuple(each.name if isinstance(each, Descending) else name_of(each) for each in sort),
        descending=frozenset(each.name for each in sort if isinstance(each, Descending)),
        shard_by=names_of(given["shard_by"]),
        singleton=checked("singleton", bool, "a bool", False),
        collection=checked("collection", str, "a text", None) or f"{token}s",
        origin=origin,
        separator=checked("separator", str, "a text", "/"),
        access=_rules(f"{place}: access", given["access"], faults),
        read_only=checked("read_only", bool, "a bool", False),
        upgrades=_upgrades(f"{place}: upgrades", given["upgrades"], faults),
        faults=tuple(faults),
    )


def _bumps(place: str, given: Any, faults: list[Fault]) -> tuple[ShardBump, ...]:
    sound = []
    for position, bump in enumerate(given if isinstance(given, (list, tuple)) else (given,)):
        where, fix = f"{place}[{position}]", "give ShardBump(timestamp, char_bits=2, chars=1)"
        if not isinstance(bump, ShardBump):
            faults.append(kind_fault(where, bump, "a bump", fix))
            continue
        begins: Any = bump.timestamp
        numbers = (bump.char_bits, bump.chars, *(() if isinstance(begins, dt.datetime) else (begins,)))
        if not all(type(each) is int for each in numbers):
            faults.append(Fault(where, "its numbers are not all whole numbers", fix))
        elif isinstance(begins, dt.datetime) and begins.utcoffset() is None:
            faults.append(Fault(where, "its datetime has no time zone", "give it one, such as UTC"))
        else:
            sound.append(bump)
    return tuple(sound)


def _rules(place: str, given: Any, faults: list[Fault]) -> tuple[Allow, ...]:
    sound = []
    for position, rule in enumerate(given if isinstance(given, (list, tuple)) else (given,)):
        if isinstance(rule, Allow):
            sound.append(rule)
        else:
            faults.append(kind_fault(f"{place}[{position}]", rule, "a rule", 'give Allow("get", groups=("reader",))'))
    return tuple(sound)


def _upgrades(place: str, given: Any, faults: list[Fault]) -> tuple[Upgrade, ...]:
    """The functions. Manifests compare them by name, so each needs one of its own."""
    sound: list[Upgrade] = []
    names: list[str] = []
    for position, each in enumerate(given if isinstance(given, (list, tuple)) else (given,)):
        where, name = f"{place}[{position}]", getattr(each, "__name__", None)
        if not callable(each) or isinstance(each, type):
            faults.append(kind_fault(where, each, "a function", "give a function from the properties to the new ones"))
        elif not isinstance(name, str) or not name.isidentifier():
            faults.append(Fault(where, "the function has no name", "write it with def, not as a lambda"))
        elif name in names:
            faults.append(Fault(where, f"two functions are called {name}", "give each a name of its own"))
        else:
            sound.append(each)
            names.append(name)
    return tuple(sound)
