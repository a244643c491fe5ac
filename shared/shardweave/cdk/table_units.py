"""The maximum read and write units per second of a table on demand; without a limit, the account's.

A table's limits do not include its indexes: each index has a read limit of its own, the same one here. Writes to an
index follow the table's. A write limit of an index would throttle those of the table's writes that change its keys at
half of it, so there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

UNBOUNDED = -1
"""DynamoDB's value for no limit."""


@dataclass(frozen=True)
class TableUnits:
    """Read units and write units per second; None for no limit."""

    read: int | None = None
    write: int | None = None

    def differences(self, described: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The limits that differ in DynamoDB's description of a table: what it is, and the options of `aws dynamodb
        update-table` that correct it."""
        name = described["TableName"]
        wanted = {"MaxReadRequestUnits": self.read or UNBOUNDED, "MaxWriteRequestUnits": self.write or UNBOUNDED}
        if not _has(described, wanted):
            yield f"the table {name}", f"--on-demand-throughput {_option(wanted)}"
        for index in described.get("GlobalSecondaryIndexes", ()):
            reads = {"MaxReadRequestUnits": wanted["MaxReadRequestUnits"]}
            if not _has(index, reads):
                update = f"IndexName={index['IndexName']},OnDemandThroughput={{{_option(reads)}}}"
                yield f"the index {index['IndexName']}", f"--global-secondary-index-updates 'Update={{{update}}}'"


def _has(described: Mapping[str, Any], wanted: Mapping[str, int]) -> bool:
    found = described.get("OnDemandThroughput", {})
    return all(found.get(name, UNBOUNDED) == most for name, most in wanted.items())


def _option(wanted: Mapping[str, int]) -> str:
    return ",".join(f"{name}={most}" for name, most in wanted.items())
