"""The rights of functions on the table and the stack: statements that list each action and resource, never `*`.

An action on an index is allowed for each index of the layout by name. Transactions need no actions of their own: each
part is authorized as the single operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from .encryption import use_key
from .table import Table

READ_ITEMS = ("dynamodb:BatchGetItem", "dynamodb:GetItem")
WRITE_BATCHES = ("dynamodb:BatchWriteItem",)
WRITE_ITEMS = (
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)


def use_records(table: Table) -> list[iam.PolicyStatement]:
    """Read, query and write records, through the table and its indexes. No scans."""
    return [_items(table, *READ_ITEMS, *WRITE_BATCHES, *WRITE_ITEMS), _queries(table), *_key(table)]


def move_records(table: Table) -> list[iam.PolicyStatement]:
    """Read, query, write and scan: the records of an entity whose hash keys can't be listed are found by scanning. No
    batch writes: each write of a mover has a condition."""
    return [_items(table, *READ_ITEMS, *WRITE_ITEMS, "dynamodb:Scan"), _queries(table), *_key(table)]


def describe(table: Table) -> list[iam.PolicyStatement]:
    """Read the description of the table."""
    return [iam.PolicyStatement(actions=["dynamodb:DescribeTable"], resources=[table.table.table_arn])]


def examine(table: Table, progress: Mapping[str, Any]) -> list[iam.PolicyStatement]:
    """Read, query and scan, through the table and its indexes; write only items with the hash key of the progress
    record."""
    arn = table.table.table_arn
    indexes = [f"{arn}/index/{index.name}" for index in table.layout.indexes]
    kept = iam.PolicyStatement(
        actions=["dynamodb:DeleteItem", "dynamodb:PutItem"],
        resources=[arn],
        conditions={
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [progress[table.layout.hash_key.name]]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    )
    scans = iam.PolicyStatement(actions=["dynamodb:Scan"], resources=[arn, *indexes])
    return [_items(table, *READ_ITEMS), _queries(table), scans, kept, *_key(table)]


def describe_stack(scope: Construct) -> iam.PolicyStatement:
    """Read the state of the stack itself."""
    return iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[Stack.of(scope).stack_id])


def read_stream(table: Table) -> list[iam.PolicyStatement]:
    """Read the table's changes."""
    assert table.table.table_stream_arn is not None
    return [
        iam.PolicyStatement(
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[table.table.table_stream_arn],
        ),
        iam.PolicyStatement(actions=["dynamodb:ListStreams"], resources=["*"]),
    ]


def _items(table: Table, *actions: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=[table.table.table_arn])


def _queries(table: Table) -> iam.PolicyStatement:
    indexes = [f"{table.table.table_arn}/index/{index.name}" for index in table.layout.indexes]
    return iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table.table.table_arn, *indexes])


def _key(table: Table) -> list[iam.PolicyStatement]:
    """Use the key that encrypts the table and its stream."""
    return use_key(table.encryption_key, "dynamodb")
