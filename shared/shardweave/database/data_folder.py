"""The data folder: a table file for each service and key format, the cursor keys, and what was stored how.

    server.lock                        held by the one server that uses the folder; says which table, and by which
                                       declarations
    cursor-keys.json                   made once, readable by its owner alone; so are external-keys.json
                                       and token-keys.json
    <service>-<key format>.sqlite      the table
    <service>-<key format>.schema.json the manifest of the schema that its records were written with (see `manifest`)
    <service>-<key format>.json        the sample data's state: its day, and whether it is there completely

Guarantees: files appear whole, each is written beside its place and then moved there. A file that is damaged is named
with its path. A table is opened only with a schema under which its records are found again, and, while they are moved
to other shards, with the declaration that they are moved by; one that adds generated properties has the records that
are there rewritten with them first, on condition that they have not changed since.

Costs: opening reads the manifest; only such an addition reads every record, and so does an entity that is not declared
any more, until one of its own is found.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar

from ..errors import ConfigurationError, Fault
from ..errors.exit_codes import Unavailable
from ..keys.shard_key import ExternalKeys
from ..keys.shard_key.key_ring import KeyRing, decode_key_ring, encode_key_ring
from ..keys.sharding import READ_AHEAD_MS, WRITE_AHEAD_MS
from ..maintenance.file_lock import locked_file
from ..query.cursor import CursorKeys
from ..reshard.control import control_key, decode_control
from ..reshard.declaration_guard import moving_faults, schema_of
from ..schema.entity import now_ms
from ..schema.manifest import (
    Manifest,
    decode_manifest,
    early_bumps,
    encode_manifest,
    lost_bumps,
    manifest_of,
    placement_faults,
)
from ..schema.schema import Schema
from ..table.embedded import BUSY_SECONDS, EmbeddedTable, holds_hash_keys, holds_items, stored_items
from .project import command_name, guide
from .rewrite_keys import rekey

K = TypeVar("K")

SERVING_BUSY_SECONDS = 3.0
"""How long a server's write waits for another process; the client waits too, and may repeat its request."""

_CURSOR_KEYS = "cursor-keys.json"
_EXTERNAL_KEYS = "external-keys.json"
_LOCK = "server.lock"


@dataclass(frozen=True)
class SampleState:
    """The sample data in a table: their `day` (ISO 8601), and whether they were written completely."""

    day: str
    complete: bool


@dataclass(frozen=True)
class DataFolder:
    """A folder of data for one server, and for the command line."""

    path: Path

    @contextmanager
    def used_by_this_process(self) -> Iterator[None]:
        """Create the folder if needed, and lock it against other servers. Raises ConfigurationError."""
        self.make()
        fix = "stop it, or choose another folder"
        busy = Unavailable(f"another server uses {self.path}", where="--data", fix=fix)
        try:
            lock = locked_file(self.path / _LOCK, busy)
        except OSError as error:
            raise _unusable(self.path, error) from None
        with lock:
            lock.truncate(0)
            yield

    def make(self) -> None:
        """Create the folder if needed. Raises ConfigurationError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.path, error) from None

    # -- the table

    def table_path(self, service: str, key_format: str) -> Path:
        """The file of a service's table. Keys of another format are another table."""
        return self.path / f"{service}-{key_format}.sqlite"

    def position_file(self, service: str, key_format: str) -> Path:
        """The file with the position up to which the table's changes have been processed."""
        return self.table_path(service, key_format).with_suffix(".changes.json")

    def has_table(self, service: str, key_format: str) -> bool:
        """Whether the service has a table here."""
        return self.table_path(service, key_format).is_file()

    def missing_table(self, service: str, key_format: str) -> ConfigurationError:
        """The error of a folder without a table of the service, which names the tables that are there."""
        if self.path.is_file():
            return ConfigurationError(
                f"{self.path} is a file, not a data folder", where="--data", fix="give its folder"
            )
        named = [each.stem.rpartition("-") for each in sorted(self.path.glob("*-*.sqlite"))]
        there = ", ".join(f"--service {name} --key-format {keys}" for name, _, keys in named)
        made = f"`{command_name('serve')} --data DIR` and `shardweave load --data DIR` make one"
        return ConfigurationError(
            f"{self.path} holds no table of {service!r} with the key format {key_format!r}",
            where="--data",
            fix=f"give one that is there: {there}" if there else f"check the name; {made}",
        )

    def is_as_written(self, schema: Schema, service: str, key_format: str) -> bool:
        """Whether the service has a table here that opening leaves as it is. Raises ConfigurationError."""
        kept_at = self._manifest_path(service, key_format)
        return self.has_table(service, key_format) and self._kept_manifest(kept_at) == _manifest(schema)

    def open_table(
        self,
        schema: Schema,
        service: str,
        key_format: str,
        *,
        create: bool,
        serving: bool = False,
        clock: Callable[[], int] = now_ms,
        say: Callable[[str], None] = lambda _: None,
    ) -> EmbeddedTable:
        """The table of a service, made when it is not there and `create` allows it. It follows another
        declaration than that it was opened with last, unless a server uses the folder and that is not who is
        asking, `serving`. `clock` gives epoch milliseconds; `say` is told of what took long. Raises
        ConfigurationError, also for a schema that would not find the records again; TableError."""
        path = self.table_path(service, key_format)
        if create:
            self.make()
        elif not path.is_file():
            raise self.missing_table(service, key_format)
        kept_at, wanted = self._manifest_path(service, key_format), _manifest(schema)
        kept = self._kept_manifest(kept_at)
        self._refuse_lost_table(path, self.position_file(service, key_format), kept_at)
        filled = kept is not None and kept != wanted and holds_items(path)
        if kept is not None and filled:
            _refuse(kept_at, manifest_faults(kept, wanted, clock(), partial(_holds_records, path, kept)))
        _refuse_moving(path, schema)
        if not serving:
            self._refuse_while_served(path, schema, differs=kept is not None and kept != wanted)
        table = EmbeddedTable(schema.layout, path, busy_seconds=SERVING_BUSY_SECONDS if serving else BUSY_SECONDS)
        if kept is not None and filled:
            for token in [each for each in added_keys(kept, wanted) if each in schema.entities]:
                say(f"{token}: its records get the generated properties that were added ...")
                say(f"{token}: {rekey(table, schema.entities[token]):,} records rewritten")
        if kept != wanted:
            self._write(kept_at, encode_manifest(wanted))
        if serving:
            (self.path / _LOCK).write_text(_served(path, schema), encoding="utf-8")
        return table

    def _refuse_while_served(self, path: Path, schema: Schema, *, differs: bool) -> None:
        """A server has its own declaration, and could not go on when the table followed this one, nor move records as
        this one would have it."""
        try:
            lock = (self.path / _LOCK).open(encoding="utf-8")
        except FileNotFoundError:
            return
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                told = lock.read()
                of_this_table = told.startswith(f"{path.name}\n")
                if not differs and not (of_this_table and told != _served(path, schema)):
                    return
                raise ConfigurationError(
                    f"a server uses {self.path} with another declaration than this one; nothing was changed",
                    where="--data",
                    fix="stop it first, or use the declaration that it was started with",
                ) from None

    def _refuse_lost_table(self, path: Path, *others: Path) -> None:
        """A table has its manifest and a position only after it was made: a new one in its place would hide that its
        records are lost, and its changes would never be found after the position kept of the lost one."""
        left = [other.name for other in others if other.is_file()]
        if left and not (path.is_file() and path.stat().st_size):
            fix = f"put a copy back; or, for a new table, remove {' and '.join(left)} and the table's other files"
            message = f"{path} is missing or empty beside its {' and '.join(left)}"
            raise ConfigurationError(message, where="--data", fix=fix)

    def _manifest_path(self, service: str, key_format: str) -> Path:
        return self.table_path(service, key_format).with_suffix(".schema.json")

    def _kept_manifest(self, path: Path) -> Manifest | None:
        fix = "put a copy back; or remove it, if the schema has not changed since the records were written"
        text = self._read(path, fix)
        if text is None:
            return None
        try:
            return decode_manifest(text)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _damaged(path, fix) from None

    # -- what else is kept

    def cursor_keys(self) -> CursorKeys:
        """The folder's cursor keys, created if needed: cursors stay valid after a restart, and the server and the
        command line accept each other's. Raises ConfigurationError."""
        fix = "remove it: new keys are made, and tokens of pages given so far end"
        return self._keys(_CURSOR_KEYS, CursorKeys, fix)

    def kept_cursor_keys(self) -> CursorKeys | None:
        """The folder's cursor keys if it has some; nothing is created. Raises ConfigurationError."""
        return self.cursor_keys() if (self.path / _CURSOR_KEYS).is_file() else None

    def token_secret(self) -> bytes:
        """The folder's secret for development tokens, created if needed. Raises ConfigurationError."""
        fix = "remove it: a new one is made, and development tokens given so far end"
        return self._keys("token-keys.json", lambda current, secrets: secrets[current], fix)

    def external_keys(self) -> ExternalKeys:
        """The folder's secrets for external keys, created if needed. Raises ConfigurationError."""
        fix = "put a copy back; if it is removed, new ones are made, and the keys of records given so far end"
        return self._keys(_EXTERNAL_KEYS, ExternalKeys, fix)

    def kept_external_keys(self) -> ExternalKeys | None:
        """The folder's secrets for external keys if it has some; nothing is created. Raises ConfigurationError."""
        return self.external_keys() if (self.path / _EXTERNAL_KEYS).is_file() else None

    def _keys(self, name: str, kind: Callable[[str, Mapping[str, bytes]], K], fix: str) -> K:
        """Keys in a file of this name, made when it is not there. `fix` says what to do with one that is damaged."""
        path = self.path / name
        text = self._read(path, fix)
        if text is None:
            self.make()
            made = encode_key_ring(KeyRing("local", {"local": secrets.token_bytes(32)}))
            text = made if self._write(path, made, replace=False) else self._read(path, fix)
        try:
            ring = decode_key_ring(text or "")
            return kind(ring.current, ring.secrets)
        except ConfigurationError:
            raise _damaged(path, fix) from None

    def sample_state(self, service: str, key_format: str) -> SampleState | None:
        """The sample data in the table, None if writing them was never begun. Raises ConfigurationError."""
        path = self._state_path(service, key_format)
        fix = "remove it, and serve with --empty; or choose another folder"
        text = self._read(path, fix)
        if text is None:
            return None
        state = _decode_state(text)
        if state is None:
            raise _damaged(path, fix)
        return state

    def set_sample_state(self, service: str, key_format: str, state: SampleState) -> None:
        """Store which sample data are in the table."""
        self._write(self._state_path(service, key_format), json.dumps(asdict(state)))

    def _state_path(self, service: str, key_format: str) -> Path:
        return self.table_path(service, key_format).with_suffix(".json")

    # -- files

    def _read(self, path: Path, fix: str) -> str | None:
        """The text of a file; None when there is none. `fix` says what to do with one that is damaged."""
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            raise _unusable(self.path, error) from None
        except (OSError, UnicodeDecodeError):
            raise _damaged(path, fix) from None

    def _write(self, path: Path, text: str, *, replace: bool = True) -> bool:
        """Write a file, and say so; without `replace` only when there is none, and of several at once only one."""
        beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                if replace:
                    beside.replace(path)
                else:
                    path.hardlink_to(beside)
            finally:
                beside.unlink(missing_ok=True)
        except FileExistsError:
            return False
        except OSError as error:
            raise _unusable(self.path, error) from None
        return True


def _served(path: Path, schema: Schema) -> str:
    """What a lock says of the server that holds it."""
    declared = sorted(f"{token} {schema_of(entity)}\n" for token, entity in schema.entities.items())
    return "".join([f"{path.name}\n", *declared])


def _decode_state(text: str) -> SampleState | None:
    try:
        found = json.loads(text)
        return SampleState(date.fromisoformat(found["day"]).isoformat(), {True: True, False: False}[found["complete"]])
    except (ValueError, TypeError, KeyError):
        return None


def _manifest(schema: Schema) -> Manifest:
    return manifest_of(schema, with_formats=True)


def _holds_records(path: Path, kept: Manifest, token: str) -> bool:
    """Whether a table has records of an entity, in any of the key formats that its manifest has."""
    return holds_hash_keys(path, kept.keys[0], {token + each["shard"] for each in kept.formats.values()})


def manifest_faults(kept: Manifest, wanted: Manifest, now: int, has_records: Callable[[str], bool]) -> list[Fault]:
    """The faults that prevent opening a table with records of the manifest `kept` with the schema of `wanted`. Indexes,
    generated properties, lookups, entities, and bumps in the future may be added, such bumps removed, and entities of
    which the table has no records, which `has_records` says of a token."""
    faults = placement_faults(kept, wanted)
    for token, before in kept.entities.items():
        after = wanted.entities.get(token)
        if after is None:
            if has_records(token):
                message = "the entity is not declared any more, and its records would be out of reach."
                faults.append(
                    Fault(token, message, "declare it again, with the same token, or delete its records first")
                )
            continue
        faults += lost_bumps(token, before, after, now, WRITE_AHEAD_MS)
        fix = f"begin it later, at {after.first_from(now + READ_AHEAD_MS)} for example"
        # A record's own time may be that far ahead, the last millisecond included.
        faults += early_bumps(token, before, after, now, now + WRITE_AHEAD_MS + 1, fix)
    return faults


def _refuse_moving(path: Path, schema: Schema) -> None:
    """Another declaration than the one that records are being moved by could do nothing with them, and what it leaves
    here could keep the right one out."""
    keys = {token: tuple(control_key(entity).values()) for token, entity in schema.entities.items()}
    stored = stored_items(path, [(str(hash_key), str(range_key)) for hash_key, range_key in keys.values()])
    entities = schema.entities
    controls = {token: decode_control(entities[token], stored[key]) for token, key in keys.items() if key in stored}
    faults = moving_faults(schema, controls)
    if faults:
        listed = "".join(f"\n  - {fault}" for fault in faults)
        message = f"records in {path} are, or are being moved, where this declaration does not fit:{listed}\n"
        raise ConfigurationError(message, where="--data", fix="nothing was changed")


def added_keys(kept: Manifest, wanted: Manifest) -> list[str]:
    """The tokens of entities with new generated properties, which their stored records lack."""
    return [
        token
        for token, entity in wanted.entities.items()
        if token in kept.entities and set(entity.generated) - set(kept.entities[token].generated)
    ]


def _refuse(kept_at: Path, faults: list[Fault]) -> None:
    if not faults:
        return
    listed = "".join(f"\n  - {fault}" for fault in faults)
    raise ConfigurationError(
        f"the records in {kept_at.parent} were written with another schema ({kept_at.name}):{listed}\n",
        where="--data",
        fix=f"undo the change, or choose another folder; {guide('changing-a-schema.md')} says what may change",
    )


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    message = f"{path} can't be used: {error.strerror}"
    return ConfigurationError(message, where="--data", fix="choose a folder that can be written, with room in it")


def _damaged(path: Path, fix: str) -> ConfigurationError:
    return ConfigurationError(f"{path} is damaged, or can't be read", where="--data", fix=fix)
