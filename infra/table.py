"""The table, as the schema lays it out: every generated-key index with its projection, and nothing else.

On demand; with a stream of old and new images (what a re-shard runs on), point-in-time recovery, and contributor
insights for throttled keys on the table and each index, which is how a hot shard shows. Costs beyond requests and
storage: the recovery window by stored size, insights by throttled events only.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout

_TYPES = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}


class Table(Construct):
    """The one table of a deployment. `protected`: it can't be deleted, and outlives its stack.

    It has a name of its own, and not only to be found by it: CloudFormation refuses to replace what has one, so no
    change of the template can exchange a full table for an empty one.
    """

    def __init__(self, scope: Construct, construct_id: str, *, name: str, layout: TableLayout, protected: bool) -> None:
        super().__init__(scope, construct_id)
        self.layout = layout
        self.table = dynamodb.TableV2(
            self,
            "Resource",
            table_name=name,
            partition_key=_attribute(layout.hash_key),
            sort_key=_attribute(layout.range_key),
            global_secondary_indexes=[_index(index) for index in layout.indexes],
            time_to_live_attribute=layout.ttl_attribute,
            billing=dynamodb.Billing.on_demand(),
            dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            contributor_insights_specification=dynamodb.ContributorInsightsSpecification(
                enabled=True, mode=dynamodb.ContributorInsightsMode.THROTTLED_KEYS
            ),
            deletion_protection=protected,
            removal_policy=RemovalPolicy.RETAIN if protected else RemovalPolicy.DESTROY,
        )


def _attribute(key: KeyAttribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.name, type=_TYPES[key.type])


def _index(index: IndexLayout) -> dynamodb.GlobalSecondaryIndexPropsV2:
    named = list(index.projection) if isinstance(index.projection, tuple) else None
    kind = dynamodb.ProjectionType.INCLUDE if named is not None else dynamodb.ProjectionType[str(index.projection)]
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.hash_key),
        sort_key=_attribute(index.range_key),
        projection_type=kind,
        non_key_attributes=named,
    )
