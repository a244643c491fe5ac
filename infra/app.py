"""The CDK app: reads the context, builds the stack, writes its template. An error is its message alone."""

from __future__ import annotations

import sys

from aws_cdk import App

from infra.configuration import Configuration, check_names
from infra.stack import ShardweaveStack
from shardweave.errors import ShardweaveError

CDK_CONTEXT = ("@aws-cdk", "aws-cdk", "aws:")
"""What the names begin with that the CDK itself reads."""


def main() -> None:
    app = App()
    own = [name for name in app.node.get_all_context() if not name.startswith(CDK_CONTEXT)]
    try:
        check_names(own)
        ShardweaveStack(app, Configuration.from_context(app.node))
    except ShardweaveError as error:
        sys.exit(f"error: {error}")
    app.synth()
