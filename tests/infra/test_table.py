"""What CloudFormation is asked for: the schema's table, with what its safe operation needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template
from aws_cdk.aws_dynamodb import TableV2

from shardweave.cdk.configuration import Configuration
from shardweave.cdk.table import Table
from shardweave.service.files import service_names
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from tests.infra.conftest import LARGEST, RESTORED, app_with, template_for
from tests.infra.templates import as_list, properties, resources, statements

LAYOUT = TableLayout(
    hash_key=KeyAttribute("hashKey"),
    range_key=KeyAttribute("rangeKey"),
    indexes=(
        IndexLayout("everything", KeyAttribute("hashKey"), KeyAttribute("size", "N")),
        IndexLayout("keysOnly", KeyAttribute("ownerHashKey"), KeyAttribute("digest", "B"), "KEYS_ONLY"),
        IndexLayout("named", KeyAttribute("ownerHashKey"), KeyAttribute("nameRangeKey"), ("name", "ttl")),
    ),
    ttl_attribute="ttl",
)


def the_table(template: dict[str, Any]) -> dict[str, Any]:
    (found,) = (each for each in template["Resources"].values() if each["Type"] == "AWS::DynamoDB::GlobalTable")
    return dict(found)


def the_replica(template: dict[str, Any]) -> dict[str, Any]:
    (replica,) = the_table(template)["Properties"]["Replicas"]
    return dict(replica)


@pytest.fixture(scope="module")
def laid_out() -> dict[str, Any]:
    """A table with an index of each kind, as a template's properties."""
    stack = Stack(App(), "Stack")
    Table(stack, "Table", name="orders", layout=LAYOUT, protected=False, locked=False)
    return dict(the_table(Template.from_stack(stack).to_json())["Properties"])


def test_the_template_asks_for_exactly_the_table_that_the_layout_creates_elsewhere(laid_out: dict[str, Any]) -> None:
    request = LAYOUT.create_request("any")

    def by_name(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
        return sorted(entries, key=lambda entry: str(entry[name]))

    assert laid_out["KeySchema"] == request["KeySchema"]
    assert laid_out["BillingMode"] == request["BillingMode"]
    assert laid_out["StreamSpecification"] == {"StreamViewType": request["StreamSpecification"]["StreamViewType"]}
    for entries, name in (("AttributeDefinitions", "AttributeName"), ("GlobalSecondaryIndexes", "IndexName")):
        assert by_name(laid_out[entries], name) == by_name(request[entries], name)


def test_the_layouts_ttl_attribute_is_switched_on(laid_out: dict[str, Any]) -> None:
    assert laid_out["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_the_user_service_has_its_eleven_indexes_in_every_key_format() -> None:
    names = {
        "created",
        "firstName",
        "lastName",
        "phone",
        "updated",
        "userBeneficiaryCreated",
        "userBeneficiaryFirstName",
        "userBeneficiaryLastName",
        "userBeneficiaryPhone",
        "userBeneficiaryUpdated",
        "userCreated",
    }
    for key_format in ("ordered", "article", "entity_manager"):
        table = the_table(template_for(service="user_service", keyFormat=key_format))
        assert {index["IndexName"] for index in table["Properties"]["GlobalSecondaryIndexes"]} == names


def test_the_default_service_is_the_user_service(template: dict[str, Any]) -> None:
    assert template == template_for(service="user_service", stage="dev", keyFormat="ordered")


@pytest.mark.parametrize("service", service_names())
def test_the_template_has_every_index_of_every_service(service: str) -> None:
    layout = Configuration.from_context(app_with(service=service).node).schema.layout
    assert layout.indexes
    indexes = the_table(template_for(service=service))["Properties"]["GlobalSecondaryIndexes"]
    assert indexes == layout.create_request("any")["GlobalSecondaryIndexes"]
    assert len(indexes) == len(layout.indexes)


@pytest.mark.parametrize("service", service_names())
def test_what_is_kept_for_a_while_expires_also_where_no_entity_has_a_ttl(service: str) -> None:
    layout = Configuration.from_context(app_with(service=service).node).schema.layout
    specification = the_table(template_for(service=service))["Properties"]["TimeToLiveSpecification"]
    assert layout.ttl_attribute
    assert specification == {"AttributeName": layout.ttl_attribute, "Enabled": True}


def test_changes_are_streamed_with_both_images(template: dict[str, Any]) -> None:
    stream = the_table(template)["Properties"]["StreamSpecification"]
    assert stream == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_the_table_can_be_restored_to_any_second(template: dict[str, Any]) -> None:
    assert the_replica(template)["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_throttled_keys_are_reported_for_the_table_and_for_each_index(template: dict[str, Any]) -> None:
    throttled = {"Enabled": True, "Mode": "THROTTLED_KEYS"}
    replica = the_replica(template)
    assert replica["ContributorInsightsSpecification"] == throttled
    indexes = {index["IndexName"]: index for index in replica["GlobalSecondaryIndexes"]}
    assert len(indexes) == len(the_table(template)["Properties"]["GlobalSecondaryIndexes"])
    assert all(index["ContributorInsightsSpecification"] == throttled for index in indexes.values())


def test_the_table_takes_the_most_units_that_are_chosen_and_each_index_the_most_reads(
    template: dict[str, Any],
) -> None:
    units = ("WriteOnDemandThroughputSettings", "ReadOnDemandThroughputSettings")
    bound = the_table(template_for(**LARGEST))["Properties"]
    assert bound["WriteOnDemandThroughputSettings"] == {"MaxWriteRequestUnits": 2000}
    assert all(units[0] not in index for index in bound["GlobalSecondaryIndexes"])
    (replica,) = bound["Replicas"]
    found = [replica, *replica["GlobalSecondaryIndexes"]]
    assert len(found) == 1 + len(bound["GlobalSecondaryIndexes"])
    assert {json.dumps(each["ReadOnDemandThroughputSettings"]) for each in found} == {'{"MaxReadRequestUnits": 4000}'}
    assert not any(name in json.dumps(the_table(template)) for name in units)


@pytest.mark.parametrize("stage", ["prod", "staging", "eu-1"])
def test_a_stage_that_is_not_thrown_away_keeps_its_table(stage: str) -> None:
    template = template_for(stage=stage)
    assert the_replica(template)["DeletionProtectionEnabled"] is True
    assert the_table(template)["DeletionPolicy"] == "RetainExceptOnCreate"
    assert the_table(template)["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("stage", ["dev", "local", "test"])
def test_a_stage_that_is_thrown_away_leaves_nothing_behind(stage: str) -> None:
    template = template_for(stage=stage)
    assert the_replica(template)["DeletionProtectionEnabled"] is False
    assert the_table(template)["DeletionPolicy"] == "Delete"


def test_a_replica_in_another_region_is_refused_with_what_would_not_hold() -> None:
    app = App()
    stack = Stack(app, "Stack", env=Environment(account="123456789012", region="eu-west-1"))
    table = Table(stack, "Table", name="orders", layout=LAYOUT, protected=True, locked=True).table
    assert isinstance(table, TableV2)
    table.add_replica(region="eu-central-1")
    with pytest.raises(RuntimeError, match="conditions a region at a time"):
        app.synth()


def test_a_key_of_ones_own_encrypts_records_and_key_rings_and_may_be_used_through_their_services_only() -> None:
    template, key = template_for(**LARGEST), LARGEST["encryptionKey"]
    assert the_replica(template)["SSESpecification"] == {"KMSMasterKeyId": key}
    secrets = resources(template, "AWS::SecretsManager::Secret").values()
    assert {secret["Properties"]["KmsKeyId"] for secret in secrets} == {key}
    for part, services in {
        "ApiHandler": {"dynamodb", "secretsmanager"},
        "Resharder": {"dynamodb"},
        "Rotator": {"secretsmanager"},
        "Doctor": {"dynamodb"},
    }.items():
        using = [each for each in statements(template, part) if each["Resource"] == [key]]
        through = [each["Condition"]["StringEquals"]["kms:ViaService"] for each in using]
        assert {as_list(each)[0]["Fn::Join"][1][0] for each in through} == {f"{name}." for name in services}


def test_a_table_that_is_there_is_used_and_none_is_made() -> None:
    template = template_for(**LARGEST, table=RESTORED)
    arn = RESTORED.partition("/stream/")[0]
    assert not resources(template, "AWS::DynamoDB::GlobalTable")
    assert template["Outputs"]["TableName"]["Value"] == "orders-restored"
    assert properties(template, "AWS::Lambda::EventSourceMapping")["EventSourceArn"] == RESTORED
    for part in ("ApiHandler", "Resharder", "Doctor"):
        found = [each for each in statements(template, part) if each["Action"][0].startswith("dynamodb:")]
        of_table = [text for each in found for text in each["Resource"] if text != "*"]
        assert of_table
        assert all(text.startswith(arn) for text in of_table)
