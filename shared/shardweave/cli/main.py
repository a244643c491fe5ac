"""From the process's arguments to a command, and from what it raises to an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ..errors import ConfigurationError, SchemaError, ShardweaveError
from .streams import Streams, reason, visible


@dataclass(frozen=True)
class Command:
    """A command: `module` has `add_arguments(parser)` and `run(options, streams)`, and is imported for it alone."""

    name: str
    module: str
    help: str


class Parser(argparse.ArgumentParser):
    """One whose refusals show what would steer a terminal as escapes."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


EXIT_CODES = (
    "Exit codes: 0 done; 1 some input was refused, or the table, a re-shard or a backfill needs someone to look; 2 the "
    "arguments or a configuration are wrong, and nothing was done; 130 stopped by Ctrl+C."
)

COMMANDS = (
    Command("keys", "keys", "records with their generated properties"),
    Command("space", "space", "the hash keys that a query looks at"),
    Command("plan", "plan", "how many shards so many records need"),
    Command("size", "size", "the bytes of each property of a record"),
    Command("load", "load", "write records into a table"),
    Command("catalog", "catalog", "by what records can be found without a query"),
    Command("backfill", "backfill", "fill lookups that were added to a filled table"),
    Command("reshard", "reshard", "move an entity's records to another shard space"),
    Command("token", "token", "a development token, which carries claims to the local server"),
    Command("query", "ask_query", "ask a table"),
    Command("explain", "ask_explain", "see what a query costs"),
)


def main(arguments: Sequence[str], streams: Streams) -> int:
    """Run a command and give its exit code. Raises SystemExit for wrong arguments and `--help`, as argparse does."""
    about = "Keys, shards and records from the command line."
    parser = Parser(prog="shardweave", description=about, epilog=EXIT_CODES)
    choice = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    asked = next((each for each in arguments if not each.startswith("-")), None)
    for command in COMMANDS:
        if command.name != asked:
            choice.add_parser(command.name, help=command.help, add_help=False)
            continue
        module = importlib.import_module(f".{command.module}", __package__)
        shape = argparse.RawDescriptionHelpFormatter
        own = choice.add_parser(
            command.name, help=command.help, description=module.__doc__, epilog=_EPILOG, formatter_class=shape
        )
        module.add_arguments(own)
    options = parser.parse_args(arguments)
    try:
        code: int = module.run(options, streams)
        streams.stdout.flush()
    except (ConfigurationError, SchemaError) as error:
        streams.say(f"error: {error}")
        return 2
    except ShardweaveError as error:
        streams.say(f"error: {error}")
        return 1
    return code


_EPILOG = textwrap.fill(EXIT_CODES, 100)
"""argparse leaves what it does not shape itself as it is."""


def command() -> NoReturn:
    """What `python -m shardweave.cli` does."""
    try:
        _open_closed_streams()
        code = _code(sys.argv[1:])
    except BrokenPipeError:
        code = _give_up_output()
    except OSError as error:
        print(f"error: standard output can't be written: {reason(error)}", file=sys.stderr)
        code = _give_up_output()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _code(arguments: Sequence[str]) -> int:
    """The exit code, once what was written is out."""
    try:
        code = main(arguments, Streams.of_process())
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
    sys.stdout.flush()
    return code


def _open_closed_streams() -> None:
    """Whoever starts a process may have closed its streams, which Python then does not have. Reading and writing give
    an error here, as any stream that can't be read or written; what is said is lost."""
    for number, (name, mode, usable) in enumerate(
        (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, usable)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as we live


def _give_up_output() -> int:
    """The reader has what it wanted, or the disk is full. What is still buffered goes nowhere, so that the end of the
    process is silent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
