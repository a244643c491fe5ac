"""All resources of a service in an account, made from its constructs."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Annotations, Tags
from constructs import Construct

from .api import Api
from .configuration import Configuration
from .doctor import Doctor
from .key_rings import KeyRings
from .layer import Layer
from .monitoring import Monitoring
from .resharding import Failures, Resharding
from .table import Table


@dataclass(frozen=True)
class Provisioned:
    """The constructs of a service that other code uses."""

    table: Table
    api: Api


def provision(scope: Construct, configuration: Configuration) -> Provisioned:
    """Create a service's constructs below a scope, with its tags, and with warnings about configurations that are
    probably not intended."""
    for name, fault in configuration.warnings.items():
        Annotations.of(scope).add_warning_v2(f"shardweave:{name}", str(fault))
    for tag, value in configuration.tags.items():
        Tags.of(scope).add(tag, value)
    Tags.of(scope).add("service", configuration.service)
    Tags.of(scope).add("stage", configuration.stage)
    table = Table(
        scope,
        "Table",
        name=configuration.stack_name,
        layout=configuration.layout,
        protected=configuration.protected,
        locked=configuration.locked,
        encryption_key=configuration.encryption_key,
        units=configuration.table_units,
        existing=configuration.table,
    )
    layer = Layer(scope, "Layer", service=configuration.service, platform=configuration.layer).version
    failures = Failures(scope, "Failures", protected=configuration.protected).queue
    key_rings = KeyRings(scope, "KeyRings", configuration=configuration)
    rotator = key_rings.turn_with(layer, failures)
    api = Api(scope, "Api", configuration=configuration, table=table, key_rings=key_rings, layer=layer)
    resharding = Resharding(
        scope, "Resharding", configuration=configuration, table=table, layer=layer, failures=failures
    )
    api.function.function.node.add_dependency(resharding.lookups)
    doctor = Doctor(scope, "Doctor", configuration=configuration, table=table, layer=layer, failures=failures)
    monitoring = Monitoring(
        scope,
        "Monitoring",
        configuration=configuration,
        table=table,
        api=api,
        resharding=resharding,
        doctor=doctor,
        others=[rotator],
        failures=failures,
    )
    api.function.shift_gradually(monitoring.of_version)
    return Provisioned(table, api)
