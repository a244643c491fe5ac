"""Records move while they are written, read and walked through: random histories, each checked to its last answer.

What a history is, and what is checked in it, is in `tests/simulator`. Its indexes have the table's shards, or 1 to 64
of their own: among 64 histories in a row each pair of numbers is met once. Fifty run by default, five hundred with
SHARDWEAVE_LONG_SEARCHES=1, and as many as are said with `--histories 20000`; `--first-history N` begins at another
seed. A failure names its seed, and that is the whole history.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.phases import ReshardStep
from tests.simulator.client import Weather
from tests.simulator.clients import FIRST_KINDS
from tests.simulator.faulty_stores import (
    AppliesAgain,
    ForgetsKeys,
    ForgetsRevisions,
    ForgetsWork,
    LosesLookups,
    ReplacesSets,
    ShowsLess,
    TellsNothingOfBefore,
    TurnsLists,
)
from tests.simulator.history import OWN_SHARDS, TABLE_SHARDS, WAITS, Setting, Told, index_shards, run, setting_of
from tests.simulator.hosting import HOSTING_KINDS
from tests.simulator.movers import Plot
from tests.simulator.numberers import NUMBERED_KINDS
from tests.simulator.parts import EveryMarkIsKnown, Parts, WithoutConditions, without
from tests.simulator.played import Played, folder_of_run
from tests.simulator.revising import WAYS
from tests.simulator.tallying import TALLYING_KINDS
from tests.simulator.writers import EVERY_KIND, EVERY_TAGGED_KIND

THERE = Plot("start", ShardBump(0, 1, 2))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played[Told]:
    """Plays histories, each in the setting of its number, and each once."""
    return Played(folder_of_run(tmp_path_factory) / "reshards", lambda seed: run(seed, setting_of(seed)))


def test_histories(histories: range, played: Played[Told]) -> None:
    for seed in histories:
        try:
            played(seed)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error


PLAIN, TAGGED, FAMILY, NUMBERED, SUMMED = range(5)
FLOORS = {
    (EVERY_KIND, 12): PLAIN,
    (EVERY_TAGGED_KIND, 12): TAGGED,
    (HOSTING_KINDS, 12): FAMILY,
    (NUMBERED_KINDS, 12): NUMBERED,
    (TALLYING_KINDS, 12): SUMMED,
    (("misplacements refused, by 1", "misplacements refused, by 3"), 6): PLAIN,
    (("items that expired",), 60): PLAIN,
    (("copies that expired alone",), 10): PLAIN,
    (("writes where a record had expired",), 8): PLAIN,
    (("writes where a record had expired",), 15): SUMMED,
    (("things listed by size",), 60): TAGGED,
    (("pages of things by size",), 100): TAGGED,
    (("things rewritten",), 100): TAGGED,
    (("rewrites that stopped",), 3): TAGGED,
    (("too many at once",), 6): PLAIN,
    (("changes at their rev",), 15): PLAIN,
    (("changes refused at an old rev",), 5): PLAIN,
    (tuple(f"{way} at its rev" for way in WAYS), 2): FAMILY,
    (("changes refused at an old rev",), 10): FAMILY,
    (("answered by what another sent", "senders that died", "work_once"), 15): PLAIN,
    (("made once under a key",), 12): PLAIN,
    (("answers before all was to be seen",), 1): PLAIN,
    (("answers of one that died", "work that was begun again"), 1): PLAIN,
    (("examinations",), 30): PLAIN,
    (("other requests under a key refused",), 3): PLAIN,
    (("answered by what another sent", "made once under a key"), 12): NUMBERED,
    (("what was there",), 12): PLAIN,
    (("whether it was made",), 6): PLAIN,
    (("what was there", "whether it was made"), 6): NUMBERED,
    (("lookups filled",), 18): TAGGED,
    (("things filled",), 60): TAGGED,
    (("fillings while things moved",), 4): TAGGED,
    (("examinations",), 6): TAGGED,
    (("examinations", "items examined"), 30): FAMILY,
    (("things with parts that went",), 30): FAMILY,
    (("deletions of many that ended",), 12): FAMILY,
    (("deletions that went on elsewhere",), 3): FAMILY,
    (("deletions whose process died",), 20): FAMILY,
    (("guests that changed over",), 5): FAMILY,
    (("guests that left",), 10): FAMILY,
    (("guests listed", "guests listed by id"), 25): FAMILY,
    (("things made and numbered", "numbers kept", "upserts that made", "upserts that changed"), 60): NUMBERED,
    (("codes that were taken",), 10): NUMBERED,
    (("codes exchanged",), 2): NUMBERED,
    (("events told again", "events with a thing"), 20): SUMMED,
    (
        ("INSERT", "MODIFY", "REMOVE", "told again", "handled by two", "crash", "copy", "rebuilt", "recounted"),
        20,
    ): SUMMED,
    (("removed by a mover", "numbers reset with something in them", "owners with less than all"), 20): SUMMED,
    (("resets of what was seen",), 8): SUMMED,
    (("tallies reset with something in them",), 30): SUMMED,
}
"""How often, at least, operations are carried out in `COUNTED` histories, by the kind of these."""
COUNTED = range(165)


@pytest.fixture(scope="module")
def counted(played: Played[Told]) -> list[Counter[str]]:
    """What is carried out in some histories in a row, by their kind."""
    found = [Counter[str]() for _ in range(5)]
    for seed in COUNTED:
        told = played(seed)
        found[seed % 5].update(Counter(told.done) + Counter(told.fed))
    return found


@pytest.mark.parametrize(("names", "least"), FLOORS)
def test_histories_meet_every_operation(counted: list[Counter[str]], names: tuple[str, ...], least: int) -> None:
    met = counted[FLOORS[names, least]]
    assert {name: met[name] for name in names if met[name] < least} == {}


def test_histories_meet_transactions_of_a_hundred_and_parts_made_while_things_go() -> None:
    met = Counter[str]()
    for seed, kinds in ((seed, ("transact_many",)) for seed in range(0, 50, 5)):
        met.update(run(seed, replace(setting_of(seed), kinds=kinds, operations=6)).done)
    for seed in range(2, 100, 5):
        hurried = replace(setting_of(seed), kinds=("put", "delete", "add_part", "add_part", "add_part"), operations=60)
        met.update(run(seed, hurried).done)
    assert met["a hundred at once"] >= 3
    assert met["parts made while things went"] >= 3


LOST_WITHOUT_A_LOOK_AT_THE_MAP = (5034, 5063)
"""Histories in which a scan goes on when the copies that it reads are being removed."""


def test_scans_tell_what_is_there_all_the_time_once() -> None:
    told = [run(seed, Setting(scanners=1)) for seed in (*LOST_WITHOUT_A_LOOK_AT_THE_MAP, *range(4))]
    assert sum(each.scans for each in told) > 8


@pytest.mark.parametrize("first", [0, 7, 1000])
def test_histories_in_a_row_meet_every_number_of_shards_of_an_index(first: int) -> None:
    met = {index_shards(seed) for seed in range(first, first + len(OWN_SHARDS) ** 2)}
    assert met == set(product(OWN_SHARDS, repeat=2))


def test_the_same_seed_is_the_same_history() -> None:
    assert run(7) == run(7)


def test_histories_reach_every_phase_and_meet_conflicts() -> None:
    told = [run(seed, Setting(plots=(THERE,))) for seed in range(3)]
    assert {phase for each in told for phase in each.phases} >= {"dual_old", "dual_new", "new_only", "purge"}
    assert sum(each.conflicts for each in told) > 0
    assert all(each.walks > 0 and each.writes > 10 for each in told)


BROKEN = {
    "phases end while requests of the one before are accepted": (
        115,
        Setting(
            plots=(THERE,),
            waits=replace(WAITS, accepted_ms=20_000),
            weather=Weather(stall=0.4),
            shards=TABLE_SHARDS,
        ),
    ),
    "copies of the control record are used for longer than phases wait for": (
        286,
        Setting(plots=(THERE,), trusted=replace(WAITS, lease_ms=60_000), shards=TABLE_SHARDS),
    ),
}
"""What is broken, and from which history on one is looked for that shows it."""


@pytest.mark.parametrize("case", BROKEN)
def test_without_its_waits_the_protocol_breaks_and_histories_show_it(case: str) -> None:
    first, setting = BROKEN[case]
    assert any(_fails(seed, setting) for seed in range(first, first + 150))


HURRIED = Setting(plots=(THERE,), writers=6, operations=6, walkers=0, kinds=FIRST_KINDS, shards=TABLE_SHARDS)
STALLED = replace(HURRIED, weather=Weather(stall=0.5))
UNVERIFIED = without(ReshardStep.VERIFY)


@dataclass(frozen=True)
class Missing:
    """A guard that is taken away: the history that shows it, and the parts without it. Of guards that overlap, the
    other is missing in `setting` already."""

    seed: int
    setting: Setting
    parts: Parts


MISSING = {
    "mark": Missing(
        142,
        replace(STALLED, writers=3, operations=5, weather=Weather(stall=0.8), parts=Parts(tasks=UNVERIFIED)),
        Parts(EveryMarkIsKnown, tasks=UNVERIFIED),
    ),
    "verification": Missing(71, STALLED, Parts(tasks=UNVERIFIED)),
    "condition on content": Missing(
        185, replace(HURRIED, parts=Parts(tasks=UNVERIFIED)), Parts(carrier=WithoutConditions, tasks=UNVERIFIED)
    ),
}


@pytest.mark.parametrize("guard", MISSING)
def test_a_history_shows_that_a_guard_is_missing(guard: str) -> None:
    missing = MISSING[guard]
    run(missing.seed, missing.setting)
    assert _fails(missing.seed, replace(missing.setting, parts=missing.parts))


FAULTY = {
    "another revision is changed": (ForgetsRevisions, PLAIN, ("put", "change_at_rev", "change_at_old_rev")),
    "the counter is set in another revision": (ForgetsRevisions, PLAIN, ("raise_counter_at_rev",)),
    "a request under a key is carried out again": (ForgetsKeys, PLAIN, ("write_once", "write_again")),
    "work under a key is done again": (ForgetsWork, PLAIN, ("work_once", "write_again")),
    "an event is counted again": (AppliesAgain, SUMMED, ("note", "note_again", "reset_tally")),
    "a record loses its lookup records": (LosesLookups, TAGGED, ("put", "get")),
    "members replace a set": (ReplacesSets, TAGGED, ("put", "add_tags", "add_tags", "get", "get_all")),
    "nothing is told of what was there": (TellsNothingOfBefore, PLAIN, ("put", "put_back")),
    "a guest is not listed": (ShowsLess, FAMILY, ("seat_guest", "list_guests")),
    "guests are listed in another order": (TurnsLists, FAMILY, ("seat_guest", "list_known_guests")),
}
"""What a store does wrong, in which histories, and what writers do in these."""


@pytest.mark.parametrize("fault", FAULTY)
def test_histories_show_a_store_that_does_something_wrong(fault: str) -> None:
    store, kind, kinds = FAULTY[fault]
    settings = [(seed, replace(setting_of(seed), kinds=kinds)) for seed in range(kind, kind + 25, 5)]
    assert not any(_fails(*each) for each in settings)
    assert any(_fails(seed, replace(setting, parts=Parts(store=store))) for seed, setting in settings)


def _fails(seed: int, setting: Setting) -> bool:
    try:
        run(seed, setting)
    except AssertionError:
        return True
    return False
