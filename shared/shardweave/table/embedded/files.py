"""The SQLite tables of a table: their creation, and their migration when the layout changes.

Format (`FORMAT`): a row of `items` is an item: its image (see `item_blobs`), its size by DynamoDB's rule, its tie, when
it expires, and its key columns, NULL where it lacks the attribute. The table's key and each secondary index are
SQLite indexes over those columns, so SQLite keeps them right in the write's own transaction and a page is a seek.
`change_log` is the stream, `tokens` the recent transactions, `settings` what was declared. The file's user version
counts the changes of the layout, so a process that still has the old one notices before it writes.

A layout that adds an index fills its columns and builds it, one that removes an index drops it (its columns stay,
unused), all in the one transaction that opens the file; both read every item at most once. The table's key, which is
always in `key_0` and `key_1`, and the keys of an index of one name never change.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError, InvalidRequest, TableUnusable
from ..layout import IndexLayout, KeyAttribute, TableLayout
from ..values import Item
from .item_blobs import decode
from .ordering import KeyColumn, Role
from .sqlite_layout import KeyIndex, SqliteLayout, compile_schema, key_attributes

FORMAT = 1

_BACKFILL_ROWS = 500
_SETTINGS = {"format", "identity", "layout", "columns", "sqlNames", "nextNumber"}

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (
  id INTEGER PRIMARY KEY, tie BLOB NOT NULL, size INTEGER NOT NULL, ttl INTEGER, {columns}, image BLOB NOT NULL
);
CREATE UNIQUE INDEX items_key ON items (key_0, key_1);
CREATE INDEX items_ttl ON items (ttl) WHERE ttl IS NOT NULL;
CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY, created REAL NOT NULL, by_service INTEGER NOT NULL, old BLOB, new BLOB
);
CREATE TABLE tokens (token TEXT PRIMARY KEY, content BLOB NOT NULL, created REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX tokens_created ON tokens (created);
"""

_TEXT_KEY = KeyColumn("", "S", "hash", "key_0"), KeyColumn("", "S", "range", "key_1")

Columns = dict[tuple[str, Role], KeyColumn]


def open_schema(writer: sqlite3.Connection, layout: TableLayout) -> SqliteLayout:
    """Create the tables in an empty file, or migrate an existing file to `layout`, in the caller's transaction. Raises
    ConfigurationError if the file contains something else, or a table that can't be migrated."""
    attributes = key_attributes(layout)
    revision = read_revision(writer)
    if revision == 0:
        return _create(writer, layout, attributes)
    return _follow(writer, layout, attributes, revision)


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


def stored_items(path: Path, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Item]:
    """The items, of those given by hash and range key (texts), that a file contains. The file is not changed; an
    unreadable file counts as empty."""
    found: dict[tuple[str, str], Item] = {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            for key in keys:
                encoded = [column.encode(value) for column, value in zip(_TEXT_KEY, key, strict=True)]
                row = connection.execute("SELECT image FROM items WHERE key_0 = ? AND key_1 = ?", encoded).fetchone()
                if row is not None:
                    found[key] = decode(row[0])
    except sqlite3.Error:
        return {}
    return found


def _create(
    writer: sqlite3.Connection, layout: TableLayout, attributes: dict[tuple[str, Role], KeyAttribute]
) -> SqliteLayout:
    if writer.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise ConfigurationError("The file is a SQLite database of something else.", fix="choose another path")
    columns = _add_columns({}, attributes, 0)
    sql_names = {index.name: f"items_index_{number}" for number, index in enumerate(layout.indexes)}
    schema = compile_schema(layout, columns, sql_names, secrets.token_hex(8), 1)
    declared = ", ".join(f"{column.name} BLOB" for column in schema.columns)
    for statement in _TABLES.format(columns=declared).split(";"):
        writer.execute(statement)
    for index in schema.secondary():
        _build(writer, index)
    _save(writer, schema, next_number=max(len(columns), len(sql_names)))
    return schema


def _follow(
    writer: sqlite3.Connection,
    layout: TableLayout,
    attributes: dict[tuple[str, Role], KeyAttribute],
    revision: int,
) -> SqliteLayout:
    settings = _read_settings(writer)
    _refuse_conflicts(settings, layout)
    identity, number = settings["identity"], settings["nextNumber"]
    sql_names: dict[str, str] = settings["sqlNames"]
    stored: Columns = {(column[0], column[2]): KeyColumn(*column) for column in settings["columns"]}
    if settings["layout"] == _layout_form(layout):
        return compile_schema(layout, stored, sql_names, identity, revision)

    columns = _add_columns(stored, attributes, number)
    added = [index.name for index in layout.indexes if index.name not in sql_names]
    dropped = set(sql_names) - {index.name for index in layout.indexes}
    for name in dropped:
        writer.execute(f"DROP INDEX {sql_names.pop(name)}")
    for offset, name in enumerate(added):
        sql_names[name] = f"items_index_{number + offset}"
    schema = compile_schema(layout, columns, sql_names, identity, revision + 1)
    new = [column for key, column in columns.items() if key not in stored]
    for column in new:
        writer.execute(f"ALTER TABLE items ADD COLUMN {column.name} BLOB")
    if new or settings["layout"]["ttl"] != layout.ttl_attribute:
        _fill(writer, schema, new)
    for name in added:
        _build(writer, schema.indexes[name])
    _save(writer, schema, next_number=number + max(len(new), len(added)))
    return schema


def _read_settings(writer: sqlite3.Connection) -> dict[str, Any]:
    if not writer.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone():
        raise ConfigurationError("The file is a SQLite database of something else.", fix="choose another path")
    try:
        settings = {name: json.loads(value) for name, value in writer.execute("SELECT name, value FROM settings")}
    except ValueError:
        settings = {}
    missing = _SETTINGS - set(settings)
    if missing:
        raise TableUnusable(
            f"The table's file is damaged: its settings lack {', '.join(sorted(missing))}.",
            fix="put a copy of it back, or choose another file",
        )
    return settings


def _add_columns(stored: Columns, attributes: dict[tuple[str, Role], KeyAttribute], number: int) -> Columns:
    """The column of each attribute and role: the stored one, or a new one numbered from `number`."""
    columns: Columns = {}
    for (attribute, role), key in attributes.items():
        column = stored.get((attribute, role))
        if column is None:
            column = KeyColumn(attribute, key.type, role, f"key_{number}")
            number += 1
        columns[attribute, role] = column
    return columns


def _refuse_conflicts(settings: dict[str, Any], layout: TableLayout) -> None:
    if settings["format"] != FORMAT:
        raise ConfigurationError(
            f"The file has format {settings['format']}; this version reads format {FORMAT}.",
            fix="open it with the version that wrote it",
        )
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


def _fill(writer: sqlite3.Connection, schema: SqliteLayout, columns: list[KeyColumn]) -> None:
    """Fill the TTL and these columns for every item."""
    assignments = ", ".join(f"{column.name} = ?" for column in columns)
    update = f"UPDATE items SET ttl = ?{', ' * bool(columns)}{assignments} WHERE id = ?"
    last = 0
    while True:
        rows = writer.execute(
            "SELECT id, image FROM items WHERE id > ? ORDER BY id LIMIT ?", (last, _BACKFILL_ROWS)
        ).fetchall()
        if not rows:
            return
        for row, image in rows:
            item = decode(image)
            writer.execute(update, (schema.ttl(item), *(_if_valid(column, item) for column in columns), row))
        last = rows[-1][0]


def _if_valid(column: KeyColumn, item: Item) -> bytes | None:
    """The value if it is valid for the index: an item written before the index existed may have any value, and is then
    not in the index."""
    try:
        return column.encode(item[column.attribute]) if column.attribute in item else None
    except InvalidRequest:
        return None


def _build(writer: sqlite3.Connection, index: KeyIndex) -> None:
    columns = ", ".join((index.hash.name, *index.order))
    writer.execute(
        f"CREATE INDEX {index.sql_name} ON items ({columns})"
        f" WHERE {index.hash.name} IS NOT NULL AND {index.range.name} IS NOT NULL"
    )


def _save(writer: sqlite3.Connection, schema: SqliteLayout, *, next_number: int) -> None:
    settings = {
        "format": FORMAT,
        "identity": schema.identity,
        "layout": _layout_form(schema.layout),
        "columns": [[column.attribute, column.type, column.role, column.name] for column in schema.columns],
        "sqlNames": {index.layout.name: index.sql_name for index in schema.secondary() if index.layout},
        "nextNumber": next_number,
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
