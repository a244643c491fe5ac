"""A deployment to the emulator that was stopped goes on when it is started again, or says what to do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from shardweave.cdk.cdk_command import run_quietly
from shardweave.cdk.deploy_local import deployed_outputs
from shardweave.errors import ConfigurationError

STACK = "orders-local"


def test_the_outputs_are_those_that_the_cdk_wrote(tmp_path: Path) -> None:
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps({STACK: {"ApiId": "written"}}))
    assert deployed_outputs(file, STACK, lambda: None) == {"ApiId": "written"}


@pytest.mark.parametrize("written", [None, "{}", json.dumps({"another": {"ApiId": "x"}}), json.dumps({STACK: {}})])
def test_where_nothing_had_to_be_deployed_the_stack_says_its_outputs(tmp_path: Path, written: str | None) -> None:
    file = tmp_path / "outputs.json"
    if written is not None:
        file.write_text(written)
    found = {"Outputs": [{"OutputKey": "ApiId", "OutputValue": "said"}]}
    assert deployed_outputs(file, STACK, lambda: found) == {"ApiId": "said"}


@pytest.mark.parametrize("found", [None, {}, {"Outputs": [{"OutputKey": "TableName", "OutputValue": "orders"}]}])
def test_a_stack_whose_creation_was_stopped_is_told_with_what_to_do(
    tmp_path: Path, found: dict[str, object] | None
) -> None:
    with pytest.raises(ConfigurationError, match=f"{STACK}: the stack has no outputs.* --stop`, and deploy again"):
        deployed_outputs(tmp_path / "outputs.json", STACK, lambda: found)


def test_what_runs_unseen_is_said_to_run_and_nothing_that_it_writes_is_lost(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = (
        "import pathlib, time\n"
        "print('first', flush=True)\n"
        f"while not pathlib.Path({str(seen)!r}).exists(): time.sleep(0.01)\n"
        "print('last')\n"
        "raise SystemExit(3)\n"
    )
    code, written = run_quietly(
        [sys.executable, "-c", program], tmp_path, os.environ, still=lambda _: seen.touch(), every_seconds=0.01
    )
    assert (code, written.split()) == (3, ["first", "last"])
