"""What `serve --reload` watches, and when it starts the server again."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shardweave.database.project import LIBRARY
from shardweave.local.reload import Reloader, State, states, watched
from shardweave.local.serve import serve_again


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shown(found: dict[Path, State], folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path, state in found.items() if state is not None}


def test_watched_are_a_service_and_what_it_imports_beside_it(tmp_path: Path) -> None:
    write(tmp_path, orders="import json, prices\nfrom parts.names import name\n", prices="from rates import rate\n")
    write(tmp_path, rates="", parts__names="", parts__deep__other="", test_orders="", elsewhere="")
    found = states(tmp_path / "orders.py", [tmp_path])
    assert shown(found, tmp_path) == {"orders.py", "prices.py", "rates.py", "parts/names.py", "parts/deep/other.py"}


def test_all_of_a_package_is_watched(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "__init__.py").write_text("from . import members\nimport shared_names\n")
    write(tmp_path, desk__members="", desk__tags="", shared_names="")
    names = {"desk/__init__.py", "desk/members.py", "desk/tags.py", "shared_names.py"}
    assert shown(states(tmp_path / "desk", [tmp_path]), tmp_path) == names


@pytest.mark.parametrize("text", ["import prices\nx = (", "import prices\n\0", ""])
def test_a_faulty_edit_is_watched_for_the_next_one(tmp_path: Path, text: str) -> None:
    write(tmp_path, orders=text)
    before = states(tmp_path / "orders.py", [tmp_path])
    write(tmp_path, orders="import prices\n")
    assert states(tmp_path / "orders.py", [tmp_path]) != before


def test_so_is_a_module_that_is_not_there_yet_or_no_more(tmp_path: Path) -> None:
    write(tmp_path, orders="import prices\n")
    without = states(tmp_path / "orders.py", [tmp_path])
    write(tmp_path, prices="")
    assert states(tmp_path / "orders.py", [tmp_path]) != without
    (tmp_path / "prices.py").unlink()
    assert states(tmp_path / "orders.py", [tmp_path]) == without


def test_of_a_service_that_ships_its_sample_data_is_watched_and_the_library_is_not() -> None:
    paths = {path for path, state in watched("user_service").items() if state is not None}
    assert any(path.as_posix().endswith("services/user_service.py") for path in paths)
    assert not any(path.is_relative_to(LIBRARY) for path in paths)


class Ended:
    """A process of a server that has ended with a code, or runs."""

    def __init__(self, exitcode: int | None) -> None:
        self.exitcode = exitcode


class Looked(Reloader):
    """One that looks again at once."""

    def pause(self) -> None:
        pass


@pytest.fixture
def reloader() -> Iterator[Callable[[list[dict[Path, State]]], Looked]]:
    with socket.socket() as listening:
        yield lambda looks: Looked(serve_again, [], listening, iter(looks).__next__)


FILE = Path("orders.py")


def test_it_starts_again_after_an_edit(reloader: Callable[[list[dict[Path, State]]], Looked]) -> None:
    made = reloader([{FILE: (1, 1)}, {FILE: (1, 1)}, {FILE: (2, 1)}, {}])
    made.process = Ended(None)  # type: ignore[assignment]
    assert [made.should_restart() for _ in range(3)] == [None, [FILE], [FILE]]


def test_a_server_that_ended_with_a_fault_is_told_once_and_waits_for_an_edit(
    reloader: Callable[[list[dict[Path, State]]], Looked], caplog: pytest.LogCaptureFixture
) -> None:
    made = reloader([{FILE: (1, 1)}, {FILE: (1, 1)}, {FILE: (1, 1)}, {FILE: (1, 2)}])
    made.process = Ended(2)  # type: ignore[assignment]
    assert [made.should_restart() for _ in range(3)] == [None, None, [FILE]]
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


def test_a_server_that_was_told_to_stop_ends_it(reloader: Callable[[list[dict[Path, State]]], Looked]) -> None:
    made = reloader([{FILE: (1, 1)}] * 2)
    made.process = Ended(0)  # type: ignore[assignment]
    with pytest.raises(StopIteration):
        made.should_restart()
