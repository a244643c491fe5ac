"""The local server is killed (kill -9) at random moments, while many clients write and records move to other shards.

`./run test integration -k test_kill --kills 100` kills it more often than the default, and fails when a phase of a move
was met too rarely.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shardweave.database.data_folder import DataFolder
from shardweave.keys.key_format import ORDERED
from shardweave.reshard.control import control_key, decode_control
from shardweave.reshard.phases import Phase, ReshardState, map_in_force
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import GetItem, Scan
from tests.integration.club_load import CLIENTS, Client, History
from tests.integration.local_server import LocalServer, launch
from tests.integration.services.club import Member, schema
from tests.unit.shop_world import unsound

MODULE = "tests.integration.club_server"
WAITS = (
    '{"leaseMs": 250, "acceptedMs": 0, "requestMs": 300, "clocksMs": 0, "quietMs": 300, "recheckMs": [], '
    '"cursorLifeMs": 300}'
)
ARGUMENTS = ("--service", "club", "--empty", "--reshard-waits", WAITS)
PATH = "/v1/_reshard/member"
PHASES = ("stable", "dual_old", "dual_new", "new_only", "purge", "aborting")
SPACES = [{"charBits": 2, "chars": chars} for chars in (0, 1, 2)]
MOST_ANSWERS = 5_000
"""After so many the server is killed, whatever the phase."""
MANY_KILLS = 50
"""From so many on each phase is to have been met at a twenty-fifth of them."""
PAUSE_SECONDS = 0.02


class Stored:
    """What a dead server left, as whoever reads the table sees it: of an entity that moves, the space in force."""

    def __init__(self, folder: Path, copy: Path) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for suffix in ("", "-wal"):
            file = folder / f"club-ordered.sqlite{suffix}"
            if file.exists():
                shutil.copy(file, copy / file.name)
        self.schema = schema(ORDERED)
        self.inner = EmbeddedTable(self.schema.layout, DataFolder(copy).table_path("club", "ordered"))
        self._items = [dict(item) for item in self._scanned()]

    def clock(self) -> int:
        return time.time_ns() // 1_000_000

    def items(self) -> list[dict[str, Any]]:
        chars = self._chars()
        return [item for item in self._items if not _is_member(item) or len(_suffix(item)) == chars]

    def items_of(self, model: Any) -> list[dict[str, Any]]:
        return [item for item in self.items() if item["hashKey"].startswith(f"{self.schema[model].token}!")]

    @property
    def control(self) -> ReshardState | None:
        member = self.schema[Member]
        found = self.inner.run(GetItem(control_key(member), consistent=True)).item
        return None if found is None else decode_control(member, found)

    @property
    def phase(self) -> str:
        control = self.control
        if control is None:
            return "stable"
        return "aborting" if control.aborting else control.phase.name.lower()

    def check(self, history: History) -> None:
        """Each record once, with its lookups, and both halves of what was written together."""
        assert list(unsound(self)) == []  # type: ignore[arg-type]
        members = Counter(item["memberId"] for item in self.items_of(Member))
        assert max(members.values(), default=1) == 1
        numbers = Counter((item["team"], item["num"]) for item in self.items_of(Member))
        assert max(numbers.values(), default=1) == 1
        addresses = {item["address"]: item["memberId"] for item in self._items if item["hashKey"].startswith("email!")}
        assert set(addresses.values()) <= set(members)
        for member, address, request in history.signed_up:
            if member in history.given_up:
                continue
            assert (member in members) == (addresses.get(address) == member), member
            assert request.outcome != "done" or member in members, member

    def close(self) -> None:
        self.inner.close()

    def _chars(self) -> int:
        return map_in_force(self.schema[Member].shard_map, self.control).generations[0].space.chars

    def _scanned(self) -> Iterator[Any]:
        scan = Scan(consistent=True)
        while True:
            page = self.inner.run(scan)
            yield from page.items
            if page.last_key is None:
                return
            scan = Scan(consistent=True, start_key=page.last_key)


def _is_member(item: dict[str, Any]) -> bool:
    return str(item["hashKey"]).startswith("member!")


def _suffix(item: dict[str, Any]) -> str:
    return str(item["hashKey"]).partition("!")[2].partition(" ")[0]


class Lives:
    """One server after the other on one folder, each killed."""

    def __init__(self, tmp_path: Path, seed: int) -> None:
        self.chooser = random.Random(seed)
        self.folder, self._copy, self._log = tmp_path / "data", tmp_path / "copy", tmp_path / "log"
        self.history = History()
        self.clients = [Client(self.history, f"{seed}x{number}") for number in range(CLIENTS)]
        self.met: Counter[str] = Counter()

    def start(self) -> LocalServer:
        return LocalServer.start(self.folder, *ARGUMENTS, log=self._log, module=MODULE)

    def live_until(self, phase: str) -> None:
        """One life, which ends some answers after the phase was seen."""
        server, stop = self.start(), threading.Event()
        threads = [threading.Thread(target=client.run, args=(server, stop)) for client in self.clients]
        for thread in threads:
            thread.start()
        try:
            self._steer(server, phase)
            self._wait_for_answers(self.chooser.randrange(40))
            time.sleep(self.chooser.random() * PAUSE_SECONDS)
        finally:
            server.kill()
            for thread in threads:
                thread.join()
        self._died()

    def start_and_kill(self) -> None:
        """A life that ends while the server starts, or soon after."""
        process = launch(self.folder, *ARGUMENTS, log=self._log, module=MODULE)
        time.sleep(self.chooser.random())
        process.kill()
        process.communicate()
        self._died(starting=True)

    def _died(self, *, starting: bool = False) -> None:
        self.history.died()
        assert self.history.faults == []
        stored = Stored(self.folder, self._copy)
        self.met["starting" if starting else stored.phase] += 1
        stored.check(self.history)
        stored.close()
        self.history.check(set().union(*(client.repeated for client in self.clients)))

    def _steer(self, server: LocalServer, phase: str) -> None:
        """Start a move, or abort one, until the phase is there."""
        begun = self.history.answers
        abort_in = self.chooser.choice(("dual_old", "dual_new"))
        while self.history.answers - begun < MOST_ANSWERS and not self.history.faults:
            status = server.get(PATH)
            found = status.json
            if status.status != 200:
                continue
            assert not found["attention"], found
            seen = "aborting" if found["aborting"] else found["phase"]
            if seen == phase:
                return
            if phase == "aborting" and seen == abort_in:
                server.post(f"{PATH}/abort", {})
            elif seen == "stable":
                server.post(PATH, self.chooser.choice(SPACES))
            time.sleep(PAUSE_SECONDS)

    def _wait_for_answers(self, number: int) -> None:
        wanted = self.history.answers + number
        while self.history.answers < wanted and not self.history.faults:
            time.sleep(0.001)


def walked(server: LocalServer, query: str, limit: int = 20) -> Counter[str]:
    """How often each member is met in a whole walk. One that takes longer than tokens live is begun anew, with fewer
    pages."""
    met: Counter[str] = Counter()
    token = ""
    while True:
        answer = server.get(f"/v1/members?{query}&limit={limit}{token and f'&nextToken={token}'}")
        if token and answer.status == 400:
            assert answer.json["type"].endswith(":cursor_expired"), answer.body
            return walked(server, query, limit * 2)
        page = answer.json
        met.update(each["memberId"] for each in page["items"])
        if page["nextToken"] is None:
            return met
        token = page["nextToken"]


def check_what_is_left(lives: Lives) -> None:
    """After the last restart: what may be there is there, once, in every index, and the numbers go on."""
    server, history = lives.start(), lives.history
    for client in lives.clients:
        done = threading.Event()
        done.set()
        client.run(server, done)
    while server.get(PATH).json["moving"]:
        time.sleep(PAUSE_SECONDS)
    lives.clients[0].read_all(server)
    assert history.faults == []
    left: Counter[str] = Counter()
    history.check(set())
    for (collection, key), states in history.before.items():
        assert len(states) == 1, (collection, key, states)
        left[key] += collection == "members" and states != {None}
    left = +left
    teams = sorted({item["team"] for item in (server.get(f"/v1/members/{key}").json for key in left)})
    for query in ("index=created", "index=updated", "index=created&reverse=true"):
        assert walked(server, query) == left, query
    for query in ("index=teamNote&team={}", "lookup=team&team={}"):
        assert sum((walked(server, query.format(team)) for team in teams), Counter()) == left, query
    for team in teams:
        new = server.post("/v1/members", {"team": team, "note": "last"}).json
        assert new["num"] > max(each["num"] for each in history.shown.values() if each["team"] == team)
    assert server.stop() == 0
    assert "Traceback" not in lives._log.read_text()
    assert " ERROR " not in lives._log.read_text()
    stored = Stored(lives.folder, lives._copy)
    stored.check(history)
    assert len(stored.items()) == len(stored._items)
    assert stored.control is None or stored.control.phase is Phase.STABLE
    stored.close()


def test_nothing_is_lost_doubled_or_half_applied(
    tmp_path: Path, request: pytest.FixtureRequest, record_property: Any
) -> None:
    kills, seed = request.config.getoption("--kills"), request.config.getoption("--first-kill")
    lives = Lives(tmp_path, seed)
    wanted: list[str] = []
    while sum(lives.met.values()) < kills:
        wanted = wanted or lives.chooser.sample(PHASES, len(PHASES))
        lives.live_until(wanted.pop())
        if lives.chooser.random() < 0.1 and sum(lives.met.values()) < kills:
            lives.start_and_kill()
    check_what_is_left(lives)
    record_property("kills", dict(lives.met))
    record_property("answers", lives.history.answers)
    if kills >= MANY_KILLS:
        assert not [phase for phase in PHASES if lives.met[phase] * 25 < kills], lives.met
