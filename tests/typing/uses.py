"""A program that uses the service of the README: what type checkers know of it. It is checked, and not run."""

from typing import Any, assert_type

from orders import Order, schema

from shardweave import (
    AsyncDatabase,
    Check,
    Collection,
    Create,
    CursorKeys,
    Database,
    Delete,
    Entity,
    Lookup,
    Page,
    Put,
    Sequence,
    Unique,
    Update,
    belongs_to,
    between,
    branch,
    errors,
    has_many,
    one_of,
    prefix,
    unique_property,
    where,
)
from shardweave.routing import (
    Caller,
    Clock,
    EveryRecord,
    JsonModel,
    Listed,
    RecordView,
    Writes,
    get,
    listed,
    post,
    writes,
)


class Customer(Entity, token="customer", partition="region", sort=("city", "name")):
    """Somebody who orders."""

    region: str
    city: str
    name: str
    number: int = 0
    email: str | None = None
    parent: str | None = None

    email_unique = Unique("email", within="region")
    city_lookup = Lookup("city")
    numbering = Sequence("number", within="region")


class Note(Entity, token="note", shard_by="order_id"):
    """What is said of an order."""

    note_id: str = unique_property()
    order_id: str

    order = belongs_to(Order, by="order_id", enforced=True, on_delete="cascade")


def records(db: Database) -> None:
    made = db.create(Order(customer_id="c", state="open", total=1))
    assert_type(made, Order)
    assert_type(db.create(Order, {"customer_id": "c"}), Order)
    assert_type(db.put(made, rev=made.rev), Order)
    assert_type(db.get(Order, "x"), Order | None)
    assert_type(db.get(Customer, {"region": "r", "city": "c", "name": "n"}), Customer | None)
    assert_type(db.update(Order, "x", {"state": "shipped"}), Order)
    assert_type(db.update(Order, "x", lambda order: {"total": order.total + 1}), Order)
    assert_type(db.delete(Order, "x"), bool)
    assert_type(db.batch_get(Order, ["a", "b"]), list[Order | None])
    assert_type(db.get_by(Customer, "email", "a@b.org", within={"region": "r"}), Customer | None)
    assert_type(db.find_by(Customer, "city", "Oslo"), Page[Customer])
    assert_type(db.get("order", "x"), Any | None)
    db.transact([Create(made), Put(made), Update(Order, "x", {"total": 2}), Delete("order", "y"), Check(Order, "z")])
    try:
        db.delete(Order, "x", rev=made.rev)
    except errors.RevisionConflict as error:
        assert_type(error.where, str)


def queries(db: Database) -> None:
    page = db.query(
        Order, customer_id="c", state=prefix("o"), limit=5, filter=(where("total") > 5) & where("state").exists()
    )
    assert_type(page, Page[Order])
    assert_type(page.items[0].total, int)
    assert_type(page.next_token, str | None)
    for order in db.records(Order, total=between(1, None)):
        assert_type(order, Order)
    assert_type(db.first(Order, index="created", reverse=True), Order | None)
    assert_type(db.count(Order, customer_id=["a", "b"]), int)
    assert_type(db.exists(Order, customer_id="a"), bool)
    merged = db.query(Order, branches=[branch(index="created"), branch(customer_id=one_of("a", "b"))])
    assert_type(merged, Page[Order])
    assert_type(db.explain(Order, customer_id="a").indexes, tuple[str | None, ...])
    both = Collection("history", (Order, Note), index="customerState")
    assert_type(db.query(both, customer_id="a"), Page[Order | Note])
    assert_type(db.first(both, customer_id="a"), Order | Note | None)
    three = Collection("all", (Order, Note, Customer), index="customerState")
    for record in db.records(three, customer_id="a"):
        assert_type(record, Order | Note | Customer)
    assert_type(db.count((Order, Note), customer_id="a"), int)


def opened() -> None:
    keys = CursorKeys("2025", {"2025": bytes(32)})
    with (
        Database(schema()) as db,
        Database(schema(), path="data") as kept,
        Database(schema(), table_name="orders") as there,
    ):
        for each in (db, kept, there):
            assert_type(each, Database)
    Database(schema(), table_name="orders", region="eu-west-1", cursor_keys=keys).close()


async def awaited() -> None:
    async with AsyncDatabase(schema()) as db:
        assert_type(await db.query(Order, customer_id="c"), Page[Order])
        assert_type(await db.get(Order, "c"), Order | None)
        assert_type(await db.create(Order(customer_id="c", state="open", total=1)), Order)
        assert_type(await db.count("order", index="created"), int)
        both = Collection("history", (Order, Note), index="customerState")
        assert_type(await db.query(both, customer_id="a"), Page[Order | Note])
        async for order in db.records(Order, index="created"):
            assert_type(order, Order)


class Given(JsonModel):
    """A body."""

    state: str


@post("/v1/states/{order_id}")
def change_state(order_id: str, given: Given, caller: Caller, clock: Clock) -> Writes[Order]:
    """Change the state of an order."""
    return writes(Update(Order, order_id, {"state": f"{given.state} by {caller.subject} at {clock()}"}))


@get("/v1/orders-of")
def orders_of(customer_id: str, database: EveryRecord) -> Listed[Order]:
    """The orders of a customer."""
    assert_type(database, Database)
    return listed(Order, customer_id=customer_id)


class Line(RecordView[Order]):
    """An order with its tax."""

    tax: int


class Sum(JsonModel):
    """What all lines come to."""

    total: int


@get("/v1/lines")
def lines() -> Listed[Line, Sum]:
    """Orders with their tax."""
    found = listed(Order, index="created").shown_as(lambda order: Line(record=order, tax=order.total // 5))
    assert_type(found, Listed[Line])
    return found.with_members(Sum(total=5))


assert_type(change_state("x", Given(state="open"), Caller(), Clock(lambda: 0)), Writes[Order])


class Piece(Entity, token="piece"):
    """A part of an order."""

    piece_id: str = unique_property()
    order_id: str
    label_ids: list[str]

    order = belongs_to(Order, by="order_id")
    labels = has_many("label", by="label_ids")
    label_lookup = Lookup("label_ids", name="label")


class Label(Entity, token="label"):
    """What pieces are marked with."""

    label_id: str = unique_property()
    piece_ids: list[str]

    pieces = has_many(Piece, via="labels")
    listed = has_many(Piece, by="piece_ids")


def relations(db: Database, piece: Piece, label: Label) -> None:
    assert_type(db.expand([piece], Piece.order), list[Order | None])
    assert_type(db.expand([label], Label.listed), list[tuple[Piece, ...]])
    assert_type(db.expand([piece], Piece.labels), list[tuple[Any, ...]])
    db.expand([piece], "order", "labels")[0]["order"]
    assert_type(db.related(label, Label.pieces), Page[Piece])
    assert_type(db.related(label, "pieces"), Page[Any])


async def awaited_relations(db: AsyncDatabase, piece: Piece, label: Label) -> None:
    assert_type(await db.expand([piece], Piece.order), list[Order | None])
    assert_type(await db.related(label, Label.pieces, limit=5), Page[Piece])
