"""What is uploaded: the layer with what functions need and nothing else, named by what it is made of."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shardweave.cdk.assets import asset_hash
from shardweave.cdk.layer import RUNTIME
from shardweave.cdk.layer_packages import CALLED_SERVICES, LOCK, PLATFORMS, TARGET_VERSION, layer_sources
from shardweave.cdk.sources import ROOT, source_files
from shardweave.service.dataclass_code import FILE
from shardweave.service.files import service_names
from shardweave.table.dynamodb.transport.endpoint import CA_FOLDER

MOST_BYTES = 20 * 1024 * 1024


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer for Lambda, as its asset is made."""
    folder = tmp_path_factory.mktemp("layer")
    PLATFORMS["target"].make_layer(folder, "user_service")
    return folder


def test_zipped_it_has_less_than_20_mb(layer: Path, tmp_path: Path) -> None:
    archive = tmp_path / "layer.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in layer.rglob("*"):
            packed.write(path, path.relative_to(layer))
    assert archive.stat().st_size < MOST_BYTES


def test_everything_is_where_lambda_looks_for_it(layer: Path) -> None:
    assert [path.name for path in layer.iterdir()] == ["python"]
    inside = {path.name for path in (layer / "python").iterdir()}
    assert {
        "shardweave",
        "services",
        "aws_lambda_powertools",
        "boto3",
        "botocore",
        "pydantic",
        "cryptography",
    } <= inside
    assert {path.stem for path in (layer / "python" / "services").iterdir()} == {"__init__", *service_names()}


def test_what_no_function_needs_is_not_in_it(layer: Path) -> None:
    inside = {path.name for path in (layer / "python").iterdir()}
    assert not inside & {"bin", "aws_cdk", "moto", "pytest", "uvicorn", "rich", "aws_xray_sdk"}
    described = {path.name for path in (layer / "python" / "botocore" / "data").iterdir() if path.is_dir()}
    assert described == set(CALLED_SERVICES)


def test_of_the_library_it_holds_what_functions_run_and_not_a_file_more(layer: Path) -> None:
    library = ROOT / "shared" / "shardweave"
    there = {path.relative_to(library) for path in library.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    outer = {path for path in there if path.parts[0] in {"__main__.py", "cdk", "cli", "local"}}
    inside = layer / "python" / "shardweave"
    held = {path.relative_to(inside) for path in inside.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {path.parts[0] for path in outer} == {"__main__.py", "cdk", "cli", "local"}
    certificates = {path for path in held if path.parent == CA_FOLDER.relative_to(library)}
    assert held - {FILE.relative_to(library)} - certificates == there - outer


def test_the_authorities_that_botocore_trusts_have_a_file_each(layer: Path) -> None:
    bundle = (layer / "python" / "botocore" / "cacert.pem").read_bytes()
    folder = layer / "python" / CA_FOLDER.relative_to(ROOT / "shared")
    assert len(list(folder.iterdir())) == bundle.count(b"-----BEGIN CERTIFICATE-----") > 100


def test_a_change_outside_of_what_functions_run_changes_no_layer() -> None:
    sources = {path.relative_to(ROOT).as_posix() for path in source_files(layer_sources("user_service"))}
    assert {"shared/shardweave/schema/schema.py", "shared/services/user_service.py"} <= sources
    assert not [name for name in sources if re.match("shared/shardweave/(__main__|cdk/|cli/|local/)", name)]


def test_compiled_packages_are_for_the_functions_platform(layer: Path) -> None:
    compiled = [path.name for path in layer.rglob("*.so")]
    assert compiled
    for name in compiled:
        assert "x86_64" not in name
        assert "abi3" in name or f"cpython-{TARGET_VERSION.replace('.', '')}" in name


def test_modules_are_compiled_for_that_python_or_not_at_all(layer: Path) -> None:
    versions = {path.name.split(".")[-2] for path in layer.rglob("*.pyc")}
    assert versions <= {f"cpython-{TARGET_VERSION.replace('.', '')}"}


@pytest.fixture(scope="module")
def host_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer for this Python, made by somebody who keeps what Python compiles in a folder of its own."""
    folder = tmp_path_factory.mktemp("host")
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("compiled")))
        PLATFORMS["host"].make_layer(folder, "user_service")
    return folder


def test_every_module_is_compiled_with_the_layer_of_this_python(host_layer: Path) -> None:
    modules = list(host_layer.rglob("*.py"))
    assert {each.relative_to(host_layer / "python").parts[0] for each in modules} >= {"shardweave", "services", "boto3"}
    compiled = {
        each: each.parent / "__pycache__" / f"{each.stem}.{sys.implementation.cache_tag}.pyc" for each in modules
    }
    assert [each for each, module in compiled.items() if not module.is_file()] == []


def test_the_methods_of_classes_are_compiled_with_the_layer_of_this_python(host_layer: Path) -> None:
    code = "from shardweave.service import dataclass_code; dataclass_code.use(); import shardweave.api.router"
    counting = f"""
import dataclasses, sys
compiled = []
sys.addaudithook(lambda event, given: event == "compile" and given[1] == "<string>" and compiled.append(given[0]))
{code}
print(sum(text.startswith(b"def ") for text in compiled))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", counting],
        env={"PYTHONPATH": str(host_layer / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0\n"


def test_functions_run_on_the_python_that_it_is_made_for() -> None:
    assert RUNTIME.name == f"python{TARGET_VERSION}"


# -- names ------------------------------------------------------------------------------------------------------------


def test_an_asset_is_named_by_the_lock_and_the_sources(tmp_path: Path) -> None:
    lock, package = tmp_path / "layer.txt", tmp_path / "package"
    package.mkdir()
    lock.write_text("boto3==1")
    (package / "one.py").write_text("x = 1")
    names = [asset_hash("layer", (lock, package))]
    (package / "one.py").write_text("x = 2")
    names.append(asset_hash("layer", (lock, package)))
    lock.write_text("boto3==2")
    names.append(asset_hash("layer", (lock, package)))
    (package / "one.py").rename(package / "two.py")
    names.append(asset_hash("layer", (lock, package)))
    names.append(asset_hash("layer for another platform", (lock, package)))
    assert len(set(names)) == len(names)


def test_what_python_made_of_the_sources_does_not_change_the_name(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1")
    before = asset_hash("layer", (tmp_path,))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "one.cpython-311.pyc").write_bytes(b"made")
    assert asset_hash("layer", (tmp_path,)) == before


def test_the_layer_is_made_of_files_that_exist() -> None:
    assert LOCK.is_file()
    assert all(source.is_dir() for source in layer_sources("user_service"))
