"""Ordered lookups: lists of records in the order of a value, kept in their transactions and paged like an index."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from shardweave import (
    ARTICLE,
    Database,
    between,
    one_of,
    prefix,
    where,
)
from shardweave.errors import (
    CursorMismatch,
    InputError,
    KeyTooLong,
    LookupNotReady,
    SchemaError,
    ShardweaveError,
    UnknownName,
    UnsupportedQuery,
    ValueRefused,
)
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.reshard.phases import Phase
from shardweave.schema.declarations import Lookup, OrderedLookup
from shardweave.schema.entity import Entity
from shardweave.schema.manifest import manifest_of, placement_faults
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.store.lookups.lookup_records import MAX_MEMBERS
from shardweave.table.operations import DeleteItem, PutItem, TransactWrite
from shardweave.values.codecs import DecimalCodec, Timestamp, TimestampSeconds
from tests.unit.reshard_world import SIXTEEN, ReshardWorld
from tests.unit.store_world import World

SHARDS = [ShardBump(0, char_bits=2, chars=1)]
Number = Annotated[Decimal, DecimalCodec(2)]


class OldTask(Entity, token="task", shard_bumps=SHARDS):
    """A task as an older version of the program knows it."""

    task_id: str = unique_property()
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()
    project: str
    num: int = 0
    title: str = ""
    due: dt.date | None = None
    numbers: dict[str, Number] = Field(default_factory=dict)
    texts: dict[str, str] = Field(default_factory=dict)


class Task(OldTask, token="task", shard_bumps=SHARDS):
    """A task with ordered lists: by due date, by title, and by each of its custom fields."""

    due_list = OrderedLookup("due", within="project", then="num")
    title_list = OrderedLookup("title", name="byTitle")
    number_list = OrderedLookup("numbers", within="project", then="num")
    text_list = OrderedLookup("texts", within="project")


OLD, SCHEMA = Schema([OldTask]), Schema([Task])
ENTITY = SCHEMA[Task]
KEYS = CursorKeys("k", {"k": b"k" * 32})
LISTS = ("due", "byTitle", "numbers", "texts")


class Board(World):
    """A table of tasks, ready for all lists."""

    def __init__(self, *, filled: bool = True, schema: Schema = SCHEMA) -> None:
        super().__init__(schema=schema)
        queries = QueryRunner(schema, self.inner, KEYS, clock=self.clock, maps=self.maps)
        self.db = Database.over(self.store, queries)
        if filled:
            for name in LISTS:
                self.store.backfill(Task, name)

    def task(self, task_id: str, **values: Any) -> None:
        self.store.create({"taskId": task_id, "project": "p", **values}, Task)

    def found(self, name: str, value: Any = None, **asked: Any) -> list[str]:
        """All ids of a list, over pages of two, each page's way back checked."""
        found: list[str] = []
        token, before = None, None
        while True:
            page = self.db.find_by(Task, name, value, limit=2, next_token=token, **asked)
            if page.prev_token is not None and before is not None:
                back = self.db.find_by(Task, name, value, limit=2, prev_token=page.prev_token, **asked)
                assert [each.task_id for each in back.items] == before
            before = [each.task_id for each in page.items]
            found += before
            token = page.next_token
            if token is None:
                return found

    def wrong(self) -> dict[str, int]:
        return Doctor(self.new_store(self.inner).parts, self.clock).run().findings.counts


@pytest.fixture
def world() -> Board:
    board = Board()
    days = [dt.date(2026, 3, 1), None, dt.date(2026, 1, 9), dt.date(2026, 3, 1), dt.date(2025, 12, 31)]
    for number, day in enumerate(days):
        numbers = {"size": Decimal(number * (-1) ** number), **({"cost": Decimal("0.50")} if number > 2 else {})}
        texts = {"owner": "ann" if number % 2 else "anna"}
        board.task(f"t{number}", num=9 - number, due=day, title=f"T {number % 3}", numbers=numbers, texts=texts)
    board.task("other", project="q", due=dt.date(2026, 2, 1), numbers={"size": Decimal(5)})
    return board


P = {"project": "p"}
SIZE, COST, OWNER = (
    {**P, f"{kind}.name": name} for kind, name in (("numbers", "size"), ("numbers", "cost"), ("texts", "owner"))
)


def test_a_list_is_in_the_order_of_its_values_either_way_without_those_that_have_none(world: Board) -> None:
    assert world.found("due", within=P) == ["t4", "t2", "t3", "t0"], "equal dates come by num"
    assert world.found("due", within=P, reverse=True) == ["t0", "t3", "t2", "t4"]
    assert world.found("due", within={"project": "q"}) == ["other"]
    assert world.found("due", within={"project": "none"}) == []
    assert world.found("byTitle") == ["other", "t0", "t3", "t1", "t4", "t2"]


def test_each_entry_of_a_mapping_has_a_list_of_its_own(world: Board) -> None:
    assert world.found("numbers", within=SIZE) == ["t3", "t1", "t0", "t2", "t4"], "numbers sort as numbers"
    assert world.found("numbers", within=COST, reverse=True) == ["t3", "t4"]
    assert world.found("texts", within=OWNER) == ["t1", "t3", "t0", "t2", "t4"], "ann comes before anna"
    assert world.found("texts", within={**P, "texts.name": "none"}) == []


CONDITIONS: list[tuple[str, Any, Any, list[str]]] = [
    ("due", P, dt.date(2026, 3, 1), ["t3", "t0"]),
    ("due", P, between(dt.date(2026, 1, 1), None), ["t2", "t3", "t0"]),
    ("due", P, between(None, dt.date(2026, 1, 9)), ["t4", "t2"]),
    ("due", P, between(dt.date(2026, 1, 1), dt.date(2026, 2, 1)), ["t2"]),
    ("due", P, prefix("2026-03"), ["t3", "t0"]),
    ("numbers", SIZE, Decimal(0), ["t0"]),
    ("numbers", SIZE, between(-1, 2), ["t1", "t0", "t2"]),
    ("numbers", SIZE, between(Decimal("0.001"), None), ["t2", "t4"]),
    ("texts", OWNER, "ann", ["t1", "t3"]),
    ("texts", OWNER, prefix("ann"), ["t1", "t3", "t0", "t2", "t4"]),
    ("texts", OWNER, between("anna", None), ["t0", "t2", "t4"]),
    ("byTitle", {}, prefix("T 1"), ["t1", "t4"]),
    ("byTitle", {}, between(None, "T 0"), ["other", "t0", "t3"]),
]


@pytest.mark.parametrize(("name", "within", "value", "wanted"), CONDITIONS)
def test_conditions_and_filters_give_a_part_of_a_list(
    world: Board, name: str, within: Any, value: Any, wanted: list[str]
) -> None:
    assert world.found(name, value, within=within) == wanted
    assert world.found(name, value, within=within, reverse=True) == wanted[::-1]
    chosen = where("title") == "T 0"
    assert world.found(name, value, within=within, filter=chosen) == [each for each in wanted if each in ("t0", "t3")]


def test_a_filter_takes_entries_by_their_path(world: Board) -> None:
    assert world.found("due", within=P, filter=where("numbers.size") > 1) == ["t4", "t2"]


def test_lists_follow_every_write(world: Board) -> None:
    world.db.update(Task, "t0", {"due": dt.date(2025, 1, 1)})
    world.db.update(Task, "t1", {"due": dt.date(2027, 1, 1)})
    world.db.update(Task, "t2", {"due": None})
    world.db.update(Task, "t4", {"num": 0, "numbers": {"cost": Decimal(7)}})
    world.db.delete(Task, "t3")
    assert world.found("due", within=P) == ["t0", "t4", "t1"]
    assert world.found("numbers", within=SIZE) == ["t1", "t0", "t2"]
    assert world.found("numbers", within=COST) == ["t4"]
    assert not world.wrong()


def test_an_expired_record_is_in_no_list_and_one_that_another_sees_is_in_theirs(world: Board) -> None:
    world.db.update(Task, "t2", {"expires": world.clock.now // 1000 + 60})
    world.clock.now += 61_000
    assert world.found("due", within=P) == ["t4", "t3", "t0"]


def test_only_what_changes_is_written(world: Board) -> None:
    world.requests()
    world.db.update(Task, "t0", {"expires": None, "texts": {"owner": "anna"}})
    assert world.requests()[-1] == "PutItem", "no value has changed"
    world.db.update(Task, "t0", {"numbers": {"size": Decimal(3)}})
    transaction = world.table.calls[-1]
    assert isinstance(transaction, TransactWrite)
    assert len(transaction.actions) == 3


def test_a_page_is_one_query_of_one_key_and_a_batch_of_records(world: Board) -> None:
    world.requests()
    assert len(world.db.find_by(Task, "due", within=P, limit=3).items) == 3
    assert world.requests() == ["Query", "BatchGet"]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a list of values": (lambda db: db.find_by(Task, "due", one_of(1, 2), within=P), UnsupportedQuery, "one interval"),
    "a value of another type": (lambda db: db.find_by(Task, "numbers", "x", within=SIZE), InputError, "numbers"),
    "a prefix of numbers": (lambda db: db.find_by(Task, "numbers", prefix("1"), within=SIZE), UnsupportedQuery, "text"),
    "a reversed range": (lambda db: db.find_by(Task, "numbers", between(2, 1), within=SIZE), ValueRefused, "above"),
    "an open range": (lambda db: db.find_by(Task, "due", between(), within=P), UnsupportedQuery, "bound"),
    "nothing of its scope": (lambda db: db.find_by(Task, "due"), UnknownName, "is asked within project"),
    "no entry": (lambda db: db.find_by(Task, "numbers", within=P), UnknownName, "numbers.name, project"),
    "an entry that is no text": (
        lambda db: db.find_by(Task, "numbers", within={**P, "numbers.name": 7}),
        InputError,
        "name of an entry",
    ),
    "a scope of none": (lambda db: db.find_by(Task, "due", within={"project": None}), ShardweaveError, "project"),
    "a property of another scope": (lambda db: db.find_by(Task, "due", within={"x": 1}), UnknownName, "'x'"),
    "a direction that is none": (lambda db: db.find_by(Task, "due", within=P, reverse="yes"), InputError, "true or"),
    "one record": (lambda db: db.get_by(Task, "due", dt.date(2026, 1, 1), within=P), UnsupportedQuery, "find_by"),
    "a page of none": (lambda db: db.find_by(Task, "due", within=P, limit=0), InputError, "1 to 500"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_a_list_can_not_answer_is_refused(world: Board, case: str) -> None:
    ask, error, message = BAD[case]
    with pytest.raises(error, match=message):
        ask(world.db)


def test_a_token_is_good_for_its_own_question_alone(world: Board) -> None:
    token = world.db.find_by(Task, "due", within=P, limit=1).next_token
    assert token is not None
    for asked in (
        {"within": {"project": "q"}},
        {"within": P, "reverse": True},
        {"within": P, "filter": where("num") > 1},
    ):
        with pytest.raises(CursorMismatch):
            world.db.find_by(Task, "due", next_token=token, **asked)
    with pytest.raises(CursorMismatch):
        world.db.find_by(Task, "due", prefix("2026"), within=P, next_token=token)
    with pytest.raises(InputError, match="no place of what is asked for"):
        world.store.find_by(Task, "due", prefix("2026"), within=P, after="due#2025-01-01 |num#p1 |taskId#t1")


def test_a_plain_lookup_takes_no_condition() -> None:
    class Plain(OldTask, token="task", shard_bumps=SHARDS):
        by_title = Lookup("title")

    with Database(Schema([Plain])) as db, pytest.raises(UnsupportedQuery, match="has no order"):
        db.find_by(Plain, "title", prefix("T"))


def test_what_can_not_be_listed_is_refused_before_anything_is_written(world: Board) -> None:
    before = world.items()
    with pytest.raises(ValueRefused, match=f"at most {MAX_MEMBERS} members"):
        world.task("new", numbers={f"n{number}": Decimal(1) for number in range(MAX_MEMBERS + 1)})
    with pytest.raises(KeyTooLong):
        world.task("new", texts={"owner": "x" * 1000})
    with pytest.raises(KeyTooLong):
        world.task("new", texts={"x" * 1000: "y"})
    assert world.items() == before


def test_what_is_no_ordered_lookup_is_refused_with_the_schema() -> None:
    class Bad(Entity, token="bad"):
        bad_id: str = unique_property()
        parts: dict[str, list[int]]
        tags: list[str]
        title: str

        part_list = OrderedLookup("parts")
        tag_list = OrderedLookup("tags")
        then_list = OrderedLookup("title", then="nothing")

    with pytest.raises(SchemaError) as caught:
        Schema([Bad])
    assert {each.where for each in caught.value.faults} == {
        "entity Bad.part_list",
        "entity Bad.tag_list",
        "entity Bad.then_list",
    }
    with pytest.raises(SchemaError, match="has no order on what others follow"):
        Schema([Task], key_format=ARTICLE)


def test_manifests_tell_an_ordered_lookup_from_a_plain_one() -> None:
    class Plain(OldTask, token="task", shard_bumps=SHARDS):
        due_list = Lookup("due", within="project")

    faults = placement_faults(manifest_of(Schema([Plain])), manifest_of(SCHEMA))
    assert [each.where for each in faults] == ["task: lookup due"]


def test_one_that_is_added_is_refused_until_it_is_filled() -> None:
    world = Board(filled=False)
    old = Store(OLD, world.inner, clock=world.clock, maps=world.maps, waiting=world.pauses.waiting())
    for number in range(5):
        old.create({"taskId": f"t{number}", "project": "p", "num": -number, "due": dt.date(2026, 1, 5)}, OldTask)
    with pytest.raises(LookupNotReady):
        world.db.find_by(Task, "due", within=P)
    assert world.wrong() == {"lookup_not_filled": 4}
    assert world.store.backfill(Task, "due").ready
    assert world.found("due", within=P) == ["t4", "t3", "t2", "t1", "t0"]


def test_the_doctor_finds_and_repairs_what_others_do_to_a_list(world: Board) -> None:
    listed = [item for item in world.lookups() if item["hashKey"].startswith("task.due!") and "_owner" in item]
    first, second = listed[:2]
    world.inner.run(DeleteItem({name: first[name] for name in ("hashKey", "rangeKey")}))
    world.inner.run(PutItem({**second, "rangeKey": second["rangeKey"].replace("num#", "num#n")}))
    assert world.wrong() == {"lookup_missing": 1, "lookup_dangling": 1}
    Doctor(world.new_store(world.inner).parts, world.clock, repair=True).run()
    assert not world.wrong()
    assert world.found("due", within=P) == ["t4", "t2", "t3", "t0"]


def test_a_list_is_made_again_by_an_import(world: Board, tmp_path: Path) -> None:
    assert Export(world.new_store(world.inner).parts, [ENTITY], tmp_path).run().done
    lines = [line for path in sorted(tmp_path.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]
    other = Board()
    assert Import(other.new_store(other.inner).parts, other.clock).run(lines).written == 6
    assert other.found("due", within=P) == world.found("due", within=P)
    assert not other.wrong()


@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.STABLE])
def test_lists_stay_right_while_records_move(phase: Phase) -> None:
    world = ReshardWorld(schema=SCHEMA)
    for name in LISTS:
        world.store.backfill(Task, name)
    for number in range(8):
        world.store.create({"taskId": f"t{number}", "project": "p", "due": dt.date(2026, 1, 1 + number)}, Task)
    world.start(Task, SIXTEEN)
    world.run_until(Task, phase)
    store = world.new_store()
    store.update(Task, "t0", {"due": dt.date(2026, 2, 1)})
    store.delete(Task, "t1")
    for ended in (False, True):
        if ended:
            world.finish(Task)
        found = world.new_store().find_by(Task, "due", within=P)
        assert [each.task_id for each in found.items] == ["t2", "t3", "t4", "t5", "t6", "t7", "t0"]


FEW_DAYS = [dt.date(2026, 1, 1) + dt.timedelta(number) for number in range(6)]
DAYS = st.none() | st.sampled_from(FEW_DAYS)
KINDS = st.sampled_from(["put", "put", "put", "update", "delete"])
STEPS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), KINDS, st.sampled_from([*FEW_DAYS, None]), st.integers(-3, 3)),
    min_size=16,
    max_size=30,
)
met: Counter[str] = Counter()


@given(steps=STEPS, low=DAYS, high=DAYS, reverse=st.booleans())
@settings(max_examples=60, deadline=None)
def compare_lists_after(steps: list[Any], low: dt.date | None, high: dt.date | None, reverse: bool) -> None:
    board, model = Board(), dict[str, tuple[dt.date | None, int]]()
    for task_id, kind, day, number in steps:
        if kind == "delete":
            board.db.delete(Task, task_id)
            model.pop(task_id, None)
        elif kind == "put" or task_id in model:
            values = {"due": day, "num": number, "numbers": {"n": Decimal(number)}}
            if kind == "put":
                board.db.put(Task, {"taskId": task_id, "project": "p", **values})
            else:
                board.db.update(Task, task_id, values)
            model[task_id] = (day, number)
    wanted = sorted(
        (day, number, task_id)
        for task_id, (day, number) in model.items()
        if day is not None and (low is None or day >= low) and (high is None or day <= high)
    )
    met["pages"] += len(wanted) > 2
    if low is not None and high is not None and low > high:
        return
    met["ranges"] += low is not None or high is not None
    value = None if low is None and high is None else between(low, high)
    ids = [task_id for _, _, task_id in wanted]
    assert board.found("due", value, within=P, reverse=reverse) == (ids[::-1] if reverse else ids)
    by_number = sorted((number, number, task_id) for task_id, (_, number) in model.items())
    assert board.found("numbers", within={**P, "numbers.name": "n"}) == [task_id for _, _, task_id in by_number]
    assert not board.wrong()


def test_after_any_writes_each_list_is_the_sorted_result() -> None:
    met.clear()
    compare_lists_after()
    assert {name: met[name] for name in ("pages", "ranges") if met[name] < 10} == {}
