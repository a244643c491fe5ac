"""What a program may import: `shardweave` names it, loads nothing before it is asked for, and has one version."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shardweave

ROOT = Path(__file__).parents[2]

NAMES = """
    ARTICLE ENTITY_MANAGER ORDERED Add Allow Apply AsyncDatabase CanonicalBegin Check Collection Create CursorKeys
    Database DecimalCodec Delete DeleteRecord Entity Event GraphQL HashKey IdempotencyKey Index KeyFormat Lookup
    OrderedLookup Page Put RangeKey ReadModel Reset Schema SemanticVersion Sequence SetRecord Shadow ShardBump Timestamp
    TimestampSeconds Unique Update UpdateRecord __version__ belongs_to between branch claim_property desc errors
    has_many nanoid one_of prefix private_property shard_key timestamp_property ttl_property unique_property
    updated_property where
"""
PUBLIC = NAMES.split()


def test_the_public_names_are_these() -> None:
    assert shardweave.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_is_there_and_is_the_same_each_time(name: str) -> None:
    assert getattr(shardweave, name) is getattr(shardweave, name)
    assert name in dir(shardweave)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'shardweave' has no attribute 'Databse'"):
        _ = shardweave.Databse


def test_the_import_alone_loads_its_version_and_nothing_else() -> None:
    """Python's own modules for types apart, which every program has."""
    loaded = modules_after("import shardweave")
    assert loaded == {"shardweave"}


def test_a_name_loads_what_it_needs_and_no_table() -> None:
    loaded = modules_after("from shardweave import Entity, HashKey, Index, RangeKey, Schema, ShardBump, nanoid")
    ours = {name.removeprefix("shardweave.") for name in loaded if name.startswith("shardweave.")}
    assert "schema" in ours
    assert not {"database", "store", "api", "cli"} & {name.partition(".")[0] for name in ours}
    assert not {"botocore", "sqlite3", "aws_lambda_powertools", "cryptography", "uvicorn"} & loaded


def test_a_database_in_memory_loads_nothing_of_dynamodb_or_http() -> None:
    code = "class A(Entity, token='a'): a_id: str = unique_property()"
    loaded = modules_after(
        f"from shardweave import Database, Entity, Schema, unique_property\n{code}\nDatabase(Schema([A])).get(A, 'x')"
    )
    assert not {"botocore", "boto3", "aws_lambda_powertools", "uvicorn"} & loaded


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project.get("version", shardweave.__version__) == shardweave.__version__


def modules_after(code: str) -> set[str]:
    """What a new process has loaded after this code, of the library and of what is installed beside it."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT / "shared"
    )
    return {
        name
        for name in found.stdout.split()
        if name == "sqlite3" or name.partition(".")[0] not in sys.stdlib_module_names
    }
