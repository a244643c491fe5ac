"""The status of a rekey: what a run that was killed had done, whether somebody runs it, and what comes next."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from shardweave.cli.rekey import standing
from shardweave.maintenance.rekey_passes import PassCounts
from shardweave.maintenance.rekeying import SAVED_SECONDS, SILENT_MS, RekeyReport
from shardweave.maintenance.walk import LANES
from shardweave.store import RetryClock
from shardweave.table.fault_injection import Crashed
from shardweave.table.operations import Scan
from tests.unit.rekey_world import HAND_MADE, NOW, RekeyWorld, by_hand, member_schema

RECORDS = 120


class Killed:
    """A table whose process is killed when it reads a given number of pages."""

    def __init__(self, inner: Any, pages: int, *, read: Callable[[], object] = lambda: None) -> None:
        self._inner, self._left, self._read = inner, pages, read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, operation: Any, *, guard: Any = None) -> Any:
        if isinstance(operation, Scan):
            self._left -= 1
            self._read()
            if self._left < 0:
                raise Crashed("killed")
        return self._inner.run(operation, guard=guard)


@pytest.fixture(name="made")
def in_follow() -> RekeyWorld:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()
    return made


def killed(made: RekeyWorld, *, pages: int = 3 * LANES, **options: Any) -> RekeyReport:
    """The status after a run that ended at once with its process."""
    with pytest.raises(Crashed):
        made.rekey(table=Killed(made.inner, pages), page=2, workers=1, **options).run()
    return made.rekey().status()


def test_before_any_run_it_says_so(made: RekeyWorld) -> None:
    status = made.rekey().status()
    assert (status.run, status.saved_ms) == ("", 0)
    assert standing(status) == "member: follow: no run of this state has begun; next: `shardweave rekey run`"
    assert standing(RekeyReport("member", "")) == "member: nothing is being brought in"


def test_after_a_run_was_killed_it_says_what_that_had_done_and_what_goes_on(made: RekeyWorld) -> None:
    soon = killed(made)
    assert soon.run == "under way", "so soon nobody can know"
    assert "it last told of itself at 2025-10-09 08:53:20 UTC; if its process has ended" in standing(soon)
    made.now += SILENT_MS + 1
    status = made.rekey().status()
    assert (status.run, status.done, status.saved_ms) == ("stopped", False, NOW)
    assert 0 < status.passes["bring"].written <= len(made.records()) < RECORDS
    assert (status.document()["run"], status.document()["savedMs"]) == ("stopped", NOW)
    assert standing(status) == (
        "member: follow: nobody runs it now: it last told of itself at 2025-10-09 08:53:20 UTC; "
        "`shardweave rekey run` goes on where it came to"
    )
    report = made.run()
    assert (report.run, report.passes["bring"].read) == ("complete", RECORDS), "nothing is read twice"
    status = made.rekey().status()
    assert standing(status) == ("member: follow: the last run is complete; next: `shardweave rekey switch`, or `abort`")


def test_a_run_that_was_killed_before_it_did_anything_is_known_too(made: RekeyWorld) -> None:
    assert killed(made, pages=0).run == "under way"
    made.now += SILENT_MS + 1
    assert made.rekey().status().run == "stopped"
    assert made.run().passes["bring"].written == RECORDS


def test_a_run_that_was_asked_to_stop_is_known_to_have_stopped(made: RekeyWorld) -> None:
    report = made.rekey(page=1).run(stop=lambda: True)
    assert (report.run, report.done) == ("stopped", False)
    status = made.rekey().status()
    assert (status.run, status.passes) == ("stopped", report.passes)


def test_what_is_left_is_told_before_the_next_command(made: RekeyWorld) -> None:
    made.put(by_hand(500, mail=["no text"]))
    made.run()
    status = made.rekey().status()
    assert status.refused > 0
    told = "the last run is complete, and items were refused; next: correct the items that `passes` names, then "
    assert standing(status) == f"member: follow: {told}`shardweave rekey run`"
    left = RekeyReport("member", "dual", {"verify": PassCounts(read=9, differing=1)}, done=True, run="complete")
    assert "something is left (see `passes`); next: `shardweave rekey run`" in standing(left)


def test_results_of_the_state_before_are_of_no_run_of_this_one(made: RekeyWorld) -> None:
    made.run()
    made.rekey().switch()
    status = made.rekey().status()
    assert (status.run, "bring" in status.passes) == ("", True)
    made.run()
    assert "stop the other programs" in standing(made.rekey().status())


def test_a_slow_run_tells_of_itself_often(made: RekeyWorld) -> None:
    waited = [0.0]

    def sleep(seconds: float) -> None:
        waited[0] += seconds
        made.now += int(seconds * 1000)

    seen: list[float] = []
    made.waiting = RetryClock(sleep=sleep, monotonic=lambda: waited[0])
    made.rekey(rate=LANES).run(lambda report: seen.append(waited[0]))
    assert waited[0] >= RECORDS / LANES
    gaps = [after - before for before, after in pairwise(seen)]
    assert max(gaps) <= SAVED_SECONDS
