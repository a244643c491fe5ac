"""All records of an entity, whatever partition they are in: once each, in parts, and from a saved position on."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import Counter
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave import AsyncDatabase, Database, Entity, Schema, ShardBump, errors, private_property, unique_property
from shardweave.maintenance.scanning import RecordScan
from shardweave.maintenance.walk import LANES, Segment
from shardweave.store import Store
from shardweave.table.fault_injection import Fail, Script
from shardweave.table.operations import GetItem, PutItem, Scan
from tests.unit.store_world import DAY, START, Address, Note, Person, Settings, Version, World


class Visit(Entity, token="visit", partition="guest", sort="day", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A guest's day."""

    guest: str
    day: dt.date
    bill: int | None = private_property(default=None)


class Room(Entity, token="room", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Where guests are."""

    room_id: str = unique_property()


SCHEMA = Schema([Visit, Room])


def hotel() -> Database:
    """Forty guests of two days, in thirty rooms."""
    db = Database(SCHEMA)
    days = [dt.date(2025, 1, 1), dt.date(2025, 1, 2)]
    assert db.batch_write([Visit(guest=f"g{guest}", day=day, bill=7) for guest in range(40) for day in days]).complete
    assert db.batch_write([Room(room_id=f"r{number}") for number in range(30)]).complete
    return db


HOTEL = hotel()


def key(record: Any) -> tuple[Any, ...]:
    return (record.guest, record.day) if isinstance(record, Visit) else (record.room_id,)


def told_by(scan: RecordScan[Any]) -> list[Any]:
    """All records of a scan."""
    return [each for page in iter(scan.next_page, None) for each in page.items]


@pytest.mark.parametrize(("model", "count"), [(Visit, 80), (Room, 30)])
def test_every_record_is_told_once_in_any_number_of_segments(model: type[Entity], count: int) -> None:
    with nullcontext(HOTEL) as db:
        for segments in (1, 2, 3, 7, LANES + 1):
            told = Counter(
                key(each) for part in range(segments) for each in db.scan(model, segment=part, segments=segments)
            )
            assert (len(told), set(told.values())) == (count, {1})


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4), segments=st.integers(1, 3))
@settings(max_examples=12)
def test_a_scan_goes_on_from_every_position(sizes: list[int], segments: int) -> None:
    """Each page by a scan of its own, with pages of any size, is the same as one scan."""
    for model, count in ((Visit, 80), (Room, 30)):
        told: Counter[Any] = Counter()
        for number in range(segments):
            position, rounds = None, 0
            while position is not None or not rounds:
                size, part = sizes[rounds % len(sizes)], Segment(number, segments)
                scan = RecordScan(HOTEL.store.parts, SCHEMA[model], position=position, segment=part, page=size)
                page = scan.next_page()
                assert page is not None
                told.update(map(key, page.items))
                position, rounds = page.position, rounds + 1
        assert (len(told), set(told.values())) == (count, {1})


def test_the_records_of_every_kind_of_entity_and_of_all_generations() -> None:
    world = World()
    for number in range(5):
        world.clock.now = START + number * 8 * DAY
        world.store.create(Note(note_id=f"n{number}", text="text"))
        world.store.create(Person(person_id=f"p{number}", name="Ann", name_canonical="ann", phone=str(number)))
        world.store.create(Address(address=f"a{number}", owner_id=f"o{number % 2}"))
        world.store.create(Version(order_id="o", number=number, state="new"))
    world.store.create(Settings(colour="red"))
    for model, count in ((Note, 5), (Person, 5), (Address, 5), (Version, 5), (Settings, 1)):
        told = told_by(RecordScan(world.store.parts, world.schema[model]))
        assert len(told) == count
        assert {type(each) for each in told} == {model}


def test_expired_records_are_not_told() -> None:
    world = World()
    world.store.create(Person(person_id="p", name="Ann", name_canonical="ann", expires=START // 1000 + 10))
    assert len(told_by(RecordScan(world.store.parts, world.schema[Person]))) == 1
    scan = RecordScan(world.store.parts, world.schema[Person])
    world.clock.now += 11_000
    assert told_by(scan) == []


@pytest.mark.parametrize("matching", [Scan, GetItem], ids=["a read of records", "the read of the map after them"])
def test_a_page_that_failed_is_not_lost(matching: type[Any]) -> None:
    faults = [each for _ in range(20) for each in (None, None, None, Fail(lambda: errors.AccessDenied("no")))]
    world = World(Script(*faults, matching=[matching]))
    for number in range(9):
        world.new_store(world.inner).create(Version(order_id=f"o{number}", number=number, state="new"))
    store = Store(world.schema, world.table, clock=world.clock)
    scan = RecordScan(store.parts, world.schema[Version], page=1)
    told = Counter[str]()
    failed = 0
    while True:
        try:
            page = scan.next_page()
        except errors.AccessDenied:
            failed += 1
            continue
        if page is None:
            break
        told.update(each.order_id for each in page.items)
    assert failed > 0
    assert (len(told), set(told.values())) == (9, {1})


def test_a_record_that_cannot_be_read_is_told_of_and_the_others_are_told() -> None:
    with hotel() as db:
        table = db.store.table
        stored = next(item for item in table.run(Scan()).items if item.get("guest") == "g7")
        table.run(PutItem({**stored, "bill": "much"}))
        pages = list(db.scan(Visit).pages())
        (met,) = (each for page in pages for each in page.unreadable)
        assert (met.entity, met.code, met.key["guest"]) == ("visit", "invalid", "g7")
        assert sum(len(page.items) for page in pages) == 79
        with pytest.raises(errors.RecordUnreadable):
            list(db.scan(Visit))


def test_an_event_loop_has_the_same_scan() -> None:
    async def whole() -> None:
        async with AsyncDatabase(SCHEMA) as db:
            await db.batch_write([Room(room_id=f"r{number}") for number in range(250)])
            assert len({each.room_id async for each in db.scan(Room)}) == 250
            first = await anext(db.scan(Room).pages())
            assert first.position is None or len(first.items) < 250
            rest = [each async for page in db.scan(Room, position=first.position).pages() for each in page.items]
            assert len(rest) == (250 if first.position is None else 250 - len(first.items))

    asyncio.run(whole())


def position_of(db: Database, **more: Any) -> str:
    part = Segment(more.get("segment", 0), more.get("segments", 1))
    page = RecordScan(db.store.parts, SCHEMA[Visit], segment=part, page=1).next_page()
    assert page is not None
    assert page.position is not None
    return page.position


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("scan", 2),
        ("segment", [0]),
        ("segment", [-1, 1]),
        ("map", "0"),
        ("map", True),
        ("begun", 1.5),
        ("lanes", [[0]]),
        ("lanes", [["x", None]]),
        ("lanes", [[0, {"hashKey": "visit!0"}]]),
        ("lanes", [[0, {"hashKey": "visit!0", "rangeKey": 5}]]),
        ("lanes", [[0, "x"]]),
        ("lanes", 5),
        ("entity", None),
    ],
)
def test_what_is_no_position_is_refused(change: str, value: Any) -> None:
    with nullcontext(HOTEL) as db:
        document = {**json.loads(position_of(db)), change: value}
        for text in (json.dumps(document), "", "x", "[]", "5", '{"scan":1}', "[" * 100_000):
            with pytest.raises(errors.InvalidCursor, match="position: must be the position of a scan"):
                db.scan(Visit, position=text)


def test_a_position_of_another_scan_is_refused() -> None:
    with nullcontext(HOTEL) as db:
        position = position_of(db)
        for model, more in ((Room, {}), (Visit, {"segment": 0, "segments": 2})):
            with pytest.raises(errors.CursorMismatch):
                db.scan(model, position=position, **more)
        document = json.loads(position)
        for change in ({"map": 9}, {"lanes": document["lanes"][:-1]}):
            scan = db.scan(Visit, position=json.dumps({**document, **change}))
            with pytest.raises(errors.CursorExpired, match="scan again from the beginning"):
                list(scan)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"position": 5}, "position"),
        ({"segments": 0}, "segments"),
        ({"segments": 1001}, "segments"),
        ({"segments": True}, "segments"),
        ({"segment": 1}, "segment"),
        ({"segment": -1}, "segment"),
        ({"segment": "0"}, "segment"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_read(given: dict[str, Any], where: str) -> None:
    with nullcontext(HOTEL) as db, pytest.raises(errors.InputError) as raised:
        db.scan(Visit, **given)
    assert raised.value.where == where


def test_a_database_that_was_closed_ends_its_scans() -> None:
    db = hotel()
    pages = db.scan(Room).pages()
    db.close()
    with pytest.raises(errors.InputError, match="database: it is closed"):
        next(pages)
    with pytest.raises(errors.InputError, match="database: it is closed"):
        db.scan(Room)
