"""A shop (see `shop_world`) with some of everything, to damage: who is who, and what the doctor says of it."""

from __future__ import annotations

from typing import Any

from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.schema.schema import Schema
from shardweave.table import Table
from shardweave.table.operations import DeleteItem, GetItem, PutItem
from tests.unit.shop_world import SCHEMA, Area, Customer, Issue, Mailbox, Order, Product, Project, shop
from tests.unit.store_world import FIRST_BUMP, SECOND_BUMP, World


class Clinic(World):
    """Eight customers in three generations, four mailboxes, two projects with children, and orders."""

    def __init__(self, faults: Any = None, *, schema: Schema = SCHEMA, table: Table | None = None) -> None:
        self.__dict__.update(shop(faults, table=table).__dict__)
        for number in range(8):
            self.clock.now = (FIRST_BUMP - 5, FIRST_BUMP + 5, SECOND_BUMP + 5)[number % 3]
            cities = {"city": "Bath"} if number % 2 else {}
            record = {"customerId": f"c{number}", "phone": f"0{number}", "email": f"E{number}@x.org", **cities}
            self.store.create(record, Customer)
        self.clock.now = SECOND_BUMP + 10**9
        for number in range(4):
            self.store.create({"address": f"A{number}", "ownerId": f"c{number}"}, Mailbox)
        for project in ("p0", "p1"):
            self.store.create({"projectId": project}, Project)
            for number in range(3):
                self.store.create(
                    {"issueId": f"{project}i{number}", "projectId": project, "code": f"{project}{number}"}, Issue
                )
        self.store.create({"areaId": "a0", "projectId": "p0", "rank": 0}, Area)
        self.store.create({"productId": "x"}, Product)
        self.store.create({"orderId": "o0", "customerId": "c0", "productIds": ["x"]}, Order)

    def doctor(self, table: Any = None, **options: Any) -> Doctor:
        """A doctor of another process."""
        return Doctor(self.new_store(table or self.table).parts, self.clock, **options)

    def examined(self, **options: Any) -> DoctorReport:
        return self.doctor(**options).run()

    def found(self, **options: Any) -> dict[str, int]:
        """What a doctor finds, by kind."""
        report = self.examined(**options)
        assert report.done
        return report.findings.counts

    # -- damage

    def one(self, token: str, **properties: Any) -> dict[str, Any]:
        """The one item whose hash key begins so, with these attributes."""
        (item,) = [
            item for item in self.items() if item["hashKey"].startswith(token) and properties.items() <= item.items()
        ]
        return item

    def put(self, item: dict[str, Any], **attributes: Any) -> None:
        """Another program writes an item, attributes of None left out."""
        whole = {**item, **attributes}
        self.inner.run(PutItem({name: value for name, value in whole.items() if value is not None}))

    def remove(self, item: dict[str, Any]) -> None:
        self.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))

    def stored_at(self, item: dict[str, Any]) -> Any:
        """What is at an item's key now."""
        return self.inner.run(GetItem({name: item[name] for name in ("hashKey", "rangeKey")}, consistent=True)).item
