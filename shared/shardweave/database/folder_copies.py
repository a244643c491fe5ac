"""Backups of a service's table in a data folder, made and put back while a server uses it.

A backup is a folder of its own: the table as it was at one moment, the manifest of the schema that its records were
written with, how far its changes had been handled, and the folder's keys (so it is as secret as they are). Putting it
back replaces the table's whole content at once; keys that the folder has stay, and so does its own manifest, which has
to be the same.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import ConfigurationError
from ..table.embedded.copies import copy_table
from .data_folder import DataFolder

KEY_FILES = ("cursor-keys.json", "external-keys.json", "token-keys.json")


def back_up(folder: DataFolder, service: str, key_format: str, target: Path) -> None:
    """Copy a service's table into an empty folder. Raises ConfigurationError, TableUnusable."""
    path = folder.table_path(service, key_format)
    if not path.is_file():
        raise folder.missing_table(service, key_format)
    _make_empty(target)
    # The position of processed changes is copied first: later changes are processed again, and none is skipped.
    beside = (folder.position_file(service, key_format), path.with_suffix(".schema.json"), path.with_suffix(".json"))
    for file in (*beside, *(folder.path / name for name in KEY_FILES)):
        if file.is_file():
            shutil.copy(file, target / file.name)
    copy_table(path, target / path.name)


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
    copy_table(source / path.name, path)
    names = [manifest.name, path.with_suffix(".json").name, *KEY_FILES]
    names += [folder.position_file(service, key_format).name] if is_new else []
    for name in names:
        if (source / name).is_file() and not (folder.path / name).exists():
            shutil.copy(source / name, folder.path / name)


def _make_empty(target: Path) -> None:
    try:
        target.mkdir(0o700, parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise ConfigurationError(f"{target} is not empty", where="DIR", fix="give a new folder")
    except OSError as error:
        message = f"{target} can't be used: {error.strerror}"
        raise ConfigurationError(message, where="DIR", fix="give a folder that can be written") from None
