"""`python -m benchmarks.lane.sides NAME URL`: one library, in a process of its own.

Each line of input, `TABLE CALLS`, makes that many lanes: one Query of a page, its records as native values. The answer
is a line of JSON: the CPU time of the whole process (all of its threads), and what the last lane gave. A library is
imported by its own side alone, so that a side runs in an environment that has nothing else.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from benchmarks.lane.records import HASH_NAME, HASH_VALUE, HIGH, INDEX, LOW, RANGE_NAME, TABLES

VARIABLES = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
"""What a side's process needs around it."""

Lane = Callable[[str, int], Sequence[Mapping[str, Any]]]
"""Reads a page of a table, with at most so many records."""

EXPRESSION = {
    "IndexName": INDEX,
    "KeyConditionExpression": "#h = :h AND #r BETWEEN :low AND :high",
    "ExpressionAttributeNames": {"#h": HASH_NAME, "#r": RANGE_NAME},
    "ScanIndexForward": True,
    "ReturnConsumedCapacity": "TOTAL",
}


def ours(url: str, transport: Literal["direct", "botocore"] = "direct", stock_parser: bool = False) -> Lane:
    """The table as the library uses it."""
    from shardweave.table.dynamodb import DynamoDBTable
    from shardweave.table.layout import TableLayout
    from shardweave.table.operations import Interval, Query

    tables = {
        name: DynamoDBTable(TableLayout(), name, endpoint_url=url, stock_parser=stock_parser, transport=transport)
        for name in TABLES
    }

    def lane(table: str, limit: int) -> Sequence[Mapping[str, Any]]:
        query = Query(HASH_NAME, HASH_VALUE, RANGE_NAME, Interval(LOW, HIGH), index=INDEX, limit=limit)
        return tables[table].run(query).items

    return lane


def ours_over_botocore(url: str) -> Lane:
    """The same over botocore's client."""
    return ours(url, "botocore")


def ours_with_stock_parser(url: str) -> Lane:
    """The same with botocore's parser."""
    return ours(url, "botocore", stock_parser=True)


def boto3_client(url: str) -> Lane:
    """The client, with boto3's conversion of types."""
    import boto3
    from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

    client = boto3.client("dynamodb", endpoint_url=url)
    serialize, deserialize = TypeSerializer().serialize, TypeDeserializer().deserialize

    def lane(table: str, limit: int) -> Sequence[Mapping[str, Any]]:
        values = {":h": serialize(HASH_VALUE), ":low": serialize(LOW), ":high": serialize(HIGH)}
        answer = client.query(TableName=table, Limit=limit, ExpressionAttributeValues=values, **EXPRESSION)
        return [{name: deserialize(value) for name, value in item.items()} for item in answer["Items"]]

    return lane


def boto3_resource(url: str) -> Lane:
    """The resource, which converts types itself."""
    import boto3

    resource = boto3.resource("dynamodb", endpoint_url=url)

    def lane(table: str, limit: int) -> Sequence[Mapping[str, Any]]:
        values = {":h": HASH_VALUE, ":low": LOW, ":high": HIGH}
        answer = resource.Table(table).query(Limit=limit, ExpressionAttributeValues=values, **EXPRESSION)
        items: Sequence[Mapping[str, Any]] = answer["Items"]
        return items

    return lane


def pydynox(url: str) -> Lane:
    """The client with a core in Rust."""
    from pydynox import DynamoDBClient  # type: ignore[import-not-found]

    client = DynamoDBClient(endpoint_url=url)

    def lane(table: str, limit: int) -> Sequence[Mapping[str, Any]]:
        return list(
            client.sync_query(
                table,
                EXPRESSION["KeyConditionExpression"],
                expression_attribute_names=EXPRESSION["ExpressionAttributeNames"],
                expression_attribute_values={":h": HASH_VALUE, ":low": LOW, ":high": HIGH},
                limit=limit,
                scan_index_forward=True,
                index_name=INDEX,
            )
        )

    return lane


SIDES = {
    "ours": ours,
    "ours, over botocore": ours_over_botocore,
    "ours, stock parser": ours_with_stock_parser,
    "boto3 client": boto3_client,
    "boto3 resource": boto3_resource,
    "pydynox": pydynox,
}


def main(name: str, url: str) -> None:
    lane = SIDES[name](url)
    for line in sys.stdin:
        table, calls = line.split()
        limit, records = TABLES[table], list[Any]()
        began = time.process_time()
        for _ in range(int(calls)):
            records = list(lane(table, limit))
        spent = time.process_time() - began
        print(json.dumps({"seconds": spent, "records": records}, default=float), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
