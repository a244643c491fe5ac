"""An emulated account of a test's own. An emulation that lasts as long as the tests may be around it, whose tables and
secrets would be those of the next test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto import mock_aws

REGION = "us-east-1"


@contextmanager
def own_account() -> Iterator[None]:
    """The account; its tables and secrets go with the block."""
    with mock_aws():
        dynamodb = boto3.client("dynamodb", region_name=REGION)
        secrets = boto3.client("secretsmanager", region_name=REGION)

        def made() -> tuple[set[str], set[str]]:
            tables = {name for page in dynamodb.get_paginator("list_tables").paginate() for name in page["TableNames"]}
            pages = secrets.get_paginator("list_secrets").paginate()
            return tables, {secret["ARN"] for page in pages for secret in page["SecretList"]}

        before = made()
        try:
            yield
        finally:
            tables, kept = (now - then for now, then in zip(made(), before, strict=True))
            for name in tables:
                dynamodb.delete_table(TableName=name)
            for name in kept:
                secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
