"""What the embedded table says when its file can't be used: at once, by what is wrong, and with nothing changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from shardweave.errors import ConfigurationError, TableError, TableFull, TableUnusable
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.connections import Connections
from shardweave.table.layout import TableLayout
from shardweave.table.operations import Operation, PutItem, Scan, TransactWrite
from tests.unit.api_world import Client, json_of, user_service
from tests.unit.embedded_table import LAYOUT, item

R = TypeVar("R")


def test_a_full_disk_is_named_at_once_and_nothing_is_changed(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "file")
    connections.write(lambda writer: writer.execute("CREATE TABLE t (x)"))
    connections.write(lambda writer: writer.execute("PRAGMA max_page_count = 4"))

    def fill(writer: sqlite3.Connection) -> None:
        writer.execute("INSERT INTO t VALUES (1)")
        writer.execute("INSERT INTO t VALUES (zeroblob(100000))")

    with pytest.raises(TableFull, match=r"full; nothing was changed.*Fix: make room"):
        connections.write(fill)
    assert connections.read(lambda reader: reader.execute("SELECT count(*) FROM t").fetchone()) == (0,)
    connections.close()


def test_a_file_that_can_t_be_written_is_named(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "file")
    connections.write(lambda writer: writer.execute("PRAGMA query_only = ON"))
    with pytest.raises(TableUnusable, match=r"can't be written.*Fix: make the file"):
        connections.write(lambda writer: writer.execute("CREATE TABLE t (x)"))
    connections.close()


def test_a_folder_that_is_gone_is_named_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "file"
    with pytest.raises(TableUnusable, match=f"{path}: The table's file can't be opened"):
        EmbeddedTable(LAYOUT, path)


def _filled(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path)
    for number in range(300):
        table.run(PutItem(item(f"i{number:03}", text="x" * 500)))
    table.close()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 3 * 4096 + 100])


def _scribble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


def _replace(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1000)


def _forget(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("DELETE FROM settings WHERE name = 'numbers'")
    database.commit()
    database.close()


def _garble(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("UPDATE settings SET value = '{' WHERE name = 'layout'")
    database.commit()
    database.close()


def _drop(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("DROP TABLE settings")
    database.commit()
    database.close()


@pytest.mark.parametrize("damage", [_cut, _scribble, _replace, _forget, _garble, _drop])
def test_a_damaged_file_is_named_and_no_traceback_comes(damage: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "table"
    _filled(path)
    damage(path)

    def use() -> None:
        table = EmbeddedTable(LAYOUT, path)
        try:
            table.run(Scan())
            table.run(PutItem(item("new")))
        finally:
            table.close()

    with pytest.raises((ConfigurationError, TableUnusable), match=r"damaged|no table|something else") as raised:
        use()
    assert "Fix: " in str(raised.value)


@dataclass
class Failing:
    """A table whose writes fail. `tries` counts them."""

    table: Table
    error: TableError
    tries: int = 0

    @property
    def layout(self) -> TableLayout:
        return self.table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self.table.guards_inside_writes

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        if isinstance(operation, (PutItem, TransactWrite)):
            self.tries += 1
            raise self.error
        return self.table.run(operation, guard=guard)

    def close(self) -> None:
        self.table.close()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (TableFull("full", fix="make room"), 507, "table_full"),
        (TableUnusable("damaged", fix="put a copy back"), 503, "table_unusable"),
    ],
)
def test_over_http_a_write_says_what_is_wrong_and_is_not_tried_again(error: TableError, status: int, code: str) -> None:
    """Neither `outcome_unknown` nor a wait: what can't be mended by trying again is passed on."""
    tables: list[Failing] = []

    def watch(table: Table) -> Table:
        tables.append(Failing(table, error))
        return tables[0]

    client = Client(user_service(watch=watch).api)
    answer = client.post("/v1/users", {"firstName": "A", "lastName": "B", "beneficiaryId": "b"})
    assert answer.status == status
    assert json_of(answer)["type"].endswith(f":{code}")
    assert json_of(answer)["fix"] == error.fix
    assert tables[0].tries == 1
