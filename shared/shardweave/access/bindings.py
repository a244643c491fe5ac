"""What a property declares about access.

    tenant_id: str = claim_property("tenant")      its value is the caller's claim, always
    salary: int | None = private_property(default=None)

A bound property is set when a record is created and never changes. A private property can be written over HTTP, and is
neither returned nor asked about there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo

from ..property_options import unique_property


@dataclass(frozen=True)
class Claim:
    """Marks a property that is bound to a claim."""

    name: str


@dataclass(frozen=True)
class Private:
    """Marks a private property."""


def claim_property(claim: str, *, unique: bool = False, **field: Any) -> Any:
    """A property that has the value of the caller's claim. Library calls give it like any other property. `unique`: it
    is also what identifies a record, so that there is one for each tenant."""
    info: FieldInfo = unique_property(**field) if unique else Field(**field)
    info.metadata.append(Claim(claim))
    return info


def private_property(**field: Any) -> Any:
    """A property that is not shown over HTTP, and by which nothing is found or sorted there."""
    info: FieldInfo = Field(**field)
    info.metadata.append(Private())
    return info
