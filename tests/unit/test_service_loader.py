"""Services as modules: what is wrong with one is said with its place, never as a traceback."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import services
from shardweave.errors import ConfigurationError, SchemaError, ShardweaveError
from shardweave.keys.key_format import ARTICLE
from shardweave.service.build import Settings, build
from shardweave.service.files import service_names
from shardweave.service.loader import (
    has_sample_data,
    service_module,
    service_operations,
    service_sample_data,
    service_schema,
)
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS, Client, json_of

GOOD = """
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema

class Note(Entity, token="note"):
    note_id: str = unique_property()

def schema(key_format):
    return Schema([Note], key_format=key_format)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A further folder of services."""
    services.__path__.append(str(tmp_path))
    yield tmp_path
    services.__path__.remove(str(tmp_path))
    sys.modules.pop("services.notes", None)


def test_a_module_with_a_schema_is_a_service(folder: Path) -> None:
    (folder / "notes.py").write_text(GOOD)
    assert "notes" in service_names()
    assert service_schema("notes", ARTICLE).key_format is ARTICLE


WRONG = {
    "x = 1\n": "has no function schema",
    "def schema(): ...\n": "can't be called as schema",
    "def schema(key_format, more): ...\n": "can't be called as schema",
    "schema = 5\n": "can't be called as schema",
    "def schema(key_format): return 5\n": "must return a Schema, got int",
    "def schema(key_format):\n    return 1 / 0\n": "line 2: .* fails: ZeroDivisionError",
    "import nothing_of_this_name\n": "line 1: .*can't be imported: ModuleNotFoundError",
    "\nfrom shardweave.schema import Nothing\n": "line 2: .*can't be imported: ImportError",
    "x = 1\ndef broken(:\n": "line 2: .*can't be imported: SyntaxError",
    "raise SystemExit(3)\n": "line 1: .*can't be imported: SystemExit",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=list(WRONG.values()))
def test_a_module_of_another_shape_is_refused_with_its_place(folder: Path, text: str, message: str) -> None:
    (folder / "notes.py").write_text(text)
    with pytest.raises(ConfigurationError, match=rf"^services/notes.py(.|\n)*{message}(.|\n)*Fix: "):
        service_schema("notes", ARTICLE)


def test_faults_of_the_schema_are_all_listed_as_they_are(folder: Path) -> None:
    (folder / "notes.py").write_text(GOOD.replace('token="note"', 'token="no te"'))
    with pytest.raises(ShardweaveError) as raised:
        service_schema("notes", ARTICLE)
    assert isinstance(raised.value, (SchemaError, ConfigurationError))
    assert "no te" in str(raised.value)


@pytest.mark.parametrize("function", [list, lambda parts: [5], lambda parts: 5, 7])
def test_operations_of_another_shape_are_refused(function: object) -> None:
    module = ModuleType("services.notes")
    assert service_operations(module, None) == ()
    module.operations = function  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match=r"services/notes.py"):
        service_operations(module, None)


def test_there_are_only_modules_of_services() -> None:
    with pytest.raises(ConfigurationError, match="there is no service 'os'"):
        service_module("os")


def test_the_program_in_the_readme_is_a_service_too(folder: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n((?:.|\n)*?)```", readme)
    (folder / "orders.py").write_text(program, encoding="utf-8")
    service = build(Settings(CURSOR_KEYS, "orders", "article"), open_table=EmbeddedTable)
    client = Client(service.api)
    order = {"customerId": "c", "state": "open", "total": 5, "created": 1_726_880_933_000}
    assert client.post("/v1/orders", order).status == 201
    assert [found["total"] for found in json_of(client.get("/v1/orders?customerId=c&state=open"))["items"]] == [5]
    sys.modules.pop("services.orders")


# -- sample data ------------------------------------------------------------------------------------------------------

SAMPLE_DATA = """
def sample_data(day):
    return [Note(note_id=f"{day} {number}") for number in range(3)]
"""


def test_a_service_says_itself_what_records_it_begins_with(folder: Path) -> None:
    (folder / "notes.py").write_text(GOOD + SAMPLE_DATA)
    module = service_module("notes")
    assert has_sample_data(module)
    assert [dict(note)["note_id"] for note in service_sample_data(module, dt.date(2025, 1, 1))] == [
        f"2025-01-01 {number}" for number in range(3)
    ]


def test_a_service_without_sample_data_begins_empty(folder: Path) -> None:
    (folder / "notes.py").write_text(GOOD)
    module = service_module("notes")
    assert (has_sample_data(module), service_sample_data(module, dt.date(2025, 1, 1))) == (False, [])


@pytest.mark.parametrize("function", [list, lambda day: [5], lambda day: 5, 7])
def test_sample_data_of_another_shape_is_refused(function: object) -> None:
    module = ModuleType("services.notes")
    module.sample_data = function  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match=r"services/notes.py"):
        service_sample_data(module, dt.date(2025, 1, 1))


@pytest.mark.parametrize("name", service_names())
def test_each_service_that_ships_has_sample_data_that_is_the_same_each_time(name: str) -> None:
    day, module = dt.date(2025, 1, 1), service_module(name)
    first = service_sample_data(module, day)
    assert first
    assert first == service_sample_data(module, day)
