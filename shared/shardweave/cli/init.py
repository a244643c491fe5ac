"""`shardweave init`: creates a project in a new folder.

    shardweave init orders
    cd orders && shardweave serve

It has a service, its test, a CDK app that deploys it, and the versions of the installed packages. Existing files are
never changed.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..errors import ConfigurationError
from .console import Streams
from .project_files import project_files
from .project_name import project_name

LOCK = "requirements.txt"
LOCK_HEADER = f"""# What shardweave {__version__} needs here, as `shardweave init` found it installed. Install with
#     pip install --no-deps shardweave=={__version__}   (or its wheel)
#     pip install -r {LOCK}
"""
_UV_SECONDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="NAME", help="the project's folder; its name is the service's")
    parser.add_argument("--no-hashes", action="store_true", help="lock versions alone, without asking a package index")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Create the folder. Raises ConfigurationError."""
    folder: Path = options.folder
    name = project_name(folder.resolve().name)
    if not folder.resolve().parent.is_dir():
        raise ConfigurationError(
            f"there is no folder {str(folder.resolve().parent)[:200]}",
            where="NAME",
            fix="make it first, or name another",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(
            f"there is something in {folder} already", where="NAME", fix="name a folder that is new, or empty"
        )
    files = {**project_files(name), LOCK: LOCK_HEADER + _locked(_installed(), hashes=not options.no_hashes)}
    try:
        folder.mkdir(exist_ok=True)
        for file, content in files.items():
            (folder / file).write_text(content, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be written: {error.strerror}", where="NAME", fix="name a folder where you may write"
        ) from None
    streams.say(f"{folder} holds {', '.join(sorted(files))}")
    streams.say(f"Next: cd {folder} && shardweave serve")
    return 0


def _locked(pinned: list[str], *, hashes: bool) -> str:
    """The pinned packages, with the hashes of all their files if uv is available and can fetch them."""
    plain = "".join(f"{each}\n" for each in pinned)
    uv = _uv() if hashes else None
    if uv is None:
        return plain
    command = [uv, "pip", "compile", "--quiet", "--no-config", "--no-deps", "--generate-hashes", "--no-header"]
    try:
        done = subprocess.run(
            [*command, "--no-annotate", "-"],
            input=plain,
            capture_output=True,
            text=True,
            check=False,
            timeout=_UV_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return plain
    return done.stdout if done.returncode == 0 and done.stdout.strip() else plain


def _uv() -> str | None:
    if importlib.util.find_spec("uv") is not None:
        from uv import find_uv_bin

        return str(find_uv_bin())
    return shutil.which("uv")


def _installed() -> list[str]:
    """The installed dependencies of the library and its extras with their versions, without the library itself."""
    found: dict[str, str] = {}
    waiting = list(_needed("shardweave", extras=True))
    while waiting:
        name = waiting.pop()
        if name in found or name == "shardweave":
            continue
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        waiting += _needed(name)
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def _needed(name: str, *, extras: bool = False) -> Iterator[str]:
    """The names of a package's dependencies; with `extras`, also those of its extras."""
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        lines = []
    for line in lines:
        if extras or "extra ==" not in line:
            yield _normal(re.split(r"[^\w.-]", line, maxsplit=1)[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
