"""A service as a construct, for a CDK app with other resources.

    ShardweaveService(self, "Orders", service="orders.py", stage="prod", issuer="https://login.example.com/",
                      audience="orders")

Its choices are those of a deployment, by the same names with underscores. Choices that only a stack of its own can have
(account, region and protection of the stack, waves of index changes) are refused: here one deployment changes one
index.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from ..errors import ConfigurationError
from .choices import CHOICES, check_names
from .configuration import Configuration
from .layer_packages import PLATFORMS
from .options import Given
from .provision import provision

OF_A_STACK = frozenset({"account", "assets", "deployWith", "hidden", "indexes", "protection", "region", "waves"})
"""Choices for a whole stack, or for one deployment of it."""


class ShardweaveService(Construct):
    """All resources of a service, within a stack of another app. Raises ConfigurationError for an unknown choice and if
    its assets can't be made, SchemaError for a service that can't be built."""

    def __init__(self, scope: Construct, construct_id: str, *, service: str, **choices: str | int | bool) -> None:
        super().__init__(scope, construct_id)
        self.configuration = configuration_of(service, choices)
        if Stack.of(self).bundling_required:
            PLATFORMS[self.configuration.layer].packages()
        self._made = provision(self, self.configuration)

    @property
    def table(self) -> dynamodb.ITableV2:
        """The table with all records."""
        return self._made.table.table

    @property
    def url(self) -> str:
        """The URL of the API."""
        return str(self._made.api.api.api_endpoint)

    @property
    def api_id(self) -> str:
        """The id of the API."""
        return str(self._made.api.api.api_id)


def configuration_of(service: str, choices: dict[str, Any]) -> Configuration:
    """The configuration for some keyword arguments. Raises ConfigurationError, SchemaError."""
    given = {_choice(name): _text(value) for name, value in choices.items()}
    check_names(given)
    for name in sorted(OF_A_STACK & set(given)):
        raise ConfigurationError(
            "a service within a stack does not choose that.",
            where=f"`{name}`",
            fix="leave it out; or deploy the service by itself, as a ShardweaveStack",
        )
    return Configuration.from_context(Given({"service": service, **given}))


def _choice(keyword: str) -> str:
    first, *others = keyword.split("_")
    name = first + "".join(word.capitalize() for word in others)
    return name if name in CHOICES else keyword


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
