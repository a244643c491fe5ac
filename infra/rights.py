"""What functions may do with the table: statements that name actions and resources one by one, never `*`.

An action on an index is allowed for each index of the layout by name. Transactions need no actions of their own: each
of their parts is judged as the plain operation that it is.
"""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam

from shardweave.table.layout import TableLayout

READ_ITEMS = ("dynamodb:BatchGetItem", "dynamodb:GetItem")
WRITE_BATCHES = ("dynamodb:BatchWriteItem",)
WRITE_ITEMS = (
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)


def use_records(table: dynamodb.ITableV2, layout: TableLayout) -> list[iam.PolicyStatement]:
    """Read, query and write records, through the table and its indexes. Not scan."""
    return [_items(table, *READ_ITEMS, *WRITE_BATCHES, *WRITE_ITEMS), _queries(table, layout)]


def move_records(table: dynamodb.ITableV2, layout: TableLayout) -> list[iam.PolicyStatement]:
    """Read, query, write and scan: the records of an entity whose hash keys can't be listed are found by scanning. Not
    write in batches: each write of a mover has a condition."""
    return [_items(table, *READ_ITEMS, *WRITE_ITEMS, "dynamodb:Scan"), _queries(table, layout)]


def describe(table: dynamodb.ITableV2) -> list[iam.PolicyStatement]:
    """Ask what the table looks like."""
    return [iam.PolicyStatement(actions=["dynamodb:DescribeTable"], resources=[table.table_arn])]


def read_stream(table: dynamodb.ITableV2) -> list[iam.PolicyStatement]:
    """Be given the table's changes."""
    assert table.table_stream_arn is not None
    return [
        iam.PolicyStatement(
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[table.table_stream_arn],
        ),
        iam.PolicyStatement(actions=["dynamodb:ListStreams"], resources=["*"]),
    ]


def _items(table: dynamodb.ITableV2, *actions: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=[table.table_arn])


def _queries(table: dynamodb.ITableV2, layout: TableLayout) -> iam.PolicyStatement:
    indexes = [f"{table.table_arn}/index/{index.name}" for index in layout.indexes]
    return iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table.table_arn, *indexes])
