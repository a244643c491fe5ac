"""A client in TypeScript: it compiles strictly, works against the served API, and wrong uses of it don't compile. The
compiler comes from npm, by its lock file, and runs on the Node of this stage."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shardweave.cdk.tools import node_folder, with_node
from tests.clients.served import (
    CUSTOMERS,
    DAY_OF_WORK,
    DEPOT,
    OPENING,
    OUTLETS,
    PROGRAMS,
    SERVICES,
    checked,
    client_text,
    outlets,
    said_by,
    tracker,
    wrong_lines,
)

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "typescript"
STRICT = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "noImplicitReturns": True,
    "noUnusedLocals": True,
    "noPropertyAccessFromIndexSignature": True,
    "erasableSyntaxOnly": True,
    "verbatimModuleSyntax": True,
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "lib": ["ES2022", "DOM"],
    "types": [],
}


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the compiler."""
    home = tmp_path_factory.mktemp("typescript")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, home)
    node = node_folder() / "node"
    npm = node_folder().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = subprocess.run(
        [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"],
        cwd=home,
        env=with_node(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [str(node), str(home / "node_modules" / "typescript" / "bin" / "tsc")]


def project(folder: Path, service: str, *programs: str) -> Path:
    """A folder with the client of a service, programs, and strict settings."""
    (folder / "client.ts").write_text(client_text(service, "typescript"), encoding="utf-8")
    for name in programs:
        shutil.copy(PROGRAMS / name, folder)
    files = ["client.ts", *programs]
    settings = {"compilerOptions": {**STRICT, "outDir": "out"}, "files": files}
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.mark.parametrize("service", SERVICES)
def test_the_client_of_each_service_compiles_strictly(tmp_path: Path, compiler: list[str], service: str) -> None:
    assert checked([*compiler, "--noEmit"], project(tmp_path, service)) == ""


def test_a_day_of_work_compiles_and_is_done(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, "issue_tracker", "day.ts")
    assert checked(compiler, folder) == ""
    with tracker(tmp_path) as arguments:
        assert said_by([compiler[0], "out/day.js", *arguments], folder) == DAY_OF_WORK


def test_keys_that_are_members_of_models_compile_and_lead_to_records(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, OUTLETS, "opening.ts")
    assert checked(compiler, folder) == ""
    with outlets(tmp_path) as arguments:
        assert said_by([compiler[0], "out/opening.js", *arguments], folder) == OPENING


def test_wrong_uses_of_collections_and_filters_do_not_compile(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, CUSTOMERS, "history.ts")
    found = checked([*compiler, "--noEmit", "--pretty", "false"], folder)
    lines = {int(number) for number in re.findall(r"^history\.ts\((\d+),", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((folder / "history.ts").read_text(encoding="utf-8")), found


def test_each_wrong_use_does_not_compile(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, "issue_tracker", "wrong.ts")
    found = checked([*compiler, "--noEmit", "--pretty", "false"], folder)
    lines = {int(number) for number in re.findall(r"^wrong\.ts\((\d+),", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((folder / "wrong.ts").read_text(encoding="utf-8")), found


def test_entities_may_have_the_names_of_the_clients_own_types(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, DEPOT, "visit.ts")
    found = checked([*compiler, "--noEmit", "--pretty", "false"], folder)
    lines = {int(number) for number in re.findall(r"^visit\.ts\((\d+),", found, re.MULTILINE)}
    assert sorted(lines) == wrong_lines((folder / "visit.ts").read_text(encoding="utf-8")), found


def test_answers_that_break_off_or_are_not_the_services(tmp_path: Path, compiler: list[str]) -> None:
    folder = project(tmp_path, DEPOT, "answers.ts")
    assert checked(compiler, folder) == ""
    assert said_by([compiler[0], "out/answers.js"], folder) == {
        "pauses": 1,
        "short": True,
        "back": "/v1/pages?index=byState&limit=2&prevToken=a",
        "broken": "Unanswered",
        "foreign": ["internal_error", 200],
        "without": ["throttled", 418],
    }
