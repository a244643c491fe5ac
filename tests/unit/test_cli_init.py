"""`shardweave init` makes a project that works, and changes nothing where there is something."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shardweave.cli.project_files import project_files
from shardweave.key_format import ORDERED
from tests.unit.cli_world import shardweave

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
    [("orders", "order", "orderId"), ("address", "address", "addressId"), ("unit_tests", "unitTest", "unitTestId")],
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


@pytest.mark.parametrize("name", ["os", "Orders", "1st", "my orders", "class", "services"])
def test_a_name_that_no_service_can_have_is_refused(tmp_path: Path, name: str) -> None:
    done = shardweave("init", str(tmp_path / name), "--no-hashes")
    assert done.code == 2
    assert "can't name a service" in done.errors
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "mine").write_text("x")
    done = shardweave("init", str(tmp_path / "orders"), "--no-hashes")
    assert done.code == 2
    assert "there is something in" in done.errors
    assert [path.name for path in (tmp_path / "orders").iterdir()] == ["mine"]
