"""Every command that a guide gives, or a message advises, is one that its program takes as it stands there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shardweave.cdk.sources import ROOT
from shardweave.cli.main import COMMANDS
from shardweave.errors import ConfigurationError
from tests.infra.advice import check, commands_in, run_commands

GUIDES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
SOURCES = sorted(path for folder in ("shared", "functions") for path in (ROOT / folder).rglob("*.py"))
SCRIPT = re.compile(r"^( *)```sh\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(\./run [a-z][^`]*|aws [a-z][^`]*)`")
NAMED = re.compile(r"\{command_name\('([a-z-]+)'\)\}")
"""A command as it is called here, in a message."""
OPERATING = ROOT / "docs" / "operating.md"
MENTIONED = (["cdk", "destroy"], *(["shardweave", each.name] for each in COMMANDS))
QUESTIONS = (
    *("Back up", "Restore", "Rotate keys", "Rolling back", "Limit cost", "What does a tenant cost", "Change memory"),
    *("Who did this", "Alarms, and what to do", "What failed for good", "One region", "Commands that take long"),
)


def check_mention(words: list[str]) -> None:
    """A command that stands in a sentence may be named without what it takes."""
    if words[0] == "./run" and (len(words) == 2 or words[1:] in MENTIONED):
        assert words[1] in run_commands()
    elif words[0] == "./run" or any(word.startswith("--") for word in words):
        check(words)


def scripts(guide: Path) -> list[str]:
    return [found[2] for found in SCRIPT.finditer(guide.read_text())]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_command_of_a_guide_is_taken_as_it_stands_there(guide: Path) -> None:
    for script in scripts(guide):
        for words in commands_in(script):
            check(words)
    for found in INLINE.finditer(SCRIPT.sub("", guide.read_text())):
        for words in commands_in(found[1].replace("\n", " ")):
            check_mention(words)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_script_of_a_guide_is_one_that_a_shell_can_read(guide: Path) -> None:
    for script in scripts(guide):
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (script, done.stderr)


def test_every_command_that_a_message_advises_is_taken() -> None:
    advised = {
        re.sub(r"\{[^{}]*\}", "x", re.sub(r"\s+", " ", found[1].replace('"\n', "")))
        for source in SOURCES
        for found in re.finditer(r"`(\./run [a-z][^`\n]*)`", NAMED.sub(r"./run \1", source.read_text()))
    }
    assert len(advised) > 10
    for command in advised:
        for words in commands_in(command):
            check_mention([word for word in words if word != "..."])


def test_operating_answers_what_operators_ask_each_with_a_command() -> None:
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", OPERATING.read_text(), re.DOTALL | re.MULTILINE))
    assert set(sections) == set(QUESTIONS)
    for question in set(QUESTIONS) - {"Alarms, and what to do", "One region", "Commands that take long"}:
        assert [words for found in SCRIPT.finditer(sections[question]) for words in commands_in(found[2])], question


@pytest.mark.parametrize(
    "command",
    [
        "aws dynamodb describe-tables --table-name a",
        "aws dynamodb describe-table --name a",
        "aws dynamodb describe-table",
        "./run depoly --stage prod",
        "./run deploy -c isuer=x",
        "./run deploy -c lanes=none",
        "./run destroy",
        "./run cdk destroy a-stack --stage prod",
        "./run cdk destory a-stack",
        "./run shardweave query --entity",
        "x=$(aws lambda wait function-made --function-name a)",
    ],
)
def test_a_command_that_its_program_would_refuse_is_found(command: str) -> None:
    (words,) = commands_in(command)
    with pytest.raises((AssertionError, KeyError, SystemExit, ConfigurationError)):
        check(words)


def test_commands_are_found_wherever_a_script_has_them() -> None:
    script = 'a=$(aws x y --z "$B" | cut -c1)  # aws no\nfor i in 1; do aws u v; done\n'
    script += "./run test && ./run deploy \\\n  -c 'a=\nb'\n"
    assert list(commands_in(script)) == [
        ["aws", "x", "y", "--z", "$B"],
        ["aws", "u", "v"],
        ["./run", "test"],
        ["./run", "deploy", "-c", "a=\nb"],
    ]
