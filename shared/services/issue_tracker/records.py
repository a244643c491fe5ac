"""What the issue tracker stores: tenants, their projects, the projects' issues, and merges of projects.

Everything lies inside a tenant, whose id is a claim of the caller's token: it is in every identity, every hash key of
an index, every lookup and every sequence. So a key, a query or a number of one tenant can't lead to another's record,
and a project of another tenant is no parent. Issues are spread over 4 shards by their own id, so that a project may
have any number of them; a tenant's projects lie together.

An issue has a place for each kind of custom field (`text1`, `text2`, `number1`, `date1`), and a sparse index for each
place: an issue without a value there is not in it. A project says what the places mean to it.

Costs: an issue is in 10 indexes, and in one more for each place that it uses, so it is written that many times. A
project's issues are counted in one record, which bounds creations to tens a second and project, of up to 30 issues
each.
"""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from pydantic import Field, field_validator
from pydantic.alias_generators import to_camel

from shardweave import (
    DecimalCodec,
    Entity,
    HashKey,
    Index,
    Lookup,
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
Place = Literal["text1", "text2", "number1", "date1"]
Derived = Annotated[bool | None, Field(json_schema_extra={"readOnly": True})]


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


PLACES: dict[str, FieldKind] = {
    "text1": FieldKind.TEXT,
    "text2": FieldKind.TEXT,
    "number1": FieldKind.NUMBER,
    "date1": FieldKind.DATE,
}
"""Where an issue holds the values of custom fields, and their kinds."""


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
        return {name: place for place in PLACES for name, its in fields.items() if its == place}


class Issue(Entity, token="issue", partition="tenant_id", shard_by="issue_id", shard_bumps=FOUR_SHARDS):
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
    text1: Text | None = None
    text2: Text | None = None
    number1: Number | None = None
    date1: dt.date | None = None
    has_text1: Derived = None
    has_text2: Derived = None
    has_number1: Derived = None
    has_date1: Derived = None

    numbering = Sequence("num", within=("tenant_id", "project_id"))
    numbers = Unique("num", within=("tenant_id", "project_id"))
    project = belongs_to(Project, by=("tenant_id", "project_id"), enforced=True)

    project_hash_key = HashKey("tenant_id", "project_id")
    text1_hash_key = HashKey("tenant_id", "project_id", "has_text1")
    text2_hash_key = HashKey("tenant_id", "project_id", "has_text2")
    number1_hash_key = HashKey("tenant_id", "project_id", "has_number1")
    date1_hash_key = HashKey("tenant_id", "project_id", "has_date1")

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
    text1_range_key = RangeKey("text1", "num")
    text2_range_key = RangeKey("text2", "num")
    number1_range_key = RangeKey("number1", "num")
    date1_range_key = RangeKey("date1", "num")

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Say of each place whether there is a value, whatever was given for that."""
        return values | {to_camel(presence(place)): values.get(place) is not None or None for place in PLACES}


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


def presence(place: str) -> str:
    """The property that says whether a place has a value."""
    return f"has_{place}"


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
    Index("gridText1", "text1_hash_key", "text1_range_key"),
    Index("gridText2", "text2_hash_key", "text2_range_key"),
    Index("gridNumber1", "number1_hash_key", "number1_range_key"),
    Index("gridDate1", "date1_hash_key", "date1_range_key"),
    Index("mergesByState", "state_hash_key", "updated"),
    Index("projectsByName", "tenant_hash_key", "name_range_key"),
)
