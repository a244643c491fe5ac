"""Computed fields of pydantic are shown; where a record comes back with them they are passed over, whatever it is."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import computed_field

from shardweave.cli.records import item_of, whole_record
from shardweave.errors import SchemaError
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.wire.record_models import RecordModels
from tests.unit.api_world import Client, api_of, json_of


class Room(Entity, token="room"):
    """A room with walls."""

    room_id: str = unique_property()
    width: int
    length: int

    @computed_field(description="Of the floor.")  # type: ignore[prop-decorator]
    @property
    def floor_area(self) -> int:
        """Width by length."""
        return self.width * self.length

    @computed_field(alias="around")  # type: ignore[prop-decorator]
    @property
    def walls(self) -> int:
        """The walls."""
        return 2 * (self.width + self.length)


SCHEMA = Schema([Room])
SHOWN = {"roomId": "r", "width": 3, "length": 4, "floorArea": 12, "around": 14}


@pytest.fixture
def client() -> Client:
    client = Client(api_of(SCHEMA))
    assert json_of(client.send("POST", "/v1/rooms", {"roomId": "r", "width": 3, "length": 4})) == SHOWN
    return client


@pytest.mark.parametrize("said", [{}, {"floorArea": 1}, {"floorArea": "x", "around": None}])
def test_a_record_that_was_read_goes_back(client: Client, said: dict[str, Any]) -> None:
    sent = {**SHOWN, **said}
    assert json_of(client.send("PUT", "/v1/rooms/r", sent)) == SHOWN
    assert json_of(client.send("PATCH", "/v1/rooms/r", sent)) == SHOWN
    assert client.send("POST", "/v1/rooms/batch-write", {"puts": [sent]}).status == 200
    assert json_of(client.get("/v1/rooms/r")) == SHOWN


def test_what_it_is_computed_from_changes_it(client: Client) -> None:
    assert json_of(client.send("PATCH", "/v1/rooms/r", {"width": 5, "floorArea": 1}))["floorArea"] == 20


def test_it_is_described_as_read_only() -> None:
    models = RecordModels(SCHEMA[Room])
    for form in (models.read, models.write, models.put, models.patch):
        properties = form.model_json_schema(mode="serialization" if form is models.read else "validation")["properties"]
        assert properties["floorArea"]["readOnly"] is True
        assert properties["floorArea"]["type"] == "integer"
        assert properties["floorArea"]["description"] == "Of the floor."
    assert "floorArea" in models.read.model_json_schema()["required"]
    assert "floorArea" not in models.write.model_json_schema()["required"]
    assert "floorArea" not in models.part.model_json_schema()["properties"]


def test_the_command_line_takes_back_what_it_wrote() -> None:
    entity = SCHEMA[Room]
    line = json.load(io.StringIO(json.dumps(SHOWN)))
    assert whole_record(entity, line) == {"roomId": "r", "width": 3, "length": 4}
    assert item_of(entity, line) == {"roomId": "r", "width": 3, "length": 4}


def test_a_computed_field_by_the_name_of_a_property_is_a_fault() -> None:
    class Shed(Entity, token="shed"):
        shed_id: str = unique_property()
        size: int

        @computed_field(alias="size")  # type: ignore[prop-decorator]
        @property
        def doubled(self) -> int:
            return 2 * self.size

    with pytest.raises(SchemaError, match=r"entity Shed\.doubled: it is shown as 'size', as the property size is"):
        Schema([Shed])


def test_a_computed_field_that_has_no_json_form_is_a_fault() -> None:
    class Shed(Entity, token="shed"):
        shed_id: str = unique_property()

        @computed_field  # type: ignore[prop-decorator]
        @property
        def made(self) -> Callable[[], int]:
            return int

    with pytest.raises(SchemaError, match=r"entity Shed\.made: what it returns has no JSON form"):
        Schema([Shed])
