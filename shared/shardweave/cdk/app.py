"""The CDK app: reads the context, builds the stack, writes its template. An error is printed as its message, without a
traceback.

Each wave is an assembly of its own below the app's, with the same stack; they share the assets.
"""

from __future__ import annotations

import sys

from aws_cdk import App, Stage

from ..errors import ShardweaveError
from .choices import check_names
from .configuration import Configuration
from .stack import ShardweaveStack
from .waves import wave_name

CDK_CONTEXT = ("@aws-cdk", "aws-cdk", "aws:")
"""The prefixes of the names in the context that the CDK itself reads."""


def main() -> None:
    app = App()
    own = [name for name in app.node.get_all_context() if not name.startswith(CDK_CONTEXT)]
    try:
        check_names(own)
        configuration = Configuration.from_context(app.node)
        if not configuration.waves:
            ShardweaveStack(app, configuration)
        for number, wave in enumerate(configuration.waves, 1):
            ShardweaveStack(Stage(app, wave_name(number)), configuration.at(wave))
    except ShardweaveError as error:
        sys.exit(f"error: {error}")
    app.synth()
