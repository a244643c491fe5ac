"""Every command that README and the guides show is one that its program takes: its name, its options, and the values
that these have."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shardweave.cli.main import COMMANDS, PROGRAMS
from shardweave.local import dev, serve

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md")))
GENERATED = ("docs/messages.md", "docs/reference.md")
OF_THE_LIBRARY = {command.name: command for command in COMMANDS}
PROGRAM_NAMES = {program.name for program in PROGRAMS}
OF_RUN = set(re.findall(r'^    "([a-z-]+)": ', (ROOT / "run").read_text().partition("COMMANDS: dict")[2], re.MULTILINE))
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:\./run|shardweave) [^`]+)`")
_STANDS_FOR_MORE = {"...", "…"}


@dataclass(frozen=True)
class Shown:
    """A command on a page. One within a sentence may be the beginning of one."""

    page: str
    words: tuple[str, ...]
    whole: bool

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def shown() -> Iterator[Shown]:
    for page in PAGES:
        if page in GENERATED:
            continue
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in _SHELL.findall(text):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\$\(", line):
                    if part.split()[:1] in (["./run"], ["shardweave"]):
                        told = part.rstrip(")") if "$(" in line else part
                        yield Shown(page, tuple(shlex.split(told, comments=True)), whole=True)
        for found in _INLINE.findall(_FENCED.sub("", text)):
            yield Shown(page, tuple(found.split()), whole=False)


EVERY = [each for each in shown() if not _STANDS_FOR_MORE & set(each.words)]


def parser_of(program: str, name: str) -> argparse.ArgumentParser | None:
    """The parser of a command; None where another program has its options."""
    if name in OF_THE_LIBRARY:
        made = argparse.ArgumentParser(prog=f"{program} {name}", allow_abbrev=False, exit_on_error=False)
        importlib.import_module(f"shardweave.cli.{OF_THE_LIBRARY[name].module}").add_arguments(made)
        return made
    return {"serve": serve.parser, "dev": dev.parser}.get(name, lambda: None)()


def arguments_of(each: Shown) -> tuple[str, list[str]]:
    """The name of a command and its arguments, without what the shell does with its input and output."""
    words = list(each.words[1:])
    if words[0] == "shardweave" and each.words[0] == "./run":
        words.pop(0)
    kept = []
    for word in words:
        if word in ("<", ">", ">>", "|"):
            break
        kept.append(word)
    return kept[0], kept[1:]


def test_there_are_many() -> None:
    assert len(EVERY) > 120
    assert {each.whole for each in EVERY} == {True, False}
    assert "--nosuch" not in str(EVERY)


@pytest.mark.parametrize("each", dict.fromkeys(each for each in EVERY if len(each.words) > 1), ids=str)
def test_a_command_that_is_shown_is_taken(each: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    if each.words[1].startswith("-") or each.words[1:] == ("shardweave",):
        return
    name, arguments = arguments_of(each)
    is_of_run = each.words[0] == "./run" and each.words[1] != "shardweave"
    assert name in (OF_RUN if is_of_run else {*OF_THE_LIBRARY, *PROGRAM_NAMES}), f"{each}: there is no such command"
    parser = parser_of(each.words[0], name)
    if parser is None or not (each.whole or arguments):
        return
    options = {option for action in parser._actions for option in action.option_strings}
    options |= {
        option
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for chosen in action.choices.values()
        for one in chosen._actions
        for option in one.option_strings
    }
    named = [word.partition("=")[0] for word in arguments if word.startswith("--")]
    assert set(named) <= options, f"{each}: it has no {set(named) - options}"
    if each.whole:
        try:
            parser.parse_args(arguments)
        except (SystemExit, argparse.ArgumentError) as error:
            pytest.fail(f"{each}: {error} {capsys.readouterr().err}")
