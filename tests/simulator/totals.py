"""The read model of a history: how many things each owner has, and the sum of their numbers."""

from __future__ import annotations

from typing import Any

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import ReadModel, Update


def totals_of(thing: type[Entity]) -> tuple[type[Entity], ReadModel]:
    """The entity that has the sums over these records, and the read model."""

    class Total(Entity, token="total"):
        """What an owner has."""

        owner: str = unique_property()
        things: int = 0
        numbers: int = 0

    def project(record: Any) -> list[Update]:
        return [Update(Total, record.owner, add={"things": 1, "numbers": record.number})]

    return Total, ReadModel("totals", records=(thing,), writes=(Total,), project=project)
