"""The folder of an export: what its state says, and whether all is there that it tells of.

A folder is only taken for an export that is finished and whole: what of it is missing would be missing in the table
that it is imported into, and nobody would notice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..errors.exit_codes import Unavailable
from ..schema.schema import Schema
from .file_lock import held_while_used, locked_file

FORMAT = 1
STATE = "export.json"
BESIDE = f"{STATE}.new"
"""The next state, until it is whole."""
LOCK = "export.lock"


@contextmanager
def used_by_this_process(folder: Path) -> Iterator[None]:
    """A context that makes a folder if needed, for its owner alone, and locks it against other exports. Raises
    ConfigurationError, also where it holds something else, of which nothing is touched; Unavailable."""
    busy = Unavailable(
        f"another process exports into {folder}", where="DIR", fix="let it end or stop it, or give another folder"
    )
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        if not (folder / STATE).exists() and {path.name for path in folder.iterdir()} - {BESIDE, LOCK}:
            raise ConfigurationError(
                f"{folder} holds something else than an export", where="DIR", fix="give an empty folder"
            )
        lock = locked_file(folder / LOCK, busy)
    except OSError as error:
        message = f"{folder} can't be used: {error.strerror}"
        raise ConfigurationError(message, where="DIR", fix="give an empty folder") from None
    with held_while_used(lock, folder / LOCK):
        yield


def read_state(folder: Path) -> dict[str, Any] | None:
    """The state of the export in a folder; None if there is none. Raises ConfigurationError if it can't be used."""
    path = folder / STATE
    try:
        if not path.exists():
            return None
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{folder} can't be used: {getattr(error, 'strerror', None) or 'its state is damaged'}"
        raise ConfigurationError(message, where="DIR", fix="give an empty folder") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT or not _are_entities(state.get("entities")):
        raise ConfigurationError(
            f"{folder} holds an export of another version, or its {STATE} is damaged",
            where="DIR",
            fix="give an empty folder",
        )
    return state


def is_short(folder: Path, token: str, own: dict[str, Any]) -> bool:
    """Whether an entity's file is shorter than the state says."""
    path = folder / f"{token}.jsonl"
    return not path.exists() or path.stat().st_size < own["bytes"]


def check_finished(folder: Path) -> dict[str, Any]:
    """The state by entity of the export in a folder, if there is one. Raises ConfigurationError if it is not
    finished."""
    entities: dict[str, Any] = (read_state(folder) or {"entities": {}})["entities"]
    for token in sorted(entities):
        if not entities[token].get("done"):
            raise ConfigurationError(
                f"{folder} holds an export that is not finished",
                where=token,
                fix="start the export again with this folder",
            )
    return entities


def check_known(folder: Path, schema: Schema, where: str, *, in_part: bool = False) -> None:
    """Raises ConfigurationError if a folder holds an export with records of entities that a schema does not have; with
    `in_part` only if it has none of them."""
    exported: dict[str, Any] = (read_state(folder) or {"entities": {}})["entities"]
    unknown = [token for token in sorted(exported) if token not in schema.entities and exported[token]["lines"]]
    if unknown and not (in_part and exported.keys() & schema.entities.keys()):
        raise ConfigurationError(
            f"{folder} holds an export with records of {', '.join(unknown)}, which the schema does not have",
            where=where,
            fix="give the service that it was exported with, or an export or files of entities that it has",
        )


def check_whole(folder: Path) -> None:
    """Raises ConfigurationError if a folder holds an export that is not finished, or lacks lines. Lines may have been
    edited."""
    for token, own in sorted(check_finished(folder).items()):
        if is_short(folder, token, own) and _line_count(folder / f"{token}.jsonl") < own["lines"]:
            raise ConfigurationError(
                f"{folder} lacks lines that were exported",
                where=f"{token}.jsonl",
                fix="copy the folder again, or give its files one by one",
            )


def _line_count(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _are_entities(entities: Any) -> bool:
    return isinstance(entities, dict) and all(
        isinstance(own, dict) and all(type(own.get(name)) is int and own[name] >= 0 for name in ("bytes", "lines"))
        for own in entities.values()
    )
