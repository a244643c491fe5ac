"""A rekey that begins after one that was taken back, while a run of that one is still under way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardweave.errors import Conflict
from tests.unit.rekey_world import WAITS
from tests.unit.test_rekey import RECORDS, world


def test_a_rekey_begins_when_no_run_of_the_one_before_can_be_under_way() -> None:
    made = world(waits=replace(WAITS, lease_ms=1000))
    made.rekey().start()
    made.run()
    made.rekey().abort()
    made.now += 1000
    late = made.rekey(page=2)
    ended: list[bool] = []

    def other_ends(report: object) -> None:
        if not ended:
            ended.append(True)
            assert made.run().state == ""

    with pytest.raises(Conflict, match="the state has been changed"):
        late.run(other_ends)
    with pytest.raises(Conflict, match="ended just now"):
        made.rekey().start()
    made.now += 1000
    made.rekey().start()
    assert made.run().passes["bring"].written == RECORDS
