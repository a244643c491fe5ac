"""A rekey of records that expire: what expired before it was brought in does not stay as it was."""

from __future__ import annotations

import pytest

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from tests.unit.rekey_world import NOW, RekeyWorld

HAND_MADE = {
    "hashKey": "PK",
    "rangeKey": "SK",
    "entities": {"pass": {"attributes": {"PK": "PASS#${passId}", "SK": "PASS"}}},
}


class Pass(Entity, token="pass"):
    """Expires, or does not."""

    pass_id: str = unique_property()
    holder: str
    until: int | None = ttl_property(default=None)


def world() -> RekeyWorld:
    """Two passes, brought in while both programs write."""
    made = RekeyWorld(Schema([Pass], hash_key="PK", range_key="SK"), HAND_MADE, token="pass")
    for name in ("a", "b"):
        made.put({"PK": f"PASS#{name}", "SK": "PASS", "passId": name, "holder": "ann"})
    made.rekey().start()
    made.run()
    made.rekey().switch()
    return made


def expire(made: RekeyWorld) -> None:
    """The old program lets a pass end, and its time comes before a run has brought that in."""
    made.change({"passId": "a", "PK": "PASS#a", "SK": "PASS"}, holder="bob", until=NOW // 1000 + 5)
    made.now += 60_000


@pytest.mark.parametrize("removed", [False, True], ids=["still there", "removed by the table"])
def test_a_record_ends_with_its_old_item(removed: bool) -> None:
    made = world()
    expire(made)
    if removed:
        made.remove({"PK": "PASS#a", "SK": "PASS"})
    assert made.run().passes["sweep"].removed == 1
    assert made.run().passes["verify"].differing == 0
    assert [each["passId"] for each in made.records()] == ["b"]
