"""The application processes of a history that scan all records, while others write and move them."""

from __future__ import annotations

from typing import Any

from shardweave.errors import CursorExpired, ShardMapChanged, TableUnavailable, Throttled
from shardweave.maintenance.scanning import RecordScan
from shardweave.maintenance.walk import ALL
from shardweave.store import Store
from tests.simulator.clients import World
from tests.simulator.scheduler import Process


class Scanner:
    """A process that scans, stops, goes on from its position, and checks that what did not change was told once."""

    def __init__(self, world: World, scans: int) -> None:
        self.world = world
        self.left = scans

    def run(self, process: Process) -> None:
        simulation = self.world.simulation
        store, _, _ = self.world.store(process)
        while self.left > 0:
            self.left -= 1
            simulation.sleep(int(simulation.random.random() ** 2 * 20_000))
            self._scan(store)

    def _scan(self, store: Store) -> None:
        simulation, world = self.world.simulation, self.world
        began, told = simulation.now, list[Any]()
        scan = self._begun(store, None)
        while True:
            try:
                page = scan.next_page()
            except (ShardMapChanged, Throttled, TableUnavailable):
                simulation.sleep(200)
                if simulation.now - began > world.waits.cursor_life_ms:
                    return
                continue
            except CursorExpired:
                assert simulation.now - began >= world.waits.cursor_life_ms, "a position expired before its time"
                return
            if page is None:
                break
            told.extend(page.items)
            if page.position is None:
                break
            if simulation.random.random() < 0.5:
                scan = self._begun(store, page.position)
            simulation.sleep(int(simulation.random.random() ** 3 * 4 * world.waits.cursor_life_ms))
        self._check(told, began)
        world.scans += 1

    def _begun(self, store: Store, position: str | None) -> RecordScan[Any]:
        size = self.world.simulation.random.choice((1, 1, 3))
        thing = self.world.schema.entities["thing"]
        return RecordScan(store.parts, thing, position=position, segment=ALL, page=size, workers=1)

    def _check(self, told: list[Any], began: int) -> None:
        ended = self.world.simulation.now
        for name, record in self.world.oracle.records.items():
            shown = [each for each in told if each.thing_id == name]
            for each in shown:
                possible = record.between(began, ended)
                assert each.number in possible, f"{name}: a scan tells {each.number}, possible was {set(possible)}"
            steady, value = record.steady(began, ended)
            if steady:
                expected = 0 if value is None else 1
                assert len(shown) == expected, f"{name} had {value} all the time, and was told {len(shown)} times"
