"""Options of properties: their roles, and canonical prefixes.

    user_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    email: Annotated[str, CanonicalBegin(str.lower)]

Values without behaviour, which the entity's model keeps as metadata of its fields.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field
from pydantic.fields import FieldInfo

from ..errors import ConfigurationError


class Role(enum.Enum):
    """The role of a property with a special meaning."""

    UNIQUE = "unique"
    TIMESTAMP = "timestamp"
    UPDATED = "updated"
    TTL = "ttl"


def unique_property(**field: Any) -> Any:
    """The property that identifies a record; it never changes. With `default_factory=nanoid` ids are generated."""
    return _with_role(Role.UNIQUE, field)


def timestamp_property(*, unit: Literal["ms", "s"] = "ms", **field: Any) -> Any:
    """The creation time of the record; it never changes, and determines the generation. Set by the store when not
    given. `unit` is the unit of the epoch number as which a datetime is stored."""
    return _with_role(Role.TIMESTAMP, _optional(field), EpochUnit(unit))


def updated_property(*, unit: Literal["ms", "s"] = "ms", **field: Any) -> Any:
    """The time of the last write. Set by the store on every write. `unit` is as in `timestamp_property`."""
    return _with_role(Role.UPDATED, _optional(field), EpochUnit(unit))


def ttl_property(**field: Any) -> Any:
    """The time when the record expires: epoch seconds, or a datetime, which is stored as epoch seconds. An expired
    record is hidden from reads immediately."""
    return _with_role(Role.TTL, _optional(field), EpochUnit("s"))


def _optional(field: dict[str, Any]) -> dict[str, Any]:
    return field if "default" in field or "default_factory" in field else {"default": None, **field}


def _with_role(role: Role, field: dict[str, Any], *more: Any) -> Any:
    info: FieldInfo = Field(**field)
    info.metadata += [role, *more]
    return info


@dataclass(frozen=True)
class CanonicalBegin:
    """In the annotation of a text property that is stored in a canonical form: converts the beginning of a value to
    that form, so that a prefix or a bound can be given as people write it: `Annotated[str, CanonicalBegin(str.lower)]`.
    """

    canonical: Callable[[str], str]

    def __post_init__(self) -> None:
        given: Any = self.canonical
        if not callable(given):
            fix = "give one from a text to its canonical form, like str.lower"
            raise _wrong("CanonicalBegin(...)", "a function", given, fix)


@dataclass(frozen=True)
class EpochUnit:
    """Marks a time that is stored as an epoch number in a unit."""

    unit: Literal["ms", "s"]

    def __post_init__(self) -> None:
        if self.unit not in ("ms", "s"):
            raise _wrong("unit", '"ms" or "s"', self.unit, "give one of them, or leave it out")


@dataclass(frozen=True)
class Claim:
    """Marks a property that is bound to a claim."""

    name: str

    def __post_init__(self) -> None:
        given: Any = self.name
        if not isinstance(given, str):
            fix = 'use claim_property("tenant"), say'
            raise _wrong("claim_property(...)", "the name of a claim", given, fix)


@dataclass(frozen=True)
class Private:
    """Marks a private property."""


def claim_property(claim: str, *, unique: bool = False, **field: Any) -> Any:
    """A property that has the value of the caller's claim. Python code sets it like any other property. `unique`: it
    also identifies the record, so that there is one record for each tenant."""
    if not isinstance(unique, bool):
        raise _wrong("claim_property(unique=...)", "true or false", unique, "give one of them, or leave it out")
    info: FieldInfo = unique_property(**field) if unique else Field(**field)
    info.metadata.append(Claim(claim))
    return info


def private_property(**field: Any) -> Any:
    """A property that is not shown over HTTP, and can't be used in queries there."""
    info: FieldInfo = Field(**field)
    info.metadata.append(Private())
    return info


def _wrong(where: str, wanted: str, given: Any, fix: str) -> ConfigurationError:
    return ConfigurationError(f"must be {wanted}, got {type(given).__name__}", where=where, fix=fix)
