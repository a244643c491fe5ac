"""Backups of a service's table in a data folder, made and put back while a server uses it.

A backup is a folder of its own: the table as it was at one moment, the manifest of the schema that its records were
written with, how far its changes had been handled, and the folder's keys (so it is as secret as they are). Putting it
back replaces the table's whole content at once; keys that the folder has stay, and so does its own manifest, which has
to be the same.

A backup is made in a folder below its own, out of which its files are moved in the end, the table last: what was
stopped or has failed can't be taken for one. One process at a time makes one in a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ConfigurationError, TableUnusable
from ..errors.exit_codes import Unavailable
from ..maintenance.file_lock import held_while_used, locked_file
from ..table.embedded.copies import copy_table
from .data_folder import DataFolder

KEY_FILES = ("cursor-keys.json", "external-keys.json", "token-keys.json")


UNFINISHED = "backup.unfinished"
LOCK = "backup.lock"


def back_up(folder: DataFolder, service: str, key_format: str, target: Path) -> None:
    """Copy a service's table into an empty folder. Raises ConfigurationError, also Unavailable, and TableUnusable."""
    path = folder.table_path(service, key_format)
    if not path.is_file():
        raise folder.missing_table(service, key_format)
    with made_whole(target) as made:
        # The position of processed changes is copied first: later changes are processed again, and none is skipped.
        beside = (
            folder.position_file(service, key_format),
            path.with_suffix(".schema.json"),
            path.with_suffix(".json"),
        )
        for file in (*beside, *(folder.path / name for name in KEY_FILES)):
            if file.is_file():
                shutil.copy(file, made / file.name)
        copy_table(path, made / path.name)


def put_back(folder: DataFolder, service: str, key_format: str, source: Path) -> None:
    """Restore a service's table from a backup. Raises ConfigurationError, TableUnusable."""
    path = folder.table_path(service, key_format)
    if not (source / path.name).is_file():
        message = f"{source} holds no backup of {service!r} with the key format {key_format!r}"
        raise ConfigurationError(message, where="DIR", fix="check the name")
    folder.make()
    manifest = path.with_suffix(".schema.json")
    kept = source / manifest.name
    if path.is_file() and manifest.is_file() and kept.is_file() and manifest.read_bytes() != kept.read_bytes():
        raise ConfigurationError(
            f"the backup's records were written with another schema than those in {folder.path}",
            where="DIR",
            fix="restore it into a new folder, or use the declaration of the backup",
        )
    is_new = not path.is_file()
    try:
        copy_table(source / path.name, path)
    except TableUnusable:
        if is_new:
            path.unlink(missing_ok=True)
        raise
    names = [manifest.name, path.with_suffix(".json").name, *KEY_FILES]
    names += [folder.position_file(service, key_format).name] if is_new else []
    try:
        for name in names:
            if (source / name).is_file() and not (folder.path / name).exists():
                shutil.copy(source / name, folder.path / name)
    except OSError as error:
        raise _failed(error, folder.path) from None


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """A context with a folder whose files are moved into an empty one, the last one made last, at its end; nothing is
    left of them if it fails."""
    made = target / UNFINISHED
    with _empty(target):
        try:
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(0o700)
            yield made
            for file in sorted(made.iterdir(), key=lambda each: each.suffix == ".sqlite"):
                file.replace(target / file.name)
        except OSError as error:
            raise _failed(error, target) from None
        finally:
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _empty(target: Path) -> Iterator[None]:
    """A context in which no other process makes a backup in an empty folder, or one with a backup that was stopped."""
    busy = Unavailable(
        f"another process makes a backup in {target}", where="DIR", fix="let it end or stop it, or give another folder"
    )
    is_new = not target.exists()
    try:
        target.mkdir(0o700, parents=True, exist_ok=True)
        _check_empty(target)
        lock = locked_file(target / LOCK, busy)
    except OSError as error:
        message = f"{target} can't be used: {error.strerror}"
        raise ConfigurationError(message, where="DIR", fix="give a folder that can be written") from None
    try:
        with held_while_used(lock, target / LOCK):
            # Another process may have ended in between.
            _check_empty(target)
            yield
    finally:
        if is_new:
            with suppress(OSError):  # Nothing was made in it, or it is used.
                target.rmdir()


def _check_empty(target: Path) -> None:
    if {path.name for path in target.iterdir()} - {LOCK, UNFINISHED}:
        raise ConfigurationError(f"{target} is not empty", where="DIR", fix="give a new folder")


def _failed(error: OSError, folder: Path) -> Unavailable:
    named = error.filename2 or error.filename or folder
    return Unavailable(
        f"{named} can't be read or written: {error.strerror}", where="DIR", fix="make room or correct it, and try again"
    )
