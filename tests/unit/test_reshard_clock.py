"""What the status of a re-shard says of a clock that went back."""

from __future__ import annotations

import json

from shardweave.api.routes.reshard import document
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.admin import NOTICED_MS, ReshardAdmin
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import Note


def test_a_wait_that_is_longer_since_the_clock_went_back_is_told_until_it_has_caught_up() -> None:
    world = ReshardWorld()
    entity = world.schema[Note]
    operator = ReshardAdmin(world.inner, world.coordinator, world.waits, clock=world.clock)
    assert operator.start(entity, ShardBump(0, 2, 2)).waiting is None
    begun = world.clock.now
    for behind, told in ((0, False), (NOTICED_MS - 1, False), (NOTICED_MS, True), (3_600_000, True)):
        world.clock.now = begun - behind
        status = operator.status(entity)
        assert ("the clock went back" in (status.waiting or "")) == told
        assert ("waiting" in json.loads(document(status))) == told
        assert status.attention == "", "it goes on by itself"
    world.clock.now = begun + 1
    assert operator.status(entity).waiting is None
