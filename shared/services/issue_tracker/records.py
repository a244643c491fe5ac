"""What the issue tracker stores: tenants, their projects, the projects' issues, and merges of projects.

Everything lies inside a tenant, whose id is a claim of the caller's token: it is in every identity, every hash key of
an index, every lookup and every sequence. So a key, a query or a number of one tenant can't lead to another's record,
and a project of another tenant is no parent. Issues are spread over 4 shards by their own id, so that a project may
have any number of them; a tenant's projects lie together.

A project gives a place to each of its custom fields (`text1`, `text2`, ..., `number1`, ..., `date1`, ...), and an issue
has its values by their places, in a mapping for each kind. An ordered lookup of each mapping lists the issues of a
project by the values of each place: any number of fields can be sorted by, and takes none of the table's indexes.

Costs: an issue is in 10 indexes, so it is written that many times, and with an entry more for each of its custom
values. A project's issues are counted in one record, which bounds creations to tens a second and project, of up to 30
issues each.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from decimal import Decimal
from typing import Annotated, Any, Self
from uuid import UUID, uuid4

from pydantic import Field, field_validator, model_validator

from shardweave import (
    DecimalCodec,
    Entity,
    HashKey,
    Index,
    Lookup,
    OrderedLookup,
    RangeKey,
    Sequence,
    ShardBump,
    Timestamp,
    Unique,
    belongs_to,
    claim_property,
    desc,
    timestamp_property,
    unique_property,
    updated_property,
)

CLAIM = "tenant"
"""The claim of a caller's token that says whose records these are."""

FOUR_SHARDS = (ShardBump(0, char_bits=2, chars=1),)

Name = Annotated[str, Field(min_length=1, max_length=200)]
Person = Annotated[str, Field(min_length=1, max_length=100)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[Decimal, DecimalCodec(4), Field(max_digits=15, decimal_places=4)]
FieldName = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9]*$", max_length=40)]
MAX_VALUES = 40
"""The custom values of one issue: with so many, one transaction still moves it to another project."""


class State(enum.Enum):
    """Open issues come before closed ones. New states are added at the end."""

    OPEN = "open"
    CLOSED = "closed"


class Priority(enum.Enum):
    """The most urgent comes first. New ones are added at the end."""

    URGENT = "urgent"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class FieldKind(enum.Enum):
    """What a custom field holds."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"


PLACE = re.compile(f"({'|'.join(kind.value for kind in FieldKind)})([1-9][0-9]{{0,3}})")
"""A place: a kind and a number, up to 9999."""

Place = Annotated[str, Field(pattern=f"^{PLACE.pattern}$")]


def kind_of(place: str) -> FieldKind:
    """What the values of a place are."""
    found = PLACE.fullmatch(place)
    assert found is not None, "the pattern of a place has refused it"
    return FieldKind(found[1])


VALUES = {FieldKind.TEXT: "custom_texts", FieldKind.NUMBER: "custom_numbers", FieldKind.DATE: "custom_dates"}
"""The property with an issue's values of each kind."""


def custom_values_by_place(values: dict[str, Any]) -> dict[str, Any]:
    """Issues had one property for each of four places, and an index for each."""
    found = {"customTexts": ("text1", "text2"), "customNumbers": ("number1",), "customDates": ("date1",)}
    for name, places in found.items():
        kept = {place: values.pop(place, None) for place in places}
        values[name] = {place: value for place, value in kept.items() if value is not None}
        for place in places:
            values.pop(f"has{place.capitalize()}", None)
    return values


class Tenant(Entity, token="tenant"):
    """Whose projects these are."""

    tenant_id: UUID = claim_property(CLAIM, unique=True)
    created: Timestamp = timestamp_property()
    name: Name


class Project(Entity, token="project", partition="tenant_id", shard_bumps=FOUR_SHARDS):
    """What issues are about. A project that has issues, or is being merged, can't be deleted."""

    tenant_id: UUID = claim_property(CLAIM)
    project_id: UUID = unique_property(default_factory=uuid4)
    created: Timestamp = timestamp_property()
    name: Name
    custom_fields: dict[FieldName, Place] = Field(
        default_factory=dict, description="The place of each custom field. A field should keep its place for ever."
    )

    tenant_hash_key = HashKey("tenant_id")
    name_range_key = RangeKey("name", "project_id")

    tenant = belongs_to(Tenant, by="tenant_id", enforced=True)

    @field_validator("custom_fields")
    @classmethod
    def _told_apart(cls, fields: dict[str, str]) -> dict[str, str]:
        if len(set(fields.values())) < len(fields):
            raise ValueError("two fields have one place")
        if taken := sorted(set(fields) & set(COLUMNS)):
            raise ValueError(f"{', '.join(taken)} is a column of every issue")
        return dict(sorted(fields.items()))


class Issue(
    Entity,
    token="issue",
    partition="tenant_id",
    shard_by="issue_id",
    shard_bumps=FOUR_SHARDS,
    upgrades=[custom_values_by_place],
):
    """Something to be done. Its number tells it from the others of its project, its id from all."""

    tenant_id: UUID = claim_property(CLAIM)
    issue_id: UUID = unique_property(default_factory=uuid4)
    project_id: UUID
    num: int = Field(0, ge=0, description="1, 2, 3, ... inside the project; given when it is not, or 0.")
    title: Name
    state: State = State.OPEN
    priority: Priority = Priority.NORMAL
    reporter: Person | None = None
    assignee: Person | None = None
    due: dt.date | None = None
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    text: str | None = Field(default=None, max_length=20_000)
    custom_texts: dict[Place, Text] = Field(default_factory=dict, description="The values of custom fields by places.")
    custom_numbers: dict[Place, Number] = Field(default_factory=dict)
    custom_dates: dict[Place, dt.date] = Field(default_factory=dict)

    numbering = Sequence("num", within=("tenant_id", "project_id"))
    numbers = Unique("num", within=("tenant_id", "project_id"))
    text_list = OrderedLookup("custom_texts", within=("tenant_id", "project_id"), then="num")
    number_list = OrderedLookup("custom_numbers", within=("tenant_id", "project_id"), then="num")
    date_list = OrderedLookup("custom_dates", within=("tenant_id", "project_id"), then="num")
    project = belongs_to(Project, by=("tenant_id", "project_id"), enforced=True)

    project_hash_key = HashKey("tenant_id", "project_id")

    num_range_key = RangeKey("num")
    title_range_key = RangeKey("title", "num")
    state_range_key = RangeKey("state", "num")
    state_newest_range_key = RangeKey("state", desc("num"))
    priority_range_key = RangeKey("priority", "num")
    reporter_range_key = RangeKey("reporter", "num")
    assignee_range_key = RangeKey("assignee", "num")
    due_range_key = RangeKey("due", "num")
    created_range_key = RangeKey("created", "num")
    updated_range_key = RangeKey("updated", "num")

    @model_validator(mode="after")
    def _of_their_places(self) -> Self:
        for kind, name in VALUES.items():
            if wrong := [place for place in getattr(self, name) if kind_of(place) is not kind]:
                raise ValueError(f"{wrong[0]} is no place of the kind {kind.value}")
        if (count := sum(len(getattr(self, name)) for name in VALUES.values())) > MAX_VALUES:
            raise ValueError(f"an issue has at most {MAX_VALUES} custom values, and it has {count}")
        return self


class MergeState(enum.Enum):
    """How far a merge is."""

    OPEN = "open"
    DONE = "done"


class Merge(Entity, token="merge", partition="tenant_id", sort="source_id", read_only=True):
    """One project's issues move to another, see `merging`. While it is open neither project can be deleted;
    `into` leads to the target also when it is done."""

    tenant_id: UUID = claim_property(CLAIM)
    source_id: UUID
    target_id: UUID
    state: MergeState = MergeState.OPEN
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    open_source_id: UUID | None = None
    open_target_id: UUID | None = None

    source = belongs_to(Project, by=("tenant_id", "open_source_id"), enforced=True)
    target = belongs_to(Project, by=("tenant_id", "open_target_id"), enforced=True)
    into = belongs_to(Project, by=("tenant_id", "target_id"))
    by_open_target = Lookup("open_target_id", within="tenant_id")

    state_hash_key = HashKey("tenant_id", "state")

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Name the two projects once more while the merge is open: what is done keeps none."""
        is_open = values.get("state", MergeState.OPEN) in (MergeState.OPEN, MergeState.OPEN.value)
        return values | {
            "openSourceId": values.get("sourceId") if is_open else None,
            "openTargetId": values.get("targetId") if is_open else None,
        }


COLUMNS = ("num", "title", "state", "priority", "reporter", "assignee", "due", "created", "updated")
"""What every issue has, and a grid can be sorted by."""


INDEXES = (
    Index("gridNum", "project_hash_key", "num_range_key"),
    Index("gridTitle", "project_hash_key", "title_range_key"),
    Index("gridState", "project_hash_key", "state_range_key"),
    Index("gridStateNewest", "project_hash_key", "state_newest_range_key"),
    Index("gridPriority", "project_hash_key", "priority_range_key"),
    Index("gridReporter", "project_hash_key", "reporter_range_key"),
    Index("gridAssignee", "project_hash_key", "assignee_range_key"),
    Index("gridDue", "project_hash_key", "due_range_key"),
    Index("gridCreated", "project_hash_key", "created_range_key"),
    Index("gridUpdated", "project_hash_key", "updated_range_key"),
    Index("mergesByState", "state_hash_key", "updated"),
    Index("projectsByName", "tenant_hash_key", "name_range_key"),
)
