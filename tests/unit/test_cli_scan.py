"""`shardweave scan`: every record as a line, from where the last run came to."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from shardweave.cli.console import Streams
from shardweave.cli.scan import SavedPosition, ScanWriter
from shardweave.cli.shown_records import ShownRecords
from shardweave.database.data_folder import DataFolder
from shardweave.keys.key_format import ORDERED
from shardweave.maintenance.scanning import RecordScan
from shardweave.maintenance.walk import LANES
from shardweave.service.files import named_service
from shardweave.service.loader import service_schema
from shardweave.store import Store
from tests.unit.cli_world import shardweave

SERVICE = """
import datetime as dt
from shardweave import Entity, Schema, private_property, unique_property

class Visit(Entity, token="visit", partition="guest", sort="day"):
    guest: str
    day: dt.date
    bill: int = private_property(default=7)

def schema(key_format):
    return Schema([Visit], key_format=key_format)
"""
COUNT = 40


@pytest.fixture(scope="module")
def hotel(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The arguments of a table with forty visits."""
    folder = tmp_path_factory.mktemp("hotel")
    service = folder / "scanned_hotel.py"
    service.write_text(SERVICE)
    name = named_service(str(service))
    schema = service_schema(name, ORDERED)
    table = DataFolder(folder / "data").open_table(schema, name, "ordered", create=True)
    store = Store(schema, table)
    for number in range(COUNT):
        store.create({"guest": f"g{number}", "day": "2025-01-01"}, schema["visit"].model)
    table.close()
    return "scan", "--entity", "visit", "--service", name, "--data", str(folder / "data")


def test_every_record_is_a_line_without_what_is_private(hotel: tuple[str, ...]) -> None:
    outcome = shardweave(*hotel)
    assert outcome.code == 0
    assert sorted(each["guest"] for each in outcome.lines) == sorted(f"g{number}" for number in range(COUNT))
    assert {tuple(each) for each in outcome.lines} == {("guest", "day")}
    assert "left out: the private properties bill (--private writes them)" in outcome.errors
    assert "visit: 40 records written" in outcome.errors
    private = shardweave(*hotel, "--private")
    assert {each["bill"] for each in private.lines} == {7}
    assert "left out" not in private.errors


def test_segments_have_a_part_each(hotel: tuple[str, ...]) -> None:
    parts = [shardweave(*hotel, "--segments", "3", "--segment", str(number)).lines for number in range(3)]
    assert len({each["guest"] for part in parts for each in part}) == sum(map(len, parts)) == COUNT


def test_a_position_is_gone_on_from_and_removed_at_the_end(hotel: tuple[str, ...], tmp_path: Path) -> None:
    place = tmp_path / "visits.position"
    first = shardweave(*hotel, "--position", str(place))
    assert len(first.lines) == COUNT
    assert list(tmp_path.iterdir()) == []


class Full:
    """A standard output that takes so many bytes, and no more."""

    def __init__(self, room: int) -> None:
        self.taken, self._room = b"", room

    def write(self, line: bytes) -> None:
        if len(self.taken) + len(line) > self._room:
            raise KeyboardInterrupt
        self.taken += line

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("room", [0, 100, 700, 1300])
def test_what_was_interrupted_goes_on_and_no_record_is_left_out(
    hotel: tuple[str, ...], tmp_path: Path, room: int
) -> None:
    """Of the page that was interrupted, the lines are written again; those of the pages before are not."""
    kept, output = SavedPosition(tmp_path / "visits.position"), Full(room)
    schema = service_schema(hotel[4], ORDERED)
    table = DataFolder(Path(hotel[6])).open_table(schema, hotel[4], "ordered", create=False)
    entity = schema.entity("visit")
    writer = ScanWriter(ShownRecords(entity), Streams(io.BytesIO(), output, io.StringIO()), kept)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        writer.all_of(RecordScan(Store(schema, table).parts, entity, page=1))
    table.close()
    first = [json.loads(line)["guest"] for line in output.taken.splitlines()]
    rest = [each["guest"] for each in shardweave(*hotel, "--position", str(kept.path)).lines]
    assert {*first, *rest} == {f"g{number}" for number in range(COUNT)}
    assert len(first) + len(rest) - COUNT < LANES
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "x", '{"scan":2}'])
def test_a_file_with_something_else_is_refused_and_stays(hotel: tuple[str, ...], tmp_path: Path, content: str) -> None:
    place = tmp_path / "visits.position"
    place.write_text(content)
    outcome = shardweave(*hotel, "--position", str(place))
    assert (outcome.code, outcome.output) == (2, "")
    assert "--position: must be the position of a scan. Fix: remove" in outcome.errors
    assert place.read_text() == content


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--segments", "0"), "--segments: must be a number from 1 to 1000"),
        (("--segment", "1"), "--segment: must be a number from 0 to one less than segments"),
        (("--rate", "-1"), "--rate: a rate is a number of records a second"),
        (("--entity", "room"), "--entity: there is no entity 'room'"),
        (("--position", "/"), "--position: / can't be used"),
    ],
)
def test_wrong_arguments_are_refused(hotel: tuple[str, ...], arguments: tuple[str, ...], said: str) -> None:
    outcome = shardweave(*hotel, *arguments)
    assert (outcome.code, outcome.output) == (2, "")
    assert said in outcome.errors
