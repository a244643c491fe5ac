"""What type checkers refuse of a program: each line marked as an error is one. It is checked, and not run."""

from orders import Order, schema

import shardweave
from shardweave import (
    Database,
    Delete,
    Entity,
    HashKey,
    Index,
    Schema,
    ShardBump,
    belongs_to,
    claim_property,
    private_property,
    ttl_property,
    unique_property,
    where,
)
from shardweave.routing import JsonModel, Listed, RecordView, get, listed
from shardweave.testing import Client

db = Database(schema())

# -- opening
name = shardweave.Databse  # error
Database([Order])  # error
Database(schema(), pth="data")  # error
Database(schema(), table_name=5)  # error

# -- declaring
Schema(Order)  # error
Index("created")  # error
HashKey(5)  # error
ShardBump("0", 1, 1)  # error
belongs_to(Order, by="order_id", on_delete="explode")  # error

# -- records
Order(customer_id=5, state="open", total=1)  # error
Order(customer_id="c", state="open")  # error
Order(customer_id="c", state="open", total=1, colour="red")  # error
db.get(Order)  # error
db.get(Order, ["x"])  # error
total = db.get(Order, "x").total  # error
db.create({"customer_id": "c"})  # error
db.update(Order, "x", 5)  # error
db.delete(Order, "x", rev=5)  # error
db.transact(["x"])  # error
db.transact([Delete(Order)])  # error
db.remove(Order, "x")  # error

# -- queries
db.query(5)  # error
db.query(Order, limit="5")  # error
db.query(Order, index=5)  # error
db.query(Order, filter={"total": 5})  # error
db.query(Order, branches=["created"])  # error
text: str = db.query(Order).items[0].total  # error
colour = db.query(Order).items[0].colour  # error
where(5)  # error


# -- routes and tests
@get(5)  # error
def route() -> None: ...


Client(5)  # error


class Line(RecordView[Order]):
    """An order with its tax."""

    tax: int


class Sum(JsonModel):
    """What all lines come to."""

    total: int


Line(record=5, tax=1)  # error
plain: Listed[Line] = listed(Order)  # error
listed(Order).shown_as(lambda order: order.colour)  # error
summed: Listed[Order, Sum] = listed(Order).with_members(5)  # error


# -- what identifies a record, without a default
class Note(Entity, token="note"):
    """A note."""

    note_id: str = unique_property()
    tenant_id: str = claim_property("tenant")
    made: int | None = ttl_property()
    secret: str | None = private_property(default=None)


Note(note_id="x", tenant_id="y", made=5, secret="z")
Note(note_id="x", tenant_id="y")
Note(tenant_id="y")  # error
Note(note_id="x")  # error
Note(note_id=5, tenant_id="y")  # error
