"""Each choice refuses what it can't be, with its own name and what it can be."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

import pytest

from infra.configuration import CHOICES, Configuration
from infra.deploy import Given
from infra.options import add_options, choices_of, parsed
from shardweave.errors import ShardweaveError
from shardweave.schema import Schema
from shardweave.service_modules import service_names
from tests.infra.conftest import app_with, configuration

ISSUER = "https://login.example.com/"
TOKENS = {"issuer": ISSUER, "audience": "orders"}
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
    "alarmTopic": ["alarms", "arn:aws:sqs:eu-west-1:123456789012:alarms"],
    "emptyAnswers": ["none", "-1", "0", "1.5", "9" * 5000],
    "requestsPerSecond": ["0", "many", "10001"],
    "burst": ["5001", "²"],
    "lanes": ["0", "1001", " 3"],
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
    "indexes": ["junk", "[]", '{"one": 1}', wave(hashKey="a:Z"), wave(projection="SOME"), wave(more=1)],
    "hidden": ["nope", "created,nope"],
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
