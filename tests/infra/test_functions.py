"""The functions as they are deployed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.cdk.key_rings import CURSORS, EXTERNAL_KEYS, FIRST_KEY_CHARACTERS, rings_of
from shardweave.cdk.sources import ROOT
from shardweave.keys.shard_key.key_ring import MIN_BARE_CHARACTERS
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from tests.infra.conftest import LARGEST, template_for
from tests.infra.templates import properties, resources

NAMES = sorted(path.parent.name for path in (ROOT / "functions").glob("*/handler.py"))


def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [each["Properties"] for each in resources(template, "AWS::Lambda::Function").values()]
    return {str(each["Handler"]).split(".")[1]: each for each in found}


def test_every_folder_of_functions_is_a_function(template: dict[str, Any]) -> None:
    assert sorted(functions(template)) == NAMES
    assert {each["Handler"] for each in functions(template).values()} == {
        f"functions.{n}.handler.handler" for n in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_each_runs_on_arm_and_the_newest_python_with_traces_and_a_log_of_its_own(
    template: dict[str, Any], name: str
) -> None:
    function = functions(template)[name]
    assert function["Architectures"] == ["arm64"]
    assert function["Runtime"] == "python3.14"
    assert function["TracingConfig"] == {"Mode": "Active"}
    assert function["LoggingConfig"]["LogFormat"] == "JSON"
    group = resources(template, "AWS::Logs::LogGroup")[function["LoggingConfig"]["LogGroup"]["Ref"]]
    assert group["Properties"]["RetentionInDays"] == 7
    assert function["Layers"] == [{"Ref": next(iter(resources(template, "AWS::Lambda::LayerVersion")))}]


def test_logs_of_a_protected_stage_are_kept_for_three_months() -> None:
    groups = resources(template_for(stage="prod"), "AWS::Logs::LogGroup").values()
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {90}
    assert {group["DeletionPolicy"] for group in groups} == {"RetainExceptOnCreate"}


def test_logs_are_kept_for_as_long_as_is_chosen() -> None:
    groups = resources(template_for(**LARGEST), "AWS::Logs::LogGroup").values()
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {365}


def test_the_apis_function_has_the_memory_that_is_chosen_and_is_kept_started(template: dict[str, Any]) -> None:
    assert functions(template)["api"]["MemorySize"] == 1769
    chosen = template_for(**LARGEST)
    assert functions(chosen)["api"]["MemorySize"] == 3008
    assert functions(chosen)["doctor"]["MemorySize"] == functions(template)["doctor"]["MemorySize"]
    warm = {
        name: alias["Properties"].get("ProvisionedConcurrencyConfig")
        for name, alias in resources(chosen, "AWS::Lambda::Alias").items()
    }
    assert [config for config in warm.values() if config] == [{"ProvisionedConcurrentExecutions": 2}]
    assert all(
        "ProvisionedConcurrencyConfig" not in alias["Properties"]
        for alias in resources(template, "AWS::Lambda::Alias").values()
    )


def test_no_more_of_the_apis_function_run_at_once_than_are_chosen(template: dict[str, Any]) -> None:
    reserved = {name: each.get("ReservedConcurrentExecutions") for name, each in functions(template).items()}
    assert set(reserved.values()) == {None}
    chosen = {n: each.get("ReservedConcurrentExecutions") for n, each in functions(template_for(**LARGEST)).items()}
    assert chosen == {**reserved, "api": 50}


def test_the_api_knows_what_a_query_a_request_and_a_tenant_may_spend(template: dict[str, Any]) -> None:
    names = ("QUERY_READ_UNITS", "RELATED_RECORDS", "TENANT_REQUESTS", "TENANT_READ_UNITS")
    for made, bounds in ((template, [20_000, 5000, 0, 0]), (template_for(**LARGEST), [5000, 500, 600, 20_000])):
        variables = functions(made)["api"]["Environment"]["Variables"]
        assert [int(variables[name]) for name in names] == bounds


def test_everything_that_can_be_tagged_has_the_chosen_tags() -> None:
    tagged = [each["Properties"] for each in template_for(**LARGEST)["Resources"].values() if "Properties" in each]
    lists = [each["Tags"] for each in tagged if isinstance(each.get("Tags"), list)]
    assert len(lists) > 10
    for tags in lists:
        assert {"costCenter": "4711", "team": "orders", "service": "user_service", "stage": "prod"}.items() <= {
            tag["Key"]: tag["Value"] for tag in tags
        }.items()


def test_a_domain_leads_to_the_api_with_its_certificate() -> None:
    template = template_for(**LARGEST)
    domain = properties(template, "AWS::ApiGatewayV2::DomainName")
    assert domain["DomainName"] == "api.example.com"
    assert domain["DomainNameConfigurations"][0]["CertificateArn"] == LARGEST["certificate"]
    assert domain["DomainNameConfigurations"][0]["SecurityPolicy"] == "TLS_1_2"
    mapping = properties(template, "AWS::ApiGatewayV2::ApiMapping")
    assert mapping["ApiId"] == {"Ref": next(iter(resources(template, "AWS::ApiGatewayV2::Api")))}
    assert "DomainTarget" in template["Outputs"]


def test_every_function_is_called_by_its_alias(template: dict[str, Any]) -> None:
    aliases = resources(template, "AWS::Lambda::Alias").values()
    assert len(aliases) == len(NAMES)
    assert {alias["Properties"]["Name"] for alias in aliases} == {"live"}


def test_what_fails_for_good_ends_in_the_queue_of_failures(template: dict[str, Any]) -> None:
    (queue,) = resources(template, "AWS::SQS::Queue")
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    settings = [each["Properties"] for each in resources(template, "AWS::Lambda::EventInvokeConfig").values()]
    assert len(settings) == len(NAMES) - 1
    assert all(each["DestinationConfig"]["OnFailure"]["Destination"] == arn for each in settings)
    schedules = [each["Properties"] for each in resources(template, "AWS::Scheduler::Schedule").values()]
    assert all(each["Target"]["DeadLetterConfig"] == {"Arn": arn} for each in schedules)


def test_the_schedules(template: dict[str, Any]) -> None:
    schedules = [each["Properties"] for each in resources(template, "AWS::Scheduler::Schedule").values()]
    times = sorted(each["ScheduleExpression"] for each in schedules)
    assert times == ["cron(0 3 * * ? *)", "rate(30 days)", "rate(5 minutes)"]


def test_the_api_finds_its_table_and_its_secrets(template: dict[str, Any]) -> None:
    variables = functions(template)["api"]["Environment"]["Variables"]
    assert variables["TABLE_NAME"] == {"Ref": next(iter(resources(template, "AWS::DynamoDB::GlobalTable")))}
    assert (variables["SERVICE"], variables["STAGE"], variables["KEY_FORMAT"]) == ("user_service", "dev", "ordered")
    assert variables[CURSORS.variable]["Fn::GetAtt"][1] == "Id"


def test_there_are_keys_for_external_keys_where_an_entity_has_some(template: dict[str, Any]) -> None:
    class Signed(Entity, token="signed", origin="s"):
        signed_id: str = unique_property(default_factory=nanoid)

    class Plain(Entity, token="plain"):
        plain_id: str = unique_property(default_factory=nanoid)

    assert rings_of(Schema([Signed, Plain], [])) == (CURSORS, EXTERNAL_KEYS)
    assert rings_of(Schema([Plain], [])) == (CURSORS,)
    assert "External" not in json.dumps(template)


def test_no_variable_holds_a_secret(template: dict[str, Any]) -> None:
    for function in functions(template).values():
        for name, value in function["Environment"]["Variables"].items():
            assert "SECRET" not in name or isinstance(value, dict)


def test_a_new_version_is_taken_into_use_at_once_unless_a_canary_goes_first() -> None:
    assert not resources(template_for(), "AWS::CodeDeploy::DeploymentGroup")
    canary = properties(template_for(canary="on"), "AWS::CodeDeploy::DeploymentGroup")
    assert canary["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent5Minutes"
    assert canary["AlarmConfiguration"]["Enabled"] is True
    assert canary["AutoRollbackConfiguration"]["Enabled"] is True


def test_functions_start_from_a_snapshot_when_that_is_chosen() -> None:
    assert all("SnapStart" not in each for each in functions(template_for()).values())
    snapped = functions(template_for(snapStart="on")).values()
    assert {each["SnapStart"]["ApplyOn"] for each in snapped} == {"PublishedVersions"}


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_cloudformation_makes_the_first_keys_of_letters_and_digits(template: dict[str, Any]) -> None:
    secrets = [each["Properties"] for each in resources(template, "AWS::SecretsManager::Secret").values()]
    assert len(secrets) == 1
    for secret in secrets:
        made = secret["GenerateSecretString"]
        assert made["PasswordLength"] == FIRST_KEY_CHARACTERS >= MIN_BARE_CHARACTERS
        assert set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") == set(made["ExcludeCharacters"])
        assert "SecretString" not in secret


@pytest.mark.parametrize(("stage", "kept"), [("prod", "RetainExceptOnCreate"), ("dev", "Delete")])
def test_secrets_are_kept_as_long_as_the_records_that_need_them(stage: str, kept: str) -> None:
    secrets = resources(template_for(stage=stage), "AWS::SecretsManager::Secret").values()
    assert {secret["DeletionPolicy"] for secret in secrets} == {kept}


@pytest.mark.parametrize(("stage", "kept"), [("prod", "RetainExceptOnCreate"), ("dev", "Delete")])
def test_what_failed_for_good_is_kept_as_long_as_the_records(stage: str, kept: str) -> None:
    (queue,) = resources(template_for(stage=stage), "AWS::SQS::Queue").values()
    assert queue["DeletionPolicy"] == kept


def test_each_ring_is_turned_and_only_cursor_keys_are_ever_dropped(template: dict[str, Any]) -> None:
    schedules = resources(template, "AWS::Scheduler::Schedule")
    told = {name: str(each["Properties"]["Target"]["Input"]) for name, each in schedules.items() if "Turn" in name}
    assert len(told) == 1
    assert all("<aws.scheduler.scheduled-time>" in event for event in told.values())
    assert all('"keep":1' in event for event in told.values())
    assert EXTERNAL_KEYS.keep is None, "what they signed is valid for ever"


@pytest.mark.parametrize(("chosen", "expected"), [("auto", None), ("botocore", "botocore")])
def test_the_way_to_the_table_can_be_chosen(chosen: str, expected: str | None) -> None:
    for function in functions(template_for(transport=chosen)).values():
        assert function["Environment"]["Variables"].get("SHARDWEAVE_TRANSPORT") == expected
