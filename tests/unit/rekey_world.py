"""A table in the form of another program, which is brought in: the program that writes it, and the migration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.rekeying import OldTable, Rekey, RekeyReport
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.leased_maps import EMBEDDED, LeasedMaps
from shardweave.reshard.phases import Waits
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.old_forms import OldForm
from shardweave.schema.old_mapping import forms_given
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.store.store import new_token
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, GetItem, PutItem, Scan, UpdateItem
from shardweave.values.codecs import Timestamp

NOW = 1_760_000_000_000
WAITS = Waits(lease_ms=0, accepted_ms=0, request_ms=0, clocks_ms=0, quiet_ms=0)


class Member(Entity, token="member", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Whose items were made by hand."""

    member_id: str = unique_property()
    created: Timestamp = timestamp_property()
    team: str | None = None
    email: str | None = None
    points: int = 0

    team_hash_key = HashKey("team")
    points_range_key = RangeKey("points", "created")


def member_schema(hash_key: str = "PK", range_key: str = "SK") -> Schema:
    """The new declaration of members."""
    by_team = Index("byTeam", hash_key="team_hash_key", range_key="points_range_key")
    by_time = Index("byTime", hash_key="hash_key", range_key="created")
    return Schema([Member], [by_team, by_time], hash_key=hash_key, range_key=range_key)


HAND_MADE: Mapping[str, Any] = {
    "hashKey": "PK",
    "rangeKey": "SK",
    "entities": {
        "member": {
            "attributes": {
                "PK": "MEMBER#${id}",
                "SK": "PROFILE",
                "GSI1PK": "TEAM#${team}",
                "GSI1SK": "${points:8}#${id}",
                "kind": "member",
            },
            "rename": {"id": "memberId", "mail": "email"},
            "defaults": {"points": 0},
        }
    },
}


def by_hand(number: int, **more: Any) -> dict[str, Any]:
    """An item as the program that made the table writes it."""
    values: dict[str, Any] = {"id": f"m{number}", "created": NOW - number, "team": f"t{number % 3}", "points": number}
    values |= more
    made = {"PK": f"MEMBER#{values['id']}", "SK": "PROFILE", "kind": "member"}
    if values.get("team") is not None:
        made |= {"GSI1PK": f"TEAM#{values['team']}"}
    if values.get("points") is not None:
        made |= {"GSI1SK": f"{values['points']:08}#{values['id']}"}
    return {name: value for name, value in {**values, **made}.items() if value is not None}


class RekeyWorld:
    """One table, with processes on it. `clock` is set by hand."""

    def __init__(
        self,
        schema: Schema,
        mapping: Any,
        *,
        token: str = "member",
        waits: Waits = WAITS,
        faults: Any = None,
        old_table: Table | None = None,
        new_table: Table | None = None,
        leases: Waits = EMBEDDED,
    ) -> None:
        self.schema, self.mapping, self.waits, self.old_table = schema, mapping, waits, old_table
        self.now, self.leases = NOW, leases
        self.waiting = RetryClock(sleep=lambda seconds: None)
        self.inner = new_table or EmbeddedTable(schema.layout, clock=lambda: self.now / 1000)
        self.table = self.inner if faults is None else faults(self.inner)
        self.forms = forms_given(schema, mapping)
        self.form: OldForm = self.forms[token]
        self.entity = schema[token]
        self.store = self.new_store()

    def clock(self) -> int:
        """The time that was set."""
        return self.now

    def new_store(self, *, forms: bool = True, bringing: bool = False, table: Table | None = None) -> Store:
        """The store of another process."""
        table = table or self.table
        given = self.forms if forms else {}
        maps = LeasedMaps(table, self.leases, clock=self.clock, monotonic=self.clock, forms=given, bringing=bringing)
        return Store(self.schema, table, clock=self.clock, maps=maps, waiting=self.waiting)

    def rekey(self, *, table: Table | None = None, **options: Any) -> Rekey:
        """Who brings the table in, in another process."""
        parts = self.new_store(bringing=True, table=table).parts
        coordinator = Coordinator(table or self.table, self.waits, new_token=new_token, clock=self.clock)
        return Rekey(
            parts, coordinator, self.form, self.clock, self.waits, **{"old_table": self.named_old_table, **options}
        )

    @property
    def named_old_table(self) -> OldTable | None:
        """The table of the old items, where it is another one."""
        return None if self.old_table is None else OldTable("old", self.old_table)

    def run(self, **options: Any) -> RekeyReport:
        """A whole run."""
        return self.rekey(**options).run()

    # -- another program

    @property
    def olds(self) -> Table:
        """The table of the old items."""
        return self.old_table or self.inner

    def put(self, item: Mapping[str, Any]) -> None:
        """Another program writes an item."""
        self.olds.run(PutItem(dict(item)))

    def change(self, item: Mapping[str, Any], **changed: Any) -> None:
        """Another program changes attributes of an item."""
        self.olds.run(UpdateItem(self.form.key(item), changed))

    def remove(self, item: Mapping[str, Any]) -> None:
        """Another program removes an item."""
        self.olds.run(DeleteItem(self.form.key(item)))

    def old(self, item: Mapping[str, Any]) -> Any:
        """What is at an old item's key."""
        return self.olds.run(GetItem(self.form.key(item), consistent=True)).item

    # -- what is there

    def items(self, table: Table | None = None) -> list[Any]:
        """Every item."""
        found: list[Any] = []
        scan = Scan(consistent=True)
        while True:
            page = (table or self.inner).run(scan)
            found += page.items
            if page.last_key is None:
                return found
            scan = Scan(start_key=page.last_key, consistent=True)

    def old_items(self) -> list[Any]:
        """The old items, by key."""
        found = [item for item in self.items(self.olds) if self.form.is_own(item)]
        return sorted(found, key=lambda item: tuple(item[name] for name in self.form.key_names))

    def records(self) -> list[Any]:
        """The records with keys of their own."""
        return [each for each in self.items() if self.schema.entity_of_key(each[self.schema.hash_key]) is self.entity]

    def is_equal(self) -> bool:
        """Whether each record has an old item that says the same, and each old item a record."""
        images = [self.form.image(record) for record in self.records()]
        images.sort(key=lambda item: tuple(item[name] for name in self.form.key_names))
        olds = self.old_items()
        return [self.form.key(each) for each in images] == [self.form.key(each) for each in olds] and all(
            self.form.unchanged(image).evaluate(old) for image, old in zip(images, olds, strict=True)
        )

    def faults(self) -> Any:
        """What the doctor finds beside old items."""
        store = self.new_store()
        return Doctor(store.parts, self.clock, forms=self.forms).run().findings.counts


def golden_config() -> Any:
    """The configuration and the records of Entity Manager's golden vectors."""
    path = Path(__file__).parents[1] / "data" / "entity_manager_8_0_vectors.json"
    return json.loads(path.read_text(encoding="utf-8"))
