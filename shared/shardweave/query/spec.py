"""What is asked, and what is answered.

A `QuerySpec` is a value: it names an entity, conditions on properties, and how the answer is wanted. Conditions fix
every element of an index's hash key, then elements of its range key from the left: equality, and on the last one at
most one of `Equal`, `Prefix` or `Range`. A `Page` is one answer: records in order and a token for the next page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_LIMIT = 100
MAX_LIMIT = 500


@dataclass(frozen=True)
class Equal:
    """The property has this value."""

    value: Any


@dataclass(frozen=True)
class Prefix:
    """The property's text begins with this text."""

    text: str


@dataclass(frozen=True)
class Range:
    """The property lies between two values, both included; None leaves a side open."""

    low: Any = None
    high: Any = None


Constraint = Equal | Prefix | Range


@dataclass(frozen=True)
class QuerySpec:
    """One query. `conditions` maps properties (stored or Python names) to constraints.

    `index` None lets the planner choose. `limit` is 1 to 500 records a page. `earliest` and `latest` bound the
    record's timestamp (in the timestamp property's unit, both included) and prune generations. `scope` is the caller
    (tenant, principal) that a cursor is bound to.
    """

    entity: str
    conditions: Mapping[str, Constraint] = field(default_factory=dict)
    index: str | None = None
    reverse: bool = False
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    consistent: bool = False
    earliest: int | None = None
    latest: int | None = None
    scope: str = ""


@dataclass(frozen=True)
class Page:
    """One page: records of the entity, or, when the index or the query leaves properties out, mappings of the
    properties (stored names) that were read. `cursor` is None when nothing follows. `complete` is False when the page
    was cut short. `requests`, `scanned` and `units` say what it cost."""

    items: tuple[Any, ...]
    cursor: str | None
    complete: bool = True
    index: str | None = None
    requests: int = 0
    scanned: int = 0
    units: float = 0.0
