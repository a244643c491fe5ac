"""`./run synth`: makes the CloudFormation template, without account and network.

It makes the assets too, so that the content of `cdk.out/` can be deployed. If the layer's packages have not been
fetched and can't be fetched now, it prints a warning and makes only the template, which is the same.
"""

from __future__ import annotations

import argparse
import sys

from ..database.project import command_name
from ..errors import ShardweaveError
from ..errors.exit_codes import EXIT_CODES, exit_code_of
from .cdk_command import cdk
from .configuration import Configuration
from .options import Given, add_options, choices_of, context_of, parsed, with_service


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=command_name("synth"),
        usage="%(prog)s [SERVICE] [options]",
        allow_abbrev=False,
        epilog=EXIT_CODES,
        description="Synthesize the stack, without account and network. Other arguments go to `cdk synth`.",
    )
    add_options(parser)
    try:
        options, others = parsed(parser, with_service(arguments))
        choices = choices_of(options)
        Configuration.from_context(Given(choices))
        return cdk(["synth", "-c", "assets=optional", *context_of(choices), *others])
    except ShardweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
