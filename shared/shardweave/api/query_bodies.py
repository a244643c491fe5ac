"""What `POST .../query`, `/count` and `/explain` take, as models for the OpenAPI document.

A body is read by `wire.query_json`, which names the place of whatever is wrong; these models describe the same language
of conditions and filters, and a test holds the two together.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ..query.filters import MAX_NODES
from ..query.spec import DEFAULT_LIMIT, MAX_BRANCHES, MAX_BUDGET, MAX_LIMIT, MAX_TIME_LIMIT_MS
from ..schema.entity_type import EntityType
from ..wire.list_parameters import index_names, indexed_properties

Scalar = str | int | float | bool
Time = int | dt.date | dt.datetime

_ASKED = ConfigDict(extra="forbid", defer_build=True)


def _may_lack(**described: Any) -> Any:
    """A field that may be left out, and has no null."""
    return Field(default_factory=lambda: None, **described)


# -- conditions and filters -------------------------------------------------------------------------------------------


class EqualCondition(BaseModel):
    """One of: `eq`; `in`."""

    model_config = ConfigDict(**_ASKED, json_schema_extra={"minProperties": 1, "maxProperties": 1})

    eq: Scalar = _may_lack()
    one_of: list[Scalar] = _may_lack(alias="in", description="A branch for each of these values.")


class RangeCondition(EqualCondition):
    """One of: `eq`; `in`; `from`, `to` or both, which are included."""

    model_config = ConfigDict(**_ASKED, json_schema_extra={"minProperties": 1, "maxProperties": 2})

    low: Scalar | None = Field(None, alias="from")
    high: Scalar | None = Field(None, alias="to")


class Condition(RangeCondition):
    """One of: `eq`; `in`; `prefix`; `from`, `to` or both, which are included."""

    prefix: str = _may_lack()


AnyCondition = Scalar | list[Scalar] | Condition


class SizeTest(BaseModel):
    """One comparison with the length of a text, or the number of members."""

    model_config = ConfigDict(**_ASKED, json_schema_extra={"minProperties": 1, "maxProperties": 1})

    eq: int = _may_lack()
    ne: int = _may_lack()
    lt: int = _may_lack()
    le: int = _may_lack()
    gt: int = _may_lack()
    ge: int = _may_lack()


class PropertyFilter(BaseModel):
    """A property and one test of it. A comparison with a property that has no value is false; `ne` is true. A record
    without the property has its default."""

    model_config = ConfigDict(**_ASKED, json_schema_extra={"minProperties": 2, "maxProperties": 2})

    property: str = Field(description="A property, or a path into one, such as `meta.color` or `lines.0.sku`.")
    eq: Scalar = _may_lack()
    ne: Scalar = _may_lack()
    lt: Scalar = _may_lack()
    le: Scalar = _may_lack()
    gt: Scalar = _may_lack()
    ge: Scalar = _may_lack()
    between: list[Scalar] = _may_lack(min_length=2, max_length=2)
    one_of: list[Scalar] = _may_lack(alias="in", min_length=1, max_length=100)
    begins_with: str = _may_lack()
    contains: Scalar = _may_lack()
    exists: bool = _may_lack()
    size: SizeTest = _may_lack()


class AllFilter(BaseModel):
    """All of some filters."""

    model_config = _ASKED

    parts: list[Filter] = Field(alias="and", min_length=1, max_length=MAX_NODES)


class AnyFilter(BaseModel):
    """Any of some filters."""

    model_config = _ASKED

    parts: list[Filter] = Field(alias="or", min_length=1, max_length=MAX_NODES)


class NotFilter(BaseModel):
    """What another filter leaves out."""

    model_config = _ASKED

    part: Filter = Field(alias="not")


Filter = PropertyFilter | AllFilter | AnyFilter | NotFilter

for _model in (AllFilter, AnyFilter, NotFilter):
    _model.model_rebuild()


# -- queries ----------------------------------------------------------------------------------------------------------


class BranchBody(BaseModel):
    """One of several questions."""

    model_config = _ASKED

    conditions: dict[str, AnyCondition] | None = None
    index: str | None = None
    filter: Filter | None = Field(None, description="A test that every record must pass.")


class QueryBody(BranchBody):
    """A query. Without an index, the one that uses the conditions best."""

    branches: list[BranchBody] | None = Field(
        None, min_length=1, max_length=MAX_BRANCHES, description="In place of `conditions` and `index`."
    )
    reverse: bool | None = Field(False, description="The reverse of the order.")
    limit: int | None = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Records a page.")
    next_token: str | None = Field(None, alias="nextToken", description="The token of the page before.")
    prev_token: str | None = Field(
        None, alias="prevToken", description="In place of `nextToken`, for the page that stands before."
    )
    consistent: bool | None = Field(False, description="A consistent read, from the table itself alone.")
    earliest: Time | None = Field(None, description="Records made before are left out.")
    latest: Time | None = Field(None, description="Records made after are left out.")
    properties: list[str] | None = Field(None, min_length=1, description="Only these properties.")
    hydrate: bool | None = Field(False, description="Whole records, where the index has less.")
    time_limit_ms: int | None = Field(
        None, alias="timeLimitMs", ge=1, le=MAX_TIME_LIMIT_MS, description="Cuts the page, in milliseconds."
    )
    budget: int | None = Field(None, ge=1, le=MAX_BUDGET, description="Cuts the page after so many reads.")
    on_shard_error: Literal["fail", "partial"] | None = Field(
        "fail", alias="onShardError", description="Whether to go on without lanes that fail."
    )
    stats: bool | None = Field(False, description="Whether the answer says what it cost.")


@dataclass(frozen=True)
class QueryBodies:
    """The bodies of one entity: those above with the names of its properties and indexes, and `more` fields in
    queries."""

    entity: EntityType[Any]
    more: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def query(self) -> type[BaseModel]:
        branch = self._named("Branch", BranchBody)
        described = QueryBody.model_fields["branches"]
        return self._named("Query", QueryBody, branches=(list[branch] | None, described), **self.more)  # type: ignore[valid-type]

    @cached_property
    def explain(self) -> type[BaseModel]:
        run = Field(False, description="Whether to run it and say what it cost; in place of `stats`.")
        name = f"{self.entity.model.__name__}Explain"
        return create_model(name, __base__=self.query, __doc__="A query to explain.", run=(bool | None, run))

    @cached_property
    def _conditions(self) -> type[BaseModel]:
        fields: dict[str, Any] = {
            each.stored: (Scalar | list[Scalar] | self._condition(each.stored), _may_lack())
            for each in indexed_properties(self.entity)
        }
        described = "Properties of one index: all of its hash key, then of its range key from the left."
        return create_model(f"{self.entity.model.__name__}Conditions", __config__=_ASKED, __doc__=described, **fields)

    def _condition(self, name: str) -> type[EqualCondition]:
        """What an index can answer of a property."""
        views = self.entity.views.values()
        if any(view.begins(name) for view in views):
            return Condition
        is_ordered = any(element.name == name for view in views for element in view.range_elements)
        return RangeCondition if is_ordered else EqualCondition

    def _named(self, suffix: str, base: type[BaseModel], **more: Any) -> type[BaseModel]:
        indexes = index_names(self.entity)
        fields: dict[str, Any] = {
            "conditions": (self._conditions | None, None),
            "index": ((Literal[tuple(indexes)] if indexes else str) | None, None),
            **more,
        }
        return create_model(self.entity.model.__name__ + suffix, __base__=base, __doc__=base.__doc__, **fields)
