"""Commands as guides and messages give them, parsed by what would run them. A `check` raises for what it refuses."""

from __future__ import annotations

import argparse
import importlib
import re
import runpy
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import botocore.session
from botocore import xform_name
from botocore.model import ServiceModel, StructureShape

from shardweave.cdk import deploy, destroy, manifest_command
from shardweave.cdk.choices import CHOICES
from shardweave.cdk.configuration import Configuration
from shardweave.cdk.options import Given, add_options, choices_of, parsed
from shardweave.cdk.sources import ROOT
from shardweave.cli.main import COMMANDS as SHARDWEAVE

_NESTED = re.compile(r"\$\(([^()]*)\)")
_COMMENT = re.compile(r"(^|[ \t])#[ \t].*$", re.MULTILINE)
_ENDS = "();<>|&\n"
_PLACEHOLDER = {"...": "https://a.example/", "ACCOUNT": "123456789012", "REGION": "eu-west-1"}
OF_AWS_CLI = {"query", "output", "profile", "region", "cli-binary-format", "outfile"}
CDK_COMMANDS = ("bootstrap", "deploy", "destroy", "diff", "import", "synth")


def commands_in(script: str) -> Iterator[list[str]]:
    """The commands of a shell script that are `./run` or `aws`, as words; a nested command is a word, and one of its
    own."""
    text = _COMMENT.sub(r"\1", script.replace("\\\n", " "))
    while found := _NESTED.search(text):
        yield from commands_in(found[1])
        text = text[: found.start()] + "VALUE" + text[found.end() :]
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_ENDS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t", "", True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(_ENDS):
            if words[:1] in (["aws"], ["./run"]):
                yield words
            words = []
        elif word not in ("do", "then") and not (not words and re.fullmatch(r"\w+=\S*", word)):
            words.append(word)


def check(words: Sequence[str]) -> None:
    """Parse a command of either."""
    check_aws(words[1:]) if words[0] == "aws" else check_run(words[1:])


# -- aws --------------------------------------------------------------------------------------------------------------


@cache
def service_model(name: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(name)


def check_aws(words: Sequence[str]) -> None:
    """That AWS has the operation, that it takes these options, and needs no others."""
    service, operation, *others = words
    model = service_model(service)
    named = {xform_name(each, "-"): each for each in model.operation_names}
    if operation == "wait":
        waiter = botocore.session.get_session().get_waiter_model(service)
        waiters = {xform_name(each, "-"): waiter.get_waiter(each).operation for each in waiter.waiter_names}
        operation_name = waiters[others.pop(0)]
    else:
        operation_name = named[operation]
    shape = model.operation_model(operation_name).input_shape
    members = shape.members if isinstance(shape, StructureShape) else {}
    options = {xform_name(name, "-"): name for name in members}
    given = {word.removeprefix("--").partition("=")[0] for word in others if word.startswith("--")}
    unknown = {name for name in given - OF_AWS_CLI if name.removeprefix("no-") not in options}
    assert not unknown, (words, unknown)
    if operation != "wait":
        needed = {xform_name(name, "-") for name in (shape.required_members if shape else ())}
        assert needed <= {*given, *(name.removeprefix("no-") for name in given)}, (words, needed - given)


# -- ./run ------------------------------------------------------------------------------------------------------------


def check_run(words: Sequence[str]) -> None:
    """That the script has the command, and that it takes what is given."""
    command, *arguments = [_PLACEHOLDER.get(word, word) for word in words]
    assert command in run_commands(), words
    if "--help" not in arguments:
        CHECKS.get(command, lambda arguments: None)(arguments)


@cache
def run_commands() -> frozenset[str]:
    return frozenset(runpy.run_path(str(ROOT / "run"))["COMMANDS"])


def _check_deploy(arguments: list[str]) -> None:
    options, others = parsed(deploy.parser_of(), arguments)
    _check_choices(options)
    assert all(other in ("--strict", "--require-approval", "never") for other in others), others


def _check_choices(options: argparse.Namespace) -> None:
    """That a configuration can be made of them; what a variable of the shell holds is taken to be right."""
    given = {name: value for name, value in choices_of(options).items() if "$" not in value and "..." not in value}
    missing = {"issuer": "audience", "audience": "issuer", "domain": "certificate"}
    unsaid = {name for name, other in missing.items() if given.get(name) and not given.get(other)}
    known = {name: value for name, value in given.items() if name not in unsaid}
    Configuration.from_context(Given(known))


def _check_destroy(arguments: list[str]) -> None:
    options, others = parsed(destroy.parser_of(), arguments)
    assert destroy.stack_named(options.stack, choices_of(options))
    assert set(others) <= {"--force"}


def _check_synth(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser)
    _check_choices(parsed(parser, arguments)[0])


def _check_cdk(arguments: list[str]) -> None:
    assert arguments[0] in CDK_COMMANDS, arguments
    if arguments[0] == "destroy":
        _check_destroy(arguments[1:])
    for name in (word.partition("=")[0] for before, word in pairwise(arguments) if before == "-c"):
        assert name in CHOICES


def _check_shardweave(arguments: list[str]) -> None:
    (command,) = (each for each in SHARDWEAVE if each.name == arguments[0])
    parser = argparse.ArgumentParser(allow_abbrev=False)
    importlib.import_module(f"shardweave.cli.{command.module}").add_arguments(parser)
    parser.parse_args(arguments[1:])


CHECKS: dict[str, Callable[[list[str]], object]] = {
    "deploy": _check_deploy,
    "deploy-local": lambda arguments: _check_synth([each for each in arguments if each != "--stop"]),
    "destroy": _check_destroy,
    "synth": _check_synth,
    "cdk": _check_cdk,
    "manifest": manifest_command.options_of,
    "shardweave": _check_shardweave,
}
