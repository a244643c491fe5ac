"""What is uploaded: folders that are made by a function, without a container.

An asset is named by the hash of what it is made of, not of what came out, so its name is the same on every machine and
known without making it. It is made when its stack is deployed; a template can be had without.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

ROOT = Path(__file__).resolve().parents[1]

_NOT_SOURCES = ("__pycache__", "*.pyc")


@jsii.implements(ILocalBundling)
class _Making:
    """Calls a function to fill the asset's folder."""

    def __init__(self, make: Callable[[Path], None]) -> None:
        self._make = make

    def try_bundle(self, output_dir: str, *, image: object = None, **options: Any) -> bool:
        """What the CDK calls. It would turn to a container if this were false."""
        del image, options
        self._make(Path(output_dir))
        return True


def made_asset(name: str, sources: Iterable[Path], make: Callable[[Path], None]) -> lambda_.AssetCode:
    """The asset that `make` puts into a folder. `name` and the content of `sources` (files and folders) decide it."""
    digest = hashlib.sha256(name.encode())
    for file in source_files(sources):
        digest.update(f"\0{file.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return lambda_.Code.from_asset(
        str(ROOT / "infra"),
        asset_hash_type=AssetHashType.CUSTOM,
        asset_hash=digest.hexdigest(),
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=_Making(make)),
    )


def source_files(sources: Iterable[Path]) -> list[Path]:
    """Every file of the sources, in order."""
    found: set[Path] = set()
    for source in sources:
        found |= {path for path in source.rglob("*") if path.is_file()} if source.is_dir() else {source}
    return sorted(path for path in found if not any(path.match(part) or part in path.parts for part in _NOT_SOURCES))


def copy_sources(folder: Path, into: Path) -> None:
    """A folder's sources, without what Python made of them."""
    shutil.copytree(folder, into / folder.name, ignore=shutil.ignore_patterns(*_NOT_SOURCES))
