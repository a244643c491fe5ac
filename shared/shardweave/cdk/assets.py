"""What is uploaded: folders that are made by a function, without a container.

An asset is named by the hash of what it is made of, not of what came out, so its name is the same on every machine and
known without making it. It is made when its stack is deployed; a template can be had without.
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
        """What the CDK calls. It would turn to a container if this were false."""
        del image, options
        self._make(Path(output_dir))
        return True


def made_asset(name: str, sources: Iterable[Path], make: Callable[[Path], None]) -> lambda_.AssetCode:
    """The asset that `make` puts into a folder. `name` and the content of `sources` (files and folders) decide it."""
    return lambda_.Code.from_asset(
        str(Path(__file__).parent),
        asset_hash_type=AssetHashType.CUSTOM,
        asset_hash=asset_hash(name, sources),
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=_Making(make)),
    )


def asset_hash(name: str, sources: Iterable[Path]) -> str:
    """The hash of what an asset is made of."""
    digest = hashlib.sha256(name.encode())
    for source in sources:
        for file in source_files((source,)):
            digest.update(f"\0{file.relative_to(source.parent).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
