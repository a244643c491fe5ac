"""One run of `./run deploy`: one synthesis for all its deployments, a first one that can be repeated, and nothing done
where it may not be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.deploy import Deployment, main, table_after
from shardweave.cdk.deployed_stack import FAILED_CREATIONS, table_of
from shardweave.cdk.existing_table import ExistingTable, existing_table_faults, existing_table_of
from shardweave.cdk.options import context_of
from shardweave.cdk.table_units import TableUnits
from shardweave.cdk.target import Target, check_regions, target_of
from shardweave.cdk.waves import Wave, encode_waves, first_waves, plan_waves, wave_name
from shardweave.errors import ConfigurationError
from shardweave.schema.manifest import encode_index
from shardweave.table.layout import TableLayout
from tests.infra.conftest import FLAGS, RESTORED, ROOT, configuration, template_for

PROD = {"stage": "prod"}
STACK = "shardweave-user-service-prod"


class Commands:
    """The CDK's command line, which remembers what it was asked for. The one of that number fails."""

    def __init__(self, failing: int | None = None) -> None:
        self.asked: list[list[str]] = []
        self._failing = failing

    def __call__(self, arguments: Sequence[str]) -> int:
        self.asked.append(list(arguments))
        return 7 if len(self.asked) == self._failing else 0


def deployment(commands: Commands, output: Path, found: Mapping[str, Any] | None = None) -> Deployment:
    return Deployment(configuration(**PROD), found, PROD, ["--strict"], output, 0.0, commands)


# -- one synthesis ----------------------------------------------------------------------------------------------------


def test_four_waves_are_synthesized_once(tmp_path: Path) -> None:
    wanted = configuration(**PROD).schema.layout.indexes
    waves, commands = plan_waves(wanted[3:], wanted), Commands()
    settled: list[int] = []
    code = deployment(commands, tmp_path).roll_out(waves, wanted, lambda: settled.append(len(commands.asked)))
    assert code == 0
    assert [each[0] for each in commands.asked] == ["synth", *["deploy"] * 4]
    folders = [each[each.index("--app") + 1] for each in commands.asked[1:]]
    assert folders == [str(tmp_path / f"assembly-{wave_name(number)}") for number in (1, 2, 3, 4)]
    assert all(each[-1] == "--strict" for each in commands.asked[1:])
    assert settled == [2, 3, 4, 5]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_what_fails_ends_it(failing: int, tmp_path: Path) -> None:
    wanted = configuration(**PROD).schema.layout.indexes
    commands = Commands(failing)
    assert deployment(commands, tmp_path).roll_out(plan_waves(wanted[1:], wanted), wanted) == 7
    assert len(commands.asked) == failing


def synthesized(waves: Sequence[Wave], output: Path) -> list[dict[str, Any]]:
    """The templates of waves, and beside them which assets there are."""
    known = {index.name: encode_index(index) for wave in waves for index in wave.indexes}
    context = {**FLAGS, **PROD, "aws:cdk:bundling-stacks": [], "assets": "optional"}
    context |= {"indexes": json.dumps(known), "waves": encode_waves(waves)}
    variables = {**os.environ, "CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(output)}
    done = subprocess.run([sys.executable, "-P", "app.py"], cwd=ROOT, env=variables, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    names = [f"assembly-{wave_name(number)}" for number in range(1, len(waves) + 1)]
    assert sorted(path.name for path in output.glob("assembly-*")) == sorted(names)
    return [json.loads(next((output / name).glob("*.template.json")).read_text()) for name in names]


def indexes_of(template: Mapping[str, Any]) -> set[str]:
    (table,) = (each for each in template["Resources"].values() if each["Type"] == "AWS::DynamoDB::GlobalTable")
    return {index["IndexName"] for index in table["Properties"]["GlobalSecondaryIndexes"]}


def test_each_wave_has_the_template_that_it_would_have_alone(tmp_path: Path) -> None:
    wanted = configuration(**PROD).schema.layout.indexes
    waves = plan_waves(wanted[2:], wanted)
    made = synthesized(waves, tmp_path)
    assert [indexes_of(each) for each in made] == [{index.name for index in wave.indexes} for wave in waves]
    assert made[-1]["Resources"].keys() == template_for(**PROD)["Resources"].keys()
    assert made[-1]["Outputs"] == template_for(**PROD)["Outputs"]


# -- a first deployment that fails ------------------------------------------------------------------------------------

KEPT = ("AWS::DynamoDB::GlobalTable", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup", "AWS::SQS::Queue")


def test_a_creation_that_fails_takes_back_all_that_it_made(tmp_path: Path) -> None:
    """Nothing is kept that has never held a record, and nothing stands against its removal."""
    first, second = synthesized(first_waves(configuration(**PROD).schema.layout.indexes, protected=True), tmp_path)
    # Behind what a function only answers there is nothing to remove, and a function that is broken is not asked to.
    made = [each for each in first["Resources"].values() if each["Type"] != "Custom::Lookups"]
    for each in made:
        assert each.get("DeletionPolicy") in (None, "Delete", "RetainExceptOnCreate"), each["Type"]
        assert (each.get("DeletionPolicy") == "RetainExceptOnCreate") == (each["Type"] in KEPT)
    locks = [made_protection(each) for each in (first, second)]
    assert locks == [False, True]
    assert [termination_protection(tmp_path, number) for number in (1, 2)] == [False, True]


def made_protection(template: Mapping[str, Any]) -> bool:
    (table,) = (each for each in template["Resources"].values() if each["Type"] == KEPT[0])
    (replica,) = table["Properties"]["Replicas"]
    return bool(replica["DeletionProtectionEnabled"])


def termination_protection(output: Path, number: int) -> bool:
    manifest = json.loads((output / f"assembly-{wave_name(number)}" / "manifest.json").read_text())
    (stack,) = (each for each in manifest["artifacts"].values() if each["type"] == "aws:cloudformation:stack")
    return bool(stack["properties"].get("terminationProtection"))


def test_without_the_command_a_stage_is_protected_from_the_first() -> None:
    assert made_protection(template_for(**PROD))
    assert configuration(**PROD).locked
    assert not configuration(stage="dev").locked


@pytest.mark.parametrize("status", FAILED_CREATIONS)
def test_after_a_creation_that_failed_the_stage_is_made_anew(status: str, tmp_path: Path) -> None:
    found, commands = {"StackStatus": status, "Outputs": []}, Commands()
    assert deployment(commands, tmp_path, found).run() == 0
    assert [each[0] for each in commands.asked] == ["synth", "deploy", "deploy"]
    locked = {**found, "EnableTerminationProtection": True}
    with pytest.raises(ConfigurationError, match=f"update-termination-protection .*--stack-name {STACK}`"):
        deployment(commands, tmp_path, locked).run()
    assert len(commands.asked) == 3


def test_a_stack_that_is_on_its_way_is_left_alone() -> None:
    with pytest.raises(ConfigurationError, match=f"./run destroy {STACK}"):
        table_of({"StackStatus": "CREATE_IN_PROGRESS"}, STACK)


# -- where it may go --------------------------------------------------------------------------------------------------


def test_another_account_or_region_than_the_pinned_one_is_refused() -> None:
    pinned = Target("123456789012", "eu-west-1")
    pinned.check("123456789012", "eu-west-1")
    for account, region in (("210987654321", "eu-west-1"), ("123456789012", "us-east-1"), ("123456789012", None)):
        with pytest.raises(ConfigurationError, match="the stage belongs to"):
            pinned.check(account, region)
    Target().check("210987654321", None)


def test_the_stack_is_made_for_the_pinned_account_and_region(tmp_path: Path) -> None:
    template_for(**PROD, account="123456789012", region="eu-west-1")
    given = {**dict.fromkeys(("account", "region"), ""), "region": "eu-west-1"}
    assert target_of(given).region_unless({}) == "eu-west-1"
    assert target_of(given).region_unless({"AWS_REGION": "us-east-1"}) is None


def test_a_name_of_another_region_is_refused_when_the_region_is_known() -> None:
    check_regions({"table": RESTORED}, "eu-west-1")
    with pytest.raises(ConfigurationError, match="context `table`: it is in eu-west-1, and the stage in us-east-1"):
        check_regions({"table": RESTORED}, "us-east-1")


def test_a_choice_that_can_not_be_is_refused_before_an_account_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", "account=production"]) == 2
    assert "is not the number of an account" in capsys.readouterr().err


# -- a table that is there --------------------------------------------------------------------------------------------


def restored(**changes: Any) -> tuple[ExistingTable, dict[str, Any], TableLayout]:
    """A table that was restored and made ready, as DynamoDB describes it."""
    table, layout = existing_table_of(RESTORED), configuration().schema.layout
    assert table is not None
    asked = layout.create_request(table.name)
    indexes = [{**index, "IndexStatus": "ACTIVE", "ItemCount": 3} for index in asked["GlobalSecondaryIndexes"]]
    described = {**asked, "GlobalSecondaryIndexes": indexes, "LatestStreamArn": RESTORED, "Replicas": []}
    return table, {**described, **changes}, layout


EXPIRING = {"TimeToLiveStatus": "ENABLED", "AttributeName": "_expires"}
REPLICAS = [{"RegionName": "eu-west-1"}, {"RegionName": "eu-central-1"}]
NOT_READY: Mapping[str, tuple[dict[str, Any], str]] = {
    "other keys": ({"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}, "other keys"),
    "no stream": ({"StreamSpecification": {}}, "--stream-specification StreamEnabled=true"),
    "half a stream": (
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}},
        "StreamViewType=NEW_AND_OLD_IMAGES",
    ),
    "another stream": ({"LatestStreamArn": f"{RESTORED}1"}, f"-c table={RESTORED}1"),
    "no indexes": ({"GlobalSecondaryIndexes": []}, "has not the index created"),
    "replicas": ({"Replicas": REPLICAS}, "conditions hold in one region only"),
}


def test_a_restored_table_that_was_made_ready_may_be_used() -> None:
    table, described, layout = restored()
    assert existing_table_faults(table, described, layout, EXPIRING) == []


@pytest.mark.parametrize("case", NOT_READY)
def test_a_table_that_is_not_what_the_schema_needs_is_refused_with_what_makes_it_so(case: str) -> None:
    changes, said = NOT_READY[case]
    table, described, layout = restored(**changes)
    faults = existing_table_faults(table, described, layout, EXPIRING)
    assert said in "\n".join(map(str, faults))


def test_a_table_where_records_do_not_expire_or_an_index_is_not_filled_is_refused() -> None:
    table, described, layout = restored()
    (fault,) = existing_table_faults(table, described, layout, {"TimeToLiveStatus": "DISABLED"})
    assert "Enabled=true,AttributeName=_expires" in fault.fix
    described["GlobalSecondaryIndexes"][0]["IndexStatus"] = "CREATING"
    (fault,) = existing_table_faults(table, described, layout, EXPIRING)
    assert "is CREATING" in fault.message


BOUND = TableUnits(read=4000, write=2000)


def test_a_table_with_other_bounds_of_its_units_is_refused_with_what_makes_them_so() -> None:
    table, described, layout = restored()
    faults = existing_table_faults(table, described, layout, EXPIRING, BOUND)
    assert len(faults) == 1 + len(layout.indexes)
    assert "--on-demand-throughput MaxReadRequestUnits=4000,MaxWriteRequestUnits=2000" in faults[0].fix
    update = f"'Update={{IndexName={layout.indexes[0].name},OnDemandThroughput={{MaxReadRequestUnits=4000}}}}'"
    assert any(f"--global-secondary-index-updates {update}" in fault.fix for fault in faults)
    reads = {"OnDemandThroughput": {"MaxReadRequestUnits": 4000}}
    described["OnDemandThroughput"] = {**reads["OnDemandThroughput"], "MaxWriteRequestUnits": 2000}
    described["GlobalSecondaryIndexes"] = [{**each, **reads} for each in described["GlobalSecondaryIndexes"]]
    assert existing_table_faults(table, described, layout, EXPIRING, BOUND) == []
    taken_back = existing_table_faults(table, described, layout, EXPIRING)
    assert "MaxReadRequestUnits=-1,MaxWriteRequestUnits=-1" in taken_back[0].fix


def test_a_stage_does_not_go_back_to_a_table_without_its_records() -> None:
    existing = existing_table_of(RESTORED)
    assert table_after(STACK, None, STACK) == STACK
    assert table_after(STACK, existing, STACK) == "orders-restored"
    assert table_after("orders-restored", existing, STACK) == "orders-restored"
    with pytest.raises(ConfigurationError, match="records are in the table orders-restored"):
        table_after("orders-restored", None, STACK)


def test_the_choices_of_a_wave_are_of_that_run_alone(tmp_path: Path) -> None:
    commands = Commands()
    wanted = configuration(**PROD).schema.layout.indexes
    deployment(commands, tmp_path).roll_out(first_waves(wanted, protected=True), wanted)
    given = commands.asked[0]
    assert given[: given.index("-c")] == ["synth", "**", "--quiet", "--output", str(tmp_path)]
    assert context_of(PROD) == given[given.index("-c") :][:2]
    settings = replace(configuration(**PROD), choices="")
    assert replace(configuration(**PROD, protection="off"), choices="", protection=True) == settings
