"""Every command ends with the codes that README lists: 2 where arguments or a configuration are wrong, 1 where it
failed, 130 where Ctrl+C ended it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shardweave.cli.console import Streams
from shardweave.cli.main import COMMANDS, PROGRAMS, Program, main
from shardweave.errors import ConfigurationError, Fault, InputError, SchemaError, ShardweaveError
from shardweave.errors.exit_codes import Unavailable, exit_code_of

WRONG_USAGE = {
    "dev": ("--nosuch",),
    "serve": ("--nosuch",),
    "synth": ("--stagee", "dev"),
    "deploy-local": ("--nosuch",),
    "deploy": ("--stagee", "dev"),
    "destroy": ("--stagee", "dev"),
    "manifest": ("--nosuch",),
    "cdk": ("destroy", "--stagee", "dev"),
}
"""Of each program that does not leave its code to another: `test` gives pytest's."""

WRONG_CONFIGURATION = {
    "no such service": {
        "serve": ("nosuch",),
        "synth": ("--service", "nosuch"),
        "deploy-local": ("--service", "nosuch"),
        "deploy": ("--service", "nosuch"),
        "manifest": ("nosuch",),
    },
    "no such service, named first": dict.fromkeys(("synth", "deploy-local", "deploy"), ("nosuch",)),
    "a stage that can't be": dict.fromkeys(("synth", "deploy-local", "deploy"), ("--stage", "BAD stage!")),
    "no such file": {
        "serve": ("nosuch.py",),
        "synth": ("--service", "nosuch.py"),
        "deploy-local": ("--service", "nosuch.py"),
        "deploy": ("--service", "nosuch.py"),
        "destroy": ("--service", "nosuch.py"),
        "manifest": ("nosuch.py",),
    },
    "a service that can't be imported": {
        "synth": ("--service", "FAULTY"),
        "deploy-local": ("--service", "FAULTY"),
        "deploy": ("--service", "FAULTY"),
        "manifest": ("FAULTY",),
    },
    "no such choice": dict.fromkeys(("synth", "deploy-local", "deploy", "destroy"), ("-c", "isuer=x")),
    "a choice that can't be": dict.fromkeys(("synth", "deploy-local", "deploy", "destroy"), ("-c", "account=x")),
    "a folder that is none": {"token": ("--data", "FILE")},
    "an origin that is none": {"serve": ("--cors-origin", "*")},
    "nothing that is meant": {"destroy": (), "cdk": ("destroy",)},
}


def code_of(*arguments: str) -> int:
    """The exit code of a command line."""
    try:
        return main(arguments, Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.fixture
def placed(tmp_path: Path) -> Callable[[str], str]:
    (tmp_path / "file").write_text("")
    (tmp_path / "faulty.py").write_text("from nowhere import anything\n")
    paths = {"FAULTY": "faulty.py", "FILE": "file"}
    return lambda argument: str(tmp_path / paths[argument]) if argument in paths else argument


@pytest.mark.parametrize("name", [program.name for program in PROGRAMS if program.name != "test"])
def test_an_option_that_is_none_is_wrong(name: str) -> None:
    assert code_of(name, *WRONG_USAGE[name]) == 2


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_so_it_is_of_a_command(name: str) -> None:
    assert code_of(name, "--nosuch") == 2


@pytest.mark.parametrize("name", [each.name for each in (*PROGRAMS, *COMMANDS) if each.name not in ("test", "cdk")])
def test_an_option_is_taken_by_its_whole_name_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    actions = {"reshard": "start", "rekey": "run"}
    for arguments in [(name, "--hel"), *([(name, actions[name], "--hel")] if name in actions else [])]:
        assert code_of(*arguments) == 2
        assert "usage:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, commands in WRONG_CONFIGURATION.items() for name in commands]
)
def test_a_wrong_configuration_is_refused_before_anything_is_done(
    case: str, name: str, placed: Callable[[str], str]
) -> None:
    assert code_of(name, *map(placed, WRONG_CONFIGURATION[case][name])) == 2


@pytest.mark.parametrize("command", ["query", "explain"])
@pytest.mark.parametrize("asked", ["nosuch=1", "limit=many", "state.eq"])
def test_what_is_asked_is_an_argument(command: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    table = ("--service", "user_service", "--data", str(tmp_path / "data"))
    assert code_of("load", *table, str(tmp_path / "none.jsonl")) == 0
    assert code_of(command, *table, "--entity", "user", asked) == 2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help_of_a_command_that_can_t_run_says_what_to_install(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = Streams(io.BytesIO(), io.BytesIO(), io.StringIO())
    lacking = replace(program, needs="nothing_of_this_name")
    assert main([program.name, "--help"], streams, programs=[lacking]) == 0
    assert f"pip install 'shardweave[{program.extra}]'" in capsys.readouterr().out
    assert main([program.name], streams, programs=[lacking]) == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("x"), 2),
        (SchemaError([Fault("x", "y", "z")]), 2),
        (Unavailable("a port is in use"), 1),
        (InputError("x"), 1),
        (ShardweaveError("x"), 1),
    ],
)
def test_what_ends_a_command_decides_its_code(error: ShardweaveError, code: int) -> None:
    assert exit_code_of(error) == code


class Interrupted(Program):
    """One that is interrupted."""

    def run(self, arguments: object) -> int:
        del arguments
        raise KeyboardInterrupt


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_ctrl_c_ends_a_command_with_130_and_a_server_with_0(program: Program) -> None:
    made = Interrupted(program.name, program.module, program.help, program.extra, program.needs, program.interrupted)
    streams = Streams(io.BytesIO(), io.BytesIO(), io.StringIO())
    assert main([program.name], streams, programs=[made]) == (0 if program.name in ("dev", "serve") else 130)
