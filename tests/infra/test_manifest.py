"""What has been deployed is committed, and what can't be rolled out over it is found before anything is deployed."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.manifest import (
    AHEAD_MS,
    faults,
    index_changes,
    manifest_file,
    read_manifest,
    wave_faults,
    with_waves,
    write_manifest,
)
from shardweave.errors import ConfigurationError, Fault
from shardweave.keys.key_format import ORDERED
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc, nanoid
from shardweave.schema.manifest import Manifest, decode_manifest, encode_manifest, manifest_of
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.service.files import service_names
from shardweave.service.loader import service_schema
from shardweave.values.codecs import Timestamp

NOW = 1_800_000_000_000
BEGUN = ShardBump(0, char_bits=2, chars=1)
HASH, CREATED, TOTAL = "customer_hash_key", "created", "total_range_key"
INDEXES = {
    "byCustomer": Index("byCustomer", HASH, CREATED),
    "byTotal": Index("byTotal", HASH, TOTAL),
    "all": Index("all", "hash_key", CREATED),
}


class Size(enum.Enum):
    """A value that is stored as its rank."""

    SMALL = "s"
    LARGE = "l"


class LongerSize(enum.Enum):
    """The same, with one more at its end."""

    SMALL = "s"
    LARGE = "l"
    HUGE = "h"


class OtherSize(enum.Enum):
    """The same, with one more between."""

    SMALL = "s"
    MEDIUM = "m"
    LARGE = "l"


def manifest(
    *names: str,
    bumps: Sequence[ShardBump] = (BEGUN,),
    elements: Sequence[Any] = ("size", desc("total")),
    size: type[enum.Enum] = Size,
    projection: str = "ALL",
    **keywords: Any,
) -> Manifest:
    """The manifest of a service of orders with some of the indexes."""

    class Order(Entity, token="order", shard_bumps=bumps, **{"origin": "o", **keywords}):
        order_id: str = unique_property(default_factory=nanoid)
        created: Timestamp = timestamp_property()
        customer_id: str
        total: int
        size: size  # type: ignore[valid-type]

        customer_hash_key = HashKey("customer_id")
        total_range_key = RangeKey(*elements)

    Order.model_rebuild(_types_namespace={"size": size, "Timestamp": Timestamp})
    chosen = [INDEXES[name] for name in names or INDEXES]
    return manifest_of(Schema([Order], [Index(i.name, i.hash_key, i.range_key, projection=projection) for i in chosen]))


def places(found: list[Fault]) -> list[str]:
    assert all(fault.message and fault.fix for fault in found)
    return [fault.where for fault in found]


# -- the services that ship -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", service_names())
def test_what_is_declared_can_be_deployed_over_what_is_there(service: str) -> None:
    """Fails when one deployment would change more than one index, change a bump or add one in the past, or place
    records elsewhere. `./run manifest` says the same, and what to do."""
    deployed, wanted = read_manifest(service), manifest_of(service_schema(service, ORDERED))
    assert [*faults(deployed, wanted), *wave_faults(deployed, wanted)] == []


@pytest.mark.parametrize("service", service_names())
def test_a_committed_manifest_is_written_as_the_command_would(service: str) -> None:
    file = manifest_file(service)
    if file.exists():
        assert encode_manifest(decode_manifest(file.read_text())) == file.read_text()


# -- what may change --------------------------------------------------------------------------------------------------


def test_a_service_that_was_never_deployed_may_be_anything() -> None:
    late = manifest(bumps=[BEGUN, ShardBump(NOW - 1, 2, 2)])
    assert faults(None, late, now_ms=NOW) == []
    assert wave_faults(None, late) == []


def test_nothing_stands_against_deploying_the_same_again() -> None:
    assert faults(manifest(), manifest(), now_ms=NOW) == []
    assert wave_faults(manifest(), manifest()) == []


def test_one_index_may_come_or_go_with_a_deployment() -> None:
    for before, after in ((("byCustomer", "all"), INDEXES), (INDEXES, ("byTotal", "all"))):
        assert wave_faults(manifest(*before), manifest(*after)) == []
        assert faults(manifest(*before), manifest(*after), now_ms=NOW) == []


def test_several_index_changes_pass_when_waves_are_noted() -> None:
    deployed, wanted = manifest("byCustomer"), manifest("all", "byTotal")
    (fault,) = wave_faults(deployed, wanted)
    assert "3 would change (+all, +byTotal, -byCustomer)" in fault.message
    assert "./run manifest --waves" in fault.fix
    assert wave_faults(with_waves(deployed, wanted), wanted) == []


def test_a_note_is_of_those_changes_and_no_others() -> None:
    deployed = with_waves(manifest("byCustomer"), manifest("byCustomer", "byTotal", "all"))
    assert wave_faults(deployed, manifest("byTotal", "all")) != []


def test_an_index_can_not_change_in_place() -> None:
    found = faults(manifest(), manifest(projection="KEYS_ONLY"), now_ms=NOW)
    assert places(found) == ["index all", "index byCustomer", "index byTotal"]
    assert all("another name" in fault.fix for fault in found)


# -- bumps ------------------------------------------------------------------------------------------------------------


def test_a_bump_may_be_added_a_day_before_it_begins() -> None:
    for ahead, count in ((AHEAD_MS, 0), (AHEAD_MS - 1, 1)):
        wanted = manifest(bumps=[BEGUN, ShardBump(NOW + ahead, 2, 2)])
        assert len(faults(manifest(), wanted, now_ms=NOW)) == count


@pytest.mark.parametrize(("begins", "said"), [(NOW - 1, "has begun"), (NOW + 1000, "too soon")])
def test_a_new_bump_in_the_past_is_refused_with_the_earliest_time(begins: int, said: str) -> None:
    (fault,) = faults(manifest(), manifest(bumps=[BEGUN, ShardBump(begins, 2, 2)]), now_ms=NOW)
    assert fault.where == "order: shard_bumps"
    assert said in fault.message
    assert str(NOW + AHEAD_MS) in fault.fix


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_the_earliest_time_that_is_named_is_the_first_that_would_do(unit: str) -> None:
    def with_bump(*begins: int) -> Manifest:
        made = manifest()
        bumps = (BEGUN, *(ShardBump(each, 2, 2) for each in begins))
        order = replace(made.entities["order"], timestamp=f"created:Timestamp {unit}", bumps=bumps)
        return replace(made, entities={**made.entities, "order": order})

    earliest = {"s": (NOW + AHEAD_MS) // 1000 + 1, "ms": NOW + AHEAD_MS + 1}[unit]
    (fault,) = faults(with_bump(), with_bump(earliest - 1), now_ms=NOW + 1)
    assert "begins too soon" in fault.message
    assert f"begin it at {earliest} or later" in fault.fix
    assert faults(with_bump(), with_bump(earliest), now_ms=NOW + 1) == []


@pytest.mark.parametrize(("ahead", "said"), [(-1, "has begun"), (AHEAD_MS, "begins too soon to be taken back")])
def test_a_bump_that_has_begun_or_soon_will_stays_as_it_is(ahead: int, said: str) -> None:
    deployed = manifest(bumps=[BEGUN, ShardBump(NOW + ahead, 2, 2)])
    for wanted in (manifest(), manifest(bumps=[BEGUN, ShardBump(NOW + 4 * AHEAD_MS, 2, 2)])):
        (fault,) = faults(deployed, wanted, now_ms=NOW)
        assert f"{said}, and would change or go" in fault.message


def test_a_bump_may_be_changed_or_taken_back_a_day_before_it_begins() -> None:
    deployed = manifest(bumps=[BEGUN, ShardBump(NOW + AHEAD_MS + 1, 2, 2)])
    for wanted in (manifest(), manifest(bumps=[BEGUN, ShardBump(NOW + 4 * AHEAD_MS, 2, 2)])):
        assert faults(deployed, wanted, now_ms=NOW) == []


# -- what places records ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("order.partition", {"partition": "customer_id"}),
        ("order.identity", {"sort": ("order_id", "size")}),
        ("order.shard_by", {"shard_by": "customer_id"}),
        ("order.origin", {"origin": "p"}),
    ],
)
def test_what_places_records_can_not_change(place: str, change: dict[str, Any]) -> None:
    assert place in places(faults(manifest(), manifest(**change), now_ms=NOW))


def test_the_elements_of_a_generated_property_can_not_change() -> None:
    for elements in (("size", "total"), (desc("total"),), ("size", desc("total"), "created")):
        found = faults(manifest(), manifest(elements=elements), now_ms=NOW)
        assert places(found) == ["order: generated property totalRangeKey"]


def test_an_enumeration_grows_at_its_end_and_nowhere_else() -> None:
    assert faults(manifest(), manifest(size=LongerSize), now_ms=NOW) == []
    assert places(faults(manifest(), manifest(size=OtherSize), now_ms=NOW)) != []
    assert places(faults(manifest(size=LongerSize), manifest(), now_ms=NOW)) != []


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_manifest_reads_back_as_it_was(tmp_path: Path) -> None:
    for each in (manifest(), with_waves(manifest("all"), manifest()), manifest(projection="KEYS_ONLY")):
        write_manifest("orders", each, tmp_path)
        assert read_manifest("orders", tmp_path) == each


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    for text in ("", "{}", json.dumps({"keys": 1})):
        manifest_file("orders", tmp_path).write_text(text)
        with pytest.raises(ConfigurationError, match=r"orders\.json.*version control"):
            read_manifest("orders", tmp_path)


def test_index_changes_are_named_in_order() -> None:
    changes = index_changes(manifest("byTotal").indexes, manifest("byCustomer", "all").indexes)
    assert (changes.create, changes.delete, len(changes)) == (("all", "byCustomer"), ("byTotal",), 3)
