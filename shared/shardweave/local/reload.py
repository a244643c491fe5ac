"""`serve --reload`: restarts the server after each edit of the service, on the same port and with the same data.

Watched are the service's file, or all files of its package, and the modules beside it that it imports, including ones
that do not exist yet. The server is a separate process that inherits only the listening socket, so requests wait while
it restarts. If it ends with an error, it has printed the error, and the next edit restarts it.
"""

from __future__ import annotations

import ast
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from socket import socket

import uvicorn
from uvicorn.supervisors.basereload import BaseReload

from ..database.project import LIBRARY, project_folder, shown_path
from ..service.files import service_file

LOG = logging.getLogger("shardweave.local")
LOOK_SECONDS = 0.4

Serve = Callable[[list[str], socket], int]
"""The function of a module that serves: another process finds it by its name."""

State = tuple[int, int] | None
"""A file's modification time and size; None for a missing file."""


class Reloader(BaseReload):
    """Runs `serve` with the arguments and the socket in a process of its own, and again whenever the result of `look`
    changes."""

    def __init__(
        self, serve: Serve, arguments: Sequence[str], listening: socket, look: Callable[[], dict[Path, State]]
    ) -> None:
        config = uvicorn.Config("", log_config=None, reload_delay=LOOK_SECONDS)
        super().__init__(config, _Served(serve, tuple(arguments)), [listening])
        self._look = look
        self._seen = look()
        self._told = False

    def should_restart(self) -> list[Path] | None:
        """Wait for a while; returns the changed files, or None."""
        self.pause()
        before, self._seen = self._seen, self._look()
        changed = [path for path in {**before, **self._seen} if before.get(path) != self._seen.get(path)]
        if changed:
            LOG.info("changed: %s; starting again", ", ".join(sorted(map(shown_path, changed))))
            self._told = False
        elif self.process.exitcode == 0:
            raise StopIteration
        elif self.process.exitcode is not None and not self._told:
            LOG.warning("the server has ended; it starts again after the next edit")
            self._told = True
        return changed or None


@dataclass(frozen=True)
class _Served:
    """The function that runs in the server's process. The process also ends when its parent has ended."""

    serve: Serve
    arguments: tuple[str, ...]

    def __call__(self, sockets: Sequence[socket] | None) -> None:
        (listening,) = sockets or ()
        parent = multiprocessing.parent_process()
        if parent is not None:
            threading.Thread(target=_end_with, args=(parent.join,), daemon=True).start()
        raise SystemExit(self.serve(list(self.arguments), listening))


def _end_with(join: Callable[[], object]) -> None:
    join()
    os.kill(os.getpid(), signal.SIGTERM)


def watched(service: str) -> dict[Path, State]:
    """The watched files of a service, with their states."""
    file = service_file(service)
    if not file.beside:
        return states(file.sources, (file.sources.parent, project_folder()))
    module = file.path / f"{file.name}.py"
    own = module if module.is_file() else file.path / file.name
    return states(own, (file.path, file.path.parent, project_folder()))


def states(own: Path, bases: Iterable[Path]) -> dict[Path, State]:
    """The states of a module's files, and of all modules under the `bases` that they import, directly or indirectly."""
    found: dict[Path, State] = {}
    ahead = list(_files_of(own))
    bases = tuple(dict.fromkeys(bases))
    while ahead:
        path = ahead.pop()
        if path in found:
            continue
        found[path] = state = _state_of(path)
        if state is None:
            continue
        for name in _imports(path, state):
            for base in bases:
                if base / name != LIBRARY:
                    ahead += [base / f"{name}.py", *_files_of(base / name)]
    return found


def _files_of(module: Path) -> Iterator[Path]:
    """The file of a module, or all Python files of a package, which need not have an `__init__.py`."""
    if module.suffix == ".py":
        yield module
    elif module.is_dir():
        yield from module.rglob("*.py")


def _state_of(path: Path) -> State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=1000)
def _imports(path: Path, state: State) -> frozenset[str]:
    """The top-level names that a file imports; empty for a file that is not valid Python."""
    del state
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return frozenset(name.partition(".")[0] for name in names if name)
