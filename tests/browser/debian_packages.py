"""Debian's Chromium, unpacked into a folder without being installed, so without root.

apt fetches the package lists of the machine's own sources, and the packages that the machine lacks, and verifies both
by the keys that the machine trusts; its state is in the folder too, and nothing outside is changed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

TOOLS = ("apt-get", "dpkg-deb")
PROGRAM = Path("usr/lib/chromium/chromium")
"""The script in `usr/bin` is for a Chromium that is installed: it names this program by its place in the system."""
MOST_SECONDS = 300
"""For the lists, and again for the packages: a mirror that does not answer must not hold up the tests for longer."""
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{root}/usr/share/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{root}/cache</cachedir></fontconfig>
"""


class NotAvailable(Exception):
    """The machine has no apt, its sources have no Chromium, or they can't be reached; the text says which."""


def unpack(root: Path) -> None:
    """Unpack Chromium and what it needs below a folder. Raises NotAvailable."""
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise NotAvailable(f"there is no {tool}")
    state, cache = root / "state", root / "cache"
    for folder in (state / "lists" / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True)
    settings = {
        "Dir::State": state,
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": cache,
        "Dir::Log": state,
        "Debug::NoLocking": "true",
        "APT::Sandbox::User": "",
        "APT::Update::Post-Invoke": "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "1",
        "Acquire::http::Timeout": "20",
        "Acquire::https::Timeout": "20",
    }
    apt = ["apt-get", "-q", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    _run([*apt, "update"])
    # The sandbox needs root to be set up; the tests run without it.
    _run([*apt, "--yes", "--no-install-recommends", "--download-only", "install", "chromium", "chromium-sandbox-"])
    packages = sorted((cache / "archives").glob("*.deb"))
    if not packages:
        raise NotAvailable("apt fetched no package")
    for package in packages:
        _run(["dpkg-deb", "--extract", str(package), str(root)])
    if not (root / PROGRAM).is_file():
        raise NotAvailable("the packages have no Chromium where it is expected")
    shutil.rmtree(state)
    shutil.rmtree(cache)
    (root / "fonts.xml").write_text(FONTS.format(root=root))


def variables_in(root: Path) -> dict[str, str]:
    """The environment variables that it needs."""
    found = (str(each) for each in _library_folders(root))
    return {"LD_LIBRARY_PATH": ":".join(found), "FONTCONFIG_FILE": str(root / "fonts.xml")}


def _library_folders(root: Path) -> Iterator[Path]:
    """The folders for libraries of the machine's architecture, and those below for a package's own."""
    for folder in sorted(root.glob("usr/lib/*-linux-gnu*")) + sorted(root.glob("lib/*-linux-gnu*")):
        yield folder
        yield from sorted(each for each in folder.iterdir() if each.is_dir() and any(each.glob("lib*.so*")))


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=MOST_SECONDS,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{command[0]} took more than {MOST_SECONDS} s") from None
    if done.returncode:
        last = done.stdout.strip().splitlines()[-1:] or ["nothing"]
        raise NotAvailable(f"{command[0]} failed: {last[0]}")
