"""This repository keeps its own rules, and each rule notices when it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rules.project_rules import PURE, RULES, Tree, module_name

REPOSITORY = Tree(Path(__file__).resolve().parents[2])

BREACHES = {
    "long_modules": {"shared/shardweave/local/everything.py": "x = 1\n" * 501},
    "vague_modules": {"shared/shardweave/local/utils.py": ""},
    "boto3_outside_its_backend": {"shared/shardweave/store/write.py": "def write():\n    import boto3\n"},
    "library_that_looks_up": {"shared/shardweave/service/build.py": "from services import user_service\n"},
    "library_that_looks_out": {"shared/shardweave/store/write.py": "def write():\n    from ..cli import main\n"},
    "impure_modules": {
        "shared/shardweave/query/plan.py": "from ..table import files\n",
        "shared/shardweave/table/files.py": "import sqlite3\n",
    },
    "circles_of_modules": {
        "shared/shardweave/query/plan.py": "from ..checks import faults\n",
        "shared/shardweave/checks.py": "def faults():\n    from .schema.schema import Schema\n",
        "shared/shardweave/schema/schema.py": "from ..query import plan\n",
    },
    "arrows_upwards": {
        "shared/shardweave/table/layout.py": "from ..values.codecs import Codec\n",
        "shared/shardweave/values/codecs.py": "def opened():\n    from .. import database\n",
        "shared/shardweave/query/plan.py": "from ..schema.schema import Schema\n",
        "shared/shardweave/schema/schema.py": "",
        "shared/shardweave/database.py": "",
        "shared/shardweave/somewhere/new.py": "",
    },
    "inner_imports": {
        "docs/one.md": "```python\n>>> from shardweave.schema import Schema\n```\n",
        "shared/services/orders.py": "from shardweave import Schema\nfrom shardweave.store import Store\n",
    },
    "packages_without_an_extra": {
        "shared/shardweave/store/write.py": "def write():\n    import rich.table\n",
        "shared/shardweave/cli/show.py": "from aws_cdk import App\n",
        "shared/shardweave/testing.py": "import moto\n",
    },
    "static_shard_maps": {
        "shared/shardweave/local/open.py": "def open(table, maps=None):\n    return maps or StaticMaps()\n"
    },
    "skipped_tests": {"tests/unit/test_one.py": "import pytest\n@pytest.mark.skip\ndef test(): ...\n"},
    "patched_tests": {"tests/unit/test_one.py": "def test(monkeypatch):\n    monkeypatch.setattr('a.b', 1)\n"},
    "addresses_of_one_machine": {"README.md": "cd " + "/".join(["", "home", "me", "shardweave"])},
    "broken_links": {
        "docs/one.md": "# One\n[a page](two.md)\n[a heading](#one)\n[code `x`](three.md)\n",
        "docs/three.md": "[a heading](one.md#two)\n[another](../docs/one.md#one)\n",
    },
    "lock_files_with_addresses": {"requirements/runtime.txt": "--index-url somewhere\n"},
    "parsers_that_abbreviate": {
        "run": "import argparse\nparser = argparse.ArgumentParser(prog='run')\n",
        "shared/shardweave/cli/ask.py": "def add(choice):\n    choice.add_parser('ask', allow_abbrev=True)\n",
        "benchmarks/asked.py": "from argparse import ArgumentParser\nclass Own(ArgumentParser): ...\nparser = Own()\n",
    },
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps(rule: Callable[[Tree], list[str]]) -> None:
    assert rule(REPOSITORY) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_breach_is_noticed_by(rule: Callable[[Tree], list[str]], tmp_path: Path) -> None:
    planted = BREACHES[rule.__name__]
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    breaches = rule(Tree(tmp_path))
    assert breaches
    assert all(any(name in breach for name in planted) for breach in breaches)


def test_what_git_ignores_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "utils.py").write_text("")
    assert Tree(tmp_path).files == (tmp_path / ".gitignore",)


@pytest.mark.parametrize("module", ["shardweave.schema.schema", "shardweave.keys.entity_keys", "shardweave.query.plan"])
def test_the_modules_that_must_be_pure_are_found(module: str) -> None:
    assert module in PURE
    assert module in {module_name(name) for name, _ in REPOSITORY.modules("shared")}
