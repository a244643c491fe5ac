"""Several faults of one record: the repair of one hides none of the others, so what is called clean is clean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.maintenance.fault_kinds import Severity
from shardweave.maintenance.findings import Finding, Findings
from shardweave.schema.declarations import Lookup, Unique, belongs_to
from shardweave.schema.declarations import Sequence as Numbers
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.read_models import Action, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.table.operations import DeleteItem, PutItem
from shardweave.values.codecs import Timestamp
from tests.unit.store_world import World
from tests.unit.summed_world import changes_of, feed

MEMBER = "m3"
MEMBERS = 6


class Team(Entity, token="team"):
    """What members belong to."""

    team_id: str = unique_property()


class Member(Entity, token="member", shard_bumps=[ShardBump(0, char_bits=4, chars=2)]):
    """Somebody whose points count, with something of everything that the doctor repairs."""

    member_id: str = unique_property()
    created: Timestamp = timestamp_property()
    team_id: str
    points: int = 0
    num: int = 0
    phone: str | None = None
    city: str = "Bath"

    numbering = Numbers("num", within="team_id")
    phone_lookup = Unique("phone")
    city_lookup = Lookup("city")
    team = belongs_to(Team, by="team_id", enforced=True)

    team_hash_key = HashKey("team_id")
    points_range_key = RangeKey("points")


class Standing(Entity, token="standing"):
    """How many points a team has."""

    team_id: str = unique_property()
    points: int = 0


def project(member: Member) -> Sequence[Action]:
    return [Update(Standing, member.team_id, add={"points": member.points})]


STANDINGS = ReadModel("standings", records=(Member,), writes=(Standing,), project=project)
SCHEMA = Schema([Team, Member, Standing], read_models=[STANDINGS])


def club() -> World:
    """Members of one team, all of them counted; nothing handles the stream after that."""
    world = World(schema=SCHEMA)
    world.store.create(Team(team_id="red"))
    for number in range(MEMBERS):
        world.store.create(Member(member_id=f"m{number}", team_id="red", points=10, phone=f"0{number}"))
    feed(world.store, changes_of(world.inner))
    return world


def examined(world: World, **options: Any) -> DoctorReport:
    report = Doctor(world.new_store(world.inner).parts, world.clock, **options).run()
    assert report.done
    return report


def one(world: World, head: str, text: str) -> dict[str, Any]:
    (found,) = [each for each in world.items() if each["hashKey"].startswith(head) and text in each["rangeKey"]]
    return found


def member(world: World) -> dict[str, Any]:
    (found,) = [each for each in world.items_of(Member) if each["memberId"] == MEMBER]
    return found


def put(world: World, item: dict[str, Any], **attributes: Any) -> None:
    """Another program writes an item, attributes of None left out."""
    whole = {**item, **attributes}
    world.inner.run(PutItem({name: value for name, value in whole.items() if value is not None}))


def remove(world: World, item: dict[str, Any]) -> None:
    world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))


# -- damage, all of one member; the last moves it, so that the others find it ------------------------------------------

Damage = Callable[[World], None]


def not_counted(world: World) -> None:
    put(world, member(world), points=member(world)["points"] + 1)


def key_stale(world: World) -> None:
    put(world, member(world), pointsRangeKey="999")


def key_missing(world: World) -> None:
    put(world, member(world), teamHashKey=None)


def phone_missing(world: World) -> None:
    remove(world, one(world, "member.phone!", f"phone#0{MEMBER[1:]}"))


def city_stale(world: World) -> None:
    (found,) = [
        each for each in world.items()
        if each["hashKey"].startswith("member.city!") and str(each.get("_owner")).endswith(MEMBER)
    ]  # fmt: skip
    put(world, found, created=1)


def number_above(world: World) -> None:
    put(world, member(world), num=50)


def misplaced(world: World) -> None:
    found = member(world)
    token, suffix = found["hashKey"].rsplit("!", 1)
    remove(world, found)
    put(world, found, hashKey=f"{token}!{'00' if suffix != '00' else '01'}")


DAMAGES = (not_counted, key_stale, key_missing, phone_missing, city_stale, number_above, misplaced)


def test_a_record_whose_number_was_changed_behind_its_key_is_counted_when_the_key_is_repaired() -> None:
    world = club()
    assert examined(world).findings.counts == {}
    put(world, member(world), points=11)
    assert examined(world).findings.counts == {"stale_key": 1, "count_stale": 1}
    repaired = examined(world, repair=True)
    assert repaired.findings.repaired == {"stale_key": 1, "count_stale": 1}
    assert (repaired.code, examined(world).findings.counts) == (0, {})
    standing = world.store.get(Standing, "red")
    assert standing is not None
    assert standing.points == 10 * MEMBERS + 1


@pytest.mark.parametrize(
    "damages", [*combinations(DAMAGES, 2), DAMAGES], ids=lambda each: "-".join(d.__name__ for d in each)
)
def test_what_is_called_clean_after_a_repair_is_clean(damages: tuple[Damage, ...]) -> None:
    world = club()
    for damage in damages:
        damage(world)
    assert examined(world).code != 0
    repaired = examined(world, repair=True)
    after = examined(world)
    assert (repaired.code, after.code) == (0, 0), (repaired.document(), after.document())


def test_what_was_repaired_of_one_kind_makes_up_for_nothing_that_is_left_of_another() -> None:
    found = Findings()
    found.add(Finding("stale_key", ("member!00", "m1"), "member.pointsRangeKey"))
    found.add(Finding("lookup_stale", ("member!00", "m1"), "member.city"))
    for _ in range(2):
        found.note_repaired(Finding("stale_key", ("member!00", "m1"), "member.pointsRangeKey"))
    assert found.left(Severity.REPAIRABLE) == 1
