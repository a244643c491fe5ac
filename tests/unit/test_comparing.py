"""Two sources compared record by record: what differs is told, what is only being written is not."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ConfigurationError, ShardweaveError
from shardweave.maintenance.comparing import CompareReport, Comparison, ExportedRecords, OldItems, TableRecords, digests
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.table import Table
from shardweave.table.operations import Operation
from tests.unit.cli_world import shardweave
from tests.unit.doctor_world import Clinic
from tests.unit.rekey_world import HAND_MADE, Member, RekeyWorld, by_hand, member_schema
from tests.unit.shop_world import Customer, Mailbox, shop
from tests.unit.store_world import World


def records(world: World, name: str = "a", page: int = 100) -> TableRecords:
    return TableRecords(world.new_store(world.table).parts, list(world.schema.entities.values()), name, page=page)


def exported(world: World, folder: Path) -> ExportedRecords:
    entities = list(world.schema.entities.values())
    Export(world.new_store(world.table).parts, entities, folder).run()
    return ExportedRecords(world.schema, entities, folder, world.clock.now)


def copied(world: World, folder: Path) -> World:
    """Another table with the same records, imported."""
    exported(world, folder)
    other = shop()
    other.clock.now = world.clock.now
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]
    Import(other.new_store(other.table).parts, other.clock).run(lines)
    return other


def compared(first: Any, second: Any, folder: Path) -> CompareReport:
    return Comparison(first, second, folder / "state").run()


def test_equal_tables_and_exports_are_equal(tmp_path: Path) -> None:
    world = Clinic()
    other = copied(world, tmp_path / "export")
    for name, second in (
        ("table", records(other, "b")),
        (
            "export",
            ExportedRecords(world.schema, list(world.schema.entities.values()), tmp_path / "export", world.clock.now),
        ),
    ):
        (tmp_path / f"state {name}").mkdir()
        report = compared(records(world), second, tmp_path / f"state {name}")
        assert report.done
        assert report.is_equal
        assert report.equal == report.read[0] == report.read[1] > 15


def test_what_differs_is_named_without_values(tmp_path: Path) -> None:
    world = Clinic()
    other = copied(world, tmp_path)
    other.store.update(Customer, "c1", {"city": "York", "name": "secret"})
    other.store.delete(Mailbox, "A1")
    other.store.create({"customerId": "new", "phone": "99"}, Customer)
    report = compared(records(world), records(other, "b"), tmp_path)
    assert (report.differing, report.only_first, report.only_second) == (1, 1, 1)
    assert not report.is_equal
    told = {(each.entity, each.identity[next(iter(each.identity))], each.only): each.names for each in report.examples}
    assert {"city", "name"} <= set(told["customer", "c1", 0])
    assert ("mailbox", "A1", 1) in told
    assert ("customer", "new", 2) in told
    assert "secret" not in str(report)
    assert b"secret" not in (tmp_path / "state").read_bytes()


def test_a_record_that_can_not_be_read_makes_sources_unequal(tmp_path: Path) -> None:
    world = Clinic()
    second = exported(world, tmp_path)
    (tmp_path / "customer.jsonl").open("ab").write(b"{\n")
    report = compared(records(world), second, tmp_path)
    assert report.unreadable == (0, 1)
    assert not report.is_equal


class WritingBetween:
    """A table whose records are changed, in both tables alike, while the comparison reads."""

    def __init__(self, table: Table, write: Any) -> None:
        self._table, self._write = table, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def run(self, operation: Operation[Any], **options: Any) -> Any:
        self._write()
        return self._table.run(operation, **options)


def test_what_is_written_to_both_while_they_are_read_is_no_difference(tmp_path: Path) -> None:
    world = Clinic()
    other = copied(world, tmp_path)
    drawn, left = random.Random(1), iter(range(12))

    def write() -> None:
        if next(left, None) is not None:
            number = drawn.randrange(8)
            for each in (world, other):
                with suppress(ShardweaveError):
                    each.store.update(Customer, f"c{number}", {"city": str(number)})
                    each.store.update(Customer, f"c{number}", {"name": "n"})

    first = TableRecords(
        world.new_store(WritingBetween(world.table, write)).parts, list(world.schema.entities.values()), "a", page=3
    )
    report = compared(first, records(other, "b"), tmp_path)
    assert report.is_equal, report
    assert next(left, None) is None, "all of it was written meanwhile"


@pytest.mark.parametrize("rounds", range(0, 12, 2))
def test_a_comparison_that_is_stopped_anywhere_goes_on_and_says_the_same(rounds: int, tmp_path: Path) -> None:
    world = Clinic()
    other = copied(world, tmp_path)
    other.store.update(Customer, "c1", {"city": "York"})
    left = iter(range(rounds))
    state = tmp_path / "state"
    first = Comparison(records(world, page=2), records(other, "b", page=2), state)
    first.run(stop=lambda: next(left, None) is None)
    report = Comparison(records(world, page=2), records(other, "b", page=2), state).run()
    assert report.done
    assert (report.differing, report.read[0], report.read[1]) == (1, report.read[1], report.read[0])
    assert report.equal == report.read[0] - 1


def test_a_state_of_another_comparison_is_refused(tmp_path: Path) -> None:
    world = Clinic()
    compared(records(world), records(world, "b"), tmp_path)
    with pytest.raises(ConfigurationError, match="another comparison"):
        compared(records(world), records(world, "c"), tmp_path)
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "state").write_text("not a database")
    with pytest.raises(ConfigurationError, match="can't be used"):
        compared(records(world), records(world, "b"), tmp_path / "no")


def test_old_items_beside_their_records(tmp_path: Path) -> None:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(9):
        made.put(by_hand(number))
    made.rekey().start()
    made.run()
    parts = made.new_store(bringing=True).parts
    olds, own = OldItems(parts, [made.form], page=2), TableRecords(parts, [made.entity], "t", page=2)
    (tmp_path / "a").mkdir()
    assert compared(olds, own, tmp_path / "a").is_equal
    made.change(by_hand(1), mail="x@y")
    made.remove(by_hand(2))
    made.put(by_hand(40))
    report = compared(olds, own, tmp_path)
    assert (report.differing, report.only_first, report.only_second) == (1, 1, 1)
    assert [each.names for each in report.examples if each.names] == [("email",)]
    assert Member is made.entity.model


@given(st.lists(st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.binary()), max_size=4))
def test_digests_are_equal_for_equal_values_alone(values: list[Any]) -> None:
    assert digests({"a": values}) == digests({"a": list(values)})
    assert digests({"a": values}) != digests({"a": [*values, 0]})


def test_digests_of_numbers_are_those_of_their_values() -> None:
    assert digests({"a": Decimal("1.50")}) == digests({"a": Decimal("1.5")})
    assert digests({"a": 100}) == digests({"a": Decimal("1E2")})
    assert digests({"a": 1}) != digests({"a": True})
    assert digests({"a": "1"}) != digests({"a": 1})


# -- the command ------------------------------------------------------------------------------------------------------

USERS = [{"userId": f"u{n}", "firstName": "Ann", "lastName": "Lee", "beneficiaryId": "b"} for n in range(4)]


def loaded(folder: Path) -> Path:
    text = "\n".join(map(json.dumps, USERS))
    assert shardweave("load", "--entity", "user", "--data", str(folder), "-", given=text).code == 0
    return folder


def test_the_command_ends_with_0_if_nothing_differs_and_with_1_if_something_does(tmp_path: Path) -> None:
    folder, state = loaded(tmp_path / "a"), str(tmp_path / "state")
    assert shardweave("export", str(tmp_path / "out"), "--data", str(folder)).code == 0
    same = shardweave("compare", "--data", str(folder), "--with-export", str(tmp_path / "out"), "--state", state)
    assert same.code == 0
    assert same.output.endswith("4 and 4 records: 4 equal, 0 differ, 0 only in the first, 0 only in the second\n")
    lines = (tmp_path / "out" / "user.jsonl").read_text().splitlines()
    (tmp_path / "out" / "user.jsonl").write_text("\n".join([lines[0].replace("Ann", "Eve"), *lines[2:]]) + "\n")
    differs = shardweave("compare", "--data", str(folder), "--with-export", str(tmp_path / "out"), "--json")
    assert differs.code == 1
    (document,) = differs.lines
    assert (document["equal"], document["differing"], document["onlyFirst"]) == (2, 1, 1)
    assert "Eve" not in differs.output
    other = loaded(tmp_path / "b")
    assert shardweave("compare", "--data", str(folder), "--with-data", str(other), "--entity", "user").code == 1, (
        "the times differ"
    )


def test_the_command_needs_two_sources(tmp_path: Path) -> None:
    folder = loaded(tmp_path)
    with pytest.raises(SystemExit):
        shardweave("compare", "--data", str(folder))
    for options in (("--with-export", str(tmp_path / "none")), ("--with-data", str(tmp_path / "none"))):
        outcome = shardweave("compare", "--data", str(folder), *options)
        assert outcome.code == 2, options
        assert not (tmp_path / "none").exists()


def test_a_comparison_that_has_ended_begins_anew_with_its_state(tmp_path: Path) -> None:
    one, two, state = tmp_path / "a", tmp_path / "b", str(tmp_path / "state")
    text = json.dumps({**USERS[0], "created": 5 * 10**11, "updated": 5 * 10**11})
    assert shardweave("load", "--entity", "user", "--data", str(one), "-", given=text).code == 0
    assert shardweave("backup", str(two), "--data", str(one)).code == 0
    command = ("compare", "--data", str(one), "--with-data", str(two), "--state", state)
    assert shardweave(*command).code == 0
    more = json.dumps({**USERS[0], "userId": "more"})
    assert shardweave("load", "--entity", "user", "--data", str(two), "-", given=more).code == 0
    outcome = shardweave(*command)
    assert outcome.code == 1
    assert "user more: only in the second" in outcome.output


def test_a_state_is_of_the_entities_that_it_was_begun_with(tmp_path: Path) -> None:
    one, state = loaded(tmp_path / "a"), str(tmp_path / "state")
    command = ("compare", "--data", str(one), "--with-data", str(one), "--state", state)
    assert shardweave(*command, "--entity", "email").code == 0
    outcome = shardweave(*command)
    assert outcome.code == 2
    assert "is of another comparison" in outcome.errors


def test_a_line_that_can_not_be_read_is_named_by_its_place(tmp_path: Path) -> None:
    folder, out = loaded(tmp_path / "a"), tmp_path / "out"
    assert shardweave("export", str(out), "--data", str(folder)).code == 0
    size = (out / "user.jsonl").stat().st_size
    with (out / "user.jsonl").open("ab") as file:
        file.write(b'\n{"entity":"user","It')
    outcome = shardweave("compare", "--data", str(folder), "--with-export", str(out))
    assert outcome.code == 1
    assert outcome.output.startswith(f"user.jsonl {size + 1}: can't be read in the second\n")
    (document,) = shardweave("compare", "--data", str(folder), "--with-export", str(out), "--json").lines
    assert document["unreadable"] == [0, 1]
    (named,) = document["named"]
    assert (named["identity"], named["unreadableIn"]) == ({"file": "user.jsonl", "position": str(size + 1)}, 2)


def test_a_folder_without_an_export_is_no_empty_export(tmp_path: Path) -> None:
    folder = loaded(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    outcome = shardweave("compare", "--data", str(folder), "--with-export", str(tmp_path / "empty"))
    assert outcome.code == 2
    assert outcome.errors.startswith("error: --with-export: ")
    outcome = shardweave("compare", "--data", str(folder), "--with-data", str(tmp_path / "none"))
    assert outcome.errors.startswith("error: --with-data: ")


def test_tables_of_which_everything_differs_are_told_in_a_short_report(tmp_path: Path) -> None:
    texts = ["\n".join(json.dumps({**USERS[0], "userId": f"{side}{n}"}) for n in range(300)) for side in "ab"]
    for side, text in zip("ab", texts, strict=True):
        assert shardweave("load", "--entity", "user", "--data", str(tmp_path / side), "-", given=text).code == 0
    outcome = shardweave("compare", "--data", str(tmp_path / "a"), "--with-data", str(tmp_path / "b"))
    assert outcome.code == 1
    lines = outcome.output.splitlines()
    assert len(lines) == 52
    assert lines[50] == "and 550 more"
    assert lines[51].endswith("0 equal, 0 differ, 300 only in the first, 300 only in the second")
