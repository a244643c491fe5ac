"""Sample data of the order tracking service: customers, products and a changelog as records, orders as events.

60 customers, 61 products of four categories, 120 orders. Names, prices and choices come from a fixed seed; times are
counted back from the midnight (UTC) that begins a given day. The first order, of the first customer, has fixed times:
it is the one that the documentation follows. Events come as they would from queues: each order's in order, the orders
side by side.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from services.order_tracking import Customer, Line, OrderPlaced, OrderStatus, OrderStatusChanged, Product, SchemaChange
from shardweave import Entity, Event

from .names import LOCALES
from .seeded_random import Chance

SEED = 20_240_105
CUSTOMERS = 60
PRODUCTS = 60
ORDERS = 120
DAYS = 200

ORDER = "order-123"
CUSTOMER = Customer(customer_id="customer-7", name="Ada Lovelace", city="London")
LAMP = Product(
    product_id="prod-456",
    created=1_700_000_000_000,
    category="electronics",
    name="Desk lamp",
    price=Decimal("39.90"),
)

_GOODS = {
    "books": ("Atlas", "Cookbook", "Dictionary", "Novel", "Songbook"),
    "electronics": ("Camera", "Charger", "Headphones", "Radio", "Torch"),
    "garden": ("Rake", "Spade", "Trowel", "Watering can", "Wheelbarrow"),
    "kitchen": ("Kettle", "Ladle", "Pan", "Teapot", "Whisk"),
}
_KINDS = ("Small", "Plain", "Fine", "Large", "Grand")
_CITIES = ("Bath", "Bergen", "Kraków", "Lisboa", "Ōsaka", "Quito", None)

_TIMELINE = (
    ("2024-01-05T09:32:10Z", "paid", None),
    ("2024-01-09T07:15:00Z", "shipped", "by rail"),
    ("2024-01-12T10:05:30Z", "delivered", None),
    ("2024-02-02T11:20:00Z", "returned", "one lamp was broken"),
    ("2024-02-05T08:00:00Z", "shipped", "another lamp"),
    ("2024-02-07T14:45:00Z", "delivered", None),
)
_PLACED_AT = "2024-01-05T09:30:00Z"

_CHANGES = (
    ("production", "search", "1.9.0", "Titles are folded"),
    ("production", "search", "1.10.0", "Prices are in the index"),
    ("staging", "search", "1.10.0", "Prices are in the index"),
    ("staging", "search", "2.0.0-rc.1", "Categories are a path"),
    ("production", "export", "0.4.2", "Dates have a zone"),
)


def order_tracking_samples(day: dt.date) -> Iterator[Entity | Event]:
    """Records first, then the events."""
    chance = Chance(SEED)
    end = dt.datetime.combine(day, dt.time(), dt.UTC)
    customers = [CUSTOMER, *(_customer(chance, number) for number in range(1, CUSTOMERS))]
    products = [LAMP, *(_product(chance, number, end) for number in range(PRODUCTS))]
    yield from customers
    yield from products
    for environment, plugin, version, text in _CHANGES:
        yield SchemaChange(environment=environment, plugin=plugin, version=version, text=text)
    orders = [_first_order(products), *(_order(chance, n, customers, products, end) for n in range(1, ORDERS))]
    for step in range(max(len(order) for order in orders)):
        yield from (order[step] for order in orders if step < len(order))


def _customer(chance: Chance, number: int) -> Customer:
    locale = chance.one_of(LOCALES)
    name = f"{chance.one_of(locale.given)} {chance.one_of(locale.family)}"
    return Customer(customer_id=f"customer-{100 + number}", name=name, city=chance.one_of(_CITIES))


def _product(chance: Chance, number: int, end: dt.datetime) -> Product:
    category = list(_GOODS)[number % len(_GOODS)]
    age = dt.timedelta(seconds=1 + chance.below(DAYS * 86_400))
    return Product(
        product_id=f"prod-{500 + number}",
        created=int((end - age).timestamp() * 1000),
        category=category,
        name=f"{chance.one_of(_KINDS)} {chance.one_of(_GOODS[category]).lower()}",
        price=Decimal(100 + chance.skewed(20_000)) / 100,
    )


def _first_order(products: list[Product]) -> list[Event]:
    return [
        _placed(ORDER, CUSTOMER, dt.datetime.fromisoformat(_PLACED_AT), [(products[0], 2), *_two_more(products)]),
        *(
            _changed(ORDER, number, OrderStatus(status), dt.datetime.fromisoformat(moment), note)
            for number, (moment, status, note) in enumerate(_TIMELINE, 2)
        ),
    ]


def _two_more(products: list[Product]) -> list[tuple[Product, int]]:
    electronics = [each for each in products if each.category == "electronics"]
    books = [each for each in products if each.category == "books"]
    return [(electronics[1], 1), (books[0], 1)]


def _order(
    chance: Chance, number: int, customers: list[Customer], products: list[Product], end: dt.datetime
) -> list[Event]:
    order = f"order-{1000 + number}"
    moment = end - dt.timedelta(seconds=60 + chance.below(DAYS * 86_400))
    chosen = {chance.below(len(products)) for _ in range(1 + chance.below(4))}
    lines = [(products[each], 1 + chance.skewed(5)) for each in sorted(chosen)]
    made: list[Event] = [_placed(order, customers[chance.skewed(len(customers))], moment, lines)]
    follows = [OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.DELIVERED]
    if chance.below(10) == 0:
        follows = [OrderStatus.CANCELLED]
    for status in follows:
        moment += dt.timedelta(seconds=60 + chance.skewed(6 * 86_400))
        if moment >= end:
            break
        made.append(_changed(order, len(made) + 1, status, moment, None))
    return made


def _placed(order: str, customer: Customer, moment: dt.datetime, lines: list[tuple[Product, int]]) -> Event:
    return OrderPlaced(
        event_id=f"{order}/1",
        position=1,
        order_id=order,
        customer_id=customer.customer_id,
        placed_at=moment,
        lines=[
            Line(category=each.category, product_id=each.product_id, quantity=count, price=each.price)
            for each, count in lines
        ],
    )


def _changed(order: str, position: int, status: OrderStatus, moment: dt.datetime, note: str | None) -> Event:
    told: dict[str, Any] = {"status": status, "changed_at": moment, "note": note}
    return OrderStatusChanged(event_id=f"{order}/{position}", position=position, order_id=order, **told)
