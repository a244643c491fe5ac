"""Re-shards of a running server, over HTTP, under a load of reads, page walks and writes.

`./run test integration -k reshard_http --reshard-users 20000` moves more users than the default; `./run bench reshard`
measures the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.local_server import LocalServer
from tests.integration.reshard_load import Load, Operating, Session, fill, waits_for
from tests.unit.cli_world import shardweave

FOUR = {"charBits": 2, "chars": 1}
SIXTEEN = {"charBits": 2, "chars": 2}
SIXTY_FOUR = {"charBits": 2, "chars": 3}
PAUSE_SECONDS = 0.08
"""Between two requests of one part of the load: most of the time goes by in waits, and walks are there to be met by a
phase that changes."""
FORWARD = ["dual_old", "dual_new", "new_only", "purge", "stable"]


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The ids of the users that are there before."""
    return tuple(f"kept-{number}" for number in range(request.config.getoption("--reshard-users")))


def went(seen: list[str], way: list[str]) -> bool:
    """Whether the phases that were seen are on the way, in its order, to its end. One that is over between two looks is
    not seen, and a slow machine looks seldom."""
    rest = iter(way)
    return all(phase in rest for phase in seen) and seen[-1:] == way[-1:]


def begin_and_take_back(
    operator: Operating,
    target: dict[str, int],
    phase: str,
    before: dict[str, int],
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Start a re-shard, and take it back in a phase. Where the machine lets that phase pass meanwhile, records go back
    to where they were `before`, and it is tried again."""
    while True:
        operator.start(target)
        meanwhile()
        operator.wait_until(lambda found: found["phase"] == phase or not found["moving"])
        if operator.aborts():
            assert went(operator.wait_for(moving=False), ["dual_old", "stable"])
            return
        assert went(operator.wait_for(moving=False), FORWARD)
        operator.start(before)
        assert went(operator.wait_for(moving=False), FORWARD)


def walk_seconds(kept: tuple[str, ...]) -> int:
    """How long tokens live: a walk that takes longer is begun anew."""
    return 4 + len(kept) // 500


@pytest.fixture
def server(tmp_path: Path, kept: tuple[str, ...]) -> Iterator[LocalServer]:
    """A server with those users."""
    fill(tmp_path / "data", kept)
    started = LocalServer.start(tmp_path / "data", "--empty", "--reshard-waits", waits_for(walk_seconds(kept)))
    yield started
    assert started.stop() == 0
    assert "Traceback" not in started.log.read_text()


def test_there_and_back_and_two_that_are_taken_back(server: LocalServer, kept: tuple[str, ...]) -> None:
    load, session = Load(server, kept, life=walk_seconds(kept), pause=PAUSE_SECONDS), Session(server)
    operator = Operating(session, len(kept))
    with load.running():
        operator.start(SIXTEEN)
        assert operator.is_refused(SIXTY_FOUR)
        assert went(operator.wait_for(moving=False), FORWARD)
        assert not operator.aborts(), "there is no way back"
        assert operator.status()["shards"] == 16
        for phase in ("dual_old", "dual_new"):
            begin_and_take_back(operator, SIXTY_FOUR, phase, SIXTEEN)
            assert operator.status()["shards"] == 16
        operator.start(FOUR)
        assert went(operator.wait_for(moving=False), FORWARD)
        assert operator.status()["shards"] == 4
    session.close()
    assert load.faults == []
    load.check_what_is_there()
    assert min(load.done[kind] for kind in ("reads", "walks", "writes")) > 0


def test_indexes_with_shards_of_their_own_move_under_load(tmp_path: Path, kept: tuple[str, ...]) -> None:
    few = kept[: len(kept) // 4]
    fill(tmp_path / "data", few, "user_service_lean")
    waits = waits_for(walk_seconds(few))
    arguments = ("--empty", "--service", "user_service_lean", "--reshard-waits", waits)
    server = LocalServer.start(tmp_path / "data", *arguments)
    load, session = Load(server, few, life=walk_seconds(few), pause=PAUSE_SECONDS), Session(server)
    operator = Operating(session, len(few))
    with load.running():
        operator.start(SIXTY_FOUR)
        for _ in range(2):
            scan(tmp_path / "data", few)
        assert went(operator.wait_for(moving=False), FORWARD)
        assert operator.status()["shards"] == 64
        assert scan(tmp_path / "data", few), "nothing moves"
        begin_and_take_back(operator, FOUR, "dual_new", SIXTY_FOUR, lambda: scan(tmp_path / "data", few))
    session.close()
    assert load.faults == []
    load.check_what_is_there()
    assert min(load.done[kind] for kind in ("reads", "walks", "writes")) > 0
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def scan(data: Path, kept: tuple[str, ...]) -> bool:
    """Whether a scan by another process came to its end, or records moved meanwhile; in either case it told those who
    are there all the time at most once."""
    outcome = shardweave("scan", "--entity", "user", "--service", "user_service_lean", "--data", str(data))
    told = Counter(each["userId"] for each in outcome.lines)
    if outcome.code:
        assert "the records have moved" in outcome.errors, outcome.errors
        assert max(told[name] for name in kept) <= 1
        return False
    assert {told[name] for name in kept} == {1}
    return True
