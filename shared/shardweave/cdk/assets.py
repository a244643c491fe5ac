"""Assets: folders that a function makes, without a container, and the CDK uploads.

The name of an asset is the hash of its sources, not of its content, so it is the same on every machine and known before
the asset is made. An asset is made when its stack is deployed; a template needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from .sources import source_files


@jsii.implements(ILocalBundling)
class _Making:
    """Calls a function to fill the asset's folder."""

    def __init__(self, make: Callable[[Path], None]) -> None:
        self._make = make

    def try_bundle(self, output_dir: str, *, image: object = None, **options: Any) -> bool:
        """Fill the folder, when the CDK calls. If this returned False, the CDK would use a container."""
        del image, options
        self._make(Path(output_dir))
        return True


def made_asset(name: str, sources: Iterable[Path], make: Callable[[Path], None]) -> lambda_.AssetCode:
    """The asset whose folder `make` fills. Its hash is that of `name` and the content of `sources` (files and
    folders)."""
    return lambda_.Code.from_asset(
        str(Path(__file__).parent),
        asset_hash_type=AssetHashType.CUSTOM,
        asset_hash=asset_hash(name, sources),
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=_Making(make)),
    )


def asset_hash(name: str, sources: Iterable[Path]) -> str:
    """The hash of an asset's sources."""
    digest = hashlib.sha256(name.encode())
    for source in sources:
        for file in source_files((source,)):
            digest.update(f"\0{file.relative_to(source.parent).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
