"""The command line: re-shards."""

from __future__ import annotations

import argparse
import io
import json
import re
from pathlib import Path

import pytest

from shardweave.cli.console import Streams
from shardweave.cli.reshard import act
from shardweave.errors import ConfigurationError, Conflict, ReshardRefused
from shardweave.service.build import reshard_operator
from tests.unit.cli_world import shardweave
from tests.unit.reshard_world import ReshardWorld, add_notes
from tests.unit.store_world import Note


class Terminal:
    """`shardweave reshard` on a world; movers act whenever the command waits."""

    def __init__(self) -> None:
        self.world = ReshardWorld()
        self.said = io.StringIO()

    def __call__(self, action: str, **more: object) -> tuple[int, list[dict[str, object]]]:
        world, written = self.world, io.BytesIO()
        options = argparse.Namespace(**{"action": action, "char_bits": 2, "chars": 2, "rate": 0, "yes": False, **more})
        self.said = io.StringIO()
        streams = Streams(io.BytesIO(), written, self.said, world.clock)
        operator = reshard_operator(world.inner, world.waits, world.clock)
        code = act(options, world.schema[Note], operator, streams, self.wait)
        return code, [json.loads(line) for line in written.getvalue().splitlines()]

    def wait(self, seconds: float) -> None:
        self.world.settle(Note)
        self.world.clock.now += int(seconds * 1000)


def test_a_start_says_what_it_takes_and_asks_first() -> None:
    terminal = Terminal()
    add_notes(terminal.world, 12)
    code, lines = terminal("start")
    assert (code, lines) == (0, [])
    said = terminal.said.getvalue()
    assert "from 4 shards to 16 shards" in said
    assert "records of" in said
    assert "write units" in said
    assert "read units to compare" in said
    assert "to compare, and to look into the indexes" in said
    assert "look into every shard" in said
    assert "--yes" in said
    assert terminal.world.coordinator.read(terminal.world.schema[Note]) is None


def test_started_watched_to_its_end_and_told_as_json() -> None:
    terminal = Terminal()
    add_notes(terminal.world, 5)
    code, (status,) = terminal("start", yes=True)
    assert (code, status["phase"], status["shardsTo"]) == (0, "dual_old", 16)
    code, (status,) = terminal("watch")
    assert (code, status["phase"], status["shards"], status["moving"]) == (0, "stable", 16, False)
    code, (status,) = terminal("status")
    assert (code, status["step"]) == (0, "rest")


def test_without_a_terminal_each_step_has_its_line() -> None:
    terminal = Terminal()
    terminal("start", yes=True)
    terminal("watch")
    said = terminal.said.getvalue().splitlines()
    assert said[0].startswith("dual_old")
    assert said[-1] == "stable rest"
    assert "dual_new soak" in said
    assert len(said) == len(set(said)) < 20


def test_where_nobody_moves_anything_it_says_so_once() -> None:
    terminal = Terminal()
    terminal("start", yes=True)
    looks = iter(range(300))

    def wait_alone(seconds: float) -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt
        terminal.world.clock.now += int(seconds * 1000)

    terminal.wait = wait_alone  # type: ignore[method-assign]
    code, _ = terminal("watch")
    assert code == 130
    assert terminal.said.getvalue().count("nothing has changed for two minutes") == 1
    assert terminal.said.getvalue().endswith("\nno longer watched; the re-shard goes on without that\n")


def test_more_shards_than_records_are_warned_of() -> None:
    terminal = Terminal()
    add_notes(terminal.world, 17)
    for chars, warned in ((2, False), (3, True)):
        terminal("start", chars=chars)
        assert ("more shards than records" in terminal.said.getvalue()) is warned
    terminal("start", chars=10)
    assert re.search(r"about \d+ h to look into every shard", terminal.said.getvalue())


def test_each_action_has_its_own_arguments_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            shardweave("reshard", *arguments)
        return ended.value.code, "".join(capsys.readouterr())

    assert told("abort", "--entity", "user", "--char-bits", "3")[0] == 2
    assert told("status", "--entity", "user", "--yes")[0] == 2
    assert "--char-bits" in told("start", "--help")[1]
    assert "--char-bits" not in told("abort", "--help")[1]
    assert told("rate", "--entity", "user")[0] == 2
    for action in ("start", "status", "watch", "rate", "abort", "resume"):
        assert action in told("--help")[1]


def test_a_rate_is_changed_while_it_moves() -> None:
    terminal = Terminal()
    for yes in (False, True):
        with pytest.raises(ReshardRefused, match="nothing is being moved"):
            terminal("rate", rate=50)
        with pytest.raises(ConfigurationError, match="from 0 to 100,000"):
            terminal("rate", rate=-1)
        terminal("start", rate=5, yes=yes)
    for rate in (50, 0):
        code, (status,) = terminal("rate", rate=rate)
        assert (code, status["rate"], status["step"]) == (0, rate, "copy")
    terminal("watch")
    with pytest.raises(ReshardRefused, match="nothing is being moved"):
        terminal("rate", rate=50)


def test_an_abort_is_watched_to_its_end_too() -> None:
    terminal = Terminal()
    terminal("start", yes=True)
    code, (status,) = terminal("abort")
    assert (code, status["aborting"]) == (0, True)
    code, (status,) = terminal("watch")
    assert (code, status["phase"], status["shards"]) == (0, "stable", 4)


def test_what_can_not_work_is_refused_before_anything_is_started() -> None:
    terminal = Terminal()
    with pytest.raises(ReshardRefused, match="there already"):
        terminal("start", chars=1, yes=True)
    with pytest.raises(ReshardRefused, match="in use"):
        terminal("start", char_bits=3, chars=1, yes=True)
    with pytest.raises(ReshardRefused, match="over"):
        terminal("start", char_bits=5, chars=5, yes=True)
    with pytest.raises(ReshardRefused, match="nothing is being moved"):
        terminal("abort")
    for rate in (-1, 100_001):
        with pytest.raises(ConfigurationError, match="from 0 to 100,000"):
            terminal("start", rate=rate, yes=True)
    terminal("start", yes=True)
    for yes in (True, False):
        with pytest.raises(Conflict, match="under way"):
            terminal("start", chars=3, yes=yes)
        assert terminal.said.getvalue() == ""
    with pytest.raises(ReshardRefused, match="nothing has stopped"):
        terminal("resume")


def test_on_a_data_folder(tmp_path: Path) -> None:
    shardweave("load", "-", "--data", str(tmp_path))
    outcome = shardweave("reshard", "status", "--entity", "user", "--data", str(tmp_path))
    assert (outcome.code, outcome.lines[0]["phase"]) == (0, "stable")
    assert shardweave("reshard", "start", "--entity", "user", "--data", str(tmp_path)).code == 2
    assert shardweave("reshard", "status", "--entity", "x", "--data", str(tmp_path)).code == 2
