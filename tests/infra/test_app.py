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

from shardweave.cdk.choices import CHOICES
from shardweave.cdk.configuration import Configuration
from shardweave.errors import ConfigurationError
from shardweave.service.files import service_names
from tests.infra.conftest import FLAGS, LARGEST, RESTORED, ROOT, app_with, template_for

DEAD_END = "http://127.0.0.1:9"


def configuration(**context: str) -> Configuration:
    return Configuration.from_context(app_with(**context).node)


def run_app(context: dict[str, Any], output: Path, services: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the app as the CDK's command line does; `services` is a folder whose package of services comes first."""
    variables = {**os.environ, "CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(output)}
    if services is not None:
        variables["PYTHONPATH"] = os.pathsep.join([str(services), str(ROOT / "shared"), str(ROOT)])
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


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("iam", "off", "anybody could call the API.*-c issuer=https"),
        ("iam", "no", "use one of on, off"),
        ("issuer", "http://login.example.com", "https address.*such as -c issuer"),
        ("issuer", "https://login.example.com", "without an audience.*such as -c audience"),
        ("lanes", "0", "not a whole number from 1 to 1,000.*-c lanes=32"),
        ("layer", "container", "use one of target, host"),
    ],
)
def test_a_choice_that_can_not_be_is_refused_with_one_that_can(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        configuration(**{key: value})
    assert refused.value.fix


def test_the_guide_names_every_choice() -> None:
    guide = (ROOT / "docs" / "deploy.md").read_text()
    assert {choice for choice in CHOICES if f"`{choice}`" not in guide} == set()


# -- an error is the message alone ------------------------------------------------------------------------------------

MANY_INDEXES = """
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.keys.key_format import ORDERED
from shardweave.schema.declarations import Index
from shardweave.schema.schema import Schema


class Order(Entity, token="order"):
    order_id: str = unique_property()
    customer_id: str
    PROPERTIES
    customer_hash_key = HashKey("customer_id")


def schema(key_format=ORDERED):
    indexes = [Index(f"by{number}", "customer_hash_key", f"p{number}") for number in range(21)]
    return Schema([Order], indexes, key_format=key_format)
""".replace("PROPERTIES", "\n    ".join(f"p{number}: int" for number in range(21)))
BEGUN = "shard_bumps=[ShardBump(0, char_bits=2, chars=1)]"
CHANGED_BUMPS = {
    "has begun": BEGUN[:-1] + ", ShardBump(1_726_880_933_000, char_bits=2, chars=2)]",
    "would change or go": BEGUN.replace("char_bits=2", "char_bits=3"),
}


def stopped(done: subprocess.CompletedProcess[str], output: Path) -> str:
    """What the app said when it wrote no template: its message, and nothing else."""
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Fix: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(output.glob("*.template.json"))
    return done.stderr


def services_with(folder: Path, name: str, module: str) -> Path:
    """A folder with a package of services that has this one module."""
    (folder / "services").mkdir()
    (folder / "services" / "__init__.py").touch()
    (folder / "services" / f"{name}.py").write_text(module)
    return folder


def test_an_unknown_service_stops_the_app(tmp_path: Path) -> None:
    assert "use one of" in stopped(run_app({**FLAGS, "service": "nobody"}, tmp_path), tmp_path)


def test_an_api_that_anybody_could_call_stops_the_app(tmp_path: Path) -> None:
    said = stopped(run_app({**FLAGS, "iam": "off"}, tmp_path), tmp_path)
    assert "-c issuer=https://... -c audience=..., or leave IAM on" in said


def test_more_indexes_than_a_table_has_stop_the_app(tmp_path: Path) -> None:
    done = run_app({**FLAGS, "service": "many"}, tmp_path, services_with(tmp_path, "many", MANY_INDEXES))
    said = stopped(done, tmp_path)
    assert "21" in said
    assert "20" in said


@pytest.mark.parametrize("said", CHANGED_BUMPS)
def test_a_bump_that_is_added_in_the_past_or_changed_stops_the_app(tmp_path: Path, said: str) -> None:
    module = (ROOT / "shared" / "services" / "user_service.py").read_text()
    assert module.count(BEGUN) == 1
    services = services_with(tmp_path, "user_service", module.replace(BEGUN, CHANGED_BUMPS[said]))
    assert said in stopped(run_app(FLAGS, tmp_path, services), tmp_path)


def test_no_fault_of_a_schema_is_kept_back(tmp_path: Path) -> None:
    module = MANY_INDEXES.replace('"customer_hash_key", f"p', '"nobodys_hash_key", f"q')
    done = run_app({**FLAGS, "service": "many"}, tmp_path, services_with(tmp_path, "many", module))
    assert stopped(done, tmp_path).count("nobodys_hash_key") >= 2


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


@pytest.mark.parametrize("choices", [{}, LARGEST, {**LARGEST, "table": RESTORED}], ids=["none", "all", "table"])
@pytest.mark.parametrize("service", service_names())
def test_the_template_follows_cloudformations_rules(service: str, choices: dict[str, str]) -> None:
    # W3005: the CDK names dependencies that follow from references as well.
    found = lint_all(json.dumps(template_for(service=service, **choices)))
    severe = [match for match in found if match.rule.severity != "informational" and match.rule.id != "W3005"]
    assert severe == []
