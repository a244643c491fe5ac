"""What starting a function costs: no module is imported before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/handler.py"))

HEAVY = {
    "boto3": "is botocore and what none of them needs",
    "botocore.session": "is imported with the table, at the first request",
    "cryptography": "is imported when a cursor is made or read",
    "aws_xray_sdk": "is not in the layer",
    "graphql": "is imported on its route",
    "rich": "is not in the layer",
    "services": "a service's declarations are imported when it is put together",
    "shardweave.query.runner": "is needed by the API alone",
    "shardweave.table.dynamodb": "is imported with the table",
    "shardweave.table.embedded": "is for one machine",
    "shardweave.table.fault_injection": "is for tests",
    "sqlite3": "is for one machine",
    "uvicorn": "is not in the layer",
}
NEEDED_BY = {"api": {"shardweave.query.runner"}}


@cache
def imported_by(statement: str) -> frozenset[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(json.loads(done.stdout))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_starting_a_function_imports_nothing_that_it_may_not_need(function: str) -> None:
    modules = imported_by(f"import functions.{function}.handler")
    assert f"functions.{function}.handler" in modules
    unexpected = (modules & set(HEAVY)) - NEEDED_BY.get(function, set())
    assert {name: HEAVY[name] for name in unexpected} == {}


def test_only_the_api_needs_the_api() -> None:
    for function in set(FUNCTIONS) - {"api"}:
        assert "shardweave.api.router" not in imported_by(f"import functions.{function}.handler")


def test_what_is_not_imported_at_the_start_can_be_imported_later() -> None:
    modules = imported_by("import functions.doctor.handler, shardweave.service.build, shardweave.table.dynamodb")
    assert {"botocore.session", "shardweave.query.runner"} <= modules
    assert "boto3" not in modules


def test_the_collector_rests_while_the_api_is_imported_and_no_longer() -> None:
    check = "import gc, functions.api; assert not gc.isenabled(); import functions.api.handler; assert gc.isenabled()"
    assert "functions.api.handler" in imported_by(check)
