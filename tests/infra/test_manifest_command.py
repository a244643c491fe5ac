"""`./run manifest` writes down what has been deployed, and no change that could not be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shardweave.cdk.manifest import read_manifest, write_manifest
from shardweave.cdk.manifest_command import options_of, show
from shardweave.keys.key_format import ORDERED
from shardweave.schema.manifest import Manifest, manifest_of
from shardweave.service.loader import service_schema

SERVICE = "user_service"


@pytest.fixture
def wanted() -> Manifest:
    return manifest_of(service_schema(SERVICE, ORDERED))


def without_bumps(manifest: Manifest) -> Manifest:
    users = replace(manifest.entities["user"], bumps=())
    return replace(manifest, entities={**manifest.entities, "user": users})


def without_indexes(manifest: Manifest, count: int) -> Manifest:
    return replace(manifest, indexes=dict(list(manifest.indexes.items())[count:]))


def test_a_bump_in_the_past_is_not_written_down_unasked(
    wanted: Manifest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = without_bumps(wanted)
    write_manifest(SERVICE, deployed, tmp_path)
    assert show(SERVICE, options_of(["--write"]), tmp_path) == 1
    assert read_manifest(SERVICE, tmp_path) == deployed
    said = capsys.readouterr().out
    assert "has begun" in said
    assert "--from STAGE" in said
    assert show(SERVICE, options_of(["--write", "--even-so"]), tmp_path) == 0
    assert read_manifest(SERVICE, tmp_path) == wanted


def test_what_could_be_deployed_is_written_down(wanted: Manifest, tmp_path: Path) -> None:
    assert show(SERVICE, options_of(["--write"]), tmp_path) == 0
    assert read_manifest(SERVICE, tmp_path) == wanted


def test_several_index_changes_pass_when_waves_are_meant(
    wanted: Manifest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_manifest(SERVICE, without_indexes(wanted, 2), tmp_path)
    assert show(SERVICE, options_of([]), tmp_path) == 1
    assert "or `./run deploy`, in waves" in capsys.readouterr().out
    assert show(SERVICE, options_of(["--waves"]), tmp_path) == 0
    assert show(SERVICE, options_of([]), tmp_path) == 0
