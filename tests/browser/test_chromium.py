"""Where the Chromium of these tests comes from: the first source that can be had, and then always that one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chromium import Packages, unpacked
from tests.browser.debian_packages import NotAvailable

WORKS = '#!/bin/sh\necho "Chromium 1.2"\n'
SAYS_WHAT_TO_INSTALL = "#!/bin/sh\necho install something\n"
FAILS = "#!/bin/sh\necho 1.2; exit 127\n"


def source(folder: Path, name: str, script: str | None, version: str = "1") -> Packages:
    """A source of a program; without one it is not to be had."""

    def unpack(home: Path) -> None:
        if script is None:
            raise NotAvailable("the mirror is away")
        (home / "program").write_text(script)
        (home / "program").chmod(0o755)

    return Packages(name, folder / name, version, unpack, Path("program"), lambda home: {"HOME": str(home)})


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def say(said: list[str]) -> Callable[[str], None]:
    return said.append


def test_the_first_source_is_taken(tmp_path: Path, say: Callable[[str], None]) -> None:
    found = unpacked([source(tmp_path, "one", WORKS), source(tmp_path, "two", WORKS)], say)
    assert found.origin == "one"
    assert found.variables == {"HOME": str(tmp_path / "one")}
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("script", [None, SAYS_WHAT_TO_INSTALL, FAILS])
def test_what_is_not_to_be_had_or_does_not_start_is_said_and_left(
    tmp_path: Path, said: list[str], say: Callable[[str], None], script: str | None
) -> None:
    found = unpacked([source(tmp_path, "one", script), source(tmp_path, "two", WORKS)], say)
    assert found.origin == "two"
    assert said[0].startswith("no Chromium from one: ")
    with pytest.raises(AssertionError, match=r"one: .*apt-get install chromium"):
        unpacked([source(tmp_path, "one", script)], say)


def test_what_is_there_is_used_before_anything_else_is_fetched(
    tmp_path: Path, said: list[str], say: Callable[[str], None]
) -> None:
    unpacked([source(tmp_path, "one", None), source(tmp_path, "two", WORKS)], say)
    said.clear()
    found = unpacked([source(tmp_path, "one", WORKS), source(tmp_path, "two", None)], say)
    assert (found.origin, said) == ("two", [])
    changed = [source(tmp_path, "one", WORKS), source(tmp_path, "two", None, version="2")]
    assert unpacked(changed, say).origin == "one"
