"""Declarations evolve while programs of the old and of the new one write: random histories, checked to the last answer.

What a history is, and what is checked in it, is in `tests/simulator/evolution.py`. Among 50 histories in a row each row
of what changes meets each of the ways. Fifty run by default, five hundred with SHARDWEAVE_LONG_SEARCHES=1, and as many
as are said: `./run test tests/integration/test_evolution_histories.py --histories 20000`; `--first-history N` begins at
another seed. A failure names its seed, and that is the whole history.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from shardweave.errors import ShardweaveError
from shardweave.maintenance.rekeying import Rekey
from shardweave.reshard.coordinator import Seen
from shardweave.reshard.rekey_states import FINISH, PURGE
from tests.simulator.evolution import Parts, Told, run
from tests.simulator.evolving import ELSEWHERE, EXPIRING, FAMILY, PLOTS, ROWS, SHAPES
from tests.simulator.played import Played, folder_of_run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played[Told]:
    """Plays histories, each once."""
    return Played(folder_of_run(tmp_path_factory) / "evolutions", run)


def test_histories(histories: range, played: Played[Told]) -> None:
    for seed in histories:
        try:
            played(seed)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error


@pytest.fixture(scope="module")
def told(played: Played[Told]) -> list[Told]:
    """A history of each row and way."""
    return [played(seed) for seed in range(len(ROWS) * len(PLOTS))]


def test_histories_in_a_row_meet_every_change_in_every_way(told: list[Told]) -> None:
    assert {(each.row, each.plot) for each in told} == set(product(ROWS, PLOTS))


def test_histories_meet_what_they_are_about(told: list[Told]) -> None:
    writes: Counter[str] = sum((each.writes for each in told), Counter())
    assert writes["thing"] > 10 * len(told)
    assert writes["thing2"] > 10 * len(told)
    elsewhere = [each for each in told if each.plot.startswith(ELSEWHERE)]
    assert sum(each.dual for each in told) > 5 * (len(told) - len(elsewhere)), "both wrote at once"
    assert sum(each.reads for each in told) > 3 * len(told)
    assert sum(each.followed for each in told) > len(told) // 2
    assert sum(each.conflicts for each in told) > len(told) // 4
    assert sum(each.crashes for each in told) > len(told) // 2
    assert sum(each.held for each in told) > len(told) // 4, "a run was stopped between reading and writing"
    assert sum(each.fenced for each in told) > len(told) // 12, "and had to write nothing any more"
    assert sum(each.fenced for each in elsewhere) > len(elsewhere) // 12, (
        "also where the old items have their own table"
    )
    assert sum(each.writes["thing2"] for each in elsewhere) > 10 * len(elsewhere)
    owned = [each for each in told if each.owned]
    assert len(told) // 4 < len(owned) < len(told), "with lookups and numbers, and without"
    beside = [each for each in owned if each not in elsewhere]
    assert sum(each.taken for each in beside) > len(beside) // 4, "values that another record had"


def test_histories_meet_records_that_expire_and_records_with_parents(told: list[Told]) -> None:
    shapes = Counter(each.shape for each in told)
    assert set(shapes) == set(SHAPES)
    assert min(shapes.values()) > len(told) // 8
    done: Counter[str] = sum((each.done for each in told), Counter())
    assert done["expired"] > shapes[EXPIRING], "while both declarations are in use"
    assert done["removed by TTL"] > shapes[EXPIRING]
    assert done["boxes dropped"] > shapes[FAMILY]
    assert done["boxes kept"] > shapes[FAMILY], "since there are things in them"
    assert done["boxes made"] > shapes[FAMILY]


def test_the_same_seed_is_the_same_history() -> None:
    assert run(7) == run(7)


class Hurried(Rekey):
    """Writes the records alone before every process repeats its writes without looking at the old items."""

    def _pass_on(self, state: str) -> None:
        super()._pass_on(state)
        if state == FINISH:
            super()._pass_on(PURGE)


MISSING = {
    "the state in which old items only follow": (134, Parts(rekey=Hurried)),
    "the condition that an old item is as the record was": (0, Parts(form=lambda form: form.trailing)),
}
"""From which history on one is looked for that goes wrong, and the parts without the guard."""
COUNTING: dict[str, Any] = {
    "row": "token",
    "plot": "finished",
    "kinds": ("raise_counter",),
    "pausing": False,
    "shape": "plain",
}


def first_wrong(setting: dict[str, Any], parts: Parts, wrong: str = "", first: int = 0) -> int:
    """The first history from one on that goes wrong with these parts, as said."""
    for seed in range(first, first + 2000):
        try:
            run(seed, **setting, parts=parts)
        except (AssertionError, ShardweaveError) as error:
            if wrong in str(error):
                return seed
    raise AssertionError("no history shows it")


@pytest.mark.parametrize("guard", MISSING)
def test_a_history_shows_that_a_guard_is_missing(guard: str) -> None:
    first, parts = MISSING[guard]
    run(first_wrong(COUNTING, parts, "the counter is", first), **COUNTING)


class Unfenced(Rekey):
    """Also writes when another run has begun, or the state has been changed."""

    def _took_over(self, seen: Seen) -> Seen:
        return seen


LATE = (
    ("hash", "taken back"),
    ("partition and sort", "taken back and finished"),
    ("shard_by", "from another table, taken back"),
    ("token", "from another table, at the second try"),
)
"""Of evolutions, those in which a run without a fence brings back what was removed."""


@pytest.mark.parametrize(("row", "plot"), LATE)
def test_histories_show_that_the_fence_of_a_run_is_missing(row: str, plot: str) -> None:
    setting: dict[str, Any] = {"row": row, "plot": plot, "pausing": True, "shape": "plain"}
    run(first_wrong(setting, Parts(rekey=Unfenced)), **setting)
