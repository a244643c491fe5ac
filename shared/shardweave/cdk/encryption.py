"""A customer-managed key for resources that contain records or key rings, if the choice `encryptionKey` names one.

The key belongs to the account and not to the stack, since deleting a key makes everything that it has encrypted
unreadable. Logs and the queue of failures contain no values, and use keys of AWS.
"""

from __future__ import annotations

import re

from aws_cdk import Aws, aws_iam

from ..errors import ConfigurationError

_KEY = re.compile(r"arn:[\w-]+:kms:[a-z0-9-]+:\d{12}:key/[\w-]+")
_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


def encryption_key_of(arn: str) -> str:
    """The choice `encryptionKey`; empty for a key of AWS. Raises ConfigurationError."""
    if arn and not _KEY.fullmatch(arn):
        raise ConfigurationError(
            f"{arn[:120]!r} is not the ARN of a key.",
            where="context `encryptionKey`",
            fix="use one like arn:aws:kms:eu-west-1:123456789012:key/..., no alias, or leave it out",
        )
    return arn


def use_key(arn: str, *services: str) -> list[aws_iam.PolicyStatement]:
    """The right to use the key, only through these services; empty without a key."""
    if not arn:
        return []
    through = [f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}" for service in services]
    return [
        aws_iam.PolicyStatement(
            actions=list(_ACTIONS), resources=[arn], conditions={"StringEquals": {"kms:ViaService": through}}
        )
    ]
