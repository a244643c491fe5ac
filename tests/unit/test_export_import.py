"""Records carried out of a table and into another: none lost, none overwritten, stopped and gone on with anywhere."""

from __future__ import annotations

import gzip
import json
import random
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.access import private_property
from shardweave.errors import ConfigurationError
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.export_folder import STATE, check_whole
from shardweave.maintenance.exporting import Export, ExportReport
from shardweave.maintenance.importing import Import, ImportReport
from shardweave.maintenance.record_lines import RecordLine, SequenceLine, generated_names, read_line, record_line
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Meanwhile, Script, SimulatedTable
from shardweave.table.values import from_attribute_values, to_attribute_values
from tests.unit.cli_world import shardweave
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import SCHEMA, Area, Customer, Issue, Project, shop, sound
from tests.unit.store_world import World


def export(world: World, folder: Path, **options: Any) -> Export:
    entities = list(world.schema.entities.values())
    return Export(world.new_store(world.table).parts, entities, folder, **options)


def lines_of(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]


def bring(world: World, lines: list[bytes], *, replace_unchanged: bool = False) -> ImportReport:
    importing = Import(world.new_store(world.table).parts, world.clock, replace_unchanged=replace_unchanged)
    return importing.run(lines)


def another(world: World, faults: Any = None) -> World:
    """An empty table of the same schema at the same time."""
    other = shop(faults)
    other.clock.now = world.clock.now
    return other


def records(world: World) -> list[dict[str, Any]]:
    """The records of a table, without what is noted for relations."""
    found = [item for item in world.items() if world.schema.entity_of_key(item["hashKey"]) is not None]
    return sorted(found, key=lambda item: (item["hashKey"], item["rangeKey"]))


def is_clean(world: World) -> bool:
    report = Doctor(world.new_store(world.inner).parts, world.clock).run()
    return report.done and report.code == 0


def test_what_was_exported_and_imported_is_equal_with_revisions_and_the_doctor_is_clean(tmp_path: Path) -> None:
    world = Clinic()
    report = export(world, tmp_path).run()
    assert report.done
    other = another(world)
    outcome = bring(other, lines_of(tmp_path))
    assert (outcome.written, outcome.kept, outcome.refused) == (len(records(world)), 0, 0)
    assert records(other) == records(world)
    assert is_clean(other)
    assert sound(other)


def test_sequences_go_on_where_they_were(tmp_path: Path) -> None:
    world = Clinic()
    world.store.delete(Issue, "p0i2")
    export(world, tmp_path).run()
    other = another(world)
    bring(other, lines_of(tmp_path))
    assert other.store.create({"issueId": "new", "projectId": "p0"}, Issue).num == 4, "3 was given to one that is gone"
    assert other.store.create({"areaId": "new", "rank": 0}, Area).rank == 2


def test_numbers_that_come_in_without_their_counter_are_not_given_again(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    other = another(world)
    bring(other, [line for line in lines_of(tmp_path) if b'"entity"' in line])
    assert other.store.create({"issueId": "new", "projectId": "p0"}, Issue).num == 4


def test_lines_may_be_in_any_order(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    for seed in range(4):
        lines = lines_of(tmp_path)
        random.Random(seed).shuffle(lines)
        other = another(world)
        assert bring(other, lines).refused == 0
        assert records(other) == records(world)


def test_an_import_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    before = world.items()
    outcome = bring(world, lines_of(tmp_path))
    assert (outcome.written, outcome.kept, outcome.there) == (0, 0, len(records(world)))
    assert [item for item in world.items() if "+!" not in item["hashKey"]] == [
        item for item in before if "+!" not in item["hashKey"]
    ]


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("begun", range(4))
def test_of_two_imports_at_once_each_record_is_counted_as_written_by_one(
    begun: int, replacing: bool, tmp_path: Path
) -> None:
    """The other one brings in everything between what this one has read and its first write, or after some writes."""
    world = Clinic()
    export(world, tmp_path).run()
    lines = [line for line in lines_of(tmp_path) if b'"entity"' in line]
    script = Script(matching=WRITES)
    other = world if replacing else another(world, script)
    if replacing:
        other = World(schema=world.schema, table=SimulatedTable(world.inner, script))
        other.clock.now = world.clock.now
        lines = [edited(line, name="edited") for line in lines if b'"entity":"customer"' in line]
    theirs = []

    def meanwhile() -> None:
        beside = World(schema=world.schema, table=other.inner)
        beside.clock.now = world.clock.now
        theirs.append(bring(beside, lines, replace_unchanged=replacing))

    script._left = [*[None] * begun, Meanwhile(meanwhile)]
    mine = bring(other, lines, replace_unchanged=replacing)
    (their,) = theirs
    assert their.written > 0
    assert (mine.written + their.written, mine.there + their.there) == (len(lines), len(lines))
    assert (mine.kept, mine.refused, their.kept, their.refused) == (0, 0, 0, 0)


@pytest.mark.parametrize("rate", [1, 3, 1000])
def test_no_more_records_come_in_in_a_second_than_may(rate: int, tmp_path: Path) -> None:
    world, waited, told = Clinic(), [0.0], list[tuple[float, int]]()
    export(world, tmp_path).run()
    other = another(world)
    waiting = RetryClock(sleep=lambda seconds: waited.__setitem__(0, waited[0] + seconds), monotonic=lambda: waited[0])
    store = Store(SCHEMA, other.inner, clock=other.clock, maps=other.maps, waiting=waiting)
    importing = Import(store.parts, other.clock, rate=rate)
    report = importing.run(lines_of(tmp_path), lambda so_far: told.append((waited[0], so_far.written)))
    assert all(written <= rate * (seconds + 1) for seconds, written in told)
    assert waited[0] >= report.written / rate - 0.001
    assert records(other) == records(world)


def test_what_was_changed_meanwhile_is_kept_and_counted(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    world.store.update(Customer, "c1", {"city": "York"})
    before = records(world)
    outcome = bring(world, lines_of(tmp_path))
    assert (outcome.written, outcome.kept) == (0, 1)
    assert records(world) == before


def test_a_unique_value_that_somebody_has_is_refused_with_the_line(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    other = another(world)
    other.store.create({"customerId": "mine", "phone": "03"}, Customer)
    outcome = bring(other, lines_of(tmp_path))
    assert (outcome.refused, outcome.kept) == (1, 0)
    assert "phone" in outcome.examples[0].reason
    assert "03" not in outcome.examples[0].reason


def edited(line: bytes, **values: Any) -> bytes:
    document = json.loads(line)
    document["Item"] |= {name: {"S": value} for name, value in values.items()}
    return json.dumps(document).encode() + b"\n"


def test_a_replacement_writes_over_what_has_not_changed_and_nothing_else(tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    customers = [line for line in lines_of(tmp_path) if b'"entity":"customer"' in line]
    world.store.update(Customer, "c1", {"city": "York"})
    world.store.delete(Customer, "c2")
    lines = [edited(line, name="edited") for line in customers]
    outcome = bring(world, lines, replace_unchanged=True)
    assert (outcome.written, outcome.kept, outcome.refused) == (6, 2, 0)
    assert world.store.get(Customer, "c2") is None
    found = {f"c{number}": world.store.get(Customer, f"c{number}") for number in (0, 1, 3)}
    assert [found[each].name for each in ("c0", "c1", "c3")] == ["edited", "", "edited"]  # type: ignore[union-attr]
    again = bring(world, lines, replace_unchanged=True)
    assert (again.written, again.there, again.kept) == (0, 6, 2), "a repeated one has been carried out"
    assert is_clean(world)


@pytest.mark.parametrize("change", [{"legacy": {"S": "edited"}}, {"more": {"S": "added"}}])
def test_a_replacement_of_attributes_alone_that_the_schema_does_not_know_is_written(
    change: dict[str, Any], tmp_path: Path
) -> None:
    world = Clinic()
    world.put(world.one("customer!", customerId="c1"), legacy="of another")
    export(world, tmp_path).run()
    (line,) = [each for each in lines_of(tmp_path) if b'"legacy"' in each]
    assert bring(world, [line], replace_unchanged=True).there == 1, "nothing was edited"
    document = json.loads(line)
    del document["Item"]["legacy"]
    assert bring(world, [json.dumps(document).encode()], replace_unchanged=True).there == 1, "what a line lacks stays"
    document["Item"] |= change
    lines = [json.dumps(document).encode()]
    assert bring(world, lines, replace_unchanged=True).written == 1
    stored = world.one("customer!", customerId="c1")
    told = {"legacy": "of another", **{name: value["S"] for name, value in change.items()}}
    assert {name: stored[name] for name in ("legacy", "more") if name in stored} == told
    again = bring(world, lines, replace_unchanged=True)
    assert (again.written, again.there) == (0, 1), "a repeated one has been carried out"
    assert is_clean(world)


@pytest.mark.parametrize("crash", range(0, 34, 5))
def test_an_import_that_dies_is_repeated_and_ends_the_same(crash: int, tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    script = Script(matching=WRITES)
    other = another(world, script)
    script._left = [None] * crash + [Crash(carried_out=crash % 2 == 0)]
    with pytest.raises(Crashed):
        bring(other, lines_of(tmp_path))
    script._left = []
    bring(other, lines_of(tmp_path))
    assert records(other) == records(world)
    assert is_clean(other)


@pytest.mark.parametrize("reads", [0, 1, 3, 8])
def test_an_export_that_dies_before_it_has_saved_anything_goes_on(reads: int, tmp_path: Path) -> None:
    world = Clinic()
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    export(world, whole).run()
    for died in range(2):
        (parts / "export.json.new").write_text("{") if died else None
        dying = World(schema=world.schema, table=SimulatedTable(world.inner, Script(*[None] * reads, Crash())))
        dying.clock.now = world.clock.now
        with pytest.raises(Crashed):
            export(dying, parts, page=2).run()
    assert export(world, parts).run().done
    assert lines_of(parts) == lines_of(whole)


@given(stops=st.lists(st.integers(1, 5), max_size=8), torn=st.binary(max_size=50))
@settings(max_examples=20, deadline=None)
def test_an_export_that_is_stopped_anywhere_goes_on_and_has_the_same_lines(
    stops: list[int], torn: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = Clinic()
    whole, parts = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    export(world, whole).run()
    done = False
    for rounds in stops:
        left = iter(range(rounds))
        done = export(world, parts, page=2).run(stop=lambda left=left: next(left, None) is None).done
        if done:
            break
        for path in parts.glob("*.jsonl"):
            with path.open("ab") as file:
                file.write(torn)  # What was written and not told of when the process died.
            state = json.loads((parts / STATE).read_text())
            if state["entities"].get(path.stem, {}).get("done"):
                with path.open("r+b") as file:
                    file.truncate(state["entities"][path.stem]["bytes"])
    assert done or export(world, parts, page=2).run().done
    assert sorted(lines_of(parts)) == sorted(lines_of(whole))


def test_a_finished_export_is_not_taken_for_one_of_now(tmp_path: Path) -> None:
    """Records that were made since would be missing, and nothing would say so."""
    world = Clinic()
    assert export(world, tmp_path).run().done
    before = lines_of(tmp_path)
    with pytest.raises(ConfigurationError, match=r"^DIR: .* holds a finished export\. Fix: give another folder"):
        export(world, tmp_path).run()
    assert lines_of(tmp_path) == before


def test_an_export_that_was_killed_between_two_entities_is_not_finished_for_any_of_them(tmp_path: Path) -> None:
    """Neither for an import, nor for an export of what it has already."""
    world = Clinic()
    first, second, third, *_ = world.schema.entities.values()
    parts = world.new_store(world.table).parts

    def kill(report: ExportReport) -> None:
        if report.lines.get(second.token):
            raise Crashed

    with pytest.raises(Crashed):
        Export(parts, [first, second, third], tmp_path).run(kill)
    saved = json.loads((tmp_path / STATE).read_text())["entities"]
    assert {token for token, own in saved.items() if own.get("done")} == {first.token}
    with pytest.raises(ConfigurationError, match=f"^{second.token}: .* holds an export that is not finished"):
        check_whole(tmp_path)
    told = f"^DIR: the export in .* has {first.token} already, but not {second.token}, {third.token}. Fix: continue it"
    with pytest.raises(ConfigurationError, match=told):
        Export(parts, [first], tmp_path).run()
    assert Export(parts, [first, second, third], tmp_path).run().done
    check_whole(tmp_path)
    with pytest.raises(ConfigurationError, match="holds a finished export"):
        Export(parts, [first], tmp_path).run()


def test_an_export_of_one_more_entity_is_not_finished_before_it_has_that_one(tmp_path: Path) -> None:
    world = Clinic()
    first, second, *_ = world.schema.entities.values()
    parts = world.new_store(world.table).parts
    assert Export(parts, [first], tmp_path).run().done
    check_whole(tmp_path)
    dying = World(schema=world.schema, table=SimulatedTable(world.inner, Script(Crash())))
    with pytest.raises(Crashed):
        Export(dying.new_store(dying.table).parts, [second], tmp_path).run()
    with pytest.raises(ConfigurationError, match=f"^{second.token}: .*not finished"):
        check_whole(tmp_path)
    assert Export(parts, [second], tmp_path).run().done
    check_whole(tmp_path)


def test_dynamodb_s_own_export_is_read_and_what_is_no_record_passed_over(tmp_path: Path) -> None:
    world = Clinic()
    path = tmp_path / "data.json.gz"
    with gzip.open(path, "wb") as file:
        for item in world.items():
            file.write(json.dumps({"Item": to_attribute_values(item)}).encode() + b"\n")
    other = another(world)
    with gzip.open(path) as file:
        outcome = bring(other, list(file))
    assert (outcome.written, outcome.refused) == (len(records(world)), 0)
    assert outcome.passed + outcome.counters == len(world.items()) - len(records(world))
    assert records(other) == records(world)
    assert other.store.create({"issueId": "new", "projectId": "p0"}, Issue).num == 4


@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[]\n",
        b'{"entity": "customer"}\n',
        b'{"entity": "nobody", "Item": {}}\n',
        b'{"entity": "customer", "Item": {"customerId": {"X": "1"}}}\n',
        b'{"entity": "customer", "Item": {"customerId": {"S": "c"}, "created": {"S": "soon"}}}\n',
        b'{"entity": "customer", "Item": {}}\n',
        b'{"entity": "customer", "Item": {"customerId": {"S": "c"}, "created": {"N": "99999999999999"}}}\n',
    ],
)
def test_a_line_that_is_none_is_refused_with_its_number_and_the_others_come_in(line: bytes, tmp_path: Path) -> None:
    world = Clinic()
    export(world, tmp_path).run()
    other = another(world)
    outcome = bring(other, [line, *lines_of(tmp_path)])
    assert outcome.refused == 1
    assert outcome.examples[0].number == 1
    assert records(other) == records(world)


def test_what_expired_is_neither_exported_nor_imported(tmp_path: Path) -> None:
    world = Clinic()
    world.store.update(Customer, "c1", {"expires": world.clock.now // 1000 + 10})
    export(world, tmp_path / "before").run()
    world.clock.now += 20_000
    export(world, tmp_path / "after").run()
    assert len(lines_of(tmp_path / "before")) == len(lines_of(tmp_path / "after")) + 1
    other = another(world)
    bring(other, lines_of(tmp_path / "before"))
    assert other.store.get(Customer, "c1") is None


def test_only_some_entities_are_exported_where_they_are_named(tmp_path: Path) -> None:
    world = Clinic()
    parts = world.new_store(world.inner).parts
    report = Export(parts, [SCHEMA[Project]], tmp_path).run()
    assert report.lines == {"project": 2}
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["project.jsonl"]


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigurationError, match="something else"):
        export(Clinic(), tmp_path).run()
    (tmp_path / STATE).write_text("{}")
    with pytest.raises(ConfigurationError, match="another version"):
        export(Clinic(), tmp_path).run()


class Worker(Entity, token="worker"):
    """Somebody of whom much is not shown, with values of every kind."""

    worker_id: str = unique_property()
    pay: Decimal | None = private_property(default=None)
    photo: bytes = b""
    roles: set[str] = private_property(default_factory=set)
    notes: dict[str, Any] = private_property(default_factory=dict)


WORKERS = Schema([Worker])


def test_private_properties_and_attributes_of_others_come_along(tmp_path: Path) -> None:
    world = World(schema=WORKERS)
    world.store.create(
        Worker(
            worker_id="w",
            pay=Decimal("5.50"),
            photo=b"\xff\x00",
            roles={"a", "b"},
            notes={"deep": [1, None, {"x": b"y"}]},
        )
    )
    world.written_behind(Worker, legacy={"of": {b"another"}})
    export(world, tmp_path).run()
    other = World(schema=WORKERS)
    assert bring(other, lines_of(tmp_path)).written == 1
    assert other.items_of(Worker) == world.items_of(Worker)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.integers(-(10**30), 10**30)
    | st.decimals(-1000, 1000, places=3)
    | st.sets(st.text(max_size=4), min_size=1, max_size=3)
    | st.sets(st.binary(max_size=4), min_size=1, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(extra=st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3))
def test_a_line_is_read_as_the_item_that_it_was_written_of(extra: dict[str, Any]) -> None:
    entity, generated = WORKERS[Worker], generated_names(WORKERS)
    stored = from_attribute_values(to_attribute_values({"workerId": "w", "rev": "r", **extra}))
    line = read_line(WORKERS, generated, record_line(entity, stored, generated))
    assert isinstance(line, RecordLine)
    assert {**line.item, **line.extra} == stored


def test_a_counter_is_read_as_what_a_sequence_gave_last() -> None:
    line = b'{"Item":{"hashKey":{"S":"issue.num+!00"},"rangeKey":{"S":"projectId#p!20 1"},"_last":{"N":"7"}}}'
    found = read_line(SCHEMA, generated_names(SCHEMA), line.replace(b"p!20 1", b"p!201"))
    assert isinstance(found, SequenceLine)
    assert (found.scope, found.last) == ({"projectId": "p 1"}, 7)


def test_the_commands(tmp_path: Path) -> None:
    one, two, out = (str(tmp_path / name) for name in ("one", "two", "out"))
    user = {"userId": "u1", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b", "phone": "1"}
    assert shardweave("load", "--entity", "user", "--data", one, "-", given=json.dumps(user)).code == 0
    outcome = shardweave("export", out, "--data", one)
    assert (outcome.code, outcome.errors) == (0, "user: 1 line\nemail: 0 lines\n")
    now = int(time.time() * 1000)  # Which is when the record was loaded.
    outcome = shardweave("import", out, "--data", two, now=now)
    assert (outcome.code, outcome.errors) == (
        0,
        "1 record written, 0 there already, 0 kept as stored, 0 lines refused, 0 passed over\n",
    )
    assert shardweave("import", out, "--data", two, now=now).errors.startswith("0 records written, 1 there already")
    assert shardweave("doctor", "--data", two).code == 0
    user["phone"] = "2"
    assert shardweave("load", "--entity", "user", "--data", two, "-", given=json.dumps(user)).code == 0
    assert shardweave("import", out, "--data", two, now=now).code == 1
    assert shardweave("import", str(tmp_path / "nowhere"), "--data", two).code == 2


SHARDS = [ShardBump(0, char_bits=1, chars=3)]


class Wider(Worker, token="worker", shard_bumps=SHARDS):
    """The same in another shard space."""


def test_a_table_of_another_shard_space_takes_the_records(tmp_path: Path) -> None:
    world = World(schema=WORKERS)
    for number in range(20):
        world.store.create(Worker(worker_id=f"w{number}", pay=Decimal(number)))
    export(world, tmp_path).run()
    other = World(schema=Schema([Wider]))
    assert bring(other, lines_of(tmp_path)).written == 20
    assert is_clean(other)
    assert {item["hashKey"] for item in other.items_of(Wider)} > {"worker!000"}
