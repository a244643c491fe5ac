"""An existing table, used instead of one in the stack: how a stage switches to a restored table.

The choice `table` is the ARN of the table's stream, which contains the table's name. The stack then creates no table,
and leaves the own table of a protected stage unchanged. The stack can't change an existing table, so `./run deploy`
checks that it fits the schema, and prints the commands that would change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigurationError, Fault
from ..table.layout import TableLayout
from .table_units import TableUnits

NO_BOUNDS = TableUnits()
_STREAM = re.compile(r"(arn:[\w-]+:dynamodb:[a-z0-9-]+:\d{12}:table/([\w.-]{3,255}))/stream/[\w.:-]+")


@dataclass(frozen=True)
class ExistingTable:
    """A table by the ARN of its stream."""

    name: str
    arn: str
    stream_arn: str


def existing_table_of(arn: str) -> ExistingTable | None:
    """The choice `table`. Raises ConfigurationError."""
    if not arn:
        return None
    found = _STREAM.fullmatch(arn)
    if found is None:
        raise ConfigurationError(
            f"{arn[:160]!r} is not the ARN of a table's stream.",
            where="context `table`",
            fix="use the LatestStreamArn of `aws dynamodb describe-table`, or leave it out",
        )
    return ExistingTable(found[2], found[1], arn)


def existing_table_faults(
    table: ExistingTable,
    described: Mapping[str, Any],
    layout: TableLayout,
    ttl: Mapping[str, Any],
    units: TableUnits = NO_BOUNDS,
) -> list[Fault]:
    """The differences between an existing table and what the schema or the stage's limits require. `described` and
    `ttl` are DynamoDB's descriptions."""
    found = [*_faults(table, described, layout, ttl), *_other_bounds(table, described, units)]
    return [Fault(f"table {table.name}", message, fix) for message, fix in found]


def _other_bounds(table: ExistingTable, described: Mapping[str, Any], units: TableUnits) -> Iterator[tuple[str, str]]:
    for what, options in units.differences(described):
        yield (
            f"{what} has other bounds of its units than the stage's.",
            f"aws dynamodb update-table --table-name {table.name} {options}",
        )


def _faults(
    table: ExistingTable, described: Mapping[str, Any], layout: TableLayout, ttl: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    update = f"aws dynamodb update-table --table-name {table.name}"
    wanted = layout.create_request(table.name)
    if described["KeySchema"] != wanted["KeySchema"]:
        yield "it has other keys than the schema's.", "use a table that was made for this service"
    stream = described.get("StreamSpecification", {})
    if stream.get("StreamViewType") != "NEW_AND_OLD_IMAGES" or not stream.get("StreamEnabled"):
        yield (
            "its stream is off, or has not both images.",
            f"{update} --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
        )
    elif described.get("LatestStreamArn") != table.stream_arn:
        yield (
            "its stream is another one.",
            f"use -c table={described.get('LatestStreamArn')}",
        )
    expiring = (
        "aws dynamodb update-time-to-live --table-name {} --time-to-live-specification Enabled=true,AttributeName={}"
    )
    there = {index["IndexName"]: index for index in described.get("GlobalSecondaryIndexes", ())}
    for index in wanted.get("GlobalSecondaryIndexes", ()):
        name, found = index["IndexName"], there.get(index["IndexName"])
        if found is None or any(not _same(found[part], index[part]) for part in ("KeySchema", "Projection")):
            yield f"it has not the index {name} as it is declared.", "restore it with all indexes, or add the index"
        elif found.get("IndexStatus", "ACTIVE") != "ACTIVE":
            yield f"its index {name} is {found['IndexStatus']}.", "wait until it is ACTIVE"
    on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and ttl.get("AttributeName") == layout.ttl_attribute
    if layout.ttl_attribute and not on:
        yield (
            "records do not expire in it.",
            expiring.format(table.name, layout.ttl_attribute),
        )
    if len(described.get("Replicas", ())) > 1:
        yield "it has replicas in other regions; conditions hold in one region only.", "use a table without replicas"


def _same(found: Any, wanted: Any) -> bool:
    """Whether DynamoDB's description equals the request; the names in a projection may be in any order."""
    if isinstance(wanted, dict):
        return all(_same(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list) and all(isinstance(each, str) for each in wanted):
        return sorted(found or ()) == sorted(wanted)
    return bool(found == wanted)
