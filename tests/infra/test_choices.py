"""Each choice refuses what it can't be, with its own name and what it can be."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from shardweave.cdk.choices import CHOICES, THROWN_AWAY, Choices, check_names
from shardweave.cdk.configuration import LOG_DAYS, THROWN_AWAY_LOG_DAYS, Configuration
from shardweave.cdk.options import Given, add_options, choices_of, parsed
from shardweave.cdk.table_units import TableUnits
from shardweave.errors import ShardweaveError
from shardweave.schema.schema import Schema
from shardweave.service.files import service_names
from tests.infra.conftest import app_with, configuration

ISSUER = "https://login.example.com/"
TOKENS = {"issuer": ISSUER, "audience": "orders"}
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/4f1f2c9e-1111"
INDEX = {"hashKey": "a:S", "rangeKey": "b:S", "projection": "ALL"}


def wave(**changes: object) -> str:
    return json.dumps({"one": INDEX | changes})


WRONG: Mapping[str, list[str]] = {
    "service": ["nobody", "..app", "User Service"],
    "stage": ["Prod", "1st", "a b", "a" * 31, "-x"],
    "keyFormat": ["bare", "Ordered"],
    "issuer": ["login", "http://login.example.com", "https://", "https://[x", "https://a b", f"{ISSUER}?tenant=a"],
    "audience": ["orders", ","],
    "iam": ["no", "true"],
    "layer": ["container"],
    "assets": ["none"],
    "deployWith": ["me"],
    "canary": ["true", "10"],
    "snapStart": ["1"],
    "transport": ["direct", "on", ""],
    "alarmTopic": ["alarms", "arn:aws:sqs:eu-west-1:123456789012:alarms"],
    "emptyAnswers": ["none", "-1", "0", "1.5", "9" * 5000],
    "requestsPerSecond": ["0", "many", "10001"],
    "burst": ["5001", "²"],
    "tenantRequests": ["-1", "100000001", "10/s"],
    "tenantReadUnits": ["-1", "100000001", ""],
    "lanes": ["0", "1001", " 3"],
    "queryReadUnits": ["0", "1000001", "all"],
    "relatedRecords": ["0", "20001", "5,000"],
    "tableReadUnits": ["0", "-1", "1000001"],
    "tableWriteUnits": ["0", "1.5", "none"],
    "reshardWaits": ["soon", "[1]", '{"leaseMs": "a"}', '{"lease": 1}'],
    "reshardPolicy": ["on"],
    "operators": [
        "nonsense",
        "*",
        "group:",
        "group:movers",
        f"{ISSUER} ann",
        "arn:aws:iam::123456789012:role/Movers",
    ],
    "memory": ["127", "10241", "1 GB", ""],
    "warm": ["-1", "1001", "on"],
    "concurrency": ["0", "10001", "some"],
    "logDays": ["2", "0", "for ever"],
    "domain": ["api", "https://api.example.com", "API.example.com", "*.example.com"],
    "certificate": ["mine", CERTIFICATE],
    "encryptionKey": ["alias/orders", "arn:aws:kms:eu-west-1:123456789012:alias/orders"],
    "tags": ["team", "=x", "aws:a=b", "AWS:a=b", "service=x", "stage=prod", "a=1,a=2", "a=<b>"],
    "account": ["12345678901", "1234567890123", "prod"],
    "region": ["Ireland", "eu-west", "eu-west-1a"],
    "table": ["orders", "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"],
    "indexes": ["junk", "[]", '{"one": 1}', wave(hashKey="a:Z"), wave(projection="SOME"), wave(more=1)],
    "hidden": ["nope", "created,nope"],
    "protection": ["no", "false"],
    "waves": ["junk", "{}", "[1]", '[{"indexes": ["nope"], "hidden": [], "protection": true}]', '[{"indexes": []}]'],
}
EMPTY = [name for name, default in CHOICES.items() if not default]


def said_of(**context: str) -> str:
    with pytest.raises(ShardweaveError) as refused:
        configuration(**context)
    assert refused.value.fix
    return str(refused.value)


def test_there_is_something_wrong_for_every_choice() -> None:
    assert list(WRONG) == list(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_a_choice_can_not_be_is_refused_by_its_name_with_the_fix(choice: str) -> None:
    for value in WRONG[choice]:
        assert choice in said_of(**{choice: value}).partition(": ")[0], value


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_no_text_is_refused_by_its_name(choice: str) -> None:
    for value in (5, True, {"a": "b"}, ["on"]):
        with pytest.raises(ShardweaveError, match=f"context `{choice}`"):
            Configuration.from_context(app_with(**{choice: value}).node)  # type: ignore[arg-type]


@pytest.mark.parametrize("choice", EMPTY)
def test_an_empty_text_takes_a_choice_back(choice: str) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options, _ = parsed(parser, ["-c", f"{choice}="])
    assert Configuration.from_context(Given(choices_of(options))) == configuration()


@pytest.mark.parametrize("choice", sorted({*CHOICES} - {*EMPTY}))
def test_where_there_is_a_default_an_empty_text_is_refused_with_it(choice: str) -> None:
    assert f"-c {choice}={CHOICES[choice]}" in said_of(**{choice: ""})


@pytest.mark.parametrize("issuer", ["http://localhost/", "http://127.0.0.1:8080", "https://localhost/"])
def test_an_issuer_on_the_same_machine_is_for_stages_that_are_thrown_away(issuer: str) -> None:
    """Nothing in an account can ask it for its keys."""
    assert configuration(issuer=issuer, audience="orders", stage="local").issuer is not None
    assert "context `issuer`" in said_of(issuer=issuer, audience="orders", stage="prod")


# -- operators have to be somebody who can come in ---------------------------------------------------------------------

SIGNERS = [
    "arn:aws:iam::123456789012:user/ops/ann",
    "arn:aws:sts::123456789012:assumed-role/Movers/ann",
    "group:role/Movers",
]
BEARERS = ["group:movers", f"{ISSUER} ann"]


def test_operators_are_those_who_sign_or_those_who_carry_a_token() -> None:
    assert configuration(operators=",".join(SIGNERS)).operators == ",".join(SIGNERS)
    assert configuration(operators=", ".join(BEARERS), **TOKENS).operators == ", ".join(BEARERS)


@pytest.mark.parametrize(
    "operator", [SIGNERS[0], "https://login.example.com ann", f"{ISSUER} ", "ann", "group:", "group:sales admin", "*"]
)
def test_somebody_whom_no_token_names_is_refused_as_an_operator(operator: str) -> None:
    assert "context `operators`" in said_of(operators=operator, **TOKENS)


def test_a_role_is_refused_with_the_group_of_its_sessions() -> None:
    assert "use group:role/Movers" in said_of(operators="arn:aws:iam::123456789012:role/teams/a/Movers")


# -- what is bound to claims needs somebody who can have them ----------------------------------------------------------


@pytest.mark.parametrize("service", service_names())
def test_a_service_whose_records_belong_to_claims_is_warned_of_without_an_issuer(service: str) -> None:
    bound = {each.collection for each in schema_of(service).entities.values() if each.claims}
    found = configuration(service=service).warnings
    assert ("claims" in found) == bool(bound)
    assert "claims" not in configuration(service=service, **TOKENS).warnings
    for collection in bound:
        assert collection in str(found["claims"])
        assert "-c issuer=" in str(found["claims"])


def schema_of(service: str) -> Schema:
    return configuration(service=service).schema


def test_some_service_has_records_that_belong_to_claims() -> None:
    assert "(tenant)" in str(configuration(service="issue_tracker").warnings["claims"])


# -- choices that go together -----------------------------------------------------------------------------------------


def test_a_domain_and_its_certificate_go_together() -> None:
    assert "context `domain`: a domain has a certificate" in said_of(domain="api.example.com")
    assert configuration(domain="api.example.com", certificate=CERTIFICATE).domain is not None


def test_what_starts_from_a_snapshot_is_not_kept_started() -> None:
    assert "-c snapStart=off" in said_of(warm="1", snapStart="on")


def test_no_more_are_kept_started_than_may_run_at_once() -> None:
    assert "-c concurrency=3 or more" in said_of(warm="3", concurrency="2")
    assert configuration(warm="3", concurrency="3").concurrency == 3


def test_without_a_choice_nothing_is_bound_but_by_the_account() -> None:
    found = configuration()
    assert (found.concurrency, found.table_units) == (None, TableUnits())


@pytest.mark.parametrize(
    ("choice", "arn"),
    [
        ("alarmTopic", "arn:aws:sns:us-east-1:123456789012:alarms"),
        ("certificate", CERTIFICATE.replace("eu-west-1", "us-east-1")),
        ("encryptionKey", "arn:aws:kms:us-east-1:123456789012:key/5a1f2c9e"),
        ("table", "arn:aws:dynamodb:us-east-1:123456789012:table/orders/stream/2026-01-31T09:30:00.000"),
    ],
)
def test_what_is_in_another_region_than_the_stage_is_refused(choice: str, arn: str) -> None:
    domain = {"domain": "api.example.com"} if choice == "certificate" else {}
    assert f"context `{choice}`: it is in us-east-1" in said_of(region="eu-west-1", **{choice: arn}, **domain)
    assert configuration(region="us-east-1", **{choice: arn}, **domain)


@pytest.mark.parametrize("name", ["replicas", "regions", "replicaRegions"])
def test_more_regions_are_no_choice_and_it_is_said_why(name: str) -> None:
    with pytest.raises(ShardweaveError, match="revisions, unique values, sequences and re-shards would not hold"):
        check_names([name])


# -- the guide --------------------------------------------------------------------------------------------------------

SAID_OTHERWISE: Mapping[str, str] = {
    "service": "the only service",
    "operators": "nobody",
    "concurrency": "the account's",
    "tableReadUnits": "the account's limits",
    "tableWriteUnits": "the account's limits",
    "logDays": f"{LOG_DAYS}; {THROWN_AWAY_LOG_DAYS} for a temporary stage",
    "encryptionKey": "AWS's keys",
    "account": "any",
    "region": "any",
    "table": "a new table",
    "indexes": "the declared indexes",
}
"""What the table of the guide calls a default that is none, or depends on something."""


def defaults_in_the_guide() -> dict[str, str]:
    """The default that the guide's table gives for each choice."""
    guide = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    table = guide.partition("| `-c` | meaning | default |")[2].partition("\n\n")[0]
    found = {}
    for row in table.splitlines()[2:]:
        named, *_, given = (cell.strip() for cell in row.strip("|").split(" | "))
        names = re.findall(r"`([A-Za-z]+)`", named)
        several = given.split(", ")
        found |= dict(zip(names, several if len(several) == len(names) else [given] * len(names), strict=False))
    return found


def test_the_guide_s_defaults_are_those_of_the_choices() -> None:
    said = defaults_in_the_guide()
    assert set(said) == set(CHOICES)
    for name, field in Choices.model_fields.items():
        choice = field.alias or name
        if choice in SAID_OTHERWISE:
            assert said[choice] == SAID_OTHERWISE[choice]
            continue
        value = ("off", "on")[field.default] if isinstance(field.default, bool) else field.default
        assert said[choice].strip("`").replace(",", "") == ("none" if value in ("", None) else str(value)), choice


def test_the_guide_names_the_temporary_stages() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    *most, last = (f"`{stage}`" for stage in THROWN_AWAY)
    assert f"Stages with the names {', '.join(most)} and {last} are *temporary*" in guide
