"""Bringing an entity's records in over HTTP, for operators: from an earlier declaration, or another program's form.

    POST  /v1/_rekey/order2           begin; 202 with the status
    GET   /v1/_rekey/order2           the status
    POST  /v1/_rekey/order2/run       bring the records after their old items and compare them, for some seconds at most
    POST  /v1/_rekey/order2/switch    let Database read and write the records, and repeat each write on the old item
    POST  /v1/_rekey/order2/back      leave the records to the programs that write the old items again
    POST  /v1/_rekey/order2/finish    let `run` end it; there is no way back
    POST  /v1/_rekey/order2/abort     take the records back

They exist for the entities whose old form the service knows (`rekey = {...}`), and not for known callers who are no
operators. `run` answers `done: false` until it is asked often enough; it exists where the API may read the whole table,
which on AWS it may not: there `shardweave rekey run` does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ...errors import ConfigurationError, Conflict, RouteNotFound, TableFull, Unauthenticated
from ...maintenance.rekeying import Rekey, RekeyReport
from ...schema.entity_type import EntityType
from ..http import JSON, Response
from ..operation import Answer, Call, Operation
from ..operators import Operators

ROOT = "/v1/_rekey"
RUN_SECONDS = 10.0


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class RekeyItem(_Camel):
    """An item that can't be brought in or compared."""

    key: list[str] = Field(description="Its hash and range key in the table.")
    reason: str


class RekeyPass(_Camel):
    """What one pass of a run did."""

    read: int
    written: int
    removed: int
    differing: int = Field(description="Records that were not as their old items.")
    changed: int = Field(description="What was changed in that moment, and is left to the next run.")
    refused: int = Field(description="What can't be brought in or compared.")
    named: list[RekeyItem] = Field(description="The first of these.")


class RekeyStatus(_Camel):
    """How far the records are brought in, and the results of the current or last run."""

    entity: str
    state: str = Field(description="follow, dual, finish, purge or undo; empty when nothing is brought in.")
    done: bool = Field(description="Whether the run came to its end.")
    waiting_ms: int = Field(description="The time until every process knows the state.")
    run: str = Field(
        description="complete, stopped (also if its process was killed: `run` goes on) or under way; empty if no run "
        "of the state has begun."
    )
    saved_ms: int = Field(description="When the run last told of itself, in epoch milliseconds; 0 if never.")
    passes: dict[str, RekeyPass]


HIDING = (Unauthenticated, RouteNotFound)
WRITE_ERRORS = (*HIDING, ConfigurationError, Conflict, TableFull)
COMMANDS = {
    "switch": ("Let {} be read and written, and each write be repeated in its old form", Rekey.switch),
    "back": ("Leave {} to the programs that write its old form again", Rekey.back),
    "finish": ("Let the next run of {} end it", Rekey.finish),
    "abort": ("Take the records of {} back", Rekey.abort),
}


class RekeyRoutes:
    """The operations of the entities that are brought in. `rekey_of` makes what brings one in; `runs`: it may be run
    here."""

    def __init__(self, rekey_of: Callable[[EntityType[Any]], Rekey], operators: Operators, *, runs: bool) -> None:
        self._rekey_of = rekey_of
        self._operators = operators
        self._runs = runs

    def operations(self, entity: EntityType[Any]) -> tuple[Operation, ...]:
        """Those of one entity."""
        path, name, token = f"{ROOT}/{entity.token}", entity.model.__name__, entity.token

        def command(run: Callable[[Rekey], object]) -> Callable[[Rekey], RekeyReport]:
            def done(rekey: Rekey) -> RekeyReport:
                run(rekey)
                return rekey.status()

            return done

        def operation(
            method: str, verb: str, summary: str, run: Callable[[Rekey], RekeyReport], code: int
        ) -> Operation:
            return Operation(
                method,
                f"{path}/{verb}" if verb not in ("get", "start") else path,
                f"{verb}Rekey{name}",
                summary.format(token),
                self._guarded(entity, run, code),
                Answer(code, "The status.", RekeyStatus),
                tag="_rekey",
                errors=HIDING if method == "GET" else WRITE_ERRORS,
                audited=True,
                counted=False,
            )

        running = operation("POST", "run", "Bring {} after its old items", _run, 200)
        return (
            operation("POST", "start", "Begin to bring the records of {} in", command(Rekey.start), 202),
            operation("GET", "get", "How far {} is brought in", Rekey.status, 200),
            *([running] if self._runs else []),
            *(operation("POST", verb, text, command(run), 202) for verb, (text, run) in COMMANDS.items()),
        )

    def _guarded(
        self, entity: EntityType[Any], run: Callable[[Rekey], RekeyReport], code: int
    ) -> Callable[[Call], Response]:
        def answered(call: Call) -> Response:
            self._operators.check(call.caller, "only operators move records")
            return Response(code, document(run(self._rekey_of(entity))), {"content-type": JSON})

        return answered


def _run(rekey: Rekey) -> RekeyReport:
    ends = time.monotonic() + RUN_SECONDS
    return rekey.run(stop=lambda: time.monotonic() >= ends)


def document(report: RekeyReport) -> bytes:
    """The JSON of a report."""
    return RekeyStatus.model_validate(report.document()).model_dump_json(by_alias=True).encode()
