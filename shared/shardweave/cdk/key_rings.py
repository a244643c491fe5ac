"""The secrets: the key ring of cursors, that of external keys if an entity has an origin, and their rotation.

CloudFormation creates the first key of each at random; nobody ever sees or types one. A ring is rotated every 30 days:
the key that was added the last time becomes current, and a new one is added. So the key that a process uses was
published a whole period before, and no function has to read the ring again. A retired cursor key is dropped a period
later, long after the last cursor that needs it has expired; external keys are kept for ever, like the links that they
signed.

Secrets Manager's own rotation (four steps, one pending value) can't publish a key before it is used, so we have our own
schedule.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import cast

from aws_cdk import Duration, aws_iam, aws_sqs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from ..schema.schema import Schema
from .acknowledgments import acknowledge
from .configuration import Configuration
from .encryption import use_key
from .function import Function
from .removal import kept_when_made
from .schedule import schedule

TURN = Duration.days(30)
FIRST_KEY_CHARACTERS = 64


@dataclass(frozen=True)
class RingKind:
    """A kind of key ring: `keep` is the number of retired keys to keep, None for all."""

    name: str
    variable: str
    description: str
    keep: int | None


CURSORS = RingKind("CursorKeys", "CURSOR_KEYS_SECRET", "What cursors are encrypted with", keep=1)
EXTERNAL_KEYS = RingKind("ExternalKeys", "EXTERNAL_KEYS_SECRET", "What external keys are signed with", keep=None)


def rings_of(schema: Schema) -> tuple[RingKind, ...]:
    """The key rings that a schema's service needs."""
    signs = any(entity.origin is not None for entity in schema.entities.values())
    return (CURSORS, EXTERNAL_KEYS) if signs else (CURSORS,)


class KeyRings(Construct):
    """The secrets of a deployment."""

    def __init__(self, scope: Construct, construct_id: str, *, configuration: Configuration) -> None:
        super().__init__(scope, construct_id)
        self._configuration = configuration
        # The attribute is the ARN on every platform; a reference is the name in some emulators.
        self._arns = {kind: self._secret(kind).attr_id for kind in rings_of(configuration.schema)}

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which a function finds them."""
        return {kind.variable: arn for kind, arn in self._arns.items()}

    def rights(self, *actions: str) -> list[aws_iam.PolicyStatement]:
        """The right to some actions on them."""
        named = [f"secretsmanager:{action}" for action in actions]
        own = aws_iam.PolicyStatement(actions=named, resources=list(self._arns.values()))
        return [own, *use_key(self._configuration.encryption_key, "secretsmanager")]

    def turn_with(self, layer: lambda_.ILayerVersion, failures: aws_sqs.IQueue) -> Function:
        """Create the function that rotates them, and the schedules that start it."""
        rotator = Function(
            self,
            "Rotator",
            name="rotator",
            description="Adds a key to a key ring, and takes the one added before into use",
            configuration=self._configuration,
            layer=layer,
            statements=self.rights("GetSecretValue", "PutSecretValue"),
            environment={"KEPT_WHOLE": ",".join(arn for kind, arn in self._arns.items() if kind.keep is None)},
            timeout=Duration.seconds(30),
            memory_mb=512,
            failures=failures,
        )
        for kind, arn in self._arns.items():
            schedule(
                self,
                f"Turn{kind.name}",
                meaning=f"Turns the key ring: {kind.description.lower()}",
                when=scheduler.ScheduleExpression.rate(TURN),
                function=rotator,
                event={
                    "secret": arn,
                    "keep": kind.keep,
                    "turn": scheduler.ContextAttribute.scheduled_time,
                },
                failures=failures,
            )
        return rotator

    def _secret(self, kind: RingKind) -> secretsmanager.CfnSecret:
        secret = secretsmanager.Secret(
            self,
            kind.name,
            description=f"{kind.description}: {self._configuration.stack_name}",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=FIRST_KEY_CHARACTERS, exclude_characters=string.punctuation
            ),
            removal_policy=kept_when_made(self._configuration.protected),
        )
        made = cast(secretsmanager.CfnSecret, secret.node.default_child)
        made.kms_key_id = self._configuration.encryption_key or None
        acknowledge(
            secret,
            "AwsSolutions-SMG4",
            "A function turns the key ring on a schedule; Secrets Manager's own rotation can't publish a key before it "
            "is used.",
        )
        return made
