"""A served service changes its key format: the delimiters or the hash function of every key that it writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local_server import LocalServer
from tests.integration.work_beside import beside
from tests.unit.cli_world import shardweave

FORMATS = {
    "hash": 'KeyFormat("by_string", hash=string_hash)',
    "delimiters": 'KeyFormat("tilde", "~", "=", " ;")',
}
HEAD = """
from shardweave import Entity, HashKey, Index, KeyFormat, ORDERED, RangeKey, Schema, ShardBump, Timestamp
from shardweave import timestamp_property, unique_property
from shardweave.keys.key_format import string_hash


def schema_of(model, key_format):
    by_customer = Index("byCustomer", hash_key="customer_hash_key", range_key="total_range_key")
    return Schema([model], [by_customer], key_format=key_format)
"""
ORDER = """

class {name}(Entity, token="{token}", collection="orders", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    order_id: str = unique_property()
    created: Timestamp = timestamp_property()
    customer_id: str
    total: int = 0

    customer_hash_key = HashKey("customer_id")
    total_range_key = RangeKey("total", "created")
"""
SCHEMA = """

def schema(key_format):
    return schema_of(Order, {format})
"""
REKEY = """

rekey = {"order2": schema_of(OldOrder, ORDERED)["order"]}
"""
RECORDS = 20


class Service:
    """A service in a folder, and requests to its server."""

    def __init__(self, folder: Path, row: str) -> None:
        self.folder, self.data, self.format = folder, folder / "data", FORMATS[row]
        self.module = folder / f"{folder.name}.py"  # a name of its own, since commands import it here

    def write(self, token: str, key_format: str, *, brings: bool = False) -> None:
        """Write a version of the service, which `brings` records of the old format in or not."""
        text = HEAD + ORDER.format(name="Order", token=token) + SCHEMA.format(format=key_format)
        if brings:
            text += ORDER.format(name="OldOrder", token="order") + REKEY
        self.module.write_text(text)

    def start(self) -> LocalServer:
        """The server of this version."""
        return LocalServer.start(self.data, "--service", str(self.module), "--empty", log=self.folder / "log")

    def command(self, *arguments: str) -> Any:
        """What a command says."""
        return shardweave(*arguments, "--service", str(self.module), "--data", str(self.data))


def do(server: LocalServer, command: str = "") -> Any:
    """What a command of the rekey answers."""
    answer = server.post(f"/v1/_rekey/order2{command and '/' + command}", {})
    assert answer.status in (200, 202), answer.body
    return answer.json


def run(server: LocalServer) -> Any:
    """A whole run."""
    while not (status := do(server, "run"))["done"]:
        pass
    return status


def listed(server: LocalServer) -> list[str]:
    """The ids that the index has."""
    found = []
    for customer in range(3):
        answer = server.get(f"/v1/orders?index=byCustomer&customerId=c{customer}&limit=100")
        assert answer.status == 200, answer.body
        found += [each["orderId"] for each in answer.json["items"]]
    return sorted(found)


def filled(folder: Path, row: str) -> Service:
    """A service with records of the old format, at its version that brings them to the new one."""
    made = Service(folder, row)
    made.write("order", "ORDERED")
    server = made.start()
    for number in range(RECORDS):
        values = {"orderId": f"o{number}", "customerId": f"c{number % 3}", "total": number}
        assert server.post("/v1/orders", values).status == 201
    assert server.stop() == 0
    made.write("order2", made.format, brings=True)
    return made


@pytest.mark.parametrize("row", FORMATS)
def test_its_records_are_brought_to_the_new_format_while_it_is_served(tmp_path: Path, row: str) -> None:
    made = filled(tmp_path, row)
    ids = sorted(f"o{number}" for number in range(RECORDS))
    server = made.start()
    totals: dict[int, int] = {}

    def write(drawn: random.Random) -> None:
        number, total = drawn.randrange(RECORDS), drawn.randrange(1000)
        totals[number] = total
        answer = server.request("PATCH", f"/v1/orders/o{number}", b'{"total": %d}' % total, PATCH)
        assert answer.status == 200, answer.body
        assert server.get(f"/v1/orders/o{number}").json["total"] == total

    do(server)
    run(server)
    do(server, "switch")
    while server.get("/v1/orders/o1").status == 409:
        pass
    with beside(write):
        run(server)
        assert listed(server) == ids
        do(server, "finish")
        while run(server)["state"]:
            pass
        assert listed(server) == ids
    assert {number: server.get(f"/v1/orders/o{number}").json["total"] for number in totals} == totals
    assert server.stop() == 0
    made.write("order2", made.format)
    server = made.start()
    assert listed(server) == ids
    assert server.stop() == 0
    doctor = made.command("doctor")
    assert doctor.code == 0, doctor.errors
    assert "Traceback" not in (tmp_path / "log").read_text()


PATCH = {"content-type": "application/json"}


def test_it_can_be_taken_back_and_the_new_format_alone_is_refused_before_its_end(tmp_path: Path) -> None:
    made = filled(tmp_path, "delimiters")
    server = made.start()
    do(server)
    run(server)
    assert server.stop() == 0
    made.write("order2", made.format)
    refused = made.command("query", "--entity", "order2")
    assert refused.code == 2
    assert "order: the entity is not declared any more" in refused.errors
    made.write("order2", made.format, brings=True)
    server = made.start()
    do(server, "abort")
    assert run(server)["state"] == ""
    assert server.stop() == 0
    made.write("order", "ORDERED")
    server = made.start()
    assert listed(server) == sorted(f"o{number}" for number in range(RECORDS))
    assert server.stop() == 0


def test_another_format_without_bringing_its_records_in_is_refused(tmp_path: Path) -> None:
    made = filled(tmp_path, "hash")
    made.write("order", made.format)
    refused = made.command("query", "--entity", "order")
    assert refused.code == 2
    assert "order: key format: it decides where records are, and was ordered" in refused.errors
