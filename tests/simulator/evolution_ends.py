"""What has to be stored when an evolution is over."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shardweave.schema.entity_type import EntityType
from shardweave.schema.relations import COUNTED
from shardweave.store.lookups.lookup_records import OWNER
from shardweave.store.relations.enforced import counter_key
from shardweave.table.values import Item
from tests.simulator.evolving import BOXES, FAMILY, NEW, OLD
from tests.simulator.history import lookup_keys_in

if TYPE_CHECKING:
    from tests.simulator.evolution import Side, World


def check_end(world: World, side: Side, other: Side) -> None:
    """What is stored in the end is what the oracle says, each record once, under one declaration; of the `other` one
    nothing is left, but an old table as old programs left it."""
    entity = side.schema.entities[side.token]
    stored: dict[str, int] = {}
    for key, item in side.server.items.items():
        if "thingId" not in item or is_expired(world, item):
            continue
        name = item["thingId"]
        assert name not in stored, f"{name} is stored twice, the second time as {key}"
        stored[name] = item["number"]
        whole = entity.complete(entity.visible(item) | {"rev": item["rev"]})
        kept = {each: value for each, value in item.items() if each != COUNTED}
        assert kept == whole, f"{name} is {item}, not {whole}"
        assert "home" not in item or item["home"]["owner"] == item["owner"], f"{name} is at {item['home']}"
        for index, entries in side.server.indexes.items():
            assert entries.get(key) == item, f"{name} is not in {index} as it is stored"
    _check_owned(side, entity)
    if other.server is not side.server and other.token == NEW:
        items = other.server.items.items()
        left = [key for key, item in items if ("thingId" in item or OWNER in item) and not is_expired(world, item)]
        assert not left, f"it was taken back, and there are {left}"
    assert not world.strangers, f"in the old table wrote {world.strangers}"
    if world.shape == FAMILY:
        _check_boxes(world, side)
    for name in world.oracle.records:
        record, now = world.oracle.of(name), world.simulation.now
        possible = record.seen(record.possible, now, now)
        world.done["expired"] += possible == {None} and record.possible != {None}
        assert stored.get(name) in possible, f"{name}: {stored.get(name)} is stored, not {set(possible)}"
    certain, perhaps = world.counted
    assert certain <= stored["counter"] <= certain + perhaps, f"the counter is {stored['counter']}: {world.counted}"
    for name, numbers in world.created.items():
        assert name in stored, f"{name} was created as {numbers} and is not there"


def is_expired(world: World, item: Item) -> bool:
    """Whether nobody sees an item any more, whenever it is removed."""
    ttl = item.get("ttl")
    return ttl is not None and ttl * 1000 <= world.simulation.now


def _check_boxes(world: World, side: Side) -> None:
    """Each thing is in a box that is there, or in none, and counted once there, under the declaration that is left."""
    items = side.server.items.values()
    boxes = {item["boxId"]: 0 for key, item in side.server.items.items() if key[0].startswith("box!")}
    for item in items:
        if "thingId" in item and item.get("boxId") is not None:
            assert item["boxId"] in boxes, f"{item['thingId']} is there without its box {item['boxId']}"
            boxes[item["boxId"]] += 1
    entity = side.schema.entities["box"]
    for name in BOXES:
        counter = side.server.items.get(side.server.key_of(counter_key(entity, {"boxId": name}))) or {}
        counted = {token: counter.get(f"{token}_box", 0) for token in (OLD, NEW)}
        expected = {OLD: 0, NEW: 0, side.token: boxes.get(name, 0)}
        assert counted == expected, f"{name} has {expected} things, counted are {counted}"


def _check_owned(side: Side, entity: EntityType[Any]) -> None:
    """Each value and each number is that of one record, and lookup records are those of the records that are there."""
    items = [item for item in side.server.items.values() if "thingId" in item]
    wanted = {side.server.key_of(key) for item in items for _, key in lookup_keys_in(entity, item)}
    found = {key for key, item in side.server.items.items() if OWNER in item}
    assert found == wanted, f"lookup records without a record: {found - wanted}, missing: {wanted - found}"
    for names in (("code",), ("owner", "num")):
        values = Counter(tuple(item[name] for name in names) for item in items if names[-1] in item)
        assert not values or max(values.values()) == 1, f"{names} are given twice: {values}"
