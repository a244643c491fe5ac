"""The CDK app: reads the context, builds the stack. `./run synth` and `cdk synth` both run it."""

from __future__ import annotations

import sys

from aws_cdk import App

from infra.configuration import Configuration
from infra.stack import ShardweaveStack
from shardweave.errors import ShardweaveError


def main() -> None:
    app = App()
    try:
        ShardweaveStack(app, Configuration.from_context(app.node))
    except ShardweaveError as error:
        sys.exit(f"error: {error}")
    app.synth()


if __name__ == "__main__":
    main()
