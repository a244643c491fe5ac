"""What the numbers of a sequence may be, and which record may have a code that only one may have.

A record is numbered when it is made, and keeps its number while it is there. Each write gives it a `number` of the
history's own, so what is told of one of these is told of one state of one record for ever.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from shardweave.schema.entity_type import EntityType
from shardweave.store.sequences import LAST, counter_key
from shardweave.table.values import Item
from tests.simulator.oracle import Oracle
from tests.simulator.server import Server

SHELVES = ("left", "right")


def shelf_of(name: str) -> str:
    """Within what a record is numbered. Those whose ids are made up are all on one shelf."""
    return SHELVES[0 if name.startswith("made-up") else zlib.crc32(name.encode()) % len(SHELVES)]


@dataclass
class Serials:
    """All that was told of numbers of the sequence, and of codes."""

    by_number: dict[int, int] = field(default_factory=dict)
    """The number of the sequence, by the number of the write; 0 for the counter, whose numbers are those of others."""
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    """Who has it, or had it."""
    highest: dict[str, int] = field(default_factory=dict)
    """The highest that an answer told, within each shelf."""
    codes: Oracle = field(default_factory=Oracle)

    def told(self, name: str, number: int, serial: int) -> None:
        """A record was read, or was written so."""
        shelf = shelf_of(name)
        assert serial > 0, f"{name} has no number: {number}"
        known = self.by_number.setdefault(0 if name == "counter" else number, serial)
        assert known == serial, f"{name}: {number} had {known} and has {serial}"
        owner = self.names.setdefault((shelf, serial), name)
        assert owner == name, f"{name} has the number {serial} of {owner}"
        self.highest[shelf] = max(serial, self.highest.get(shelf, 0))

    def made(self, name: str, number: int, serial: int, low: int) -> None:
        """A record was made: its number is higher than all that were told before that began."""
        assert serial > low, f"{name} was made with {serial}, when {low} had been given"
        self.told(name, number, serial)

    def kept(self, name: str, before: int, number: int, serial: int) -> None:
        """A record was changed: it keeps its number."""
        self.told(name, before, serial)
        self.told(name, number, serial)

    def began_with(self, name: str, number: int) -> int:
        """The number of the sequence of a record that is there from the beginning."""
        serial = self.highest.get(shelf_of(name), 0) + 1
        self.told(name, number, serial)
        return serial

    def counters(self, entity: EntityType[Any]) -> list[Item]:
        """What has to be stored of that."""
        (sequence,) = entity.sequences
        return [
            {**counter_key(entity, sequence, {"shelf": shelf}), LAST: serial} for shelf, serial in self.highest.items()
        ]

    def check_end(self, entity: EntityType[Any], server: Server, stored: dict[str, Item]) -> None:
        """What is stored was told so, each number once, and none is to be given again; no two records have a code."""
        (sequence,) = entity.sequences
        for name, item in stored.items():
            self.told(name, item["number"], item["serial"])
        for shelf in SHELVES:
            counter = server.items.get(server.key_of(counter_key(entity, sequence, {"shelf": shelf}))) or {}
            assert counter.get(LAST, 0) >= self.highest.get(shelf, 0), f"{shelf} was counted to {counter}"
        codes = [item["code"] for item in stored.values() if item.get("code") is not None]
        assert len(codes) == len(set(codes)), f"two records have a code: {codes}"
        for name, record in self.codes.records.items():
            found = stored.get(name, {}).get("code")
            assert found in record.possible, f"{name} has the code {found}, possible is {set(record.possible)}"
