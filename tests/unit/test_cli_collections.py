"""`shardweave query --collection`: several entities in one order, each record with its entity."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shardweave.database.data_folder import DataFolder
from shardweave.keys.key_format import ORDERED
from shardweave.service.files import named_service
from shardweave.store import Store
from tests.clients import customers
from tests.unit.cli_world import shardweave

FILE = Path(customers.__file__)
BEGAN = 1_700_000_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The arguments of a table with bills and visits."""
    data = tmp_path_factory.mktemp("customers")
    schema, service = customers.schema(), named_service(str(FILE))
    table = DataFolder(data).open_table(schema, service, ORDERED.name, create=True)
    try:
        store = Store(schema, table)
        for number in range(6):
            record = {"customer": "ann", "made": BEGAN + number, "paid": number % 3 != 0}
            if number % 2:
                store.create({**record, "visitId": f"v{number}"}, customers.Visit)
            else:
                store.create({**record, "billId": f"b{number}"}, customers.Bill)
    finally:
        table.close()
    return ("--service", str(FILE), "--data", str(data))


def ids(text: str) -> list[str]:
    found = [json.loads(line) for line in text.splitlines()]
    return [each["record"]["billId" if each["entity"] == "bill" else "visitId"] for each in found]


def test_a_collection_is_read_in_its_order_page_by_page(
    folder: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*arguments: str) -> tuple[str, str]:
        assert shardweave("query", "--collection", "customer-history", *folder, *arguments).code == 0
        said = capsys.readouterr()
        return said.out, said.err

    assert ids(asked("--all", "customer=ann", "limit=2")[0]) == ["b0", "v1", "b2", "v3", "b4", "v5"]
    late = ("customer=ann", "limit=2", "reverse=true", f"made.from={BEGAN + 2}")
    page, notes = asked(*late)
    assert ids(page) == ["v5", "b4"]
    (token,) = re.findall("nextToken=(.*)", notes)
    assert ids(asked(*late, f"nextToken={token}")[0]) == ["v3", "b2"]
    assert ids(asked("customer=ann", "filter.paid=true")[0]) == ["v1", "b2", "b4", "v5"]
    assert asked("--count", "customer=ann")[0] == "6\n"
    (document,) = json.loads(asked("--json", "customer=ann")[0])
    assert [each["entity"] for each in document["items"]] == ["bill", "visit"] * 3
    assert document["nextToken"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--collection", "none", "customer=ann"), "there is no collection 'none'"),
        (("--collection", "customer-history", "shop=Oslo"), "there is no parameter 'shop'"),
        (("--collection", "customer-history"), "it needs customer to be fixed"),
        (("--collection", "customer-history", "--query", "-"), "has no JSON form"),
    ],
)
def test_what_can_not_be_asked_is_refused(folder: tuple[str, ...], arguments: tuple[str, ...], said: str) -> None:
    found = shardweave("query", *folder, *arguments)
    assert (found.code, said in found.errors) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--collection", "a", "--entity", "bill"), "not allowed with"), ((), "--entity --collection is required")],
)
def test_either_an_entity_or_a_collection_is_asked(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        shardweave("query", *arguments)
    assert said in capsys.readouterr().err
