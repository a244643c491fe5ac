"""The application processes of a history that walk through pages, while others write and move the records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shardweave.errors import CursorExpired, LaneFailed, ShardMapChanged, TableUnavailable, Throttled
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from tests.simulator.clients import World
from tests.simulator.scheduler import Process
from tests.simulator.things import OWNERS


class Walker:
    """A process that walks through pages and checks that what did not change is on them once, in order."""

    def __init__(self, world: World, walks: int) -> None:
        self.world = world
        self.left = walks

    def run(self, process: Process) -> None:
        simulation = self.world.simulation
        _, connection, maps = self.world.store(process)
        runner = QueryRunner(
            self.world.schema,
            connection,
            CursorKeys("k", {"k": b"k" * 16}),
            maps=maps,
            clock=process.wall_ms,
            throttle=1,
            cursor_life_ms=self.world.waits.cursor_life_ms,
            sleep=lambda seconds: simulation.sleep(int(seconds * 1000)),
            jitter=simulation.random.random,
        )
        while self.left > 0:
            self.left -= 1
            simulation.sleep(int(simulation.random.random() ** 2 * 12_000))
            draw = simulation.random
            conditions, index = draw.choice([({}, "name"), ({"owner": Equal(draw.choice(OWNERS))}, "owner")])
            spec = QuerySpec(
                "thing", conditions, index=index, reverse=draw.random() < 0.5, limit=draw.choice((2, 3, 7))
            )
            self._walk(runner, spec)

    def _walk(self, runner: QueryRunner, spec: QuerySpec) -> None:
        simulation, world = self.world.simulation, self.world
        began = simulation.now
        dirty = world.server.lagging_keys(lambda by: not by.startswith(("mover", "rewriter")))
        uncertain = {range_key.removeprefix("thingId#").split(" |")[0] for _, range_key in dirty}
        found: list[Any] = []
        while True:
            try:
                page = runner.run(spec)
            except (LaneFailed, ShardMapChanged, Throttled, TableUnavailable):
                simulation.sleep(200)
                if simulation.now - began > world.waits.cursor_life_ms:
                    return
                continue
            except CursorExpired:
                assert simulation.now - began >= world.waits.cursor_life_ms, "a cursor expired before its time"
                return
            found.extend(page.items)
            if page.cursor is None:
                break
            spec = replace(spec, cursor=page.cursor)
            simulation.sleep(int(simulation.random.random() ** 3 * world.waits.cursor_life_ms / 3))
        self._check(spec, found, began, uncertain)
        world.walks += 1

    def _check(self, spec: QuerySpec, found: list[Any], began: int, uncertain: set[str]) -> None:
        ended = self.world.simulation.now
        since = began - self.world.server.max_lag_ms
        keys = [(each.name, each.created) if spec.index == "name" else each.created for each in found]
        assert keys == sorted(keys, reverse=spec.reverse), f"out of order: {keys}"
        owner = spec.conditions.get("owner")
        for name, record in self.world.oracle.records.items():
            shown = [each for each in found if each.thing_id == name]
            steady, value = record.steady(began, ended)
            for each in shown:
                possible = record.between(since, ended)
                assert each.number in possible, f"{name}: a page shows {each.number}, possible was {set(possible)}"
            if not steady or value is None or name in uncertain:
                continue
            expected = 1 if owner is None or self.world.given[value]["owner"] == owner.value else 0
            assert len(shown) == expected, (
                f"{name} had {value} all the time, and was shown {len(shown)} times by {spec.index}"
            )
