"""One deployment's life, over HTTP: records, pages, refusals, the stream, one more index, the end.

The tests are steps of one story, in the order of the file.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardweave.cdk.deployed_api import DeployedApi
from shardweave.cdk.emulator import Emulator
from shardweave.cdk.sources import ROOT
from shardweave.schema.manifest import encode_index, manifest_of
from shardweave.service.loader import service_module
from tests.e2e.conftest import SERVICE, STAGE, Deployed, deployed, eventually, output_of
from tests.e2e.issuer import AUDIENCE, Issuer
from tests.e2e.operator_commands import Commands, Finished

PEOPLE = 40
LATER = "userBeneficiaryPhone"
"""The index that the first deployment does not have yet."""


@pytest.fixture(scope="module")
def access(issuer: Issuer) -> dict[str, str]:
    """What the context says of who may call."""
    return {"issuer": issuer.url, "audience": AUDIENCE}


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator], access: dict[str, str]) -> Deployed:
    """The service as it was before its last index was declared."""
    indexes = manifest_of(service_module(SERVICE).schema()).indexes
    before = {name: encode_index(index) for name, index in indexes.items() if name != LATER}
    return deployed(start_emulator(), **access, indexes=json.dumps(before), hidden=LATER)


@pytest.fixture(scope="module")
def api(stack: Deployed, issuer: Issuer) -> DeployedApi:
    """The API, for somebody with a token."""
    return stack.api(token=issuer.token())


@pytest.fixture(scope="module")
def people(api: DeployedApi) -> list[dict[str, Any]]:
    """Records that were created over HTTP, as they were answered."""
    created = []
    for number in range(PEOPLE):
        person = {"firstName": f"Name {number % 7}", "lastName": f"{number:02d}", "beneficiaryId": f"b{number % 2}"}
        reply = api.call("POST", "/v1/users", person | {"phone": f"555-{number:03d}"})
        assert reply.status == 201, reply.body
        created.append(reply.document)
    return created


def pages(api: DeployedApi, **query: str) -> list[list[dict[str, Any]]]:
    """The pages of a list, to the end."""
    found, token = [], ""
    while True:
        reply = api.get("/v1/users", **query, **({"nextToken": token} if token else {}))
        assert reply.status == 200, reply.body
        assert reply.document["complete"] is True
        found.append(reply.document["items"])
        token = reply.document["nextToken"]
        if not token:
            return found


# -- who may come in --------------------------------------------------------------------------------------------------


def test_a_request_without_a_token_is_refused(stack: Deployed) -> None:
    assert stack.api().get("/v1/users", limit="1").status == 401


def test_a_token_that_somebody_else_signed_is_refused(stack: Deployed, issuer: Issuer) -> None:
    other = Issuer()
    forged = other.token(iss=issuer.url)
    other.close()
    assert stack.api(token=forged).get("/v1/users", limit="1").status == 401


@pytest.mark.parametrize("claims", [{"aud": "another application"}, {"exp": 1}, {"iss": "https://example.com"}])
def test_a_token_for_another_audience_time_or_issuer_is_refused(
    stack: Deployed, issuer: Issuer, claims: dict[str, Any]
) -> None:
    assert stack.api(token=issuer.token(**claims)).get("/v1/users", limit="1").status == 401


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/v1/users/u1", "/nosuch"])
def test_no_path_is_open(stack: Deployed, path: str) -> None:
    assert stack.api().get(path).status == 401


# -- records ----------------------------------------------------------------------------------------------------------


def test_records_lie_in_every_shard(stack: Deployed, people: list[dict[str, Any]]) -> None:
    items = stack.client("dynamodb").scan(TableName=stack.outputs["TableName"])["Items"]
    keys = [item["hashKey"]["S"] for item in items]
    users = [key for key in keys if key.startswith("user!")]
    assert len(users) == len(people)
    assert set(users) == {"user!0", "user!1", "user!2", "user!3"}
    assert set(keys) <= {*users, "user._reshard!"}, "beside the records there are only the shards' load counters"


def test_a_list_over_all_shards_is_whole_and_in_order_page_by_page(
    api: DeployedApi, people: list[dict[str, Any]]
) -> None:
    found = pages(api, index="created", limit="7")
    assert [len(page) for page in found] == [7, 7, 7, 7, 7, 5]
    listed = [user for page in found for user in page]
    assert sorted(listed, key=lambda user: str(user["userId"])) == sorted(people, key=lambda user: str(user["userId"]))
    assert [user["created"] for user in listed] == sorted(user["created"] for user in people)


def test_a_search_through_an_index_finds_its_records_in_the_order_of_names(
    api: DeployedApi, people: list[dict[str, Any]]
) -> None:
    listed = [
        user for page in pages(api, beneficiaryId="b1", index="userBeneficiaryLastName", limit="6") for user in page
    ]
    assert [user["lastName"] for user in listed] == [f"{number:02d}" for number in range(1, PEOPLE, 2)]


def test_an_altered_cursor_is_refused(api: DeployedApi, people: list[dict[str, Any]]) -> None:
    token = api.get("/v1/users", limit="3").document["nextToken"]
    altered = token[:-3] + ("A" if token[-3] != "A" else "B") + token[-2:]
    reply = api.get("/v1/users", limit="3", nextToken=altered)
    assert reply.status == 400
    assert reply.document["type"].endswith("invalid_cursor")
    assert reply.headers["content-type"] == "application/problem+json"


def test_an_update_moves_the_record_in_its_indexes(api: DeployedApi, people: list[dict[str, Any]]) -> None:
    path = f"/v1/users/{people[3]['userId']}"
    assert api.call("PATCH", path, {"firstName": "Zoë"}).document["firstNameCanonical"] == "zoe"
    found = api.get("/v1/users", firstNameCanonical="zoe").document["items"]
    assert [user["userId"] for user in found] == [people[3]["userId"]]


def test_a_deleted_record_is_gone(api: DeployedApi, people: list[dict[str, Any]]) -> None:
    path = f"/v1/users/{people[4]['userId']}"
    assert api.call("DELETE", path).status == 204
    assert api.get(path).status == 404


def test_a_record_that_does_not_fit_is_refused_with_every_fault(api: DeployedApi) -> None:
    reply = api.call("POST", "/v1/users", {"firstName": "", "phone": 5})
    assert reply.status == 400
    assert len(reply.document["errors"]) >= 3


# -- behind the API ---------------------------------------------------------------------------------------------------


def test_each_write_reaches_the_stream_function_in_the_shard_that_it_was_in(
    stack: Deployed, people: list[dict[str, Any]]
) -> None:
    def seen() -> int:
        lines = [json.loads(line) for line in stack.log_of("ReshardingResharder") if line.startswith("{")]
        counted = [line["shards"] for line in lines if line.get("message") == "changes"]
        assert all(shard.startswith("user!") for shards in counted for shard in shards)
        return sum(sum(shards.values()) for shards in counted)

    assert eventually(lambda: seen() >= PEOPLE + 2), seen()


def test_the_logs_hold_no_values(stack: Deployed, people: list[dict[str, Any]]) -> None:
    told = "\n".join([*stack.log_of("ApiHandler"), *stack.log_of("ReshardingResharder")])
    assert '"route":"/v1/users"' in told
    for private in ("Name 1", "555-00", "Zoë", "zoe", people[0]["userId"]):
        assert private not in told


def test_answers_are_counted_with_the_dimensions_that_alarms_look_at(stack: Deployed) -> None:
    lines = [json.loads(line) for line in stack.log_of("ApiHandler") if '"_aws"' in line]
    counted = [line for line in lines if "Answers" in line]
    assert sum(int(value) for line in counted for value in line["Answers"]) >= PEOPLE
    alarm = stack.client("cloudwatch").describe_alarms(AlarmNames=[f"{stack.name}-EmptyAnswers"])["MetricAlarms"][0]
    dimensions = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
    assert all(line | dimensions == line for line in counted)
    assert {alarm["Namespace"]} == {each["Namespace"] for line in counted for each in line["_aws"]["CloudWatchMetrics"]}


def test_a_cursor_outlives_a_turn_of_its_keys(stack: Deployed, api: DeployedApi, people: list[dict[str, Any]]) -> None:
    token = api.get("/v1/users", limit="3").document["nextToken"]
    secret = stack.resource("AWS::SecretsManager::Secret", "CursorKeys")
    for turn in ("one", "two"):
        answer = stack.invoke("Rotator", {"secret": secret, "keep": 1, "turn": turn})
    assert answer == {"turn": "two", "current": "k2", "keys": ["k1", "k2", "k3"]}
    assert api.get("/v1/users", limit="3", nextToken=token).status == 200


def test_the_doctor_sees_the_index_that_is_not_there_yet(stack: Deployed) -> None:
    assert [fault["where"] for fault in stack.invoke("Doctor", {})["layout"]] == [f"index {LATER}"]


# -- one more index ---------------------------------------------------------------------------------------------------

BY_PHONE = {"beneficiaryId": "b1", "phone.prefix": "555-00", "index": LATER}


def test_an_index_that_is_not_there_yet_is_refused_and_not_asked(
    api: DeployedApi, people: list[dict[str, Any]]
) -> None:
    assert api.get("/v1/users", **BY_PHONE).status == 400


def deploy_again(stack: Deployed, **context: str) -> subprocess.CompletedProcess[str]:
    """Run the command that an operator runs."""
    options = ["--service", SERVICE, "--stage", STAGE, "--poll", "0.2", "--require-approval", "never"]
    options += [part for key, value in context.items() for part in ("-c", f"{key}={value}")]
    return subprocess.run(
        [ROOT / "run", "deploy", *options, "--output", output_of(stack.emulator)],
        env=stack.emulator.variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_deployment_that_would_hide_the_stages_records_is_refused(stack: Deployed, access: dict[str, str]) -> None:
    done = deploy_again(stack, layer="host", keyFormat="article", **access)
    assert done.returncode == 2
    assert "use -c keyFormat=ordered, or another stage" in done.stderr


def test_the_next_deployment_adds_the_index_and_then_queries_use_it(
    stack: Deployed, api: DeployedApi, access: dict[str, str], people: list[dict[str, Any]]
) -> None:
    done = deploy_again(stack, layer="host", **access)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"Wave 1 of 2: adding the index {LATER} (1 of 1)" in done.stderr
    found = api.get("/v1/users", **BY_PHONE)
    assert found.status == 200, found.body
    assert [user["phone"] for user in found.document["items"]] == [f"555-{number:03d}" for number in (1, 3, 5, 7, 9)]
    assert stack.invoke("Doctor", {})["layout"] == []


def test_the_records_are_still_there(api: DeployedApi, people: list[dict[str, Any]]) -> None:
    listed = [user for page in pages(api, index="created") for user in page]
    assert len(listed) == PEOPLE - 1


# -- an operator's commands -------------------------------------------------------------------------------------------

MAIL = {"hashKey": "MAIL#${email}", "rangeKey": "ADDRESS"}
MAPPING = {"hashKey": "hashKey", "rangeKey": "rangeKey", "entities": {"email": {"attributes": MAIL}}}
ADDRESSES = 30
WAITS = json.dumps({"leaseMs": 1000, "acceptedMs": 0, "requestMs": 100, "clocksMs": 0})


@pytest.fixture(scope="module")
def commands(stack: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line of somebody with the account's credentials."""
    folder = tmp_path_factory.mktemp("operator")
    (folder / "mapping.json").write_text(json.dumps(MAPPING))
    return Commands(SERVICE, stack.emulator.variables, folder)


@pytest.fixture(scope="module")
def table(stack: Deployed) -> tuple[str, str]:
    """The argument that names the deployed table."""
    return "--table", stack.outputs["TableName"]


def test_commands_read_and_check_the_deployed_table(commands: Commands, table: tuple[str, str]) -> None:
    checked = commands.run("doctor", *table, "--json")
    assert (checked.code, checked.document["verdict"], checked.document["layout"]) == (0, "clean", []), checked
    scanned = commands.run("scan", "--entity", "user", *table)
    assert (scanned.code, len(scanned.lines)) == (0, PEOPLE - 1)
    assert commands.run("rewrite", "--entity", "user", *table).code == 0


def test_an_export_is_stopped_goes_on_and_equals_the_table(commands: Commands, table: tuple[str, str]) -> None:
    folder = commands.folder / "export"
    stopped = commands.interrupt(
        "export", folder, "--rate", "1", *table, once=lambda: folder.exists() and any(folder.iterdir())
    )
    assert stopped.code == 130, stopped
    done = commands.run("export", folder, *table)
    assert (done.code, f"user: {PEOPLE - 1} lines" in done.said) == (0, True), done
    assert commands.run("compare", *table, "--with-export", folder).code == 0
    copy = "--data", commands.folder / "copy"
    assert commands.run("import", folder, *copy).code == 0
    assert commands.run("compare", *table, "--with-data", copy[1]).code == 0
    assert commands.run("doctor", *copy).code == 0


REFUSED = {
    "a table that is not there": ({}, ("--table", "nosuch"), "check names and region"),
    "another region": ({}, ("--region", "eu-west-3"), "check names and region"),
    "no credentials": ({"without": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}, (), "no usable AWS credentials"),
    "no region": ({"without": ("AWS_REGION", "AWS_DEFAULT_REGION")}, (), "no AWS region is configured"),
    "an endpoint where nobody answers": ({}, ("--endpoint-url", "http://127.0.0.1:9"), "gave no usable answer"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_command_that_does_not_reach_its_table_says_why(
    commands: Commands, table: tuple[str, str], wrong: str
) -> None:
    """Each in one line with the fix, and never with a traceback."""
    options, arguments, told = REFUSED[wrong]
    named = arguments if "--table" in arguments else (*table, *arguments)
    rekey = "rekey", "status", "--entity", "email", "--as", "mapping.json"
    for command in (("doctor",), ("scan", "--entity", "user"), ("export", "nothing"), ("rewrite",), rekey):
        done = commands.run(*command, *named, **options)
        assert done.code in (1, 2), done
        assert told in done.said, done
        assert "Fix: " in done.said
        assert len(done.said.strip().splitlines()) == 1, done


def test_another_programs_records_are_brought_in_by_commands(
    stack: Deployed, commands: Commands, table: tuple[str, str]
) -> None:
    for number in range(ADDRESSES):
        mail = {"email": f"a{number}@x.org", "userId": f"u{number}", "hashKey": f"MAIL#a{number}@x.org"}
        item = {name: {"S": value} for name, value in {**mail, "rangeKey": "ADDRESS"}.items()}
        item["created"] = {"N": "1760000000000"}
        stack.client("dynamodb").put_item(TableName=table[1], Item=item)
    mapped = (*table, "--as", "mapping.json")

    def rekey(action: str, *more: str) -> Finished:
        return commands.run("rekey", action, "--entity", "email", *mapped, "--waits", WAITS, *more)

    looked = commands.run("doctor", *mapped)
    assert (looked.code, f"{ADDRESSES} would be brought in" in looked.said) == (0, True), looked
    early = rekey("switch")
    assert (early.code, "Fix: `rekey start`" in early.said) == (1, True), early
    assert rekey("start").code == 0
    again = rekey("start")
    assert (again.code, "brought in already" in again.said) == (1, True), again
    assert rekey("run").code == 0
    report = rekey("status").document
    assert (report["state"], report["passes"]["bring"]["written"]) == ("follow", ADDRESSES)
    assert rekey("switch").code == 0
    assert commands.run("compare", "--entity", "email", *mapped, "--with-old-items").code == 0
    assert eventually(lambda: rekey("status").document["waitingMs"] == 0)
    assert rekey("run").code == 0
    assert rekey("finish").code == 0
    assert eventually(lambda: rekey("run").code == 0 and not rekey("status").document["state"])
    checked = commands.run("doctor", *table)
    assert (checked.code, "clean" in checked.output) == (0, True), checked
    assert len(commands.run("scan", "--entity", "email", *table).lines) == ADDRESSES


# -- the end ----------------------------------------------------------------------------------------------------------


def test_destroying_a_stage_that_is_thrown_away_leaves_nothing(stack: Deployed) -> None:
    done = subprocess.run(
        [ROOT / "run", "destroy", stack.name, "--force"],
        env=stack.emulator.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with pytest.raises(ClientError, match="does not exist"):
        stack.client("cloudformation").describe_stacks(StackName=stack.name)
    assert stack.client("dynamodb").list_tables()["TableNames"] == []
    assert stack.client("secretsmanager").list_secrets()["SecretList"] == []
    assert stack.client("lambda").list_functions()["Functions"] == []
