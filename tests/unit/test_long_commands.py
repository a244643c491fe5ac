"""The guide's table of commands that take long says of each what it has: a rate, how it goes on, its report."""

from __future__ import annotations

import argparse
import importlib
import re
from typing import Any

import pytest

from shardweave.cli.main import COMMANDS
from shardweave.cli.progress_lines import GOES_ON

from .guide_page import page_text

SECTION = page_text("operating.md").partition("## Commands that take long\n")[2].partition("\n## ")[0]
ROWS = {
    name: columns
    for names, *columns in re.findall(r"^\| (`.*?) \| (.*?) ?\| (.*?) \| (.*?) \|$", SECTION, re.MULTILINE)
    for name in re.findall(r"`([a-z]+)`", names)
}
MODULES: dict[str, Any] = {each.name: importlib.import_module(f"shardweave.cli.{each.module}") for each in COMMANDS}
LONG = sorted(name for name, module in MODULES.items() if hasattr(module, "stopped"))


def options_of(name: str) -> set[str]:
    """The options of a command, and of all its subcommands."""
    parser = argparse.ArgumentParser()
    MODULES[name].add_arguments(parser)
    return {word for each in (parser, *subparsers(parser)) for word in re.findall(r"--[a-z-]+", each.format_help())}


def subparsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    return [each for action in parser._actions if isinstance(action.choices, dict) for each in action.choices.values()]


def stopped(name: str, **given: Any) -> str:
    chosen = {"state": None, "position": None, "go_on": False, "wait": False, "action": "run", **given}
    return str(MODULES[name].stopped(argparse.Namespace(**chosen)))


def test_every_command_that_takes_long_has_its_row() -> None:
    assert sorted(ROWS) == LONG
    assert len(LONG) > 10


@pytest.mark.parametrize("name", LONG)
def test_a_row_says_what_the_command_has(name: str) -> None:
    rate, after, report = ROWS[name]
    options = options_of(name)
    assert bool(rate.strip()) == ("--rate" in options)
    assert ("--json" in report) == ("--json" in options)
    for option in re.findall(r"--[a-z-]+", after):
        assert option in options


@pytest.mark.parametrize("name", LONG)
def test_what_ctrl_c_says_is_what_the_row_says(name: str) -> None:
    after = ROWS[name][1]
    choices = {"state": "FILE", "position": "FILE", "wait": True} if "with" in after else {}
    assert stopped(name, **choices).startswith(GOES_ON) == after.startswith("goes on")
    if "else begins anew" in after:
        assert "begins anew" in stopped(name)
    if "passes over" in after or "again" in after:
        assert stopped(name).endswith(after.partition(", and ")[2].replace("it has", "this one has"))
