"""The read models of a history: how many things each owner has with the sum of their numbers, and what was noted."""

from __future__ import annotations

from typing import Any, Literal

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import Event, ReadModel, Update


class Noted(Event):
    """Something that is noted of an owner. `amount` is another power of 4 in each event, so that a sum of them tells
    which were added, and how often."""

    type: Literal["Noted"] = "Noted"
    owner: str
    amount: int


def totals_of(thing: type[Entity]) -> tuple[tuple[type[Entity], type[Entity]], tuple[ReadModel, ReadModel]]:
    """The entities that have the sums over these records, and over events, and the read models."""

    class Total(Entity, token="total"):
        """What an owner has."""

        owner: str = unique_property()
        things: int = 0
        numbers: int = 0

    class Tally(Entity, token="tally"):
        """What is noted of an owner: the sum, and the id of the last event."""

        owner: str = unique_property()
        amount: int = 0
        last: str | None = None

    def project(record: Any) -> list[Update]:
        return [Update(Total, record.owner, add={"things": 1, "numbers": record.number})]

    def note(event: Any) -> list[Update]:
        return [Update(Tally, event.owner, {"last": event.event_id}, {"amount": event.amount})]

    totals = ReadModel("totals", records=(thing,), writes=(Total,), project=project)
    tallies = ReadModel("tallies", events=(Noted,), writes=(Tally,), project=note)
    return (Total, Tally), (totals, tallies)
