"""One process at a time writes in a folder of an export, or goes on from a saved state; one that was killed holds
nothing."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shardweave.cli.scan import SavedPosition
from shardweave.errors import ConfigurationError
from shardweave.errors.exit_codes import Unavailable
from shardweave.maintenance.comparing import Comparison, Read
from shardweave.maintenance.export_folder import LOCK, used_by_this_process
from shardweave.maintenance.exporting import Export
from tests.unit.cli_world import shardweave
from tests.unit.doctor_world import Clinic
from tests.unit.store_world import World

USER = '{"userId": "u1", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"}'
HOLDS = """
import sys
from pathlib import Path
from shardweave.cli.scan import SavedPosition
from shardweave.maintenance.comparing import Comparison, Read
from shardweave.maintenance.export_folder import used_by_this_process
with used_by_this_process(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def export(world: World, folder: Path, **options: Any) -> Export:
    return Export(world.new_store(world.table).parts, list(world.schema.entities.values()), folder, **options)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != LOCK}


@contextmanager
def another_process(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said that it holds something; it is killed at the end."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_second_export_into_a_folder_is_refused_and_the_first_one_ends_undisturbed(tmp_path: Path) -> None:
    world, refused = Clinic(), []

    def follow(report: object) -> None:
        before = contents(tmp_path / "both")
        with pytest.raises(Unavailable, match=r"^DIR: another process exports into .*both\. Fix: let it end") as error:
            export(world, tmp_path / "both").run()
        assert contents(tmp_path / "both") == before
        refused.append(error.value)

    assert export(world, tmp_path / "both", page=2).run(follow).done
    assert len(refused) > 3
    assert export(world, tmp_path / "alone", page=2).run().done
    assert contents(tmp_path / "both") == contents(tmp_path / "alone")
    assert not (tmp_path / "both" / LOCK).exists()


def test_an_export_goes_on_at_once_after_the_process_that_wrote_in_its_folder_was_killed(tmp_path: Path) -> None:
    data, folder = str(tmp_path / "data"), tmp_path / "out"
    assert shardweave("load", "--entity", "user", "--data", data, "-", given=USER).code == 0
    with another_process(HOLDS, str(folder)) as process:
        outcome = shardweave("export", str(folder), "--data", data)
        assert outcome.code == 1
        assert "another process exports into" in outcome.errors
        assert contents(folder) == {}
        process.kill()
        process.wait()
        assert (folder / LOCK).exists(), "it had no time to remove it"
        assert shardweave("export", str(folder), "--data", data).code == 0


def test_a_folder_that_holds_something_else_gets_no_lock(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigurationError, match="something else"), used_by_this_process(tmp_path):
        raise AssertionError("it is not used")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


COMPARES = """
import sys
from pathlib import Path
from shardweave.maintenance.comparing import Comparison
from tests.unit.test_export_lock import Silent
def follow(report):
    print("held", flush=True)
    sys.stdin.read()
Comparison(Silent("a"), Silent("b"), Path(sys.argv[1])).run(follow)
"""


@dataclass
class Silent:
    """A source of one page without records."""

    name: str

    def pages(self, place: Any) -> Iterator[tuple[list[Read], Any]]:
        yield [], 1

    def again(self, named: Any) -> None:
        return None


def test_one_comparison_at_a_time_goes_on_from_a_state_and_one_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    again = Comparison(Silent("a"), Silent("b"), state)
    with another_process(COMPARES, str(state)) as process:
        with pytest.raises(Unavailable, match=r"^--state: another comparison uses .*state\. Fix: let it end"):
            again.run()
        process.kill()
        process.wait()
        assert again.run().done
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert again.run().done, "one that has ended begins anew"


SCANS = """
import sys
from pathlib import Path
from shardweave.cli.scan import SavedPosition
with SavedPosition(Path(sys.argv[1])).used_by_this_process():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_scan_at_a_time_goes_on_from_a_position_and_one_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    data, place = str(tmp_path / "data"), tmp_path / "users.position"
    scan = ("scan", "--entity", "user", "--data", data, "--position", str(place))
    assert shardweave("load", "--entity", "user", "--data", data, "-", given=USER).code == 0
    with another_process(SCANS, str(place)) as process:
        outcome = shardweave(*scan)
        assert (outcome.code, outcome.output) == (1, "")
        assert f"another scan saves in {place}" in outcome.errors
        process.kill()
        process.wait()
        assert len(shardweave(*scan).lines) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_position_that_is_saved_is_its_owner_s_alone(tmp_path: Path) -> None:
    kept = SavedPosition(tmp_path / "users.position")
    kept.save("here")
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    with SavedPosition(kept.path).used_by_this_process() as position:
        assert position == "here"


def test_a_position_in_no_folder_is_refused(tmp_path: Path) -> None:
    unusable = pytest.raises(ConfigurationError, match=r"^--position: .* can't be used: No such file")
    with unusable, SavedPosition(tmp_path / "nowhere" / "place").used_by_this_process():
        raise AssertionError("it is not used")
