"""The options that the commands share: what the CDK context chooses, by its usual names."""

from __future__ import annotations

import argparse

from infra.configuration import CHOICES

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


def given_choices(options: argparse.Namespace) -> set[str]:
    """The names of the choices that are given, whatever they say."""
    return {choice.partition("=")[0] for choice in context_of(options) if choice != "-c"}


def context_of(options: argparse.Namespace) -> list[str]:
    """The chosen context as arguments of the CDK command line."""
    chosen = [f"{key}={value}" for key in _COMMON if (value := getattr(options, key)) is not None]
    return [part for choice in (*chosen, *options.context) for part in ("-c", choice)]
