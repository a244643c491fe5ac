"""`./run synth`: the CloudFormation template, without account and network.

It makes the assets too, so that what it leaves in `cdk.out/` can be deployed. Where the layer's packages were never
fetched and can't be now, it warns and writes the template alone, which is the same.
"""

from __future__ import annotations

import argparse
import sys

from ..errors import ConfigurationError
from ..project import command_name
from .cdk_command import cdk
from .options import add_options, choices_of, context_of, parsed


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=command_name("synth"),
        allow_abbrev=False,
        description="Synthesize the stack, without account and network. Other arguments go to `cdk synth`.",
    )
    add_options(parser)
    try:
        options, others = parsed(parser, arguments)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return cdk(["synth", "-c", "assets=optional", *context_of(choices_of(options)), *others])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
