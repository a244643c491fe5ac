"""A served service evolves while clients of its old and of its new declaration write: every row that moves records."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local_server import Answer, LocalServer
from tests.integration.work_beside import beside
from tests.unit.cli_world import shardweave

HEAD = """
from shardweave import Entity, HashKey, Index, RangeKey, Schema, ShardBump, Timestamp, timestamp_property
from shardweave import unique_property

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Order(Entity, token="order", shard_bumps=FOUR{old}):
    order_id: str = unique_property()
    created: Timestamp = timestamp_property()
    customer_id: str
    total: int = 0

    customer_hash_key = HashKey("customer_id")
    total_range_key = RangeKey("total", "created")
"""
TAIL = """

class Purchase(Entity, token="purchase", shard_bumps=FOUR{new}):
    order_id: str = unique_property()
    created: Timestamp = timestamp_property()
    customer_id: str
    total: int = 0

    customer_hash_key = HashKey("customer_id")
    total_range_key = RangeKey({elements})


rekey = {{"purchase": "order"}}
"""
SCHEMA = """

def schema(key_format):
    by_customer = Index("byCustomer", hash_key="customer_hash_key", range_key="total_range_key")
    return Schema([{entities}], [by_customer], key_format=key_format)
"""
PARTITIONED = ', partition="customer_id", sort="order_id"'
PLACED = ', shard_by="customer_id"'
ELEMENTS = '"total", "created"'
ROWS = {
    "token": ("", "", ELEMENTS),
    "shard_by": ("", PLACED, ELEMENTS),
    "partition and sort": ("", PARTITIONED, ELEMENTS),
    "back to the id": (PARTITIONED, PLACED, ELEMENTS),
    "elements of a key": ("", "", '"created", "total"'),
}
RECORDS = 20
CUSTOMERS = 3


def customer_of(number: int) -> str:
    return f"c{number % CUSTOMERS}"


class Evolving:
    """A service in a folder, and requests to its server."""

    def __init__(self, folder: Path, row: str) -> None:
        self.folder, self.data = folder, folder / "data"
        self.old, self.new, self.elements = ROWS[row]
        self.module = folder / f"{folder.name}.py"  # a name of its own, since commands import it here
        self.module.write_text(HEAD.format(old=self.old) + SCHEMA.format(entities="Order"))
        self.server = self.start()

    def start(self) -> LocalServer:
        arguments = ("--service", str(self.module), "--empty")
        return LocalServer.start(self.data, *arguments, log=self.folder / "log")

    def evolve(self) -> None:
        """Deploy the version that has both declarations."""
        assert self.server.stop() == 0
        both = HEAD.format(old=self.old) + TAIL.format(new=self.new, elements=self.elements)
        self.module.write_text(both + SCHEMA.format(entities="Order, Purchase"))
        self.server = self.start()

    def alone(self) -> str:
        """The version that has the new declaration alone."""
        whole = HEAD.format(old=self.old) + TAIL.format(new=self.new, elements=self.elements)
        old, _, new = whole.partition("class Order(")
        new = new[new.index("class Purchase(") :].replace('rekey = {"purchase": "order"}', "")
        return old + new + SCHEMA.format(entities="Purchase")

    def leave_the_old(self) -> None:
        """Deploy the version that has the new declaration alone."""
        self.module.write_text(self.alone())
        self.server = self.start()

    def path(self, collection: str, number: int) -> str:
        """Where a record is."""
        options = self.old if collection == "orders" else self.new
        key = f"{customer_of(number)}/o{number}" if options == PARTITIONED else f"o{number}"
        return f"/v1/{collection}/{key}"

    def asked(self, method: str, target: str, *more: Any) -> Answer:
        """An answer. A server that does not know yet that records may be read refuses that for at most a lease."""
        while True:
            answer = self.server.request(method, target, *more)
            if answer.status != 409 or answer.json["type"] != "urn:shardweave:error:reshard_refused":
                return answer
            time.sleep(0.1)

    def refused(self, target: str) -> tuple[int, str]:
        """The status and code of a record that is not read yet, once the server knows that: within a lease."""
        while (answer := self.server.get(target)).status == 404:
            time.sleep(0.1)
        return answer.status, answer.json["type"]

    def get(self, collection: str, number: int) -> Any:
        """A record, None where it is not."""
        answer = self.asked("GET", self.path(collection, number))
        assert answer.status in (200, 404), answer.body
        return answer.json if answer.status == 200 else None

    def create(self, collection: str, number: int) -> int:
        values = {"orderId": f"o{number}", "customerId": customer_of(number), "total": number}
        return self.server.post(f"/v1/{collection}", values).status

    def change(self, collection: str, number: int, total: int) -> int:
        body, headers = json.dumps({"total": total}).encode(), {"content-type": "application/json"}
        return self.asked("PATCH", self.path(collection, number), body, headers).status

    def listed(self, collection: str) -> list[str]:
        """The ids that the index has."""
        found: list[str] = []
        for customer in range(CUSTOMERS):
            answer = self.asked("GET", f"/v1/{collection}?index=byCustomer&customerId=c{customer}&limit=100")
            assert answer.status == 200, answer.body
            found += [each["orderId"] for each in answer.json["items"]]
        return sorted(found)

    # -- operators

    def status(self) -> Any:
        return self.server.get("/v1/_rekey/purchase").json

    def do(self, command: str = "") -> Any:
        answer = self.server.post(f"/v1/_rekey/purchase{command and '/' + command}", {})
        assert answer.status in (200, 202), answer.body
        return answer.json

    def run(self) -> Any:
        while not (status := self.do("run"))["done"]:
            pass
        return status


@pytest.mark.parametrize("row", ROWS)
def test_a_served_service_evolves_under_load(tmp_path: Path, row: str) -> None:
    made = Evolving(tmp_path, row)
    assert {made.create("orders", number) for number in range(RECORDS)} == {201}
    made.evolve()
    ids = sorted(f"o{number}" for number in range(RECORDS))
    totals: dict[int, int] = {}

    def writer(collection: str, number: int) -> Callable[[random.Random], None]:
        """Changes one record, and reads it."""

        def work(drawn: random.Random) -> None:
            total = drawn.randrange(1000)
            assert made.change(collection, number, total) == 200
            totals[number] = total
            assert made.get(collection, number)["total"] == total
            if collection == "purchases" and reads_old:
                assert made.get("orders", number)["total"] == total

        return work

    def reader(collection: str) -> Callable[[random.Random], None]:
        return lambda drawn: bool(made.get(collection, drawn.randrange(5, RECORDS))) or pytest.fail("it is missing")

    reads_old = True
    made.do()
    assert made.refused(made.path("purchases", 1)) == (409, "urn:shardweave:error:reshard_refused")
    with beside(writer("orders", 1), reader("orders")):
        made.run()
        made.do("switch")
    with beside(writer("orders", 1), writer("purchases", 2), reader("orders"), reader("purchases")):
        made.run()
        assert made.listed("purchases") == ids
    made.do("back")
    with beside(writer("orders", 2), reader("orders")):
        made.run()
        assert made.listed("orders") == ids
        made.do("switch")
    with beside(writer("purchases", 1), writer("purchases", 2), reader("orders"), reader("purchases")):
        made.run()
        assert made.run()["passes"]["verify"]["differing"] == 0
    reads_old = False
    with beside(writer("purchases", 1), writer("purchases", 2), reader("purchases")):
        made.do("finish")
        assert made.run()["state"] == ""
    assert made.listed("purchases") == ids
    assert made.listed("orders") == []
    assert {number: made.get("purchases", number)["total"] for number in totals} == totals
    assert made.server.stop() == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
    doctor = shardweave("doctor", "--service", str(made.module), "--data", str(made.data))
    assert doctor.code == 0, doctor.errors
    made.leave_the_old()
    assert made.listed("purchases") == ids
    assert made.server.get("/v1/orders/o1").status == 404
    assert made.server.stop() == 0
    doctor = shardweave("doctor", "--service", str(made.module), "--data", str(made.data))
    assert doctor.code == 0, doctor.output


def test_the_old_declaration_stays_while_it_has_records(tmp_path: Path) -> None:
    made = Evolving(tmp_path, "token")
    assert made.create("orders", 1) == 201
    made.evolve()
    assert made.server.stop() == 0
    made.module.write_text(made.alone())
    refused = shardweave("query", "--entity", "purchase", "--service", str(made.module), "--data", str(made.data))
    assert refused.code == 2
    assert "order: the entity is not declared any more, and its records would be out of reach" in refused.errors
    assert "or delete its records first" in refused.errors


def test_commands_in_the_wrong_state_are_refused_and_taken_back_leaves_the_old_as_it_was(tmp_path: Path) -> None:
    made = Evolving(tmp_path, "partition and sort")
    assert {made.create("orders", number) for number in range(4)} == {201}
    made.evolve()
    for command in ("switch", "back", "finish", "abort"):
        answer = made.server.post(f"/v1/_rekey/purchase/{command}", {})
        assert (answer.status, answer.json["type"]) == (409, "urn:shardweave:error:conflict"), answer.body
    assert made.server.get("/v1/_rekey/order").status == 404
    before = [made.get("orders", number) for number in range(4)]
    made.do()
    made.run()
    made.do("abort")
    assert made.run()["state"] == ""
    ended = {"entity": "purchase", "state": "", "done": False, "waitingMs": 0, "run": "", "savedMs": 0, "passes": {}}
    assert made.status() == ended
    assert [made.get("orders", number) for number in range(4)] == before
    assert made.get("purchases", 1) is None
    assert made.server.stop() == 0
