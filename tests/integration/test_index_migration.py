"""An index gets other shards while its table is in use: one beside it is filled and asked, and the old one goes.

The steps are those of `docs/changing-a-schema.md`. Here the table is one that nothing fills by itself, as a deployed
one is: a record gets the new key with its next write, or with a rewrite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shardweave.database.rewrite_keys import rekey
from shardweave.errors import CursorMismatch
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.maintenance.rewriting import Rewrite
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.control import encode_control
from shardweave.reshard.independent_keys import recomputed
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from shardweave.values.codecs import Timestamp

NOW = 1_730_000_000_000
SIXTY_FOUR = ShardBump(0, 2, 3)
KEYS = CursorKeys("k", {"k": b"k" * 32})
SEA = {"place": Equal("sea")}
OLD, NEW = Index("byPlace", "place_hash_key", "created"), Index("ofPlace", "place1_hash_key", "created")


class Before(Entity, token="visit", shard_bumps=[SIXTY_FOUR]):
    """As it was."""

    visit_id: str = unique_property()
    created: Timestamp = timestamp_property()
    place: str
    place_hash_key = HashKey("place")


class Visit(Before, token="visit", shard_bumps=[SIXTY_FOUR]):
    """With both."""

    place1_hash_key = HashKey("place", shards=1)


class After(Entity, token="visit", shard_bumps=[SIXTY_FOUR]):
    """As it is to be."""

    visit_id: str = unique_property()
    created: Timestamp = timestamp_property()
    place: str
    place1_hash_key = HashKey("place", shards=1)


class Stage:
    """The service as it is deployed with a schema, over a table that stays."""

    def __init__(self, schema: Schema, path: Path) -> None:
        self.schema = schema
        self.entity = schema.entity("visit")
        self.table = EmbeddedTable(schema.layout, path)
        self.store = Store(schema, self.table, clock=lambda: NOW)
        self.queries = QueryRunner(schema, self.table, KEYS, clock=lambda: NOW)

    def ids(self, index: str | None) -> list[str]:
        return [each.visit_id for each in self.queries.records(QuerySpec("visit", SEA, index))]

    def close(self) -> None:
        self.queries.close()
        self.table.close()


def test_an_index_with_other_shards_takes_the_place_of_one(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    stage = Stage(Schema([Before], [OLD]), path)
    names = [f"v{number:02}" for number in range(60)]
    for number, name in enumerate(names):
        stage.store.create({"visit_id": name, "place": "sea", "created": NOW - 100 + number}, Before)
    page = stage.queries.run(QuerySpec("visit", SEA, "byPlace", limit=20))
    stage.close()

    both = Stage(Schema([Visit], [OLD, NEW]), path)
    both.store.update(Visit, "v07", {"place": "sea"})
    both.store.create({"visit_id": "v60", "place": "sea", "created": NOW}, Visit)
    names.append("v60")
    assert both.ids("byPlace") == names
    assert both.ids(None) == names, "a query that names no index goes on with the one that was there first"
    assert set(both.ids("ofPlace")) <= {"v07", "v60"}, "nothing else was written yet"
    report = Rewrite(both.store.parts, both.entity).run()
    assert (report.done, report.refused) == (True, 0)
    assert both.ids("ofPlace") == both.ids("byPlace") == names
    plans = [both.queries.plan(QuerySpec("visit", SEA, index)) for index in ("byPlace", "ofPlace", None)]
    assert [len(plan.lanes) for plan in plans] == [64, 1, 64]
    rest = both.queries.run(QuerySpec("visit", SEA, "byPlace", limit=100, cursor=page.cursor))
    assert [each.visit_id for each in rest.items] == names[20:], "a token goes on by the index that it is of"
    with pytest.raises(CursorMismatch):
        both.queries.run(QuerySpec("visit", SEA, "ofPlace", limit=100, cursor=page.cursor))
    both.close()

    after = Stage(Schema([After], [NEW]), path)
    assert after.ids(None) == names
    assert len(after.queries.plan(QuerySpec("visit", SEA)).lanes) == 1
    after.store.update(After, "v01", {"place": "spa"})
    names.remove("v01")
    assert after.ids("ofPlace") == names
    after.close()


@pytest.mark.parametrize("bump", [ShardBump(0, 4, 2), ShardBump(0, 1, 2)], ids=["256 shards", "4 shards"])
def test_records_that_a_re_shard_has_elsewhere_get_the_shard_that_follows_from_there(bump: ShardBump) -> None:
    schema = Schema([Visit], [OLD, NEW])
    visit = schema[Visit]
    table = EmbeddedTable(schema.layout)
    old, new = ShardMap.of_bumps((SIXTY_FOUR,), 0, 1), ShardMap.of_bumps((bump,), 1, 1)
    control = ReshardState(1, old, new, Phase.DUAL_OLD, ReshardStep.COPY)
    table.run(PutItem(encode_control(visit, control, "r")))
    for number in range(40):
        values = {"visitId": f"v{number}", "created": NOW, "place": "sea", "rev": "r"}
        for shard_map in (old, new):
            whole = visit.complete(values, shard_map)
            table.run(PutItem({name: value for name, value in whole.items() if name != "place1HashKey"}))
    assert rekey(table, visit) == 80
    for item in visits(table):
        shard_map = old if len(item["hashKey"]) == len("visit!000") else new
        assert item == recomputed(visit, item, shard_map)
        assert item["place1HashKey"] == f"visit!{'0' * (len(item['hashKey']) - len('visit!'))} |place#sea"
    assert rekey(table, visit) == 0


def test_a_record_that_no_shard_map_has_a_place_for_stays_as_it_is() -> None:
    schema = Schema([Visit], [OLD, NEW])
    table = EmbeddedTable(schema.layout)
    stray = {"hashKey": "visit!00000", "rangeKey": "visitId#v", "visitId": "v", "created": NOW, "place": "sea"}
    table.run(PutItem(stray))
    assert rekey(table, schema[Visit]) == 0
    assert visits(table) == [stray]


def visits(table: EmbeddedTable) -> list[dict[str, Any]]:
    """The stored visits."""
    return [dict(item) for item in table.run(Scan(consistent=True)).items if item["hashKey"].startswith("visit!")]
