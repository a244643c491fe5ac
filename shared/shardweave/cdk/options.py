"""Options of several commands: the choices in the CDK context, by their usual names.

`--stage prod` and `-c stage=prod` mean the same. Of several the last one counts, and `-c` counts after the others, as
for the CDK. `choices_of` reads the options once; the CDK's context and the stack's name are derived from its result.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from ..database.project import CDK_FILE, committed_context, guide
from ..service.files import service_text
from .choices import CHOICES, check_names, checked_stage
from .configuration import chosen_service, stack_name
from .sources import ROOT

PROJECT = ROOT / CDK_FILE

_COMMON = {
    "service": "the service: its name, or the path of its module",
    "stage": "names the stack and decides what is protected",
    "keyFormat": "ordered, article or entity_manager",
}


def add_options(parser: argparse.ArgumentParser, *, stage: str = CHOICES["stage"]) -> None:
    """`--service`, `--stage`, `--key-format`, and `-c name=value` for every other choice. `stage` is the default of the
    command."""
    defaults = {**CHOICES, "stage": stage}
    for key, meaning in _COMMON.items():
        option = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
        default = defaults[key] or "the only one"
        parser.add_argument(f"--{option}", dest=key, metavar="NAME", help=f"{meaning} (default: {default})")
    others = ", ".join(name for name in CHOICES if name not in _COMMON)
    parser.add_argument(
        "-c",
        "--context",
        action="append",
        default=[],
        type=_choice,
        metavar="NAME=VALUE",
        help=f"any other choice: {others}; {guide('deploy.md')} says what they are",
    )


def with_service(arguments: list[str]) -> list[str]:
    """The arguments of a command that takes a service as its first argument, as `serve` does, or as `--service`."""
    return ["--service", *arguments] if arguments and not arguments[0].startswith("-") else arguments


def parsed(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the arguments for the CDK's command line. Misspelled options are refused, since the CDK ignores
    unknown ones; so are unknown choices. Exits with 2, or raises ConfigurationError."""
    options, others = parser.parse_known_args(arguments)
    ours = [option for action in parser._actions for option in action.option_strings]
    for other in others:
        name = other.partition("=")[0]
        near = get_close_matches(name, ours, 1, cutoff=0.8) if name.startswith("--") else []
        if near:
            parser.error(f"there is no option {name}; it is spelled {near[0]}")
    check_names(choices_of(options))
    return options, others


def choices_of(options: argparse.Namespace, project: Path = PROJECT) -> dict[str, str]:
    """The given choices by name: those of cdk.json, which the CDK reads too, replaced by those of the command line."""
    common = {key: str(value) for key in _COMMON if (value := getattr(options, key)) is not None}
    chosen = common | dict(options.context)
    if chosen.get("service"):
        chosen["service"] = service_text(chosen["service"])
    return committed_choices(project) | chosen


def committed_choices(project: Path) -> dict[str, str]:
    """The choices in a cdk.json. The app refuses those that are not text."""
    context = committed_context(project)
    return {name: value for name, value in context.items() if name in CHOICES and isinstance(value, str)}


class Given:
    """Choices with the interface of the CDK's context."""

    def __init__(self, choices: Mapping[str, str]) -> None:
        self._choices = choices

    def try_get_context(self, key: str) -> object:
        """The choice of that name, None if it is not given."""
        return self._choices.get(key)


def context_of(choices: Mapping[str, str]) -> list[str]:
    """Choices as arguments of the CDK command line."""
    return [part for name, value in choices.items() for part in ("-c", f"{name}={value}")]


def stack_of(choices: Mapping[str, str]) -> str:
    """The name of the stack for these choices. Raises ConfigurationError."""
    everything = {**CHOICES, **choices}
    return stack_name(chosen_service(everything["service"]), checked_stage(everything["stage"]))


def _choice(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text} says nothing: give -c {text}=VALUE")
    return name, value
