"""Each stage keeps what it was deployed with, and a change is judged by that: another stage's deployment does not vouch
for it, and a checkout that is older than what is deployed is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from shardweave.cdk.configuration import Configuration
from shardweave.cdk.deploy import absorbed_bumps, controls_of, faults_of
from shardweave.cdk.deployed_stack import stage_record
from shardweave.cdk.manifest import AHEAD_MS, faults
from shardweave.cdk.manifest_command import deployed_to
from shardweave.cdk.stage_state import (
    METADATA,
    StageRecord,
    decode_stage_record,
    encode_stage_record,
    stage_faults,
    unheard_of,
)
from shardweave.errors import ConfigurationError, Fault
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.control import encode_control
from shardweave.reshard.declaration_guard import placement_of
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.schema.manifest import Manifest
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from tests.infra.conftest import configuration
from tests.infra.test_kept_choices import Stacks
from tests.infra.test_manifest import BEGUN, NOW, manifest

WIDER = ShardBump(NOW, char_bits=2, chars=2)


def record(*names: str, bumps: Sequence[ShardBump] = (BEGUN,), key_format: str = "ordered", **keywords: Any) -> Any:
    return StageRecord(key_format, manifest(*names, bumps=bumps, **keywords))


def against(deployed: StageRecord, wanted: StageRecord, *, at: int, until: int | None = None) -> list[Fault]:
    absorbed = {} if until is None else {"order": until}
    return stage_faults(deployed, wanted, absorbed=absorbed, now_ms=at)


# -- it is kept with the stage ----------------------------------------------------------------------------------------


class DeployedStacks(Stacks):
    """CloudFormation with one stack of a template."""

    def __init__(self, body: Any) -> None:
        super().__init__({"StackStatus": "UPDATE_COMPLETE"})
        self._body = body

    def get_template(self, **asked: Any) -> Any:
        assert asked["StackName"] == "shardweave-user-service-dev"
        return {"TemplateBody": self._body}


def test_a_template_says_what_its_stage_is_deployed_with(template: dict[str, Any]) -> None:
    own = configuration().stage_record
    for body in (template, json.dumps(template)):
        assert stage_record(DeployedStacks(body), "shardweave-user-service-dev") == own
        assert deployed_to(DeployedStacks(body), "user_service", "dev") == own.manifest
    assert configuration(keyFormat="article").stage_record == replace(own, key_format="article")


def test_a_stack_from_before_says_nothing() -> None:
    assert decode_stage_record({}) is None
    assert decode_stage_record({"Metadata": {"other": 1}}) is None
    with pytest.raises(ConfigurationError, match="before stacks said"):
        deployed_to(DeployedStacks("{}"), "user_service", "dev")
    with pytest.raises(ConfigurationError, match="no such stack"):
        deployed_to(Stacks(), "user_service", "prod")


def test_what_can_not_be_read_is_refused() -> None:
    for found in ({}, [], {"keyFormat": "ordered", "manifest": {"keys": 1}}):
        with pytest.raises(ConfigurationError, match="newer checkout"):
            decode_stage_record({"Metadata": {METADATA: found}})
    assert decode_stage_record({"Metadata": encode_stage_record(record())}) == record()


# -- bumps ------------------------------------------------------------------------------------------------------------


def test_another_stages_deployment_does_not_vouch_for_a_bump() -> None:
    """The committed manifest knows the bump, since one stage got it in time; this stage gets it when it has begun."""
    committed = manifest(bumps=[BEGUN, WIDER])
    assert faults(committed, manifest(bumps=[BEGUN, WIDER]), now_ms=NOW + 1) == []
    (fault,) = against(record(), record(bumps=[BEGUN, WIDER]), at=NOW + 1)
    assert fault.where == "order: shard_bumps"
    assert "has begun" in fault.message
    assert str(NOW + 1 + AHEAD_MS) in fault.fix
    assert "re-shard order of this stage first" in fault.fix


def test_a_bump_reaches_each_stage_a_day_before_it_begins() -> None:
    wanted = record(bumps=[BEGUN, WIDER])
    assert against(record(), wanted, at=NOW - AHEAD_MS) == []
    assert against(record(), wanted, at=NOW - AHEAD_MS + 1) != []
    assert against(wanted, wanted, at=NOW + 1) == []


def test_a_stage_whose_records_a_re_shard_has_moved_takes_the_bumps_that_it_stands_for() -> None:
    wanted = record(bumps=[BEGUN, WIDER])
    assert against(record(), wanted, at=NOW + 2, until=NOW) == []
    assert against(record(), wanted, at=NOW + 2, until=NOW - 1) != []


def test_an_older_checkout_does_not_take_a_bump_back() -> None:
    """Its committed manifest is as old as its declaration, so they agree."""
    older = manifest()
    assert faults(older, older, now_ms=NOW) == []
    (fault,) = against(record(bumps=[BEGUN, WIDER]), record(), at=NOW + 1)
    assert "would change or go" in fault.message
    assert "Rolling back" in fault.fix


def test_a_bump_that_is_a_day_away_places_nothing_yet_and_may_be_taken_back() -> None:
    deployed = record(bumps=[BEGUN, WIDER])
    assert against(deployed, record(), at=NOW - AHEAD_MS - 1) == []
    assert against(deployed, record(), at=NOW - AHEAD_MS) != []


# -- what else places records -----------------------------------------------------------------------------------------


def test_a_stages_key_format_is_chosen_once() -> None:
    (fault,) = against(record(key_format="article"), record(), at=NOW)
    assert "-c keyFormat=article" in fault.fix


def test_what_places_the_stages_records_stays() -> None:
    found = against(record(), record(partition="customer_id"), at=NOW)
    assert "order.partition" in [fault.where for fault in found]


# -- an older checkout ------------------------------------------------------------------------------------------------


def unheard(indexes: Sequence[str], wanted: Manifest, committed: Manifest | None) -> list[str]:
    found = unheard_of(indexes, StageRecord("ordered", manifest()), wanted, committed, "prod")
    assert all("Rolling back" in fault.fix and "--from prod" in fault.fix for fault in found)
    return [fault.where for fault in found]


def test_an_index_that_this_checkout_never_had_is_not_taken_away() -> None:
    older = manifest("all", "byTotal")
    assert unheard(["all", "byCustomer", "byTotal"], older, older) == ["index byCustomer"]
    assert unheard(["all", "byCustomer", "byTotal"], older, None) == ["index byCustomer"]


def test_an_index_that_was_taken_out_of_the_declaration_here_goes() -> None:
    assert unheard(["all", "byCustomer", "byTotal"], manifest("all", "byTotal"), manifest()) == []


def test_an_entity_that_this_checkout_never_had_is_missed() -> None:
    without = replace(manifest(), entities={})
    assert unheard(["all"], without, without) == ["entity order"]
    assert unheard(["all"], without, manifest()) == []


# -- together ---------------------------------------------------------------------------------------------------------


def with_bump(settings: Configuration, *bumps: ShardBump) -> StageRecord:
    """What the stage has been deployed with, if users had these bumps."""
    own = settings.stage_record
    users = replace(own.manifest.entities["user"], bumps=bumps)
    return replace(own, manifest=replace(own.manifest, entities={**own.manifest.entities, "user": users}))


@pytest.mark.parametrize(("stage", "missed"), [("prod", ["index later"]), ("dev", [])])
def test_a_stage_that_is_thrown_away_loses_indexes_with_every_checkout(stage: str, missed: list[str]) -> None:
    settings = configuration(stage=stage)
    with closing(EmbeddedTable(settings.layout)) as table:
        there = [*settings.stage_record.manifest.indexes, "later"]
        found = faults_of(settings, settings.stage_record, there, table)
        assert [fault.where for fault in found] == missed
        assert [fault.where for fault in faults_of(settings, None, there, table)] == missed


@pytest.mark.parametrize("stage", ["prod", "dev"])
def test_the_stages_table_is_asked_which_bumps_a_re_shard_stands_for(stage: str) -> None:
    settings = configuration(stage=stage)
    before = with_bump(settings)
    users = settings.schema.entities["user"]
    indexes = list(settings.stage_record.manifest.indexes)
    with closing(EmbeddedTable(settings.layout)) as table:
        assert [fault.where for fault in faults_of(settings, before, indexes, table)] == ["user: shard_bumps"]
        table.run(PutItem(encode_control(users, ReshardState(1, users.shard_map, absorbed_until=0), "r1")))
        assert absorbed_bumps(before, settings.stage_record, controls_of(settings, table)) == {"user": 0}
        assert faults_of(settings, before, indexes, table) == []


def test_while_records_move_what_places_them_is_not_deployed_otherwise() -> None:
    settings = configuration()
    users = settings.schema.entities["user"]
    indexes = list(settings.stage_record.manifest.indexes)
    moving = ReshardState(
        1, users.shard_map, users.shard_map, Phase.DUAL_OLD, ReshardStep.COPY, placement=placement_of(users)
    )
    with closing(EmbeddedTable(settings.layout)) as table:
        table.run(PutItem(encode_control(users, moving, "r1")))
        assert faults_of(settings, settings.stage_record, indexes, table) == []
        table.run(PutItem(encode_control(users, replace(moving, placement="another"), "r2")))
        for record in (settings.stage_record, None):
            (fault,) = faults_of(settings, record, indexes, table)
            assert (fault.where, "re-shard 1 moves its records" in fault.message) == ("user", True)
            assert "abort" in fault.fix
        table.run(PutItem(encode_control(users, replace(moving, placement="another", phase=Phase.STABLE), "r3")))
        assert faults_of(settings, settings.stage_record, indexes, table) == []
