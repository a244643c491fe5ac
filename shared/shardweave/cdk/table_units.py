"""The most that a table on demand takes, in units a second; without a bound, as much as the account lets it.

A table's bounds are its own alone: each index has a bound of reads beside it, the same one here. Writes of an index
follow the table's, and a bound of an index would throttle writes of the table that change its keys at half of it, so
there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

UNBOUNDED = -1
"""How DynamoDB says that there is no bound."""


@dataclass(frozen=True)
class TableUnits:
    """Read units and write units a second; None is no bound."""

    read: int | None = None
    write: int | None = None

    def differences(self, described: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What of a table, as DynamoDB describes it, has other bounds: what it is, and the options of `aws dynamodb
        update-table` that mend it."""
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
