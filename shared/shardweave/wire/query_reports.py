"""What `POST .../query`, `/count` and `/explain` answer: the models that write the answers and describe them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from ..query.explain import Explanation
from ..query.spec import CutBy, QueryStats
from ..values.json_types import left_out
from .record_models import LATE, RecordModels

_ANSWERED = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True, defer_build=True)


class LaneCosts(BaseModel):
    """What one lane did."""

    model_config = _ANSWERED

    lane: str
    requests: int
    scanned: int = Field(description="Records that were read.")
    returned: int
    units: float = Field(description="Read units.")
    milliseconds: float
    failure: str | None = Field(description="The code of the error that stopped it.")


class Costs(BaseModel):
    """What a page, or a count, cost."""

    model_config = _ANSWERED

    lanes: int = Field(description="Lanes that were read: shards times indexes.")
    requests: int
    rounds: int = Field(description="How often reads were sent and waited for.")
    scanned: int = Field(description="Records that were read.")
    returned: int
    empty: int = Field(description="Lanes that had nothing.")
    units: float = Field(description="Read units.")
    milliseconds: float
    failed_lanes: int
    cut: bool = Field(description="Whether something ended the page before its limit.")
    cut_by: CutBy = Field(
        description="What did: its time, its budget, the bytes or read units that a page may have, the related records "
        "of what it shows; empty when nothing did."
    )
    reports: list[LaneCosts]


class LanePlan(BaseModel):
    """What one lane would read, and from where."""

    model_config = _ANSWERED

    lane: str
    entity: str
    index: str | None
    hash_key: str
    generation: str
    stage: int = Field(description="Lanes of a lower stage are exhausted before those of the next are read.")
    low: str | None
    high: str | None
    empty: bool = Field(description="Whether nothing is left of it.")
    resumes: bool = Field(description="Whether it goes on from a token's place.")
    first_fetch: int = Field(description="Records that it reads at first.")


class Explained(BaseModel):
    """What a query does and why; after a run also what it cost."""

    model_config = _ANSWERED

    entity: str = Field(description="Several, where there are, separated by commas.")
    indexes: list[str | None]
    reasons: list[str]
    order: Literal["ascending", "descending"]
    limit: int
    stages: int
    lanes: list[LanePlan]
    estimated_reads: int
    estimated_units: float
    estimate_is_least: bool = Field(
        description="Whether a filter or a time window may leave records out: those are read too, at worst all that "
        "the lanes hold."
    )
    filter_by_table: list[dict[str, Any]] = Field(
        description="The parts of filters, as filters, that the table evaluates."
    )
    filter_here: list[dict[str, Any]] = Field(description="Those that are evaluated after reading.")
    stats: Costs | None


class Counted(BaseModel):
    """How many records answer a query."""

    count: int
    stats: Costs = left_out("Given when the query asks for `stats`.")


def costs(stats: QueryStats) -> dict[str, Any]:
    """What a query cost, as JSON."""
    return Costs.model_validate(stats).model_dump(mode="json", by_alias=True)


def explained(explanation: Explanation) -> bytes:
    """An explanation, as JSON text."""
    return Explained.model_validate(explanation).model_dump_json(by_alias=True).encode()


def page_model(records: RecordModels) -> type[BaseModel]:
    """A page of one entity: a list's page that says everything, of records or of chosen properties."""
    item: Any = records.read | records.part
    return create_model(
        f"{records.name}Page",
        __base__=records.page,
        __doc__="A page of records, in the query's order.",
        items=(list[item], Field(description="The records of this page.")),
        failed=(list[str], Field(description="Lanes that failed.")),
        late=(int, Field(description=LATE)),
        stats=(Costs, left_out("Given when the query asks for `stats`.")),
    )
