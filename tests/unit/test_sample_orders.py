"""The sample data of the order tracking service."""

from __future__ import annotations

import datetime as dt
import io

from services._samples.orders import CUSTOMER, ORDER, order_tracking_samples
from services.order_tracking import CURRENT, Customer, Order, OrderTotal, Product, schema
from shardweave.local.loading import load
from shardweave.schema.entity import Entity
from shardweave.schema.read_models import Event
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable

DAY = dt.date(2025, 1, 1)


def test_it_is_the_same_every_time_and_looks_back_from_its_day() -> None:
    samples = list(order_tracking_samples(DAY))
    assert samples == list(order_tracking_samples(DAY))
    counts = {model: sum(isinstance(each, model) for each in samples) for model in (Customer, Product, Event)}
    assert counts == {Customer: 60, Product: 61, Event: 447}
    ends = int(dt.datetime.combine(DAY, dt.time(), dt.UTC).timestamp() * 1000)
    assert all(each.created < ends for each in samples if isinstance(each, Product))


def test_loading_applies_events_once() -> None:
    made = schema()
    store = Store(made, EmbeddedTable(made.layout))
    samples = [each for each in order_tracking_samples(DAY) if _is_of_the_first(each)]
    assert load(store, samples, "", io.StringIO()) == len(samples) == 8
    assert load(store, samples, "", io.StringIO()) == 0
    order = store.get(Order, {"orderId": ORDER, "version": CURRENT})
    total = store.get(OrderTotal, {})
    assert order is not None
    assert total is not None
    assert (order.customer_id, order.status.value, total.orders) == (CUSTOMER.customer_id, "delivered", 1)


def _is_of_the_first(each: Entity | Event) -> bool:
    return each == CUSTOMER or getattr(each, "order_id", None) == ORDER
