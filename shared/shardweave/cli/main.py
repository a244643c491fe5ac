"""Running a command from the process's arguments, and converting its exceptions to exit codes."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from .. import __version__
from ..errors import ConfigurationError, InputError, ShardweaveError
from ..errors.exit_codes import DONE, EXIT_CODES, INTERRUPTED, WRONG, exit_code_of
from .console import Streams, reason, visible


@dataclass(frozen=True)
class Command:
    """A command: `module` has `add_arguments(parser)` and `run(options, streams)`, and is imported only for this
    command. If it is long work, it has `stopped(options)`: what is said when Ctrl+C has stopped it. If it `asks`, its
    input is part of the arguments."""

    name: str
    module: str
    help: str
    asks: bool = False


@dataclass(frozen=True)
class Program:
    """A command that reads its arguments itself: `module` has `main(arguments)`. It `needs` a package of the extra
    `extra`. `interrupted` is its exit code when Ctrl+C ends it."""

    name: str
    module: str
    help: str
    extra: str
    needs: str
    interrupted: int = INTERRUPTED

    def run(self, arguments: Sequence[str]) -> int:
        """Run it, and return the exit code. Raises ConfigurationError if a needed package is not installed."""
        if importlib.util.find_spec(self.needs) is None:
            install = f"install the extra: pip install 'shardweave[{self.extra}]'"
            if {"-h", "--help"} & set(arguments):
                print(f"shardweave {self.name}: {self.help}.\nIts options are shown where it can run: {install}")
                return DONE
            raise ConfigurationError(f"it needs {self.needs}, which is not installed", where=self.name, fix=install)
        if self.extra == "cdk":
            from ..cdk.tools import with_node

            os.environ.update(with_node())
        code: int = importlib.import_module(self.module, "shardweave.cli").main(list(arguments))
        return code


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors show control characters as escapes."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


PROGRAMS = (
    Program("serve", "..local.serve", "the HTTP API of a service on this machine", "local", "uvicorn", interrupted=0),
    Program("dev", "..local.dev", "serve, for whoever writes the service", "local", "uvicorn", interrupted=0),
    Program("test", ".project_tests", "the project's tests, with pytest", "local", "pytest"),
    Program("synth", "..cdk.synth", "the CloudFormation template, offline, into cdk.out/", "cdk", "aws_cdk"),
    Program("deploy-local", "..cdk.deploy_local", "the stack into an emulator here", "cdk", "aws_cdk"),
    Program("deploy", "..cdk.deploy", "the stack into an AWS account, index changes in waves", "cdk", "aws_cdk"),
    Program("destroy", "..cdk.destroy", "a stage's stack, removed from an AWS account", "cdk", "aws_cdk"),
    Program("manifest", "..cdk.manifest_command", "what has been deployed, as it is committed", "cdk", "aws_cdk"),
    Program("cdk", "..cdk.command_line", "the CDK command line itself: bootstrap, diff, ...", "cdk", "aws_cdk"),
)

COMMANDS = (
    Command("init", "init", "a project of one's own: a service, its test, and what deploys it"),
    Command("client", "client", "a typed client of a service, in TypeScript or Python"),
    Command("keys", "keys", "records with their generated properties"),
    Command("space", "space", "the hash keys that a query looks at"),
    Command("plan", "plan", "how many shards so many records need"),
    Command("size", "size", "the bytes of each property of a record"),
    Command("load", "load", "write records into a table"),
    Command("catalog", "catalog", "by what records can be found without a query"),
    Command("backfill", "backfill", "fill lookups that were added to a filled table", asks=True),
    Command("rewrite", "rewrite", "write every record once more, as its declaration is now"),
    Command("deletions", "deletions", "deletions of records with many children: list and continue them"),
    Command("rebuild", "rebuild", "count a read model again, from the records that feed it", asks=True),
    Command("doctor", "doctor", "prove that a table is right, say what is not, and repair what is safe"),
    Command("scan", "scan", "all records of an entity as JSON lines, also while they move", asks=True),
    Command("rekey", "rekey", "bring records of another program, or of an earlier declaration, in while they are used"),
    Command("compare", "compare", "compare the records of two tables, of a table and an export, or with old items"),
    Command("compare-metrics", "compare_metrics", "compare two versions of a deployment by their logs"),
    Command("export", "export", "write records into a folder, for an import elsewhere"),
    Command("import", "import_", "bring records in that an export wrote"),
    Command("backup", "backup", "copy the table of a data folder, also while it is served"),
    Command("restore", "restore", "put such a copy back, also while it is served"),
    Command("reshard", "reshard", "move an entity's records to another shard space", asks=True),
    Command("token", "token", "a development token, which carries claims to the local server"),
    Command("explorer", "explorer", "the page on a deployed stage, in a browser here"),
    Command("query", "ask_query", "ask a table", asks=True),
    Command("explain", "ask_explain", "see what a query costs", asks=True),
)


def main(
    arguments: Sequence[str],
    streams: Streams,
    programs: Sequence[Program] = PROGRAMS,
    begins: Callable[[], object] = lambda: None,
) -> int:
    """Run a command and return its exit code; `begins` is called once it is loaded. Raises SystemExit for wrong
    arguments and `--help`, as argparse does."""
    program = next((each for each in programs if [each.name] == list(arguments[:1])), None)
    if program is not None:
        begins()
        return _run(program, arguments[1:], streams)
    about = "Serve, test and deploy a service; keys, shards and records from the command line."
    parser = Parser(prog="shardweave", description=about, epilog=EXIT_CODES, allow_abbrev=False)
    choice = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    asked = next((each for each in arguments if not each.startswith("-")), None)
    parser.add_argument("--version", action="version", version=__version__)
    for each in PROGRAMS:
        choice.add_parser(each.name, help=each.help, add_help=False, allow_abbrev=False)
    for command in COMMANDS:
        if command.name != asked:
            choice.add_parser(command.name, help=command.help, add_help=False, allow_abbrev=False)
            continue
        module = importlib.import_module(f".{command.module}", __package__)
        shape = argparse.RawDescriptionHelpFormatter
        own = choice.add_parser(
            command.name,
            help=command.help,
            description=module.__doc__,
            epilog=_EPILOG,
            formatter_class=shape,
            allow_abbrev=False,
        )
        module.add_arguments(own)
    options = parser.parse_args(arguments)
    try:
        begins()
        code: int = module.run(options, streams)
        streams.stdout.flush()
    except ShardweaveError as error:
        streams.say(f"error: {error}")
        asks = any(each.asks for each in COMMANDS if each.name == options.command)
        return WRONG if asks and isinstance(error, InputError) else exit_code_of(error)
    except KeyboardInterrupt:
        if hasattr(module, "stopped"):
            streams.say(module.stopped(options))
        return INTERRUPTED
    return code


def _run(program: Program, arguments: Sequence[str], streams: Streams) -> int:
    try:
        return program.run(arguments)
    except ShardweaveError as error:
        streams.say(f"error: {error}")
        return exit_code_of(error)
    except KeyboardInterrupt:
        return program.interrupted


_EPILOG = textwrap.fill(EXIT_CODES, 100)
"""Text that argparse does not reformat."""


def command(begins: Callable[[], object]) -> int:
    """Run the command of the process's arguments and return its exit code; `begins` is called once it is loaded."""
    try:
        _open_closed_streams()
        return _code(sys.argv[1:], begins)
    except BrokenPipeError:
        return _give_up_output()
    except OSError as error:
        said = "standard output can't be written" if error.filename is None else f"{error.filename} can't be used"
        print(f"error: {said}: {reason(error)}", file=sys.stderr)
        return _give_up_output()


def _code(arguments: Sequence[str], begins: Callable[[], object]) -> int:
    """The exit code, after the output was flushed."""
    try:
        code = main(arguments, Streams.of_process(), begins=begins)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
    sys.stdout.flush()
    return code


def _open_closed_streams() -> None:
    """Replace streams that were closed when the process was started, which are None in Python. Reading and writing them
    raises an error, as with other unusable streams; messages are lost."""
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
    """Discard the buffered output after the reader has closed the pipe, or the disk is full, so that the process ends
    silently."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
