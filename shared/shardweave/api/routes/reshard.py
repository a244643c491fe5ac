"""Re-shards over HTTP, for operators.

    POST  /v1/_reshard/user            start: {"charBits": 2, "chars": 2, "rate": 100}; 202 with the status
    GET   /v1/_reshard/user            the status
    POST  /v1/_reshard/user/estimate   the estimated effort of a start with the same body; nothing is started
    POST  /v1/_reshard/user/rate       change the speed: {"rate": 50}
    POST  /v1/_reshard/user/abort      undo it, as long as that is possible
    POST  /v1/_reshard/user/resume     continue it after a person has checked the problem

For known callers who are not operators these paths do not exist; unknown callers are asked to authenticate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ...errors import Conflict, ReshardRefused, RouteNotFound, TableFull, Unauthenticated, ValidationFailed
from ...keys.sharding import ShardBump
from ...reshard.admin import Estimate, ReshardAdmin, Status
from ...schema.entity_type import EntityType
from ...values.json_types import left_out
from ...values.json_validation import field_faults, with_few_unknown
from ..http import JSON, Response
from ..operation import Answer, Body, Call, Operation
from ..operators import Operators

ROOT = "/v1/_reshard"
MOST_RATE = 100_000
RATE = "Records a second that one mover may write; 0 is no limit."

M = TypeVar("M", bound=BaseModel)


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)


class ReshardStart(_Camel):
    """The shard space that the records are to be in."""

    char_bits: int = Field(description="Bits of one character of the suffix.", ge=1, le=5)
    chars: int = Field(description="Characters of the suffix; the space has 2**(charBits * chars) shards.", ge=0, le=16)
    rate: int = Field(0, description=RATE, ge=0, le=MOST_RATE)

    @property
    def target(self) -> ShardBump:
        return ShardBump(0, self.char_bits, self.chars)


class ReshardStatus(_Camel):
    """How far a re-shard is. Times are epoch milliseconds."""

    entity: str
    phase: str = Field(description="stable, dual_old, dual_new, new_only or purge.")
    step: str = Field(description="What the phase is busy with.")
    moving: bool = Field(description="Whether a re-shard is under way.")
    aborting: bool
    attention: str = Field(description="Why it does not go on by itself; empty when it does.")
    concerned: list[list[str]] = Field(
        description="Hash and range key in the table of some of the records that need attention."
    )
    version: int
    round: int
    shards: int = Field(description="The shards that readers read.")
    shards_from: int = left_out("The shards that records are moved from, while they are.")
    shards_to: int = left_out("Those that they are moved to.")
    items: int = Field(description="Items of work of this step.")
    items_done: int
    seen: int = Field(description="Records met in this step.")
    written: int
    repairable: int
    strays: int = Field(description="Records of other programs, which are left alone.")
    left: int
    rate: int
    entered_ms: int = left_out("When the phase was entered.")
    due_ms: int = left_out("When the wait that is under way ends at the earliest.")
    waiting: str = left_out("Why a wait is longer than it should be: the clock went back.")
    proposal: str = Field(description="Which shard space is proposed, and why; empty when none is.")
    advice: str = Field(description="What more shards would not help; empty when there is nothing to say.")


class ReshardRate(_Camel):
    """How fast records are moved."""

    rate: int = Field(description=RATE, ge=0, le=MOST_RATE)


class ReshardEstimate(_Camel):
    """What a re-shard would take."""

    shards_from: int
    shards_to: int
    records: int = left_out("Missing where they can't be counted at little cost.")
    average_bytes: int = left_out("Of a record; missing where there are none, or none counted.")
    copy_units: int = left_out("Write units to copy every record.")
    empty_units: int = left_out("Write units to empty the old shards.")
    read_units: int = left_out("Read units to copy and compare every record.")
    copy_seconds: int = left_out("What copying takes, at the rate.")
    empty_seconds: int = left_out("What emptying the old shards takes, at the rate.")
    check_seconds: int = left_out("What comparing and looking into the indexes takes.")
    look_seconds: int = Field(description="What queries of every shard take, whether it has records or not.")
    wait_seconds: int = Field(description="What it waits for at least.")
    warning: str = left_out("Why it is a poor target, though it can work.")


HIDING = (Unauthenticated, RouteNotFound)
ERRORS = (*HIDING, Conflict, ReshardRefused)
WRITE_ERRORS = (*ERRORS, TableFull)


class ReshardRoutes:
    """The operations of every entity."""

    def __init__(self, operator: ReshardAdmin, operators: Operators) -> None:
        self._operator = operator
        self._operators = operators

    def operations(self, entity: EntityType[Any]) -> tuple[Operation, ...]:
        """The operations of one entity."""
        path, name, operator = f"{ROOT}/{entity.token}", entity.model.__name__, self._operator

        def start(call: Call) -> Status:
            asked = _read(ReshardStart, call)
            return operator.start(entity, asked.target, asked.rate)

        def estimate(call: Call) -> Estimate:
            asked = _read(ReshardStart, call)
            return operator.estimate(entity, asked.target, asked.rate)

        def set_rate(call: Call) -> Status:
            return operator.set_rate(entity, _read(ReshardRate, call).rate)

        def of(run: Callable[[EntityType[Any]], Status]) -> Callable[[Call], Status]:
            return lambda call: run(entity)

        status = Answer(200, "The status.", ReshardStatus)
        begun = Answer(202, "The status.", ReshardStatus)
        body, tag = Body(ReshardStart), "_reshard"
        token = entity.token
        return (
            Operation(
                "POST",
                path,
                f"startReshard{name}",
                f"Move every {token} to another shard space",
                self._guarded(start, 202),
                begun,
                tag=tag,
                body=body,
                errors=WRITE_ERRORS,
            ),
            Operation(
                "GET",
                path,
                f"getReshard{name}",
                f"How far the re-shard of {token} is",
                self._guarded(of(operator.status), 200),
                status,
                tag=tag,
                errors=HIDING,
                audited=True,
            ),
            Operation(
                "POST",
                f"{path}/estimate",
                f"estimateReshard{name}",
                f"What a re-shard of {token} would take",
                self._guarded(estimate, 200),
                Answer(200, "The estimate.", ReshardEstimate),
                tag=tag,
                body=body,
                errors=ERRORS,
            ),
            Operation(
                "POST",
                f"{path}/rate",
                f"setReshardRate{name}",
                f"Let the re-shard of {token} be faster or slower",
                self._guarded(set_rate, 200),
                status,
                tag=tag,
                body=Body(ReshardRate),
                errors=WRITE_ERRORS,
            ),
            *(
                Operation(
                    "POST",
                    f"{path}/{verb}",
                    f"{verb}Reshard{name}",
                    summary,
                    self._guarded(of(run), 202),
                    begun,
                    tag=tag,
                    errors=WRITE_ERRORS,
                )
                for verb, summary, run in (
                    ("abort", f"Take the re-shard of {token} back", operator.abort),
                    ("resume", f"Let the re-shard of {token} go on", operator.resume),
                )
            ),
        )

    def _guarded(self, run: Callable[[Call], Status | Estimate], code: int) -> Callable[[Call], Response]:
        def answered(call: Call) -> Response:
            self._operators.check(call.caller, "only operators move records")
            return Response(code, document(run(call)), {"content-type": JSON})

        return answered


def document(found: Status | Estimate) -> bytes:
    """The JSON of a status or an estimate."""
    if isinstance(found, Estimate):
        return _answered(ReshardEstimate, asdict(found))
    fields = asdict(found)
    counts = fields.pop("counts")
    del counts["keys"]
    fields["concerned"] = [list(each) for each in found.concerned]
    return _answered(ReshardStatus, fields | counts)


def _answered(model: type[BaseModel], fields: Mapping[str, Any]) -> bytes:
    there = {name: value for name, value in fields.items() if value is not None}
    return model(**there).model_dump_json(by_alias=True, exclude_unset=True).encode()


def _read(model: type[M], call: Call) -> M:
    document, more = with_few_unknown(model, call.document)
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        raise ValidationFailed(field_faults(error), where="body", more=more) from None
