"""The doctor's last report over HTTP, for operators.

    GET   /v1/_doctor     its findings; 404 if there is no report

For known callers who are not operators the path does not exist; unknown callers are asked to authenticate. A report
contains keys of the table, entities and properties.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ...errors import ReportMissing, RouteNotFound, Unauthenticated
from ...maintenance.doctor import last_report
from ...store import Store
from ...values.json_types import left_out
from ..http import JSON, Response
from ..operation import Answer, Call, Operation
from ..operators import Operators

PATH = "/v1/_doctor"


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class DoctorFinding(_Camel):
    """One fault."""

    kind: str
    severity: str = Field(description="repairable, or needs a person.")
    about: str = Field(description="The entity, and the property, lookup, relation or index.")
    key: list[str] = Field(description="Hash and range key of the item in the table.")
    other: list[str] = left_out("Those of the other item, where the fault is about two.")


class DoctorLayoutFault(_Camel):
    """How the table differs from the schema."""

    where: str
    what: str
    fix: str


class DoctorDocument(_Camel):
    """What the doctor found the last time that it came to the end."""

    at: int = Field(description="When it came to the end, in epoch milliseconds.")
    done: bool
    verdict: str = Field(description="clean, repairable, or needs a person.")
    read: int = Field(description="How many items were read.")
    units: float = Field(description="The read units that it took.")
    seconds: float
    repairing: bool = Field(description="Whether it put right what is safe.")
    found: dict[str, int] = Field(description="How many faults of each kind.")
    repaired: dict[str, int] = Field(description="How many of them were put right.")
    skipped: list[str] = Field(description="The kinds that were left out.")
    undecided: list[list[str]] = left_out("Hash and range keys of counters and sums that kept changing.")
    unsummed: list[list[str]] = left_out("Those of records whose sums are not known because of damaged items.")
    damaged: list[list[str]] = left_out("Those of the damaged items.")
    unfinished: list[str] = left_out("What was not examined, since every run was stopped before it was done.")
    not_recounted: list[str] = left_out("The read models of events, which can't be recounted: events are not kept.")
    layout: list[DoctorLayoutFault]
    named: list[DoctorFinding] = Field(description="At most 25 of each kind, the first by their keys.")


class DoctorRoutes:
    """The operation of the doctor on a store."""

    def __init__(self, store: Store, operators: Operators) -> None:
        self._store = store
        self._operators = operators

    def operation(self) -> Operation:
        return Operation(
            "GET",
            PATH,
            "getDoctorReport",
            "What the doctor found the last time",
            self._report,
            Answer(200, "The report.", DoctorDocument),
            tag="_doctor",
            errors=(Unauthenticated, RouteNotFound, ReportMissing),
            audited=True,
            counted=False,
        )

    def _report(self, call: Call) -> Response:
        self._operators.check(call.caller, "only operators ask the doctor")
        report = last_report(self._store.parts)
        if report is None:
            raise ReportMissing(
                "the doctor has not come to an end yet",
                where="path",
                fix="run `shardweave doctor`, or wait for its end",
            )
        # It may be from another version, which may know more or less.
        known = {name: report[name] for name in map(to_camel, DoctorDocument.model_fields) if name in report}
        text = DoctorDocument.model_validate(known).model_dump_json(by_alias=True, exclude_unset=True)
        return Response(200, text.encode(), {"content-type": JSON})
