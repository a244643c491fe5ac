"""Creating a table for local stages and tests: its keys, indexes and stream, then its TTL.

Where tables are deployed, the infrastructure makes them; the library never does so on its own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...errors import TableUnavailable

if TYPE_CHECKING:
    from . import DynamoDBTable


def create_table(table: DynamoDBTable, *, timeout: float = 60.0) -> None:
    """Create `table` as its layout says and wait until it and its indexes are active (at most `timeout` seconds)."""
    connection = table.connection
    connection.call("create_table", table.layout.create_request(table.name))
    deadline = time.monotonic() + timeout
    while not _is_active(table):
        if time.monotonic() > deadline:
            raise TableUnavailable(f"the table is not active after {timeout:g} seconds", where=table.name)
        time.sleep(0.2)
    if table.layout.ttl_attribute is not None:
        connection.call(
            "update_time_to_live",
            {
                "TableName": table.name,
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": table.layout.ttl_attribute},
            },
        )


def _is_active(table: DynamoDBTable) -> bool:
    described = table.connection.call("describe_table", {"TableName": table.name})["Table"]
    indexes = described.get("GlobalSecondaryIndexes", ())
    states = [described["TableStatus"], *(index.get("IndexStatus", "ACTIVE") for index in indexes)]
    return all(state == "ACTIVE" for state in states)
