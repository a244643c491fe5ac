"""The specification of a query, and its result.

A `QuerySpec` is a value: it has an entity, conditions on properties, and options for the result. Conditions fix every
element of an index's hash key, then elements of its range key from the left: equality, and on the last one at most one
of `Equal`, `Prefix` or `Range`. A `Page` is the result: records in order and a token for the next page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal

from typing_extensions import TypeVar

from ..errors import DeadlineTooShort, RecordUnreadable, Unreadable
from ..table.conditions import Condition
from ..table.values import Item

R = TypeVar("R", default=Any)

DEFAULT_LIMIT = 100
MAX_LIMIT = 500
MAX_UNREADABLE = 100
"""The maximum number of unreadable records that are reported on one page."""
MAX_BRANCHES = 50
MAX_TIME_LIMIT_MS = 3_600_000
MAX_BUDGET = 1_000_000
LIMIT_FIX = f"give a number from 1 to {MAX_LIMIT}; what is more comes on further pages"
NO_BRANCH = "there has to be a branch: without one, every record would be asked for"


@dataclass(frozen=True)
class Equal:
    """The property has this value."""

    value: Any


@dataclass(frozen=True)
class OneOf:
    """The property has one of these values. The query gets a branch for each value."""

    values: tuple[Any, ...]


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
CutBy = Literal["", "time", "budget", "bytes", "units", "related", "unreadable"]
"""What cut a page before its limit: time, the budget of reads, the bytes of its records, read units, the number of
related records, or the maximum number of unreadable records; empty if the page was not cut."""
ANY_TIME = Range()


@dataclass(frozen=True)
class BranchSpec:
    """One branch of a query: conditions on one index, and its own filter."""

    conditions: Mapping[str, Constraint | OneOf] = field(default_factory=dict)
    index: str | None = None
    filter: Condition | None = None


@dataclass(frozen=True)
class QuerySpec:
    """One query. `conditions` maps properties (stored or Python names) to constraints.

    `index` None lets the planner choose. `limit` is 1 to 500 records a page. `earliest` and `latest` bound the
    record's timestamp (in the timestamp property's unit, both included) and prune generations. `scope` is the caller
    (tenant, principal) that a cursor is bound to. `branches`, when given, replace `conditions` and `index`; there are
    1 to 50.

    `filter` is a predicate over properties that the index projects. `properties` are the properties to return, None for
    all that the index projects; `hydrate` reads the whole records from the table. `time_limit_ms` (up to an hour) and
    `budget` (up to 1,000,000 reads) cut a page, and so does `units`: after this number of read units nothing more is
    read for a page, and a count is refused. `on_shard_error` is `fail`, or `partial` to continue without lanes that
    fail. `visibility` decides which records the caller may see, in addition to the filter for the caller's own records:
    a record that belongs to another owner since the index was updated is left out, and an explanation does not show
    where lanes resume, since that may be at a hidden record. `tells_unreadable`: unreadable records are reported;
    otherwise they are skipped silently.

    `others` ask for records of further entities on the same pages, in one order with these. What concerns an entity is
    that of each one's own specification: conditions, index, branches, filter, time window, properties, and what the
    caller may see. What concerns the pages is that of this one.
    """

    entity: str
    conditions: Mapping[str, Constraint | OneOf] = field(default_factory=dict)
    index: str | None = None
    reverse: bool = False
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    consistent: bool = False
    earliest: int | None = None
    latest: int | None = None
    scope: str = ""
    branches: tuple[BranchSpec, ...] | None = None
    filter: Condition | None = None
    properties: tuple[str, ...] | None = None
    hydrate: bool = False
    time_limit_ms: int | None = None
    budget: int | None = None
    units: float | None = None
    on_shard_error: Literal["fail", "partial"] = "fail"
    visibility: Callable[[Item], bool] | None = None
    tells_unreadable: bool = True
    others: tuple[QuerySpec, ...] = ()

    @property
    def parts(self) -> tuple[QuerySpec, ...]:
        """What is asked of each entity, in the order of the entities."""
        return (self, *self.others)

    @property
    def shows_places(self) -> bool:
        """Whether an explanation may show where lanes resume."""
        return all(each.visibility is None for each in self.parts)

    @cached_property
    def reports_unreadable(self) -> bool:
        """Whether unreadable records are reported: those of all entities, or none."""
        return all(each.tells_unreadable for each in self.parts)


def joined(parts: Sequence[QuerySpec]) -> QuerySpec:
    """One query of several entities; what concerns its pages is that of the first part."""
    return replace(parts[0], others=tuple(parts[1:]))


@dataclass(frozen=True)
class LaneReport:
    """The reads of one lane for a page. `failure` is the code of the error that stopped it, None if it did not fail."""

    lane: str
    requests: int
    scanned: int
    returned: int
    units: float
    milliseconds: float
    failure: str | None = None


@dataclass(frozen=True)
class QueryStats:
    """The cost of a page or a count. `rounds` is the number of rounds of parallel reads."""

    lanes: int = 0
    requests: int = 0
    rounds: int = 0
    scanned: int = 0
    returned: int = 0
    empty: int = 0
    units: float = 0.0
    milliseconds: float = 0.0
    failed_lanes: int = 0
    cut_by: CutBy = ""
    unreadable: tuple[Unreadable, ...] = ()
    reports: tuple[LaneReport, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether the page was cut before its limit."""
        return bool(self.cut_by)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline ended the page, or left no time for one of its lanes."""
        return self.cut_by == "time" or any(each.failure == DeadlineTooShort.code for each in self.reports)

    @property
    def lanes_broke(self) -> bool:
        """Whether a lane failed for another reason than the deadline."""
        return any(each.failure not in (None, DeadlineTooShort.code) for each in self.reports)


@dataclass(frozen=True)
class Page(Generic[R]):
    """One page: records of the entity, or, if the index or the query leaves properties out, mappings of the properties
    that were read, by stored name. `cursor` is None if nothing follows; `prev_token` is None if nothing is before the
    page, and if the page was requested without a token.

    `complete` is False when the page was cut (`stats.cut_by` says by what), or lanes failed; `failed` names those.
    `late` is the number of records at the start of the page that come from lanes that had failed on an earlier page.
    `unreadable` are the stored records of the page that can't be read, in order, each with the number of items before
    it; they don't count towards `limit`.

    A page requested with a `prev_token` was read `backwards`, from its end: if it was cut, records are missing at its
    start, and `late` counts its last records.
    """

    items: tuple[R, ...]
    cursor: str | None
    complete: bool = True
    index: str | None = None
    failed: tuple[str, ...] = ()
    late: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    stats: QueryStats = QueryStats()
    prev_token: str | None = None
    backwards: bool = False

    @property
    def onward(self) -> str | None:
        """The token of the page that follows in the direction in which this one was read."""
        return self.prev_token if self.backwards else self.cursor

    @property
    def next_token(self) -> str | None:
        """The token of the next page, None if nothing follows: the same as `cursor`, by its name in HTTP lists."""
        return self.cursor

    def turned(self) -> Page[R]:
        """The page with its items in the opposite order."""
        count = len(self.items)
        unreadable = tuple(
            each if each.position is None else replace(each, position=count - each.position)
            for each in reversed(self.unreadable)
        )
        return replace(
            self,
            items=self.items[::-1],
            unreadable=unreadable,
            cursor=self.prev_token,
            prev_token=self.cursor,
            backwards=not self.backwards,
        )

    def in_order(self) -> Iterator[R]:
        """The items one by one. Raises RecordUnreadable in the place of what can't be read."""
        unreadable = list(self.unreadable)
        for position, item in enumerate(self.items):
            if unreadable and unreadable[0].position == position:
                raise RecordUnreadable(unreadable[0])
            yield item
        if unreadable:
            raise RecordUnreadable(unreadable[0])
