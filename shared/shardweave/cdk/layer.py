"""The layer of all functions. For its content see `layer_packages`."""

from __future__ import annotations

from functools import partial

from aws_cdk import RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .assets import made_asset
from .layer_packages import CALLED_SERVICES, LOCK, PLATFORMS, PlatformName, layer_sources

RUNTIME = lambda_.Runtime.PYTHON_3_14
ARCHITECTURE = lambda_.Architecture.ARM_64


class Layer(Construct):
    """One version of a service's layer."""

    def __init__(self, scope: Construct, construct_id: str, *, service: str, platform: PlatformName) -> None:
        super().__init__(scope, construct_id)
        chosen = PLATFORMS[platform]
        self.version = lambda_.LayerVersion(
            self,
            "Version",
            code=made_asset(
                f"layer for {chosen.name} calling {', '.join(CALLED_SERVICES)}",
                (LOCK, *layer_sources(service)),
                partial(chosen.make_layer, service=service),
            ),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
            description="The library, the services and what they need",
            removal_policy=RemovalPolicy.DESTROY,
        )
