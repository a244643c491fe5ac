"""What functions may do with the table: statements that name actions and resources one by one, never `*`.

An action on an index is allowed for each index of the layout by name. Transactions need no actions of their own: each
of their parts is judged as the plain operation that it is.
"""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam

from shardweave.table.layout import TableLayout

READ_ITEMS = ("dynamodb:BatchGetItem", "dynamodb:GetItem")
WRITE_ITEMS = (
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)


def use_records(table: dynamodb.ITableV2, layout: TableLayout) -> list[iam.PolicyStatement]:
    """Read, query and write records, through the table and its indexes. Not scan."""
    indexes = [f"{table.table_arn}/index/{index.name}" for index in layout.indexes]
    return [
        iam.PolicyStatement(actions=[*READ_ITEMS, *WRITE_ITEMS], resources=[table.table_arn]),
        iam.PolicyStatement(actions=["dynamodb:Query"], resources=[table.table_arn, *indexes]),
    ]


def move_records(table: dynamodb.ITableV2, layout: TableLayout) -> list[iam.PolicyStatement]:
    """Read, query, write and scan: the records of an entity whose hash keys can't be listed are found by scanning."""
    return [*use_records(table, layout), iam.PolicyStatement(actions=["dynamodb:Scan"], resources=[table.table_arn])]


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
