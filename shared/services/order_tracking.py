"""Order tracking: a read model of orders, fed by events, with every pattern of key that read models use.

    OrderTracking   what happened to an order, by time: partition `orderId`, sort `changedAt`
    Order           the order as it is (`~current`) and as each event left or changed it (`v000001`, ...)
    OrderLine       what was ordered: composite sort `category`, `productId`, also written `electronics/p-042`
    Product         found by category, and by category and creation
    Customer        who ordered
    SchemaChange    a changelog: composite partition `environment`, `plugin`, sorted by semantic version
    OrderTotal      one record of totals

`POST /v1/_events/orders` takes OrderPlaced and OrderStatusChanged. An event's `position` is its number in the order's
own stream, 1 for the first; it is the number of the version that the event makes, too. History and current are written
in one transaction. What an event does not carry stays: a status never blanks the customer, not even when it arrives
before the order that it is about. The totals meet every placed order in one record, which bounds orders to tens a
second.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from shardweave import (
    ORDERED,
    DecimalCodec,
    Entity,
    Event,
    GraphQL,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    ReadModel,
    Schema,
    SemanticVersion,
    SetRecord,
    ShardBump,
    Timestamp,
    UpdateRecord,
    belongs_to,
    has_many,
    nanoid,
    timestamp_property,
    unique_property,
)

CURRENT = "~current"
"""The version of an order as it is. It sorts after every version that is numbered."""

FOUR_SHARDS = (ShardBump(0, char_bits=2, chars=1),)

Id = Annotated[str, Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Category = Annotated[str, Field(min_length=1, max_length=100, pattern="^[^/]+$")]
Money = Annotated[Decimal, DecimalCodec(2), Field(ge=0, max_digits=12, decimal_places=2)]
Quantity = Annotated[int, Field(ge=1, le=1_000)]
Total = Annotated[Decimal, DecimalCodec(2), Field(ge=0, max_digits=17, decimal_places=2)]
"""What the most lines of the greatest quantity and price come to has 15 digits before the point."""


class OrderStatus(enum.Enum):
    """How far an order is. New states are added at the end."""

    PLACED = "placed"
    PAID = "paid"
    SHIPPED = "shipped"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"
    RETURNED = "returned"


class Customer(Entity, token="customer", shard_bumps=FOUR_SHARDS):
    """Somebody who orders."""

    customer_id: Id = unique_property(default_factory=nanoid)
    name: Name
    city: Name | None = None


class Product(Entity, token="product", shard_bumps=FOUR_SHARDS):
    """Something to order."""

    product_id: Id = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    category: Category
    name: Name
    price: Money

    category_hash_key = HashKey("category")


class OrderTracking(
    Entity,
    token="orderTracking",
    collection="order-tracking",
    partition="order_id",
    sort="changed_at",
    shard_bumps=FOUR_SHARDS,
):
    """One thing that happened to an order."""

    order_id: Id
    changed_at: AwareDatetime
    status: OrderStatus
    customer_id: Id | None = Field(None, description="Only in the entry of the event that told who ordered.")
    product_ids: list[Id] = Field(default_factory=list)
    note: str | None = Field(None, max_length=1_000)

    customer_hash_key = HashKey("customer_id")
    status_hash_key = HashKey("status")
    changed_range_key = RangeKey("changed_at")

    customer = belongs_to(Customer, by="customer_id")
    products = has_many(Product, by="product_ids")


class Order(Entity, token="order", partition="order_id", sort="version", shard_bumps=FOUR_SHARDS):
    """An order, as it is or as one event left it. The version of an event that changed the status has what the event
    carried."""

    order_id: Id
    version: Id = Field(description="`~current`, or the number of the event: `v000001`.")
    status: OrderStatus
    changed_at: AwareDatetime
    placed_at: AwareDatetime | None = None
    customer_id: Id | None = None
    product_ids: list[Id] = Field(default_factory=list)
    total: Total | None = None
    note: str | None = Field(None, max_length=1_000)

    customer_hash_key = HashKey("customer_id")
    version_range_key = RangeKey("version", "placed_at")

    customer = belongs_to(Customer, by="customer_id")
    products = has_many(Product, by="product_ids")


class OrderLine(
    Entity,
    token="orderLine",
    collection="order-lines",
    partition="order_id",
    sort=("category", "product_id"),
    shard_bumps=FOUR_SHARDS,
):
    """A product in an order."""

    order_id: Id
    category: Category
    product_id: Id
    quantity: Quantity
    price: Money

    product = belongs_to(Product, by="product_id")


class SchemaChange(
    Entity,
    token="schemaChange",
    collection="schema-changes",
    partition=("environment", "plugin"),
    sort="version",
):
    """A change of a plugin's schema in one environment."""

    environment: Category
    plugin: Category
    version: SemanticVersion
    text: Name


class OrderTotal(Entity, token="orderTotal", collection="order-total", singleton=True):
    """How much was ever ordered."""

    orders: int = 0
    items: int = 0
    amount: Annotated[Decimal, DecimalCodec(2)] = Decimal(0)


INDEXES = (
    Index("byCategory", "category_hash_key", "range_key", projection="KEYS_ONLY"),
    Index("byCategoryCreated", "category_hash_key", "created"),
    Index("byCustomer", "customer_hash_key", "changed_range_key"),
    Index("byStatus", "status_hash_key", "changed_range_key", projection=("order_id", "changed_at", "status", "note")),
    Index("customerOrders", "customer_hash_key", "version_range_key"),
)


# -- events -----------------------------------------------------------------------------------------------------------

Version = Annotated[int, Field(ge=1, le=999_999)]
MAX_LINES = 25


class Line(BaseModel):
    """A product that was ordered."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    category: Category
    product_id: Id
    quantity: Quantity
    price: Money


class OrderPlaced(Event):
    """Somebody ordered something."""

    type: Literal["OrderPlaced"] = "OrderPlaced"
    position: Version
    order_id: Id
    customer_id: Id
    placed_at: AwareDatetime
    lines: list[Line] = Field(min_length=1, max_length=MAX_LINES)

    @field_validator("lines")
    @classmethod
    def _each_product_once(cls, lines: list[Line]) -> list[Line]:
        if len({(line.category, line.product_id) for line in lines}) < len(lines):
            raise ValueError("a product is listed twice")
        return lines


class OrderStatusChanged(Event):
    """An order is further than before."""

    type: Literal["OrderStatusChanged"] = "OrderStatusChanged"
    position: Version
    order_id: Id
    status: OrderStatus
    changed_at: AwareDatetime
    note: str | None = Field(None, max_length=1_000)


def project(event: OrderPlaced | OrderStatusChanged) -> Sequence[SetRecord | UpdateRecord]:
    """What each event means to the read model."""
    return _placed(event) if isinstance(event, OrderPlaced) else _changed(event)


def version_of(position: int) -> str:
    """The version of an order that the event of a position makes."""
    return f"v{position:06d}"


def _placed(event: OrderPlaced) -> Sequence[SetRecord | UpdateRecord]:
    told: dict[str, Any] = {
        "status": OrderStatus.PLACED,
        "customer_id": event.customer_id,
        "product_ids": sorted({line.product_id for line in event.lines}),
    }
    items = sum(line.quantity for line in event.lines)
    amount = sum((line.price * line.quantity for line in event.lines), Decimal(0))
    order = told | {"changed_at": event.placed_at, "placed_at": event.placed_at, "total": amount}
    return (
        UpdateRecord(OrderTracking, _moment(event.order_id, event.placed_at), told),
        SetRecord(Order(order_id=event.order_id, version=version_of(event.position), **order)),
        SetRecord(Order(order_id=event.order_id, version=CURRENT, **order)),
        *(SetRecord(OrderLine(order_id=event.order_id, **dict(line))) for line in event.lines),
        UpdateRecord(OrderTotal, {}, add={"orders": 1, "items": items, "amount": amount}),
    )


def _changed(event: OrderStatusChanged) -> Sequence[SetRecord | UpdateRecord]:
    told = {"status": event.status, **({} if event.note is None else {"note": event.note})}
    order = told | {"changed_at": event.changed_at}
    version = {"order_id": event.order_id, "version": version_of(event.position)}
    return (
        UpdateRecord(OrderTracking, _moment(event.order_id, event.changed_at), told),
        UpdateRecord(Order, version, order),
        UpdateRecord(Order, version | {"version": CURRENT}, order),
    )


def _moment(order_id: str, moment: dt.datetime) -> dict[str, Any]:
    return {"order_id": order_id, "changed_at": moment}


ORDERS = ReadModel(
    "orders",
    events=(OrderPlaced, OrderStatusChanged),
    writes=(OrderTracking, Order, OrderLine, OrderTotal),
    project=project,
)


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    return Schema(
        entities=[OrderTracking, Order, OrderLine, Product, Customer, SchemaChange, OrderTotal],
        indexes=INDEXES,
        key_format=key_format,
        read_models=[ORDERS],
    )


graphql = GraphQL()


def sample_data(day: dt.date) -> Iterator[Entity | Event]:
    """Customers, products, a changelog, and the events of orders, looking back from a day."""
    from services._samples.orders import order_tracking_samples

    return order_tracking_samples(day)
