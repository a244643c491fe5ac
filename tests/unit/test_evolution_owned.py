"""An entity with lookups, unique values, numbers and a parent evolves: what belongs to its records stays right on both
sides, and a value has one owner over both."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.errors import AlreadyExists, ConfigurationError, HasChildren, LookupNotReady, ShardweaveError
from shardweave.maintenance.doctor import Doctor
from shardweave.schema.declarations import (
    Index,
    Lookup,
    OrderedLookup,
    Sequence,
    Unique,
    belongs_to,
)
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.old_mapping import forms_given
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.store.lookups.backfill_state import marker_key
from shardweave.store.relations.enforced import counter_key
from shardweave.table.operations import DeleteItem, GetItem, UpdateItem
from shardweave.values.codecs import Timestamp
from tests.unit.rekey_world import NOW, RekeyWorld
from tests.unit.test_rekey_late_runs import Stopping

RECORDS = 6


class Shop(Entity, token="shop"):
    """Whose orders are numbered."""

    shop_id: str = unique_property()


def order_class(name: str, **options: Any) -> type[Entity]:
    """A declaration of orders."""

    class Order(Entity, token=name, **options):
        """What belongs to a shop."""

        order_id: str = unique_property()
        created: Timestamp = timestamp_property()
        shop_id: str
        code: str | None = None
        tag: str | None = None
        num: int | None = None
        total: int = 0

        codes = Unique("code")
        tags = Lookup("tag")
        totals = OrderedLookup("total", within="shop_id", name="byTotal")
        numbers = Sequence("num", within="shop_id")
        shop = belongs_to(Shop, by="shop_id", enforced=True)

        shop_hash_key = HashKey("shop_id")
        total_range_key = RangeKey("total", "created")

    return Order


INDEX = Index("byShop", hash_key="shop_hash_key", range_key="total_range_key")
NEW_OPTIONS = {"token alone": {}, "placed by the shop": {"shard_by": "shop_id"}}


class OwnedWorld(RekeyWorld):
    """Programs of both declarations, of which the old one knows nothing of the new one."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.old_model, self.model = order_class("order"), order_class("order2", **options)
        self.old_schema = Schema([Shop, self.old_model], [INDEX])
        super().__init__(Schema([Shop, self.old_model, self.model], [INDEX]), {"order2": "order"}, token="order2")
        self.old_store = Store(self.old_schema, self.inner, clock=self.clock)
        for shop in ("a", "b"):
            self.old_store.create({"shopId": shop}, Shop)
        for number in range(RECORDS):
            self.old_store.create(self.values(number), self.old_model)

    @staticmethod
    def values(number: int, **more: Any) -> dict[str, Any]:
        made = {"orderId": f"o{number}", "shopId": "ab"[number % 2], "code": f"code{number}", "tag": "even"}
        return {**made, "total": number, "created": NOW - number, **more}

    def counted(self, shop: str) -> dict[str, Any]:
        """The numbers of a shop's children, as its counter says."""
        key = counter_key(self.schema[Shop], {"shopId": shop})
        item = self.inner.run(GetItem(key, consistent=True)).item or {}
        return {name: value for name, value in item.items() if name not in key and value}

    def numbers(self) -> list[tuple[str, int]]:
        """The numbers that records have."""
        return [(each["shopId"], each["num"]) for each in self.old_items() + self.records()]

    def left(self) -> list[str]:
        """What belongs to the old declaration, without what is kept about its lookups."""
        items = [item for item in self.items() if str(item["hashKey"]).startswith(("order!", "order."))]
        return [item["hashKey"] for item in items if item["rangeKey"] != "_state"]


def both(options: dict[str, Any]) -> OwnedWorld:
    made = OwnedWorld(options)
    made.rekey().start()
    assert made.run().passes["bring"].written == RECORDS
    made.rekey().switch()
    return made


@pytest.fixture(params=NEW_OPTIONS, name="made")
def in_dual(request: pytest.FixtureRequest) -> OwnedWorld:
    """A world in which programs of both declarations write."""
    return both(NEW_OPTIONS[request.param])


def codes(store: Store, model: type[Entity], *names: str) -> list[Any]:
    found = [store.get_by(model, "code", name) for name in names]
    return [None if each is None else each.order_id for each in found]  # type: ignore[attr-defined]


def test_lookups_find_records_under_both_declarations(made: OwnedWorld) -> None:
    made.store.update(made.model, "o1", {"code": "other", "tag": None})
    made.store.delete(made.model, "o2")
    made.store.create(made.values(9), made.model)
    for store, model in ((made.store, made.model), (made.old_store, made.old_model)):
        assert codes(store, model, "other", "code1", "code2", "code9") == ["o1", None, None, "o9"]
        tagged = {each.order_id for each in store.find_by(model, "tag", "even").items}
        assert tagged == {"o0", "o3", "o4", "o5", "o9"}
        listed = store.find_by(model, "byTotal", within={"shop_id": "b"}).items
        assert [each.order_id for each in listed] == ["o1", "o3", "o5", "o9"]
    assert made.faults() == {}


def test_a_value_has_one_owner_over_both(made: OwnedWorld) -> None:
    made.old_store.create(made.values(20, code="theirs"), made.old_model)
    for wrong in (
        lambda: made.store.create(made.values(21, code="theirs"), made.model),
        lambda: made.store.update(made.model, "o1", {"code": "theirs"}),
    ):
        with pytest.raises(AlreadyExists) as taken:
            wrong()
        assert taken.value.where == "code"
    made.store.create(made.values(22, code="ours"), made.model)
    with pytest.raises(AlreadyExists):
        made.old_store.create(made.values(23, code="ours"), made.old_model)
    made.run()
    assert made.is_equal()
    assert made.faults() == {}


def test_values_that_change_hands_between_old_records_are_followed(made: OwnedWorld) -> None:
    for name, code in (("o1", None), ("o3", "code1"), ("o5", "code3"), ("o1", "code5")):
        made.old_store.update(made.old_model, name, {"code": code})
    report = made.run()
    assert (report.refused, report.differing) == (0, 0)
    assert codes(made.store, made.model, "code1", "code3", "code5") == ["o3", "o5", "o1"]
    assert made.faults() == {}


def test_numbers_go_on_and_none_is_given_twice(made: OwnedWorld) -> None:
    assert made.old_store.get(made.old_model, "o4").num == 3  # type: ignore[union-attr]
    given = []
    for number in range(10, 22, 2):
        store, model = ((made.old_store, made.old_model), (made.store, made.model))[number // 2 % 2]
        given.append(store.create(made.values(number), model).num)  # type: ignore[attr-defined]
    assert given == [4, 5, 6, 7, 8, 9]
    made.run()
    made.run()
    made.rekey().finish()
    made.run()
    assert made.new_store(forms=False).create(made.values(30), made.model).num == 10  # type: ignore[attr-defined]


def test_a_parent_counts_each_child_once_as_an_old_item_until_these_are_left(made: OwnedWorld) -> None:
    assert made.counted("a") == {"order_shop": 3}
    made.store.create(made.values(8), made.model)
    made.store.delete(made.model, "o2")
    made.store.delete(made.model, "o4")
    assert made.counted("a") == {"order_shop": 2}
    for store in (made.store, made.old_store):
        with pytest.raises(HasChildren):
            store.delete(Shop, "a")
    for name in ("o0", "o8"):
        made.store.delete(made.model, name)
    assert made.old_store.delete(Shop, "a")
    assert made.faults() == {}


def test_a_parent_that_an_old_program_deletes_and_makes_again_counts_as_before(made: OwnedWorld) -> None:
    for name in ("o0", "o2", "o4"):
        made.old_store.delete(made.old_model, name)
    made.old_store.delete(Shop, "a")
    made.old_store.create({"shopId": "a"}, Shop)
    made.old_store.create(made.values(6), made.old_model)
    made.run()
    made.run()
    made.rekey().finish()
    assert made.run().state == ""
    assert made.counted("a") == {"order2_shop": 1}
    with pytest.raises(HasChildren):
        made.store.delete(Shop, "a")
    assert made.faults() == {}


def test_old_records_that_went_with_their_parent_since_they_were_read_are_not_refused() -> None:
    made = OwnedWorld({})
    made.rekey().start()

    def meanwhile() -> None:
        for name in ("o0", "o2", "o4"):
            made.old_store.delete(made.old_model, name)
        made.old_store.delete(Shop, "a")

    report = made.rekey(table=Stopping(made.inner, meanwhile)).run()
    assert (report.refused, report.passes["bring"].written) == (0, RECORDS - 3)
    assert made.is_equal()


def test_what_can_not_be_counted_keeps_its_old_item(made: OwnedWorld) -> None:
    made.run()
    made.rekey().finish()
    key = counter_key(made.schema[Shop], {"shopId": "a"})
    made.inner.run(UpdateItem(key, {"order2_shop": "many"}))
    report = made.run()
    assert (report.state, report.passes["count"].refused, "purge" in report.passes) == ("purge", 3, False)
    assert len(made.old_items()) == RECORDS
    made.inner.run(UpdateItem(key, {}, ("order2_shop",)))
    assert made.run().state == ""
    assert made.counted("a") == {"order2_shop": 3}


def test_what_was_counted_twice_while_old_items_are_left_is_counted_no_more_after_the_end(made: OwnedWorld) -> None:
    made.run()
    made.rekey().finish()
    key = counter_key(made.schema[Shop], {"shopId": "a"})
    # A process that only follows has written an old item anew that one which leaves it has not deleted.
    made.inner.run(UpdateItem(key, add={"order_shop": 1}))
    for name in ("o0", "o2", "o4"):
        made.store.delete(made.model, name)
    assert made.run().state == ""
    assert made.counted("a") == {}
    assert made.store.delete(Shop, "a")
    assert made.faults() == {}


def test_nothing_of_the_old_declaration_is_left_after_the_end(made: OwnedWorld) -> None:
    made.run()
    made.rekey().finish()
    made.store.update(made.model, "o1", {"code": "late"})
    assert made.run().state == ""
    assert made.left() == []
    left = [item["hashKey"] for item in made.items() if str(item["hashKey"]).startswith(("order!", "order."))]
    assert left == [], "nor what was kept about its lookups"
    assert made.counted("b") == {"order2_shop": 3}
    assert codes(made.store, made.model, "late", "code3") == ["o1", "o3"]
    assert made.store.delete(made.model, "o1")
    assert made.faults() == {}


def test_a_service_that_is_started_again_with_both_declarations_keeps_nothing_for_the_old_one(made: OwnedWorld) -> None:
    made.run()
    made.rekey().finish()
    assert made.run().state == ""
    started = made.new_store()
    assert started.decide_lookups() == (), "no lookup needs a backfill"
    started.create(made.values(7), made.model)
    started.create(Shop(shop_id="c"))
    assert started.get_by(made.old_model, "code", "code1") is None, "lookups of the old one can still be asked"
    assert started.delete(Shop, "c"), "and its relations are known to have no children"
    left = [item["hashKey"] for item in made.items() if str(item["hashKey"]).startswith(("order!", "order."))]
    assert left == []
    alone = Store(Schema([Shop, made.model], [INDEX]), made.inner, clock=made.clock)
    assert Doctor(alone.parts, made.clock).run().document()["found"] == {}


def test_what_is_kept_about_the_old_lookups_is_written_until_the_end_and_when_it_is_taken_back() -> None:
    made = OwnedWorld({})
    marker = marker_key(made.old_schema["order"], "code")

    def marked() -> bool:
        return made.inner.run(GetItem(marker, consistent=True)).item is not None

    def begins_empty() -> None:
        """Without old records, and with a lookup that was declared just now."""
        for item in made.items():
            if str(item["hashKey"]).startswith(("order!", "order.")) and "_reshard" not in str(item["hashKey"]):
                made.inner.run(DeleteItem({name: item[name] for name in marker}))

    begins_empty()
    made.rekey().start()
    made.new_store().decide_lookups()
    assert marked(), "it has not ended"
    made.run()
    made.rekey().abort()
    assert made.run().state == ""
    assert marked(), "old programs go on"


def test_lookups_of_an_old_declaration_that_has_records_again_need_a_backfill() -> None:
    made = OwnedWorld({})
    made.rekey().start()
    made.run()
    made.rekey().abort()
    made.run()
    made.inner.run(DeleteItem(marker_key(made.old_schema["order"], "code")))
    assert made.new_store().decide_lookups() == ("order.code",)
    with pytest.raises(LookupNotReady):
        made.new_store().get_by(made.old_model, "code", "code1")


def test_nothing_of_the_new_declaration_is_left_when_it_is_taken_back(made: OwnedWorld) -> None:
    made.store.update(made.model, "o1", {"code": "late"})
    made.rekey().back()
    made.rekey().abort()
    assert made.run().state == ""
    assert made.records() == []
    assert made.counted("b") == {"order_shop": 3}
    assert codes(made.old_store, made.old_model, "late", "code1") == ["o1", None]
    assert made.old_store.create(made.values(40), made.old_model).num == 4  # type: ignore[attr-defined]
    assert made.faults() == {}


def act(made: OwnedWorld, drawn: random.Random, name: str, *, old: bool) -> None:
    """One write of a program of one declaration."""
    store, model = (made.old_store, made.old_model) if old else (made.store, made.model)
    number, code = int(name[1:]), drawn.choice([None, "x", "y", "z"])
    kind = drawn.randrange(4)
    if kind == 0:
        store.delete(model, name)
    elif kind == 1:
        store.create(made.values(number, code=code), model)
    else:
        store.update(model, name, {"code": code, "tag": drawn.choice(["even", None]), "total": drawn.randrange(9)})


@given(seed=st.integers(0, 2**32), turns=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=5, max_size=30))
@settings(max_examples=15, deadline=None)
def test_any_turns_of_both_leave_everything_right(seed: int, turns: list[tuple[bool, int]]) -> None:
    made, drawn = both({}), random.Random(seed)
    for old, number in turns:
        with suppress(ShardweaveError):
            act(made, drawn, f"o{number}", old=old)
        made.now += 1
    report = made.run()
    report = made.run() if report.refused else report
    assert (report.refused, report.differing) == (0, 0), [each.examples for each in report.passes.values()]
    assert made.is_equal()
    assert made.faults() == {}
    counts = Counter(made.numbers())
    assert set(counts.values()) <= {2}, "each number is that of one record, in both forms"
    held = Counter(each["code"] for each in made.records() if "code" in each)
    assert not held or max(held.values()) == 1


def line_class(name: str) -> type[Entity]:
    """A declaration of what goes with its shop."""

    class Line(Entity, token=name):
        """What goes with its shop."""

        line_id: str = unique_property()
        shop_id: str

        shops = Lookup("shop_id")
        shop = belongs_to(Shop, by="shop_id", enforced=True, on_delete="cascade")

    return Line


@pytest.mark.parametrize("state", ["follow", "dual"])
@pytest.mark.parametrize("many", [3, 30])
def test_a_parent_is_deleted_with_old_children_while_their_records_are_brought_in(state: str, many: int) -> None:
    old, new = line_class("line"), line_class("line2")
    world = RekeyWorld(Schema([Shop, old, new]), {"line2": "line"}, token="line2")
    for shop in ("a", "b"):
        world.store.create({"shopId": shop}, Shop)
        for number in range(many):
            world.store.create({"lineId": f"{shop}{number}", "shopId": shop}, old)
    world.rekey().start()
    world.run()
    if state == "dual":
        world.rekey().switch()
    assert world.store.delete(Shop, "a")
    assert list(world.store.deletions()) == []
    world.run()
    left = [item["lineId"] for item in world.items() if item["hashKey"].startswith(("line!", "line2!"))]
    assert Counter(left) == {f"b{number}": 2 for number in range(many)}


class Parent(Entity, token="parent"):
    """Of whom others are children."""

    parent_id: str = unique_property()


class Child(Entity, token="child"):
    """Belongs to a parent."""

    child_id: str = unique_property()
    parent_id: str

    parent = belongs_to(Parent, by="parent_id", enforced=True)


class Parent2(Entity, token="parent2"):
    """The same, under another token."""

    parent_id: str = unique_property()


class Expiring(Entity, token="expiring"):
    """Has a value of its own, and expires."""

    expiring_id: str = unique_property()
    code: str
    until: int = ttl_property()

    codes = Unique("code")


class Expiring2(Entity, token="expiring2"):
    """The same, under another token."""

    expiring_id: str = unique_property()
    code: str
    until: int = ttl_property()


class Placed(Entity, token="placed", shard_by="owner"):
    """Is placed by what does not identify it."""

    placed_id: str = unique_property()
    owner: str


class Placed2(Entity, token="placed2"):
    """The same, under another token."""

    placed_id: str = unique_property()
    owner: str


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ((Parent, Child, Parent2), "is the parent of child"),
        ((Expiring, Expiring2), "has lookups and a TTL"),
        ((Placed, Placed2), "places its records by a property outside the identity"),
    ],
)
def test_what_can_not_evolve_is_refused_with_the_reason(models: tuple[type[Entity], ...], reason: str) -> None:
    schema = Schema(list(models))
    old, new = schema[models[0]].token, schema[models[-1]].token
    with pytest.raises(ConfigurationError, match=reason):
        forms_given(schema, {new: old})
