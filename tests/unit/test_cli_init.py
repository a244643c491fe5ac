"""`shardweave init` makes a project that works, and changes nothing where there is something."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib import metadata
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

from shardweave.cli.project_files import project_files
from shardweave.cli.project_name import BROUGHT
from shardweave.keys.key_format import ORDERED
from tests.unit.cli_world import shardweave

ROOT = Path(__file__).resolve().parents[2]
FILES = {".gitignore", "README.md", "app.py", "cdk.json", "conftest.py", "requirements.txt"}


def test_the_project_has_a_service_a_test_and_what_deploys_it(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    done = shardweave("init", str(folder), "--no-hashes")
    assert done.code == 0
    assert {path.name for path in folder.iterdir()} == FILES | {"orders.py", "test_orders.py"}
    assert json.loads((folder / "cdk.json").read_text())["context"]["service"] == "orders"
    pinned = [line for line in (folder / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    names = [line.partition("==")[0] for line in pinned]
    assert names == sorted(set(names))
    assert "shardweave" not in names
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.+!]+", line) for line in pinned)


@pytest.mark.parametrize(
    ("service", "token", "key"),
    [("orders", "order", "orderId"), ("address", "address", "addressId"), ("unit_tests", "unitTest", "unitTestId")]
    + [
        (plural, one, f"{one}Id")
        for plural, one in (
            ("boxes", "box"),
            ("companies", "company"),
            ("branches", "branch"),
            ("addresses", "address"),
            ("houses", "house"),
            ("movies", "movie"),
            ("ties", "tie"),
            ("series", "series"),
            ("bus", "bus"),
        )
    ],
)
def test_the_entity_is_named_after_the_service(
    service: str, token: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType(service)
    monkeypatch.setitem(sys.modules, service, module)
    exec(compile(project_files(service)[f"{service}.py"], service, "exec"), vars(module))
    schema = module.schema(ORDERED)
    assert list(schema.entities) == [token]
    assert schema.entity(token).identity == (key,)


@pytest.mark.parametrize("tests", [["-m", "shardweave.cli", "test"], ["-m", "pytest"]], ids=["test", "pytest"])
def test_what_was_synthesized_is_no_part_of_the_tests(tmp_path: Path, tests: list[str]) -> None:
    folder = tmp_path / "orders"
    shardweave("init", str(folder), "--no-hashes")
    if "pytest" not in tests:  # The command needs no word of the project's own.
        fixtures = (folder / "conftest.py").read_text()
        assert fixtures.count('collect_ignore = ["cdk.out"]\n') == 1
        (folder / "conftest.py").write_text(fixtures.replace('collect_ignore = ["cdk.out"]\n', ""))
    layer = folder / "cdk.out" / "asset.0" / "python"
    for package in ("pydantic", "checked"):
        (layer / package).mkdir(parents=True)
        (layer / package / "__init__.py").write_text("raise ImportError('for another machine')\n")
    (layer / "checked" / "test_cases.py").write_text("")
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, (folder, *sys.path)))}
    done = subprocess.run(
        [sys.executable, "-P", *tests], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("os", "Python has a module"),
        ("test", "Python has a module"),
        ("Orders", "not in lower case"),
        ("1st", "beginning with a letter"),
        ("_orders", "beginning with a letter"),
        ("my orders", "of letters from a to z"),
        ("größe", "of letters from a to z"),
        ("class", "word of the language"),
        ("services", "the library has a module"),
        ("pytest", "a package that is installed"),
        ("aws-cdk", "a package that is installed"),
        ("app", "something else of the name"),
        ("conftest", "something else of the name"),
        ("shardweave", "of the name"),
        ("manifests", "something else of the name"),
        ("test_orders", "pytest takes a file"),
        ("orders_test", "pytest takes a file"),
        ("a" * 300, "it has 300 characters"),
    ],
)
def test_a_name_that_no_service_can_have_is_refused_and_the_rule_said(tmp_path: Path, name: str, rule: str) -> None:
    done = shardweave("init", str(tmp_path / name), "--no-hashes")
    assert done.code == 2
    assert "can't name a service" in done.errors
    assert rule in done.errors
    assert list(tmp_path.iterdir()) == []


def test_no_project_is_named_as_a_module_of_what_the_library_needs() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [*declared["dependencies"], *chain.from_iterable(declared["optional-dependencies"].values())]
    needed: set[str] = set()
    while waiting:
        name = _distribution(waiting.pop())
        if name not in needed:
            needed.add(name)
            with suppress(metadata.PackageNotFoundError):
                waiting += [line for line in metadata.requires(name) or () if "extra ==" not in line]
    modules = {
        module
        for module, owners in metadata.packages_distributions().items()
        if needed & set(map(_distribution, owners)) and not module.startswith("_")
    }
    assert {"boto3", "pydantic", "pytest", "uvicorn"} <= modules
    assert (modules | {"aws_cdk", "constructs"}) - {"shardweave"} <= BROUGHT


def _distribution(line: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line, maxsplit=1)[0]).lower()


def test_the_help_of_test_is_short_and_says_where_that_of_pytest_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert shardweave("test", "--help").code == 0
    said = capsys.readouterr().out
    assert "python -m pytest --help" in said
    assert len(said.splitlines()) < 20


def test_no_folder_above_the_project_is_made(tmp_path: Path) -> None:
    done = shardweave("init", str(tmp_path / "missing" / "orders"), "--no-hashes")
    assert done.code == 2
    assert "there is no folder" in done.errors
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "mine").write_text("x")
    done = shardweave("init", str(tmp_path / "orders"), "--no-hashes")
    assert done.code == 2
    assert "there is something in" in done.errors
    assert [path.name for path in (tmp_path / "orders").iterdir()] == ["mine"]
