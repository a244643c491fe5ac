"""The options that the commands share: what the CDK context chooses, by its usual names."""

from __future__ import annotations

import argparse
from difflib import get_close_matches

from infra.configuration import CHOICES, check_names

_COMMON = {
    "service": "the module in shared/services/",
    "stage": "names the stack and decides what is protected",
    "keyFormat": "ordered, article or entity_manager",
}


def add_options(parser: argparse.ArgumentParser, *, stage: str = CHOICES["stage"]) -> None:
    """`--service`, `--stage`, `--key-format`, and `-c name=value` for every other choice. `stage` is what the command
    takes where none is given."""
    defaults = {**CHOICES, "stage": stage}
    for key, meaning in _COMMON.items():
        option = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
        parser.add_argument(f"--{option}", dest=key, metavar="NAME", help=f"{meaning} (default: {defaults[key]})")
    others = ", ".join(name for name in CHOICES if name not in _COMMON)
    parser.add_argument(
        "-c",
        "--context",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"any other choice: {others}; docs/deploy.md says what they are",
    )


def parsed(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and what goes to the CDK's command line. What is nearly one of ours is refused, since the CDK passes
    over what it does not know; so are choices that do not exist. Exits with 2, or raises ConfigurationError."""
    options, others = parser.parse_known_args(arguments)
    ours = [option for action in parser._actions for option in action.option_strings]
    for other in others:
        name = other.partition("=")[0]
        near = get_close_matches(name, ours, 1, cutoff=0.8) if name.startswith("--") else []
        if near:
            parser.error(f"there is no option {name}; it is spelled {near[0]}")
    for choice in options.context:
        if "=" not in choice:
            parser.error(f"-c {choice} says nothing: give -c {choice}=VALUE")
    check_names(given_choices(options))
    return options, others


def given_choices(options: argparse.Namespace) -> set[str]:
    """The names of the choices that are given, whatever they say."""
    return {choice.partition("=")[0] for choice in context_of(options) if choice != "-c"}


def context_of(options: argparse.Namespace) -> list[str]:
    """The chosen context as arguments of the CDK command line."""
    chosen = [f"{key}={value}" for key in _COMMON if (value := getattr(options, key)) is not None]
    return [part for choice in (*chosen, *options.context) for part in ("-c", choice)]
