"""The SQLite tables of a table: their creation, and their migration when the layout changes.

Format (`FORMAT`): a row of `items` is an item: its image (see `item_blobs`), its size by DynamoDB's rule, when it
expires, and a random stamp. `entries` holds the keys of the table and of all indexes (see `entries`), `indexed` which
items' entries wait (see `waiting`), `change_log` is the stream, `tokens` the recent transactions, `settings` what was
declared. The file's user version counts the changes of the layout, so a process that still has the old one notices
before it writes. Pages have `PAGE_BYTES` (see `connections`): SQLite logs whole pages, and a write changes a few bytes
in each.

A layout that adds an index makes its entries, one that removes an index removes them, all in the one transaction that
opens the file; it reads every item at most once. The table's key and the keys of an index of one name never change. A
file of format 1, which had a column for each key and a SQLite index for each index, is migrated when it is opened.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError, TableUnusable
from ..layout import IndexLayout, KeyAttribute, TableLayout
from ..values import Item
from . import waiting
from .entries import NO_TIE, delete_index, insert_sorted, secondary_entries
from .item_blobs import decode
from .ordering import KeyColumn, place_bytes
from .request_checks import check_key
from .sqlite_layout import NUMBER_BYTES, KeyIndex, SqliteLayout, compile_schema, key_columns

FORMAT = 2

_ROWS = 500
_SETTINGS = {"format", "identity", "layout", "numbers", "nextNumber"}
_FIRST_REVISION = 1_000_001
"""Far above those of format 1, so that no process takes a file of one format for one of the other."""

_FORMER_SETTINGS: dict[str, Any] = {"columns": [], "sqlNames": {}}
"""Versions that know only format 1 look for these before they say that they can't read another format."""

_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (
  id INTEGER PRIMARY KEY, size INTEGER NOT NULL, ttl INTEGER, stamp INTEGER NOT NULL, image BLOB NOT NULL
);
CREATE INDEX items_ttl ON items (ttl) WHERE ttl IS NOT NULL;
CREATE TABLE entries (
  place BLOB, range BLOB, tie BLOB, item INTEGER NOT NULL, PRIMARY KEY (place, range, tie)
) WITHOUT ROWID;
CREATE TABLE indexed (through INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS changes (
  sequence INTEGER PRIMARY KEY, created REAL NOT NULL, by_service INTEGER NOT NULL, old BLOB, new BLOB
);
CREATE TABLE IF NOT EXISTS tokens (
  token TEXT PRIMARY KEY, content BLOB NOT NULL, created REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_created ON tokens (created);
INSERT INTO indexed VALUES (0);
"""

_TEXT_KEY = KeyColumn("", "S", "hash"), KeyColumn("", "S", "range")


def open_schema(writer: sqlite3.Connection, layout: TableLayout, wait: int = 0) -> SqliteLayout:
    """Create the tables in an empty file, or migrate an existing file to `layout`, in the caller's transaction. Raises
    ConfigurationError if the file contains something else, or a table that can't be migrated."""
    key_columns(layout)
    revision = read_revision(writer)
    if revision == 0:
        return _create(writer, layout, wait)
    return _follow(writer, layout, revision, wait)


def read_revision(connection: sqlite3.Connection) -> int:
    """The number of changes of the file's layout; 0 for a file without a table."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def holds_items(path: Path) -> bool:
    """Whether a file contains a table with items. The file is not changed; an unreadable file counts as empty."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM items LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return False


def holds_hash_keys(path: Path, name: str, beginnings: Collection[str]) -> bool:
    """Whether a file contains an item whose hash key, the attribute of that name, begins with one of some texts. A file
    that can't be read counts as one that does. Reads each item until one is found; the file is not changed."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            images = connection.execute("SELECT image FROM items")
            return any(str(decode(image).get(name)).startswith(tuple(beginnings)) for (image,) in images)
    except sqlite3.Error:
        return True


def stored_items(path: Path, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Item]:
    """The items, of those given by hash and range key (texts), that a file contains. The file is not changed; an
    unreadable file counts as empty."""
    found: dict[tuple[str, str], Item] = {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            for key in keys:
                image = _stored_image(connection, *(c.encode(v) for c, v in zip(_TEXT_KEY, key, strict=True)))
                if image is not None:
                    found[key] = decode(image)
    except sqlite3.Error:
        return {}
    return found


def holds_index(connection: sqlite3.Connection, schema: SqliteLayout, name: str | None) -> bool:
    """Whether the file still has an index, which another process may have removed."""
    if name is None or read_revision(connection) == schema.revision:
        return True
    numbers: dict[str, int] = _read_settings(connection)["numbers"]
    return numbers.get(name) == int.from_bytes(schema.indexes[name].number, "big")


def _stored_image(connection: sqlite3.Connection, hash_key: bytes, range_key: bytes) -> bytes | None:
    """The image of an item, in a file of any format."""
    try:
        row = connection.execute(
            "SELECT image FROM entries JOIN items ON id = item WHERE place = ? AND range = ? AND tie = ?",
            (bytes(NUMBER_BYTES) + place_bytes(hash_key), range_key, NO_TIE),
        ).fetchone()
    except sqlite3.OperationalError:
        row = connection.execute(
            "SELECT image FROM items WHERE key_0 = ? AND key_1 = ?", (hash_key, range_key)
        ).fetchone()
    return None if row is None else bytes(row[0])


def _create(writer: sqlite3.Connection, layout: TableLayout, wait: int) -> SqliteLayout:
    if writer.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise ConfigurationError("The file is a SQLite database of something else.", fix="choose another path")
    numbers = {index.name: number for number, index in enumerate(layout.indexes, 1)}
    schema = compile_schema(layout, numbers, secrets.token_hex(8), _FIRST_REVISION, wait)
    _make_tables(writer)
    _save(writer, schema, numbers, next_number=len(numbers) + 1)
    return schema


def _make_tables(writer: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        writer.execute(statement)


def _follow(writer: sqlite3.Connection, layout: TableLayout, revision: int, wait: int) -> SqliteLayout:
    settings = _read_settings(writer)
    _refuse_conflicts(settings, layout)
    identity = settings["identity"]
    if settings["format"] == 1:
        return _migrate(writer, layout, identity, revision, wait)
    numbers: dict[str, int] = settings["numbers"]
    if settings["layout"] == _layout_form(layout):
        return compile_schema(layout, numbers, identity, revision, wait)

    number: int = settings["nextNumber"]
    for name in set(numbers) - {index.name for index in layout.indexes}:
        delete_index(writer, numbers.pop(name))
    added = [index.name for index in layout.indexes if index.name not in numbers]
    numbers |= {name: number + offset for offset, name in enumerate(added)}
    schema = compile_schema(layout, numbers, identity, revision + 1, wait)
    _fill(writer, schema, [schema.indexes[name] for name in added], settings["layout"]["ttl"] != layout.ttl_attribute)
    _save(writer, schema, numbers, next_number=number + len(added))
    return schema


def _migrate(writer: sqlite3.Connection, layout: TableLayout, identity: str, revision: int, wait: int) -> SqliteLayout:
    """Bring a file of format 1 into this format, with the indexes of `layout`."""
    numbers = {index.name: number for number, index in enumerate(layout.indexes, 1)}
    schema = compile_schema(layout, numbers, identity, _FIRST_REVISION + revision, wait)
    writer.execute("ALTER TABLE items RENAME TO former_items")
    writer.execute("DROP INDEX items_ttl")
    _make_tables(writer)
    writer.execute(
        "INSERT INTO items SELECT id, size, NULL, random() & 0x7fffffff, image FROM former_items ORDER BY id"
    )
    writer.execute("DROP TABLE former_items")
    for rows in _batches(writer):
        keys = ((check_key(schema, {name: item[name] for name in layout.key_names}).entry, row) for row, item in rows)
        insert_sorted(writer, [(*entry, row) for entry, row in keys])
    _fill(writer, schema, list(schema.secondary), True)
    _save(writer, schema, numbers, next_number=len(numbers) + 1)
    return schema


def _read_settings(writer: sqlite3.Connection) -> dict[str, Any]:
    if not writer.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone():
        raise ConfigurationError("The file is a SQLite database of something else.", fix="choose another path")
    try:
        settings = {name: json.loads(value) for name, value in writer.execute("SELECT name, value FROM settings")}
    except ValueError:
        settings = {}
    if settings.get("format", FORMAT) not in (1, FORMAT):
        raise ConfigurationError(
            f"The file has format {settings['format']}; this version reads formats 1 and {FORMAT}.",
            fix="open it with the version that wrote it",
        )
    missing = (_SETTINGS - {"numbers"} if settings.get("format") == 1 else _SETTINGS) - set(settings)
    if missing:
        raise TableUnusable(
            f"The table's file is damaged: its settings lack {', '.join(sorted(missing))}.",
            fix="put a copy of it back, or choose another file",
        )
    return settings


def _refuse_conflicts(settings: dict[str, Any], layout: TableLayout) -> None:
    stored, wanted = settings["layout"], _layout_form(layout)
    if stored["key"] != wanted["key"]:
        raise ConfigurationError(
            f"The file's table has the key {_key_text(stored['key'])}; the layout has {_key_text(wanted['key'])}.",
            fix="open it with its own layout, or write to a new file and copy the items",
        )
    for name, keys in wanted["indexKeys"].items():
        if stored["indexKeys"].get(name, keys) != keys:
            raise ConfigurationError(
                f"The file's index has the keys {_key_text(stored['indexKeys'][name])}; "
                f"the layout has {_key_text(keys)}.",
                where=name,
                fix="give an index with other keys another name",
            )


def _fill(writer: sqlite3.Connection, schema: SqliteLayout, added: list[KeyIndex], new_ttl: bool) -> None:
    """Write the entries of added indexes, and of the indexes that are left all those that wait; and the TTLs anew."""
    through, last = waiting.state(writer)
    if not (added or new_ttl or through < last):
        return
    everywhere = list(schema.secondary)
    for rows in _batches(writer):
        found = [
            (*entry, row)
            for row, item in rows
            for entry in secondary_entries(schema, item, everywhere if row > through else added)
        ]
        insert_sorted(writer, found)
        if new_ttl:
            writer.executemany("UPDATE items SET ttl = ? WHERE id = ?", [(schema.ttl(item), row) for row, item in rows])
    writer.execute("UPDATE indexed SET through = ?", (last,))


def _batches(writer: sqlite3.Connection) -> Iterator[list[tuple[int, Item]]]:
    """Every item with its row, some at a time."""
    last = 0
    while True:
        rows = writer.execute("SELECT id, image FROM items WHERE id > ? ORDER BY id LIMIT ?", (last, _ROWS)).fetchall()
        if not rows:
            return
        yield [(row, decode(image)) for row, image in rows]
        last = rows[-1][0]


def _save(writer: sqlite3.Connection, schema: SqliteLayout, numbers: Mapping[str, int], *, next_number: int) -> None:
    settings = {
        "format": FORMAT,
        "identity": schema.identity,
        "layout": _layout_form(schema.layout),
        "numbers": dict(numbers),
        "nextNumber": next_number,
        **_FORMER_SETTINGS,
    }
    writer.executemany(
        "INSERT OR REPLACE INTO settings VALUES (?, ?)", [(name, json.dumps(value)) for name, value in settings.items()]
    )
    writer.execute(f"PRAGMA user_version = {schema.revision}")


def _layout_form(layout: TableLayout) -> dict[str, Any]:
    def keys(hash_key: KeyAttribute, range_key: KeyAttribute) -> list[list[str]]:
        return [[hash_key.name, hash_key.type], [range_key.name, range_key.type]]

    def projection(index: IndexLayout) -> str | list[str]:
        return index.projection if isinstance(index.projection, str) else list(index.projection)

    return {
        "key": keys(layout.hash_key, layout.range_key),
        "indexKeys": {index.name: keys(index.hash_key, index.range_key) for index in layout.indexes},
        "projections": {index.name: projection(index) for index in layout.indexes},
        "ttl": layout.ttl_attribute,
    }


def _key_text(keys: Iterable[Iterable[str]]) -> str:
    return " and ".join(f"{name} ({kind})" for name, kind in keys)
