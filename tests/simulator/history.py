"""One history: everything is drawn from its seed, every answer is checked, and in the end what is stored.

`run(seed)` raises AssertionError with what is wrong, and gives what happened otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.phases import Waits
from shardweave.schema.entity_type import MARK, EntityType
from shardweave.schema.relations import COUNTED
from shardweave.schema.upgrades import VERSION
from shardweave.store.lookups.backfill_state import READY, STATE, marker_key
from shardweave.store.lookups.lookup_records import OWNER, PLACE, identity_lookup, lookup_keys, lookup_record
from shardweave.store.relations.enforced import DELETING, counter_key
from shardweave.table.values import Item
from tests.simulator.client import Network, Weather
from tests.simulator.clients import KINDS, World
from tests.simulator.deleters import Deletions
from tests.simulator.examiners import Examining
from tests.simulator.feeders import Feeders
from tests.simulator.fillers import Filler
from tests.simulator.guests import GUESTS
from tests.simulator.hosting import HOSTING_KINDS, HostingWriter
from tests.simulator.movers import Movers, Plot
from tests.simulator.numberers import NUMBERED_KINDS, NumberingWriter
from tests.simulator.oracle import Oracle
from tests.simulator.parts import WHOLE, Parts
from tests.simulator.rewriters import Rewriter
from tests.simulator.scanners import Scanner
from tests.simulator.scheduler import START_MS, Simulation
from tests.simulator.server import TTL, Server
from tests.simulator.tallying import TALLYING_KINDS, TallyingWriter
from tests.simulator.things import HOMES, MADE_UP, thing_schema
from tests.simulator.walkers import Walker
from tests.simulator.writers import EVERY_KIND, EVERY_TAGGED_KIND, PLACED_KINDS, EveryWriter

WAITS = Waits(
    lease_ms=1_500,
    accepted_ms=3_000,
    request_ms=800,
    clocks_ms=6_000,
    cursor_life_ms=9_000,
    quiet_ms=1_000,
)
MAX_LAG_MS = 2_500
OWN_SHARDS = (None, 1, 2, 4, 8, 16, 32, 64)
"""What an index may have of its own; None has the table's shards."""
TABLE_SHARDS = (None, None)
BUMPS_BEGIN = (5_000, 15_000, 30_000, 60_000)


@dataclass(frozen=True)
class Told:
    """What happened in a history."""

    steps: int
    milliseconds: int
    writes: int
    walks: int
    scans: int
    phases: tuple[str, ...]
    conflicts: int
    done: Mapping[str, int]
    fed: Mapping[str, int] = field(default_factory=dict)
    """What happened to the read model."""


@dataclass(frozen=True)
class Setting:
    """What differs between histories beside the seed."""

    waits: Waits = WAITS
    believed: Waits = WAITS
    trusted: Waits = WAITS
    """See `World`: other ones are for showing what breaks then."""
    weather: Weather = field(default_factory=Weather)
    plots: tuple[Plot, ...] | None = None
    """None draws one from the seed."""
    writers: int = 2
    walkers: int = 2
    scanners: int = 0
    rewriting: bool = False
    """A process brings all records to the current version, stopped now and then."""
    operations: int = 14
    kinds: Sequence[str] = KINDS
    """What writers do."""
    mover_crashes: float = 0.01
    mover_naps: float = 0.0
    shards: tuple[int | None, int | None] | None = None
    """Of the indexes of names and of owners; None takes them from the seed."""
    parts: Parts = WHOLE
    summed: bool = False
    """Read models have sums over the records of each owner, and over events."""
    moves: Sequence[str] = ("thing",)
    """One of which is moved."""
    tagged: bool = False
    """Records have tags and sizes, a lookup by each tag, ordered ones of the names and of each size, and a model; those
    of the beginning are of an earlier version."""
    decided: str = ""
    """What members of a model in the records decide, see `HOMES`."""
    expiring: bool = False
    """Some records expire, each within seconds of its last write."""
    numbered: bool = False
    """A sequence numbers the records, and no two may have a code."""
    family: bool = False
    """Records have parts that go with them."""
    unfilled: str = ""
    """A lookup of the records that is declared later than they are there, and filled meanwhile."""
    examined: bool = False
    """A process examines the table as the doctor does."""


def setting_of(seed: int) -> Setting:
    """The setting of a history among many: plain records (of each three, one whose id is a member of a model too, and
    one whose place is), records with everything in them, and records with parts take turns."""
    decided = list(HOMES)[seed // 5 % len(HOMES)]
    unfilled = ("", "tag", "byName", "sizes")[seed // 5 % 4]
    return (
        Setting(kinds=PLACED_KINDS if decided else EVERY_KIND, expiring=True, decided=decided, examined=True),
        Setting(
            kinds=EVERY_TAGGED_KIND,
            tagged=True,
            expiring=True,
            rewriting=True,
            unfilled=unfilled,
            examined=not unfilled,
        ),
        Setting(kinds=HOSTING_KINDS, family=True, operations=24, moves=("thing", "part", "guest"), examined=True),
        Setting(kinds=NUMBERED_KINDS, numbered=True, operations=24),
        Setting(kinds=TALLYING_KINDS, summed=True, operations=20, expiring=True, moves=("thing", "total", "tally")),
    )[seed % 5]


def run(seed: int, setting: Setting = Setting()) -> Told:
    """Let one history happen. Raises AssertionError with what is wrong in it."""
    simulation = Simulation(seed)
    draw = simulation.random
    bumps = [ShardBump(0, 1, 1)]
    if draw.random() < 0.3:
        bumps.append(ShardBump(START_MS + draw.choice(BUMPS_BEGIN), 1, 4))
    MADE_UP.last = 0
    shards = index_shards(seed) if setting.shards is None else setting.shards
    extras: dict[str, Any] = {"summed": setting.summed, "numbered": setting.numbered, "decided": setting.decided}
    schema = thing_schema(tuple(bumps), shards, tagged=setting.tagged, family=setting.family, **extras)
    server = Server(simulation, schema.layout, MAX_LAG_MS, setting.waits.request_ms)
    network = Network(server, setting.waits.accepted_ms)
    waits = setting.waits, setting.weather, setting.believed, setting.trusted, setting.parts
    world = World(simulation, server, network, Oracle(skew_of(setting)), schema, *waits, expiring=setting.expiring)
    network.arrived_late = world.arrived_late
    plots = draw.choice(PLOTS) if setting.plots is None else setting.plots
    moved = setting.moves[0] if len(setting.moves) == 1 else draw.choice(setting.moves)
    movers = Movers(world, plots, setting.mover_crashes, setting.mover_naps, moved)

    def happen() -> int | None:
        moments = [moment for moment in (server.happen(), network.happen()) if moment is not None]
        return min(moments, default=None)

    simulation.world = happen
    feeders = Feeders(world)
    if setting.summed:
        feeders.begin()
    world.unfilled = setting.unfilled
    deletions = Deletions(world)
    if setting.family:
        deletions.begin()
    _fill(world)
    begin_clients(world, setting)
    movers.begin()
    simulation.run(
        lambda: (
            movers.over
            and not simulation.jobs
            and not network.late
            and _clients_over(simulation)
            and feeders.over
            and deletions.over
        )
    )
    server.settle()
    world.done.update({"items that expired": server.expired, "copies that expired alone": server.halved})
    maps = {name: entity.shard_map for name, entity in schema.entities.items()} | {moved: movers.map_in_force()}
    _check_end(world, maps["thing"])
    if setting.family:
        _check_parts(world, maps["part"])
        entities = schema.entities["thing"], schema.entities["guest"]
        world.guests.check_end(*entities, server, maps["guest"])
    if setting.summed:
        feeders.check_end()
    return Told(
        simulation.steps,
        simulation.now - START_MS,
        world.writes,
        world.walks,
        world.scans,
        tuple(movers.phases),
        server.conflicts,
        world.done,
        feeders.shapes,
    )


def skew_of(setting: Setting) -> int:
    """By how much clocks are wrong at most."""
    return setting.waits.accepted_ms * 9 // 10


def index_shards(seed: int) -> tuple[int | None, int | None]:
    """The shards of a history's indexes: among 64 seeds in a row each pair is met once."""
    return OWN_SHARDS[seed % 8], OWN_SHARDS[seed // 8 % 8]


PLOTS: tuple[tuple[Plot, ...], ...] = (
    (Plot("start", ShardBump(0, 1, 2)),),
    (Plot("start", ShardBump(0, 1, 3)),),
    (Plot("start", ShardBump(0, 2, 2)), Plot("abort", phase=1)),
    (Plot("start", ShardBump(0, 1, 2)), Plot("abort", phase=2)),
    (Plot("start", ShardBump(0, 1, 2)), Plot("start", ShardBump(0, 1, 1))),
)


def begin_clients(world: World, setting: Setting) -> None:
    """Start the application's processes, with clocks that are wrong by as much as is allowed."""
    draw = world.simulation.random
    skew = skew_of(setting)

    for position in range(setting.writers):
        writer = _writer_of(setting)(world, f"w{position}", setting.operations, setting.kinds)
        world.simulation.spawn(f"client {position}", writer.run, draw.randint(-skew, skew))
    for position in range(setting.walkers):
        walker = Walker(world, 3)
        world.simulation.spawn(f"walker {position}", walker.run, draw.randint(-skew, skew))
    if setting.examined:
        world.simulation.spawn("client that examines", Examining(world).run, draw.randint(-skew, skew))
    if setting.unfilled:
        Filler(world).begin()
    if setting.rewriting:
        world.simulation.spawn("rewriter", Rewriter(world).run, draw.randint(-skew, skew))
    for position in range(setting.scanners):
        scanner = Scanner(world, 3)
        world.simulation.spawn(f"scanner {position}", scanner.run, draw.randint(-skew, skew))


def _writer_of(setting: Setting) -> type[EveryWriter]:
    if setting.numbered:
        return NumberingWriter
    if setting.summed:
        return TallyingWriter
    return HostingWriter if setting.family else EveryWriter


def _clients_over(simulation: Simulation) -> bool:
    return not any(
        process.name.startswith(("client", "walker", "scanner", "rewriter")) for process in simulation.processes
    )


def _fill(world: World) -> None:
    """Records that are there before anything happens."""
    entity = world.schema.entities["thing"]
    draw = world.simulation.random
    for position in range(12):
        name = "counter" if position == 0 else f"old-{position}"
        number = next(world.numbers)
        values = world.values(name, number) | {"created": START_MS - draw.randrange(1, 10_000_000)}
        if position == 0:
            number = 0
            values["number"] = 0
        if "guest" in world.schema.entities:
            values["guest_ids"] = draw.sample(GUESTS, len(GUESTS))
        if world.numbered:
            values["serial"] = world.serials.began_with(name, values["number"])
        item = entity.complete(entity.dump(entity.validate(values)) | {"rev": f"first-{position}"})
        if world.tagged:  # as an earlier version of the program stored it
            item = {each: value for each, value in item.items() if each != VERSION} | {"remark": name}
        world.server.set(world.server.key_of(item), item, "filling")
        if entity.lookup_placed:
            lookup_item = identity_lookup(entity, item)
            world.server.set(world.server.key_of(lookup_item), lookup_item, "filling")
        for lookup, key in lookup_keys_in(entity, item):
            if lookup == world.unfilled:
                continue
            world.server.set(world.server.key_of(key), lookup_record(entity, key, item, "first"), "filling")
            marker = {**marker_key(entity, lookup), STATE: READY, "rev": "first"}
            world.server.set(world.server.key_of(marker), marker, "filling")
        if position:
            world.oracle.begin(START_MS, {name: number})
            world.oracle.end(START_MS, {name: number})
    if world.numbered:
        for counter in world.serials.counters(entity):
            world.server.set(world.server.key_of(counter), counter, "filling")
        marker = {**marker_key(entity, "code"), STATE: READY, "rev": "first"}
        world.server.set(world.server.key_of(marker), marker, "filling")
    for child in (world.schema.entities[each] for each in ("part", "guest") if each in world.schema.entities):
        for each in (*child.lookups, *child.relations):
            marker = {**marker_key(child, each), STATE: READY, "rev": "first"}
            world.server.set(world.server.key_of(marker), marker, "filling")
    world.server.settle()


def lookup_keys_in(entity: EntityType[Any], item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys of a record's lookup records, each with the name of its lookup."""
    for name, lookup in entity.lookups.items():
        yield from ((name, key) for key in lookup_keys(entity, lookup, item))


def _check_lookups(world: World) -> None:
    """There is a lookup record for each member of each record, and no other, but of what has expired."""
    wanted, found = set(), set()
    for key, item in world.server.items.items():
        if item.get(TTL) is not None and item[TTL] * 1000 <= world.simulation.now:
            continue
        entity = world.schema.entities.get(key[0].partition("!")[0])
        if entity is not None:
            wanted |= {world.server.key_of(each) for _, each in lookup_keys_in(entity, item)}
            if entity.lookup_placed:
                lookup = identity_lookup(entity, item)
                wanted.add(world.server.key_of(lookup))
                placed = world.server.items.get(world.server.key_of(lookup), {}).get(PLACE)
                assert placed == lookup[PLACE], f"{item['thingId']} is at {lookup[PLACE]}, its lookup says {placed}"
        elif OWNER in item or PLACE in item:
            found.add(key)
    assert found == wanted, f"lookup records without a record: {found - wanted}, missing: {wanted - found}"


def _check_parts(world: World, shard_map: ShardMap) -> None:
    """Each part is there once, where it belongs, with its thing, and counted."""
    thing, part = world.schema.entities["thing"], world.schema.entities["part"]
    things = {item["thingId"] for key, item in world.server.items.items() if key[0].startswith("thing!")}
    counts = dict.fromkeys(things, 0)
    stored: dict[str, int] = {}
    for key, item in world.server.items.items():
        if key[0].startswith("part!"):
            name = item["partId"]
            assert name not in stored, f"{name} is stored twice, the second time as {key}"
            stored[name] = item["number"]
            assert item["thingId"] in things, f"{name} is there without its thing {item['thingId']}"
            counts[item["thingId"]] += 1
            kept = {each: value for each, value in item.items() if each not in (MARK, COUNTED)}
            assert kept == part.complete(part.visible(item) | {"rev": item["rev"]}, shard_map), f"{name} is at {key}"
    for name, count in counts.items():
        counter = world.server.items.get(world.server.key_of(counter_key(thing, {"thingId": name}))) or {}
        assert DELETING not in counter, f"{name} is being deleted for ever"
        assert counter.get("part_thing", 0) == count, f"{name} has {count} parts, counted are {counter}"
    for name in world.parts_of:
        possible = world.parts_told.of(name).possible
        assert stored.get(name) in possible, f"{name}: {stored.get(name)} is stored, not {set(possible)}"


def _check_end(world: World, shard_map: ShardMap) -> None:
    """What is stored in the end is what the oracle says, each record once and where it belongs."""
    entity = world.schema.entities["thing"]
    stored: dict[str, int] = {}
    found_items: dict[str, Item] = {}
    for key, item in world.server.items.items():
        if not key[0].startswith("thing!"):
            continue
        name = item["thingId"]
        assert name not in stored, f"{name} is stored twice, the second time as {key}"
        stored[name], found_items[name] = item["number"], item
        kept = {each: value for each, value in entity.current(item).items() if each != MARK}
        if world.tagged:
            assert ("remark" in item) != entity.upgrades.is_current(item), f"{name} is of two versions"
            was_there = name == "counter" or name.startswith("old-")
            assert entity.current(item).get("note") == (name if was_there else None), f"{name} has another's note"
            is_current = entity.upgrades.is_current(item) or item.get(TTL) is not None
            assert is_current or not world.rewritten, f"{name} is of an earlier version"
        assert kept == entity.complete(entity.visible(item) | {"rev": item["rev"]}, shard_map), f"{name} is at {key}"
        for index, entries in world.server.indexes.items():
            has_keys = index != "city" or (item.get("place") or {}).get("city") is not None
            assert entries.get(key) == (item if has_keys else None), f"{name} is not in {index} as it is stored"
    _check_lookups(world)
    if world.numbered:
        world.serials.check_end(entity, world.server, found_items)
    writes = Counter(number for name, number in stored.items() if name != "counter")
    assert max(writes.values()) == 1, f"what was written once is stored twice: {writes.most_common(3)}"
    for name, record in world.oracle.records.items():
        now = world.simulation.now
        possible = record.between(now, now)
        found = record.seen({stored.get(name)}, now, now)
        assert found & possible, f"{name}: {stored.get(name)} is stored, not {set(possible)}"
    certain, perhaps = world.counted
    assert certain <= stored["counter"] <= certain + perhaps, f"the counter is {stored['counter']}: {world.counted}"
    for name, numbers in world.created.items():
        assert name in stored, f"{name} was created as {numbers} and is not there"
