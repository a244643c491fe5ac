"""Finding the file of a service, by its name or its path.

A name is that of a module in the package `services`, if there is one; else of a file or a package in the project's
folder; else of one beside the library, as in a Lambda layer. A path is that of a file or of a package's folder. As with
a script, a service can import modules beside it. Another module of the same name, such as one of Python's own, is never
used instead.
"""

from __future__ import annotations

import importlib
import keyword
import os
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..database.project import LIBRARY, committed_context, project_folder, shown_path
from ..errors import ConfigurationError

SERVICES = "services"
DEFAULT_SERVICE = "user_service"
_DECLARES = "def schema("

_given: dict[str, Path] = {}
"""The paths of services that were given by a path."""


@dataclass(frozen=True)
class ServiceFile:
    """A service's module: its import name and its path. `beside`: it is in the package `services`, whose other modules
    belong to it."""

    name: str
    module: str
    path: Path
    beside: bool = False

    @property
    def place(self) -> str:
        """The path, for errors."""
        return f"{SERVICES}/{self.name}.py" if self.beside else shown_path(self.path)

    @property
    def sources(self) -> Path:
        """The files to deploy: the package `services`, the service's own package, or its file."""
        if self.beside:
            return self.path
        return self.path.parent if self.path.name == "__init__.py" else self.path


def shipped_services() -> list[str]:
    """The modules of the package `services`, without those whose names begin with an underscore."""
    return sorted(each.name for each in pkgutil.iter_modules(_package()) if not each.name.startswith("_"))


def service_names() -> list[str]:
    """The names of all services that can be found here."""
    files = (*project_folder().glob("*.py"), *project_folder().glob("*/__init__.py"))
    declaring = [path for path in files if _DECLARES in path.read_text(errors="replace")]
    found = {path.parent.name if path.name == "__init__.py" else path.stem for path in declaring}
    return sorted({*shipped_services(), *(name for name in found if can_name(name) and not _is_for_tests(name))})


def default_service() -> str:
    """The service to use if none is named: the one in `cdk.json`, else the only one. Raises ConfigurationError."""
    chosen = committed_context().get("service")
    if isinstance(chosen, str) and chosen:
        return named_service(chosen)
    return only_service(service_names())


def only_service(names: Sequence[str]) -> str:
    """The service that is meant if none is named: the only one, or the example in the library's own repository. Raises
    ConfigurationError if there is none, or a choice."""
    if len(names) == 1:
        return names[0]
    if DEFAULT_SERVICE in names:
        return DEFAULT_SERVICE
    if names:
        known = ", ".join(names)
        raise ConfigurationError(
            f"there are several here: {known}", where="service", fix=f"say which, such as {names[0]}"
        )
    raise ConfigurationError(
        "there is none here", where="service", fix="`shardweave init NAME` makes one; or name the file of its module"
    )


def named_service(text: str) -> str:
    """The name of a service, given by its name or its path. Raises ConfigurationError."""
    if not is_path(text):
        return text
    folder = next((base for base in (Path.cwd(), project_folder()) if (base / text).exists()), None)
    file = _module_file((folder / text).resolve()) if folder is not None else None
    if file is None:
        raise ConfigurationError(
            f"there is no module {text[:200]!r}", where="service", fix="name a file such as orders.py, or a package"
        )
    own = file.parent if file.name == "__init__.py" else file
    name = own.stem
    if not can_name(name):
        raise ConfigurationError(
            f"{name[:80]!r} can't name a service", where=shown_path(own), fix="name it in lower case, such as orders.py"
        )
    if str(own.parent) not in map(os.path.realpath, _package()):
        _given[name] = own.parent
    return name


def service_text(text: str) -> str:
    """The name or the path of a service, relative to the project's folder."""
    named_service(text)
    if not is_path(text):
        return text
    path = next(base / text for base in (Path.cwd(), project_folder()) if (base / text).exists()).resolve()
    return shown_path(path)


def service_file(name: str) -> ServiceFile:
    """The module of a service. Raises ConfigurationError that lists the services."""
    if name not in _given and name in shipped_services():
        return ServiceFile(name, f"{SERVICES}.{name}", Path(next(iter(_package()))).resolve(), beside=True)
    # In an emulator a function may run below a project's folder; it uses the deployed files all the same.
    deployed = "AWS_LAMBDA_FUNCTION_NAME" in os.environ
    near = [] if deployed else [*([_given[name]] if name in _given else []), project_folder()]
    folders = [*near, LIBRARY.parent]
    for folder in folders if can_name(name) else []:
        file = _module_file(folder / f"{name}.py") or _module_file(folder / name)
        if file is not None:
            if str(folder) not in sys.path:
                sys.path.append(str(folder))
                importlib.invalidate_caches()
            return ServiceFile(name, name, file)
    known = service_names()
    fix = f"use one of {', '.join(known)}, or the path of a module" if known else "name the file of a module"
    raise ConfigurationError(f"there is no service {name[:80]!r}", where="service", fix=fix)


def is_path(text: str) -> bool:
    """Whether a service is given by its path."""
    return text.endswith(".py") or "/" in text or os.sep in text or text in (".", "..")


def _package() -> list[str]:
    try:
        return list(importlib.import_module(SERVICES).__path__)
    except ModuleNotFoundError as error:
        if error.name != SERVICES:
            raise
        return []


def _module_file(path: Path) -> Path | None:
    inside = path / "__init__.py"
    if path.is_dir():
        return inside if inside.is_file() else None
    return path if path.is_file() and path.suffix == ".py" else None


def _is_for_tests(name: str) -> bool:
    """Whether pytest would import a module as tests, in which a fixture may be named `schema` too."""
    return name == "conftest" or name.startswith("test_") or name.endswith("_test")


def can_name(name: str) -> bool:
    """Whether a name is possible for a service, and so for its module."""
    usable = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return usable and name not in sys.stdlib_module_names and name not in (SERVICES, LIBRARY.name, "functions")
