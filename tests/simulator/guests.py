"""What may be known of guests: records that belong to a thing or to none, change over, and stay when it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shardweave.keys.sharding import ShardMap
from shardweave.schema.entity_type import MARK, EntityType
from shardweave.schema.relations import COUNTED
from shardweave.store.relations.enforced import counter_key
from tests.simulator.oracle import Oracle
from tests.simulator.server import Server

LASTING = ("old-1", "old-2")
"""Things that nobody deletes."""
HOSTS = (*(f"w{writer}-{position}" for writer in range(2) for position in range(2)), *LASTING)
GUESTS = tuple(f"guest-w{writer}-{position}" for writer in range(2) for position in range(3))
NOBODYS = 0


def place_at(host: str | None) -> int:
    """The number of a host; 0 is that of a guest without one."""
    return NOBODYS if host is None else HOSTS.index(host) + 1


@dataclass
class Guests:
    """Where each guest may be, by the number of its host; None is no guest."""

    places: Oracle = field(default_factory=Oracle)

    def arrived_late(self, now: int, item: Mapping[str, Any]) -> None:
        """A create that nobody waits for was carried out."""
        self.places.arrived_late(now, item["guestId"], place_at(item.get("thingId")))

    def may_lose_host(self, now: int, host: str) -> list[str]:
        """A deletion of a host began. Gives the guests that it may have, but for those that are being changed."""
        if host not in HOSTS:
            return []
        found = [name for name, record in self.places.records.items() if place_at(host) in record.possible]
        for name in found:
            record = self.places.of(name)
            record.now(now, record.possible | {NOBODYS})
        return [name for name in found if name not in self.places.under_way]

    @contextmanager
    def losing_host(self, clock: Any, host: str, has_gone: Any) -> Iterator[None]:
        """Within this, a deletion of a host is under way, after which `has_gone` says whether it was without guests."""
        changes = {each: len(self.places.of(each).times) for each in self.may_lose_host(clock(), host)}
        yield
        if has_gone():
            for name, before in changes.items():
                record = self.places.of(name)
                if len(record.times) == before:
                    record.now(clock(), record.possible - {place_at(host)})

    def check_end(self, thing: EntityType[Any], guest: EntityType[Any], server: Server, shard_map: ShardMap) -> None:
        """Each guest is there once, where it belongs, with its host, which counts it."""
        things = {item["thingId"] for key, item in server.items.items() if key[0].startswith("thing!")}
        counts = dict.fromkeys(things, 0)
        stored: dict[str, int] = {}
        for key, item in server.items.items():
            if key[0].startswith("guest!"):
                name, host = item["guestId"], item.get("thingId")
                assert name not in stored, f"{name} is stored twice, the second time as {key}"
                stored[name] = place_at(host)
                assert host is None or host in things, f"{name} is with {host}, which is not there"
                if host is not None:
                    counts[host] += 1
                kept = {each: value for each, value in item.items() if each not in (MARK, COUNTED)}
                visible = guest.visible(item) | {"rev": item["rev"]}
                assert kept == guest.complete(visible, shard_map), f"{name} is at {key}"
        for name, count in counts.items():
            counter = server.items.get(server.key_of(counter_key(thing, {"thingId": name}))) or {}
            assert counter.get("guest_thing", 0) == count, f"{name} has {count} guests, counted are {counter}"
        for name, record in self.places.records.items():
            assert stored.get(name) in record.possible, f"{name} is at {stored.get(name)}, not {set(record.possible)}"
