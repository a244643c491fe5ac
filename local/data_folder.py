"""The data folder: a table file for each service and key format, the cursor keys, and what was loaded.

    server.lock                        held by the one server that uses the folder
    cursor-keys.json                   made once, readable by its owner alone
    <service>-<key format>.sqlite      the table
    <service>-<key format>.json        the sample data's state: its day, and whether it is there completely

Files appear whole: each is written beside its place and then moved there.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from shardweave.errors import ConfigurationError
from shardweave.query.cursor import CursorKeys
from shardweave.service import decode_cursor_keys, encode_cursor_keys


@dataclass(frozen=True)
class SampleState:
    """Which sample data is in a table: made for `day` (ISO 8601), and whether all of it was written."""

    day: str
    complete: bool


@dataclass(frozen=True)
class DataFolder:
    """A folder of data for one server."""

    path: Path

    @contextmanager
    def used_by_this_process(self) -> Iterator[None]:
        """Make the folder when it is not there, and keep other servers out of it. Raises ConfigurationError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "server.lock").open("w")
        except OSError as error:
            raise ConfigurationError(
                f"{self.path} can't be used: {error.strerror}",
                where="--data",
                fix="choose a folder that can be written",
            ) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigurationError(
                    f"another server uses {self.path}", where="--data", fix="stop it, or choose another folder"
                ) from None
            yield

    def table_path(self, service: str, key_format: str) -> Path:
        """The file of a service's table. Keys of another format are another table."""
        return self.path / f"{service}-{key_format}.sqlite"

    def cursor_keys(self) -> CursorKeys:
        """The folder's own cursor keys, made when it has none: cursors live on over a restart."""
        path = self.path / "cursor-keys.json"
        if not path.exists():
            self._write(path, encode_cursor_keys(CursorKeys("local", {"local": secrets.token_bytes(32)})))
        return decode_cursor_keys(path.read_text(encoding="utf-8"))

    def sample_state(self, service: str, key_format: str) -> SampleState | None:
        """What sample data is in the table, None when none was ever begun."""
        path = self._state_path(service, key_format)
        return SampleState(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def set_sample_state(self, service: str, key_format: str, state: SampleState) -> None:
        """Remember what sample data is in the table."""
        self._write(self._state_path(service, key_format), json.dumps(asdict(state)))

    def _state_path(self, service: str, key_format: str) -> Path:
        return self.table_path(service, key_format).with_suffix(".json")

    def _write(self, path: Path, text: str) -> None:
        beside = path.with_name(f"{path.name}.new")
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
