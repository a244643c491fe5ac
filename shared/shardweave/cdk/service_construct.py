"""A service as a construct, for a CDK app of one's own that has other things beside it.

    ShardweaveService(self, "Orders", service="orders.py", stage="prod", issuer="https://login.example.com/",
                      audience="orders")

Its choices are those of a deployment, by the same names with underscores. What only a deployment by itself can choose
(the stack's account, region and protection, waves of index changes) is refused: here one deployment changes one index.
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
"""What decides over a whole stack, or over one deployment of it."""


class ShardweaveService(Construct):
    """Everything that a service needs, within a stack of another app. Raises ConfigurationError for a choice that does
    not exist and when its assets can't be made, SchemaError for a service that can't be built."""

    def __init__(self, scope: Construct, construct_id: str, *, service: str, **choices: str | int | bool) -> None:
        super().__init__(scope, construct_id)
        self.configuration = configuration_of(service, choices)
        if Stack.of(self).bundling_required:
            PLATFORMS[self.configuration.layer].packages()
        self._made = provision(self, self.configuration)

    @property
    def table(self) -> dynamodb.ITableV2:
        """The table that holds every record."""
        return self._made.table.table

    @property
    def url(self) -> str:
        """Where the API answers."""
        return str(self._made.api.api.api_endpoint)

    @property
    def api_id(self) -> str:
        """The API's own name."""
        return str(self._made.api.api.api_id)


def configuration_of(service: str, choices: dict[str, Any]) -> Configuration:
    """The configuration that keywords choose. Raises ConfigurationError, SchemaError."""
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
