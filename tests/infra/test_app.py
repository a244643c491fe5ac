"""What the CDK app makes of its context, and the command that synthesizes it without account and network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint_all

from infra.configuration import Configuration
from shardweave.errors import ConfigurationError
from tests.infra.conftest import FLAGS, ROOT, app_with

DEAD_END = "http://127.0.0.1:9"


def configuration(**context: str) -> Configuration:
    return Configuration.from_context(app_with(**context).node)


def run_app(context: dict[str, Any], output: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(output)}
    return subprocess.run(
        [sys.executable, "-P", "app.py"], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )


def test_the_stack_is_named_after_service_and_stage() -> None:
    assert configuration().stack_name == "shardweave-user-service-dev"
    assert configuration(stage="eu-1").stack_name == "shardweave-user-service-eu-1"


def test_an_unknown_service_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"no service 'nobody'.*user_service"):
        configuration(service="nobody")


def test_a_service_is_a_name_and_not_a_path() -> None:
    with pytest.raises(ConfigurationError, match="no service"):
        configuration(service="..app")


def test_an_unknown_key_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"'bare'.*ordered, article, entity_manager"):
        configuration(keyFormat="bare")


@pytest.mark.parametrize("stage", ["Prod", "1st", "a b", "a" * 31, "-x"])
def test_a_stage_that_can_name_no_stack_is_refused_with_an_example(stage: str) -> None:
    with pytest.raises(ConfigurationError, match=r"`stage`.*such as prod"):
        configuration(stage=stage)


def test_the_app_stops_with_the_message_alone_and_writes_no_template(tmp_path: Path) -> None:
    done = run_app({**FLAGS, "service": "nobody"}, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Fix: use one of" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.template.json"))


def test_the_command_synthesizes_without_account_and_network(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    offline = {**kept, "HTTP_PROXY": DEAD_END, "HTTPS_PROXY": DEAD_END, "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run(
        [ROOT / "run", "synth", "--quiet", "--stage", "prod", "--key-format", "article", "--output", tmp_path],
        env=offline,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.glob("*.template.json")] == ["shardweave-user-service-prod.template.json"]


def test_the_template_follows_cloudformations_rules(template: dict[str, Any]) -> None:
    # W3005: the CDK names dependencies that follow from references as well.
    found = lint_all(json.dumps(template))
    severe = [match for match in found if match.rule.severity != "informational" and match.rule.id != "W3005"]
    assert severe == []
