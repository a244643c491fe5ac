"""The wheel holds the library, its guides, what it deploys with, and nothing else; it needs what is locked."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import shardweave
from tests.package.conftest import ROOT

BROUGHT = {
    "docs": "shardweave/cli/guides",
    "functions": "shardweave/cdk/functions",
    "requirements/cdk-cli": "shardweave/cdk/requirements/cdk-cli",
}
SINGLE = {
    "cdk.json": "shardweave/cdk/cdk.json",
    "requirements/layer.txt": "shardweave/cdk/requirements/layer.txt",
    "requirements/ministack.txt": "shardweave/cdk/requirements/ministack.txt",
}


def files_below(folder: Path, into: str) -> dict[str, Path]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{into}/{path.relative_to(folder).as_posix()}": path for path in found}


def test_it_holds_the_library_its_guides_and_what_it_deploys_with(wheel: Path) -> None:
    expected = files_below(ROOT / "shared" / "shardweave", "shardweave")
    for source, target in BROUGHT.items():
        expected |= files_below(ROOT / source, target)
    expected |= {target: ROOT / source for source, target in SINGLE.items()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert held == set(expected)
        assert all(archive.read(name) == path.read_bytes() for name, path in expected.items())


def test_it_is_typed_licensed_and_of_the_version_that_the_library_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))
    assert "shardweave/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert f"\nVersion: {shardweave.__version__}\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata


def needs(file: str) -> set[str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith(("#", "-r"))}


def test_what_it_needs_is_what_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: set(given) - {"shardweave[api]"} for name, given in project["optional-dependencies"].items()}
    assert set(extras) == {"api", "async", "cdk", "cli", "graphql", "local"}
    assert set(project["dependencies"]) | extras["api"] | extras["graphql"] == needs("layer.in")
    assert {each.partition(">")[0] for each in extras["async"]} <= needs("dev.in")
    assert extras["local"] | extras["cli"] == needs("runtime.in") | {"pytest"}
    assert extras["cdk"] <= needs("cdk.in") | needs("installer.in")
    assert not any(re.search("moto", each) for each in (*project["dependencies"], *set().union(*extras.values())))
