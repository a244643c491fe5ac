"""The content of the layer: the library, the services and their dependencies, as a folder for one platform.

It is made without a container: wheels for the functions' platform are unpacked into one folder, and of botocore's
descriptions of AWS services, which are most of its size, only those that functions call are kept. The packages are
fetched and compiled once for each platform and state of `requirements/layer.txt`, into `.tools/layer`; afterwards,
making the layer needs no network, and compiles the library and the service alone.

A layer for the `host` runs on this machine's Python, as an emulator needs that starts functions as processes. Nothing
else of the stack differs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from uv import find_uv_bin

from ..database.project import LIBRARY, brought, tools_folder
from ..errors import ConfigurationError
from ..service.files import service_file
from ..table.dynamodb.transport.endpoint import CA_FOLDER
from .ca_folder import make_ca_folder
from .sources import copy_sources

TARGET_VERSION = "3.14"
"""The version of Python that functions run on."""

PlatformName = Literal["target", "host"]

LOCK = brought("requirements") / "layer.txt"
CACHE = tools_folder() / "layer"
CALLED_SERVICES = ("cloudformation", "dynamodb", "dynamodbstreams", "secretsmanager", "sts")
"""The AWS services that functions call. A service that calls another one adds it here."""


def layer_sources(service: str) -> tuple[Path, Path]:
    """The library and the files of the service, which are the sources of the layer: the hash of the layer depends on
    them."""
    return LIBRARY, service_file(service).sources


@dataclass(frozen=True)
class Platform:
    """The platform of the layer's packages: a version of Python, and wheel tags unless the platform is this
    machine's."""

    name: str
    python_version: str
    uv_tag: str = ""
    pip_tag: str = ""

    def make_layer(self, folder: Path, service: str) -> None:
        """Fill the folder of a service's layer. Raises ConfigurationError if a package can't be fetched."""
        inside, sources = folder / "python", layer_sources(service)
        shutil.copytree(self.packages(), inside)
        for source in sources:
            copy_sources(source, inside)
        make_ca_folder(inside / "botocore" / "cacert.pem", inside / CA_FOLDER.relative_to(LIBRARY.parent))
        self._compile_if_possible(inside, [inside / source.name for source in sources])

    def packages(self) -> Path:
        """The folder of the unpacked packages, which are fetched if necessary, and compiled if an interpreter of that
        version is available. Raises ConfigurationError."""
        interpreter = self._interpreter
        made = " ".join((*CALLED_SERVICES, "" if interpreter is None else "compiled"))
        made_of = hashlib.sha256(LOCK.read_bytes() + made.encode()).hexdigest()
        kept = CACHE / f"{self.name}-{made_of[:16]}"
        if not kept.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                beside = Path(folder) / "packages"
                self._fetch(beside)
                _trim(beside)
                if interpreter is not None:
                    _compile(interpreter, [beside])
                # A second process finds the folder, with the same content.
                if not kept.exists():
                    beside.rename(kept)
        return kept

    def _fetch(self, folder: Path) -> None:
        pinned = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--target", str(folder), "-r", str(LOCK)]
        version = ["--python-version", self.python_version]
        uv = [find_uv_bin(), "pip", "install", "--quiet", "--python", sys.executable, "--link-mode", "copy", *version]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *version]
        tools = {"uv": uv, "pip": pip}
        if self.uv_tag:
            tools = {"uv": [*uv, "--python-platform", self.uv_tag], "pip": [*pip, "--platform", self.pip_tag]}
        said = ""
        for command in tools.values():
            done = subprocess.run([*command, *pinned], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            said += done.stderr[-1500:]
            shutil.rmtree(folder, ignore_errors=True)
        raise ConfigurationError(
            f"the layer's packages can't be fetched:\n{said}",
            where=LOCK.name,
            fix="let this machine reach a Python package index once (uv's and pip's own settings apply)",
        )

    @property
    def _interpreter(self) -> str | None:
        """An interpreter of that version on this machine, if there is one."""
        if self.python_version == HOST_VERSION:
            return sys.executable
        return shutil.which(f"python{self.python_version}")

    def _compile_if_possible(self, folder: Path, sources: Sequence[Path]) -> None:
        """Add the compiled modules of the sources, and the compiled methods of dataclasses, if an interpreter of that
        version is available: functions can't write them, and without them compile everything at each cold start. Raises
        ConfigurationError if the library can't be imported."""
        interpreter = self._interpreter
        if interpreter is None:
            return
        _compile(interpreter, sources)
        # This machine's packages come first, since those of the layer may be for another platform.
        found_in = f"{Platform(f'host-{self.python_version}', self.python_version).packages()}{os.pathsep}{folder}"
        variables = {"PYTHONPATH": found_in, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [interpreter, "-S", "-P", "-m", "shardweave.service.dataclass_code"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ConfigurationError(
                f"the library can't be imported by {interpreter} from the layer's packages:\n{done.stderr[-1500:]}",
                where=LOCK.name,
                fix=f"make sure that it is a whole Python {self.python_version}, or take it from the PATH",
            )


HOST_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

PLATFORMS: dict[PlatformName, Platform] = {
    "target": Platform(
        f"arm64-{TARGET_VERSION}", TARGET_VERSION, uv_tag="aarch64-manylinux2014", pip_tag="manylinux2014_aarch64"
    ),
    "host": Platform(f"host-{HOST_VERSION}", HOST_VERSION),
}


def _compile(interpreter: str, sources: Sequence[Path]) -> None:
    """Write compiled modules beside the sources, wherever Python is to write those of this process."""
    command = [interpreter, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", *map(str, sources)]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    subprocess.run(command, env=variables, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _trim(packages: Path) -> None:
    """Remove files that no function reads."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for described in (packages / "botocore" / "data").iterdir():
        if described.is_dir() and described.name not in CALLED_SERVICES:
            shutil.rmtree(described)
