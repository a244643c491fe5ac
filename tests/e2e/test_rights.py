"""A deployment whose roles may do what their policies allow, and nothing else.

The emulator checks every signature and every action here, so this shows that the policies are wide enough; that the
check is real is shown by taking a policy away. That they are no wider is what the template's tests say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.deployed_api import DeployedApi
from shardweave.cdk.emulator import ACCOUNT, REGION, Emulator
from tests.e2e.conftest import Deployed, deployed, eventually
from tests.e2e.operator_commands import Commands

PERSON = {"firstName": "Ana", "lastName": "Gómez", "beneficiaryId": "b1"}


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator]) -> Deployed:
    """The stack without an issuer, deployed with the deployer's own credentials."""
    return deployed(start_emulator(enforce_iam=True), deployWith="credentials")


@pytest.fixture(scope="module")
def caller(stack: Deployed) -> tuple[str, str]:
    """The credentials of a user who may call this API and do nothing else."""
    iam, arn = stack.client("iam"), f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{stack.outputs['ApiId']}/*"
    statement = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": arn}
    return credentials_of(iam, "caller", {"Version": "2012-10-17", "Statement": [statement]})


def credentials_of(iam: Any, user: str, policy: dict[str, Any] | None) -> tuple[str, str]:
    iam.create_user(UserName=user)
    if policy is not None:
        iam.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


@pytest.fixture(scope="module")
def api(stack: Deployed, caller: tuple[str, str]) -> DeployedApi:
    """The API, for somebody who may call it."""
    return stack.api(credentials=caller)


def test_an_anonymous_request_is_refused(stack: Deployed) -> None:
    assert stack.api().get("/v1/users", limit="1").status == 403


def test_a_wrong_signature_is_refused(stack: Deployed, caller: tuple[str, str]) -> None:
    assert stack.api(credentials=(caller[0], "guessed")).get("/v1/users", limit="1").status == 403


def test_somebody_whose_policies_do_not_allow_it_is_refused(stack: Deployed) -> None:
    somebody = credentials_of(stack.client("iam"), "somebody", None)
    assert stack.api(credentials=somebody).get("/v1/users", limit="1").status == 403


def test_every_kind_of_operation_has_the_rights_that_it_needs(api: DeployedApi) -> None:
    created = [api.call("POST", "/v1/users", PERSON | {"phone": f"555-{number}"}) for number in range(12)]
    assert [reply.status for reply in created] == [201] * 12
    path = f"/v1/users/{created[0].document['userId']}"
    first = api.get("/v1/users", index="created", limit="5")
    assert first.status == 200, first.body
    second = api.get("/v1/users", index="created", limit="50", nextToken=first.document["nextToken"])
    assert len(first.document["items"]) + len(second.document["items"]) == 12
    assert api.get(path).status == 200
    assert api.call("PATCH", path, {"lastName": "García"}).status == 200
    assert api.call("PUT", path, PERSON).status == 200
    assert api.call("DELETE", path).status == 204
    signed_up = api.call("POST", "/v1/sign-up", PERSON | {"email": "ana@example.org"})
    assert signed_up.status == 201, signed_up.body


def test_every_index_may_be_queried(api: DeployedApi) -> None:
    described = api.get("/openapi.json").document
    for path in ("/v1/users", "/v1/emails"):
        names = {each["name"]: each for each in described["paths"][path]["get"]["parameters"]}
        for index in names["index"]["schema"]["enum"]:
            by = (
                {"beneficiaryId": "b1"} if "Beneficiary" in index else {"userId": "u"} if index == "userCreated" else {}
            )
            reply = api.get(path, index=index, **by)
            assert reply.status == 200, (index, reply.body)


def test_the_functions_behind_the_api_have_the_rights_that_they_need(stack: Deployed) -> None:
    calls = {
        "Doctor": {},
        "Rotator": {"secret": stack.resource("AWS::SecretsManager::Secret", "CursorKeys"), "keep": 1, "turn": "1"},
        "Resharder": {"wake": True},
    }
    for part, event in calls.items():
        stack.invoke(part, event)
    assert eventually(lambda: any('"message":"changes"' in line for line in stack.log_of("ReshardingResharder")))


READING = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:DescribeTable"]


def test_a_command_without_a_right_says_so_and_leaves_the_table_as_it_is(
    stack: Deployed, api: DeployedApi, tmp_path: Path
) -> None:
    table, iam = stack.outputs["TableName"], stack.client("iam")
    statement = {"Effect": "Allow", "Action": READING, "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    before = records(stack)
    for user, rights, commands in (("nobody", None, ("doctor", "rewrite")), ("reader", policy, ("doctor",))):
        key, secret = credentials_of(iam, user, rights)
        operator = Commands("user_service", stack.emulator.variables, tmp_path)
        for command in commands:
            done = operator.run(command, "--table", table, AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret)
            assert done.code == 1, done
            assert "DynamoDB refused the credentials (AccessDenied" in done.said, done
            assert len(done.said.strip().splitlines()) == 1, done
    assert records(stack) == before


def records(stack: Deployed) -> list[dict[str, Any]]:
    """The table's records, without the counters of load, which follow the changes of before in their own time."""
    items = stack.client("dynamodb").scan(TableName=stack.outputs["TableName"])["Items"]
    return [item for item in items if not item["hashKey"]["S"].endswith("._reshard!")]


def test_without_the_right_to_query_the_api_can_not_list(stack: Deployed, api: DeployedApi) -> None:
    iam, role = stack.client("iam"), stack.resource("AWS::IAM::Role", "ApiHandlerRole")
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    policy = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    kept = [each for each in policy["Statement"] if each["Action"] != "dynamodb:Query"]
    assert len(kept) == len(policy["Statement"]) - 1
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps({**policy, "Statement": kept}))
    assert api.get("/v1/users", index="created").status >= 500
    assert eventually(lambda: any("AccessDenied" in line for line in stack.log_of("ApiHandler")))
