"""`shardweave init` makes a project that works, and changes nothing where there is something."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shardweave.cli.project_files import project_files
from shardweave.key_format import ORDERED
from tests.unit.cli_world import shardweave

FILES = {".gitignore", "README.md", "app.py", "cdk.json", "requirements.txt"}


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
