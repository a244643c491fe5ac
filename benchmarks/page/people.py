"""People in shards, with the keys of the entity_manager format, so that both sides page over the same records."""

from __future__ import annotations

import random
from typing import Any

from shardweave.schema.schema import Schema

CREATED = 1_727_300_000_000
INDEX, RANGE_NAME = "firstName", "firstNameRangeKey"
BITS = {4: (2, 1), 16: (4, 1), 64: (3, 2)}
MORE_BITS = {256: (4, 2), 1024: (5, 2), 4096: (4, 3)}


def config(golden: dict[str, Any], shards: int) -> dict[str, Any]:
    """The golden configuration with so many shards for users from the beginning."""
    bits, chars = (BITS | MORE_BITS)[shards]
    bump = {"timestamp": 0, "charBits": bits, "chars": chars}
    entities = golden["entities"]
    return {**golden, "entities": {**entities, "user": {**entities["user"], "shardBumps": [bump]}}}


def people(schema: Schema, count: int) -> list[dict[str, Any]]:
    """So many users as they are stored, each with a first name of its own."""
    chooser = random.Random(5)
    names = ["".join(chooser.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(count)]
    entity = schema.entity("user")
    return [
        entity.complete(
            {
                "userId": "".join(chooser.choices("ABCDEFGHabcdefgh0123456789", k=21)),
                "beneficiaryId": "JCcwi4vyqwMJdaBwbjLG3",
                "created": CREATED + number,
                "updated": CREATED + number,
                "firstNameCanonical": name,
                "lastNameCanonical": name[::-1],
                "phone": f"1{number:010d}",
            }
        )
        for number, name in enumerate(names)
    ]
