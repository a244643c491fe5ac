"""The table, with the schema's layout: all indexes of generated keys with their projections, and nothing else.

On demand, with a stream of old and new images (which re-shards need), point-in-time recovery, and contributor insights
for throttled keys on the table and each index, which show hot shards. Costs besides requests and storage: recovery, by
stored size, and insights, by throttled events only.
"""

from __future__ import annotations

from typing import cast

import jsii
from aws_cdk import Stack, aws_kms
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct, IValidation

from ..table.layout import IndexLayout, KeyAttribute, TableLayout
from .choices import ONE_REGION
from .existing_table import NO_BOUNDS, ExistingTable
from .removal import kept_when_made
from .table_units import TableUnits

_TYPES = {
    "S": dynamodb.AttributeType.STRING,
    "N": dynamodb.AttributeType.NUMBER,
    "B": dynamodb.AttributeType.BINARY,
}


class Table(Construct):
    """The only table of a deployment. `protected`: it is kept when the stack is deleted; `locked`: it can't be deleted;
    `encryption_key`: the ARN of a customer-managed key, if any; `units` are its limits. An `existing` table is used
    unchanged.

    It has an explicit name, not only to be easy to find: CloudFormation refuses to replace a named resource, so no
    change of the template can replace a full table by an empty one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        layout: TableLayout,
        protected: bool,
        locked: bool,
        encryption_key: str = "",
        units: TableUnits = NO_BOUNDS,
        existing: ExistingTable | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.layout = layout
        self.encryption_key = encryption_key
        if existing is not None:
            self.table = dynamodb.TableV2.from_table_attributes(
                self, "Existing", table_arn=existing.arn, table_stream_arn=existing.stream_arn
            )
            return
        self.table = dynamodb.TableV2(
            self,
            "Resource",
            table_name=name,
            partition_key=_attribute(layout.hash_key),
            sort_key=_attribute(layout.range_key),
            global_secondary_indexes=[_index(index, units) for index in layout.indexes],
            time_to_live_attribute=layout.ttl_attribute,
            billing=dynamodb.Billing.on_demand(max_read_request_units=units.read, max_write_request_units=units.write),
            dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            contributor_insights_specification=dynamodb.ContributorInsightsSpecification(
                enabled=True, mode=dynamodb.ContributorInsightsMode.THROTTLED_KEYS
            ),
            encryption=self._encryption(),
            deletion_protection=locked,
            removal_policy=kept_when_made(protected),
        )
        self.node.add_validation(_OneRegion(self.table))

    def _encryption(self) -> dynamodb.TableEncryptionV2 | None:
        if not self.encryption_key:
            return None
        return dynamodb.TableEncryptionV2.customer_managed_key(
            aws_kms.Key.from_key_arn(self, "EncryptionKey", self.encryption_key)
        )


@jsii.implements(IValidation)
class _OneRegion:
    """A check that the table has no replica in another region."""

    def __init__(self, table: dynamodb.TableV2) -> None:
        self._table = table

    @jsii.member(jsii_name="validate")
    def validate(self) -> list[str]:
        """The faults of the table."""
        made = self._table.node.default_child
        replicas = Stack.of(self._table).resolve(cast(dynamodb.CfnGlobalTable, made).replicas)
        return [ONE_REGION] if len(replicas) > 1 else []


def _attribute(key: KeyAttribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.name, type=_TYPES[key.type])


def _index(index: IndexLayout, units: TableUnits) -> dynamodb.GlobalSecondaryIndexPropsV2:
    named = list(index.projection) if isinstance(index.projection, tuple) else None
    kind = dynamodb.ProjectionType.INCLUDE if named is not None else dynamodb.ProjectionType[str(index.projection)]
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.hash_key),
        sort_key=_attribute(index.range_key),
        projection_type=kind,
        non_key_attributes=named,
        max_read_request_units=units.read,
    )
