"""Who may call, and what each function may do: as little as it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardweave.cdk.configuration import Configuration
from shardweave.service.files import service_names
from tests.infra.conftest import app_with, template_for
from tests.infra.templates import properties, resources, statements

ISSUER = {"issuer": "https://login.example.com/", "audience": "orders, stock"}


# -- the API ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("access", [{}, ISSUER], ids=["without an issuer", "with an issuer"])
def test_no_route_is_open(access: dict[str, str]) -> None:
    template = template_for(**access)
    routes = resources(template, "AWS::ApiGatewayV2::Route").values()
    assert routes
    kinds = {route["Properties"]["AuthorizationType"] for route in routes}
    assert kinds == ({"JWT"} if access else {"AWS_IAM"})
    assert not resources(template, "AWS::Lambda::Url")


def test_the_one_route_takes_every_path(template: dict[str, Any]) -> None:
    assert properties(template, "AWS::ApiGatewayV2::Route")["RouteKey"] == "$default"


def test_tokens_have_to_be_of_the_issuer_and_for_the_audience() -> None:
    template = template_for(**ISSUER)
    authorizer = properties(template, "AWS::ApiGatewayV2::Authorizer")
    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["JwtConfiguration"] == {"Issuer": ISSUER["issuer"], "Audience": ["orders", "stock"]}
    assert "AuthorizerId" in properties(template, "AWS::ApiGatewayV2::Route")


def test_only_this_api_may_call_the_function(template: dict[str, Any]) -> None:
    permission = properties(template, "AWS::Lambda::Permission")
    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert {"Ref": next(iter(resources(template, "AWS::ApiGatewayV2::Api")))} in permission["SourceArn"]["Fn::Join"][1]


def test_the_api_is_throttled_and_logs_each_request_without_its_path() -> None:
    template = template_for(requestsPerSecond="7", burst="9")
    stage = properties(template, "AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == 7
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] == 9
    written = stage["AccessLogSettings"]["Format"]
    assert "$context.requestId" in written
    assert "$context.status" in written
    assert "path" not in written.lower()
    assert "query" not in written.lower()


# -- rights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", service_names())
def test_the_api_may_read_and_write_records_and_query_each_index_by_name(service: str) -> None:
    template = template_for(service=service)
    layout = Configuration.from_context(app_with(service=service).node).schema.layout
    (table,) = resources(template, "AWS::DynamoDB::GlobalTable")
    arn = {"Fn::GetAtt": [table, "Arn"]}
    on_table = {
        tuple(each["Action"]): in_order(each["Resource"])
        for each in statements(template, "ApiHandler")
        if each["Action"][0].startswith("dynamodb:")
    }
    indexes = [{"Fn::Join": ["", [arn, f"/index/{index.name}"]]} for index in layout.indexes]
    assert on_table == {
        (
            "dynamodb:BatchGetItem",
            "dynamodb:BatchWriteItem",
            "dynamodb:ConditionCheckItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
        ): [arn],
        ("dynamodb:Query",): in_order([arn, *indexes]),
    }


def in_order(resources_of_a_statement: list[Any]) -> list[Any]:
    """Resources in one order, whatever order the CDK puts them in."""
    return sorted(resources_of_a_statement, key=json.dumps)


def test_only_the_resharder_and_the_doctor_may_scan_and_nobody_may_do_everything(template: dict[str, Any]) -> None:
    allowed = {action for each in statements(template) for action in each["Action"]}
    assert "dynamodb:Query" in allowed
    assert {action for action in allowed if "Scan" in action} == {"dynamodb:Scan"}
    assert not {action for action in allowed if "*" in action or "PartiQL" in action}
    scanning = {
        name
        for name in resources(template, "AWS::IAM::Policy")
        for each in statements(template, name)
        if "dynamodb:Scan" in each["Action"]
    }
    assert sorted("Resharder" in name for name in scanning) == [False, True]
    assert any("Doctor" in name for name in scanning)


def test_all_resources_are_named_where_an_action_takes_one(template: dict[str, Any]) -> None:
    for each in statements(template):
        if any("*" in str(resource) for resource in each["Resource"]):
            without_resources = {"xray:PutTelemetryRecords", "xray:PutTraceSegments", "dynamodb:ListStreams"}
            assert set(each["Action"]) <= without_resources


def test_the_rotator_never_touches_a_record(template: dict[str, Any]) -> None:
    def on_table(part: str) -> set[str]:
        return {action for each in statements(template, part) for action in each["Action"] if "dynamodb" in action}

    assert on_table("Rotator") == set()


def test_the_doctor_reads_everything_and_writes_its_progress_alone(template: dict[str, Any]) -> None:
    of_doctor = [each for each in statements(template, "DoctorHandler") if "dynamodb" in str(each["Action"])]
    writing = [each for each in of_doctor if {"dynamodb:PutItem", "dynamodb:DeleteItem"} & set(each["Action"])]
    (only,) = writing
    assert set(only["Action"]) == {"dynamodb:PutItem", "dynamodb:DeleteItem"}
    assert only["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["_maintenance!"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    writes = {"dynamodb:UpdateItem", "dynamodb:BatchWriteItem"}
    assert not any(writes & set(each["Action"]) for each in of_doctor)


RIGHTS = {
    "ApiHandler": {
        "Table": {"BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem"}
        | {"UpdateItem", "Query"},
        "Table/index/*": {"Query"},
        "KeyRingsCursorKeys": {"GetSecretValue"},
    },
    "ReshardingResharder": {
        "Table": {"BatchGetItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan"}
        | {"UpdateItem"},
        "Table/index/*": {"Query"},
        "Table's stream": {"DescribeStream", "GetRecords", "GetShardIterator"},
        "*": {"ListStreams"},
        "the stack": {"DescribeStacks"},
        "FailuresQueue": {"SendMessage"},
    },
    "DoctorHandler": {
        "Table": {"BatchGetItem", "DeleteItem", "DescribeTable", "GetItem", "PutItem", "Query", "Scan"},
        "Table/index/*": {"Query", "Scan"},
        "FailuresQueue": {"SendMessage"},
    },
    "KeyRingsRotator": {
        "KeyRingsCursorKeys": {"GetSecretValue", "PutSecretValue"},
        "FailuresQueue": {"SendMessage"},
    },
}
"""What each function may do with what, besides its own log and traces."""


@pytest.mark.parametrize("service", service_names())
def test_every_right_of_every_role_is_listed(service: str) -> None:
    template = template_for(service=service)
    found: dict[str, dict[str, set[str]]] = {}
    for policy in resources(template, "AWS::IAM::Policy"):
        for statement in statements(template, policy):
            for resource in statement["Resource"]:
                rights = found.setdefault(owner_of(policy), {}).setdefault(label(template, resource), set())
                rights.update(action.partition(":")[2] for action in statement["Action"])
    expected: dict[str, dict[str, set[str]]] = {}
    for name, rights in RIGHTS.items():
        traced = rights.get("*", set()) | {"PutTelemetryRecords", "PutTraceSegments"}
        expected[name] = {**rights, "*": traced, f"{name}'s log": {"CreateLogStream", "PutLogEvents"}}
    for name in ("ReshardingResharder", "DoctorHandler", "KeyRingsRotator"):
        called = {f"{name}'s alias": {"InvokeFunction"}, "FailuresQueue": {"SendMessage"}}
        expected[f"schedule of {name}"] = called
    schedules = {name: rights for name, rights in found.items() if name.startswith("SchedulerRole")}
    named = {
        next(f"schedule of {each.removesuffix(chr(39) + 's alias')}" for each in rights if "alias" in each): rights
        for rights in schedules.values()
    }
    assert {name: rights for name, rights in found.items() if name not in schedules} | named == expected


def owner_of(policy: str) -> str:
    """The name of the function whose role a policy belongs to, or of a schedule's role."""
    return policy.partition("Role")[0] if "Scheduler" not in policy else policy


def label(template: dict[str, Any], resource: Any) -> str:
    """A resource of a statement as people call it."""
    text = json.dumps(resource)
    if text == '"*"':
        return "*"
    if resource == {"Ref": "AWS::StackId"}:
        return "the stack"
    kinds = {name: each["Type"] for name, each in template["Resources"].items() if f'"{name}"' in text}
    (name, kind), *others = kinds.items()
    assert not others
    if kind == "AWS::DynamoDB::GlobalTable":
        return "Table/index/*" if "/index/" in text else "Table's stream" if "StreamArn" in text else "Table"
    if kind == "AWS::Logs::LogGroup":
        return f"{name.rpartition('Log')[0]}'s log"
    if kind == "AWS::Lambda::Alias":
        return f"{name.rpartition('Alias')[0]}'s alias"
    return name[:-8]


def test_only_the_rotator_may_change_a_secret(template: dict[str, Any]) -> None:
    changing = [
        name
        for name in resources(template, "AWS::IAM::Policy")
        for each in statements(template, name)
        if "secretsmanager:PutSecretValue" in each["Action"]
    ]
    assert len(changing) == 1
    assert "Rotator" in changing[0]


def test_no_role_has_a_policy_that_is_not_written_here(template: dict[str, Any]) -> None:
    for role in resources(template, "AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role["Properties"]
