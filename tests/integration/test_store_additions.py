"""Adding to numbers and sets: exact whoever adds at once, whatever is lost on the way, at the price of an update."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from shardweave.errors import NotFound, OutcomeUnknown, RevisionConflict, ShardweaveError, ValidationFailed
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.store import Add, RetryClock, Store, Update
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import WRITES, LoseAnswer, LoseRequest, Script, SimulatedTable, Throttle
from shardweave.table.operations import PutItem, Scan, UpdateItem
from shardweave.values.codecs import DecimalCodec, Timestamp
from tests.integration.conftest import OpenTable
from tests.unit.store_world import FIRST_BUMP, START, Clock

BUMPS = [ShardBump(0, char_bits=1, chars=0), ShardBump(FIRST_BUMP, char_bits=2, chars=1)]


class Meter(Entity, token="meter", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Counts, and is in no index."""

    meter_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    ends: int | None = ttl_property()
    count: int = 0
    total: Annotated[Decimal, DecimalCodec(2)] = Decimal(0)
    weight: float = 0.0
    left: Annotated[int, Field(ge=0)] = 10
    peak: int | None = None
    base: int = 5
    tags: set[str] = Field(default_factory=set)
    few: Annotated[set[str], Field(max_length=3)] = Field(default_factory=set)
    note: str = ""


class Score(Entity, token="score", shard_bumps=BUMPS):
    """Counts in an index, over generations."""

    score_id: str = unique_property()
    created: Timestamp = timestamp_property()
    team: str = "red"
    points: int = 0
    games: int

    team_hash_key = HashKey("team")
    points_range_key = RangeKey("points", "score_id")


SCHEMA = Schema([Meter, Score], [Index("team", "team_hash_key", "points_range_key")])


class Place:
    """A store on a new table of the backend."""

    def __init__(self, open_table: OpenTable) -> None:
        self.clock = Clock()
        self.table: Table = open_table(SCHEMA.layout)
        self.store = self.store_on(self.table)

    def store_on(self, table: Table) -> Store:
        return Store(SCHEMA, table, clock=self.clock, waiting=RetryClock(sleep=lambda _: None))

    def items(self) -> list[dict[str, Any]]:
        return [dict(each) for each in self.table.run(Scan(consistent=True)).items if "rev" in each]

    def written_behind(self, **attributes: Any) -> None:
        """Another program changes the one stored item."""
        (item,) = self.items()
        without = {name for name, value in attributes.items() if value is ...}
        changed = {name: value for name, value in (item | attributes).items() if name not in without}
        self.table.run(PutItem(changed))


@pytest.fixture
def place(open_table: OpenTable) -> Place:
    return Place(open_table)


def test_numbers_and_sets_are_added_to(place: Place) -> None:
    store = place.store
    made = store.create(Meter(meter_id="m", total=Decimal("1.10"), tags={"a"}))
    place.clock.now = START + 5_000
    amounts = {"count": 3, "total": Decimal("0.05"), "weight": 0.5, "tags": {"b"}, "peak": 7}
    found = store.add(Meter, "m", amounts)
    assert (found.count, found.total, found.weight, found.tags, found.peak) == (
        3,
        Decimal("1.15"),
        0.5,
        {"a", "b"},
        7,
    )
    assert store.get(Meter, "m") == found
    assert found.rev not in (None, made.rev)
    assert (found.created, found.updated) == (START, START + 5_000)
    assert store.add(Meter, "m", {"count": -4}).count == -1
    assert store.add(Meter, "m", {}).count == -1
    with pytest.raises(NotFound):
        store.add(Meter, "other", {"count": 1})


def test_what_is_stored_is_what_an_update_would_have_stored(place: Place) -> None:
    for name in ("a", "b"):
        place.store.create(Meter(meter_id=name))
    place.store.add(Meter, "a", {"count": 2, "total": 1, "left": -1})
    place.store.update(Meter, "b", {"count": 2, "total": 1, "left": 9})
    one, other = sorted(place.items(), key=lambda item: item["meterId"])
    differing = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    assert differing == {"meterId", "hashKey", "rangeKey", "rev"} - ({"hashKey"} & {one["hashKey"]})


def test_all_additions_at_once_are_carried_out_once() -> None:
    clock = Clock()
    table = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
    store = Store(SCHEMA, table, clock=clock, waiting=RetryClock(sleep=lambda _: None))
    store.create(Meter(meter_id="m"))

    def add(number: int) -> None:
        store.add(Meter, "m", {"count": 1, "total": Decimal("0.01")})

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(add, range(10_000)))
    found = store.get(Meter, "m")
    assert found is not None
    assert (found.count, found.total) == (10_000, Decimal(100))
    table.close()


def test_an_index_follows_the_sum_whichever_generation_the_record_is_of(place: Place) -> None:
    store = place.store
    store.create(Score(score_id="old", games=0))
    place.clock.now = FIRST_BUMP
    store.create(Score(score_id="new", games=0))
    for name in ("old", "new"):
        store.add(Score, name, {"points": 4, "games": 1})
        store.add(Score, name, {"games": 1})
        found = store.get(Score, name)
        assert found is not None
        assert (found.points, found.games) == (4, 2)
    entity = SCHEMA[Score]
    for item in place.items():
        assert item == entity.complete(item, None if item["hashKey"] == "score!" else entity.shard_map)


def test_a_record_that_is_over_is_not_added_to(place: Place) -> None:
    place.store.create(Meter(meter_id="m", ends=START // 1000 + 60))
    place.clock.now = START + 61_000
    with pytest.raises(NotFound):
        place.store.add(Meter, "m", {"count": 1})


@pytest.mark.parametrize(
    ("stored", "amounts", "want"),
    [
        ({"count": ...}, {"count": 2}, {"count": 2}),
        ({"peak": ...}, {"peak": 2}, {"peak": 2}),
        ({"base": ...}, {"base": 2}, {"base": 7}),
        ({"left": ...}, {"left": -2}, {"left": 8}),
        ({"count": 10**36}, {"count": 1}, {"count": 10**36 + 1}),
        ({"tags": []}, {"tags": ["a"]}, {"tags": {"a"}}),
        ({"tags": ...}, {"tags": {"a"}}, {"tags": {"a"}}),
        ({}, {"weight": 0.1}, {"weight": 0.1}),
    ],
)
def test_what_is_missing_counts_as_it_is_shown(
    place: Place, stored: dict[str, Any], amounts: dict[str, Any], want: dict[str, Any]
) -> None:
    place.store.create(Meter(meter_id="m"))
    place.written_behind(**stored)
    found = place.store.add(Meter, "m", amounts)
    assert {name: getattr(found, name) for name in want} == want
    assert place.store.get(Meter, "m") == found


@pytest.mark.parametrize(
    ("amounts", "where"),
    [
        ({"left": -11}, "left"),
        ({"few": {"a", "b", "c", "d"}}, "few"),
        ({"count": "1"}, "count"),
        ({"count": True}, "count"),
        ({"count": 0.5}, "count"),
        ({"count": None}, "count"),
        *(({name: float(kind)}, name) for name in ("count", "weight", "peak") for kind in ("nan", "inf", "-inf")),
        *(
            ({name: Decimal(kind)}, name)
            for name in ("count", "weight", "total")
            for kind in ("NaN", "sNaN", "Infinity")
        ),
        ({"weight": 10**400}, "weight"),
        ({"total": Decimal("0.001")}, "total"),
        ({"tags": "abc"}, "tags"),
        ({"tags": [["a"]]}, "tags"),
        ({"tags": {5}}, "tags"),
        ({"note": "a"}, "note"),
        ({"created": 1}, "created"),
        ({"meterId": 1}, "meterId"),
        ({"nothing": 1}, "nothing"),
    ],
)
def test_what_can_not_be_added_is_refused_and_nothing_is_changed(
    place: Place, amounts: dict[str, Any], where: str
) -> None:
    made = place.store.create(Meter(meter_id="m"))
    with pytest.raises(ShardweaveError) as refused:
        place.store.add(Meter, "m", amounts)
    places = {refused.value.where} | (
        {str(each.location[0]) for each in refused.value.fields if each.location}
        if isinstance(refused.value, ValidationFailed)
        else set()
    )
    assert where in places
    assert place.store.get(Meter, "m") == made
    found = place.store.get(Meter, "m")
    assert found is not None
    assert found.rev == made.rev


def test_a_record_is_made_where_there_is_none(place: Place) -> None:
    store = place.store
    found = store.add(Meter, "m", {"count": 2, "tags": {"a"}}, upsert=True)
    assert (found.count, found.tags, found.created) == (2, {"a"}, START)
    assert store.add(Meter, "m", {"count": 2}, upsert={"note": "new"}).note == ""
    assert store.add(Score, "s", {"games": 1}, upsert={"team": "blue", "points": 7}).team == "blue"
    assert store.add(Score, "s", {"games": 1}, upsert={"team": "blue", "points": 7}).points == 7
    with pytest.raises(ValidationFailed):
        store.add(Score, "t", {"points": 1}, upsert=True)


def test_a_revision_and_a_transaction_are_held_to(place: Place) -> None:
    store = place.store
    first = store.create(Meter(meter_id="m"))
    second = store.add(Meter, "m", {"count": 1}, rev=first.rev)
    with pytest.raises(RevisionConflict):
        store.add(Meter, "m", {"count": 1}, rev=first.rev)
    made, added = store.transact([Update(Meter, "n", {"note": "x"}, upsert=True), Add(Meter, "m", {"count": 5})])
    assert isinstance(made, Meter)
    assert isinstance(added, Meter)
    assert (added.count, second.count) == (6, 1)
    with pytest.raises(NotFound):
        store.transact([Add(Meter, "m", {"count": 5}), Add(Meter, "none", {"count": 5})])
    assert store.get(Meter, "m") == added


@pytest.mark.parametrize("fault", [LoseAnswer, LoseRequest, Throttle])
def test_an_addition_is_not_carried_out_twice(place: Place, fault: Callable[[], Any]) -> None:
    place.store.create(Meter(meter_id="m"))
    store = place.store_on(SimulatedTable(place.table, Script(fault(), matching=WRITES)))
    certain, perhaps = 0, 0
    for _ in range(3):
        try:
            store.add(Meter, "m", {"count": 1})
            certain += 1
        except OutcomeUnknown:
            perhaps += 1
    found = place.store.get(Meter, "m")
    assert found is not None
    assert certain <= found.count <= certain + perhaps
    assert certain >= 2


def test_a_lost_answer_is_told_by_the_record(place: Place) -> None:
    place.store.create(Meter(meter_id="m"))
    store = place.store_on(SimulatedTable(place.table, Script(LoseAnswer(), matching=(UpdateItem,))))
    assert store.add(Meter, "m", {"count": 1}).count == 1
    assert store.add(Meter, "m", {"count": 1}).count == 2


@pytest.mark.parametrize("size", [0, 900, 3_500])
def test_it_costs_no_more_than_an_update(place: Place, size: int) -> None:
    """Where no index has the number: not a write unit more, and one request."""
    place.store.create(Meter(meter_id="m", note="x" * size))
    table = SimulatedTable(place.table, Script())
    store = place.store_on(table)
    store.update(Meter, "m", {"count": 1})
    (update,) = [each for each in table.calls if isinstance(each, WRITES)]
    table.calls.clear()
    store.add(Meter, "m", {"count": 1})
    (addition,) = [each for each in table.calls if isinstance(each, WRITES)]
    assert isinstance(addition, UpdateItem)
    assert isinstance(update, PutItem)
    free = addition.__class__(addition.key, addition.set, addition.remove, addition.add)
    assert place.table.run(free).units <= place.table.run(PutItem(update.item)).units
