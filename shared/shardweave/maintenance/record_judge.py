"""Checks of stored records: keys, location, and the items that must exist beside them.

The generated attributes are computed a second time: their elements in the way that builds them step by step, their
shards as verification has them (`independent_keys`), which shares no code with what writes records. An expired record
is as good as gone, and of a copy that nobody reads only the place matters.

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InputError, KeyTooLong, RecordUnreadable, ShardweaveError, ValueRefused
from ..keys.sharding import ShardMap
from ..reshard.independent_keys import is_equal, recomputed, shard_suffixes
from ..reshard.phases import Phase
from ..schema.entity_type import MARK, EntityType
from ..schema.relations import LookupType
from ..schema.schema import Schema
from ..store.locations import location_of, locations
from ..store.lookups.backfill_state import READY, STATE, marker_key
from ..store.lookups.lookup_records import (
    OWNER,
    identity_lookup,
    identity_lookup_key,
    lookup_keys,
    lookup_record,
    owner_in,
    owner_text,
    placed,
)
from ..store.outcomes import UNNUMBERED
from ..store.relations.enforced import enforced, kinship, uncounted
from ..store.sequences import LAST, counter_key
from ..store.writing.write_actions import key_of, primary_key
from ..table.conditions import compare
from ..table.values import Item
from .count_judge import uncounted_record
from .findings import Finding
from .looking import Look, NotRead, Spaces
from .sequences_behind import BEHIND

LONG_EXPIRED_SECONDS = 7 * 86_400
"""DynamoDB removes what has expired within a few days."""

UNUSABLE = (InputError, RecordUnreadable, KeyTooLong, ValueRefused, TypeError, KeyError)
"""What reading the key or the value of a damaged item raises."""


def stored_key(entity: EntityType[Any], item: Item) -> tuple[str, str]:
    """The key of an item, as findings name it."""
    hash_key, range_key = primary_key(entity, item)
    return str(hash_key), str(range_key)


def named_key(entity: EntityType[Any], lookup: LookupType, item: Item) -> tuple[str, str]:
    """The key of a lookup record as findings name it: a value of a private property is in none, only a digest of it."""
    hash_key, range_key = stored_key(entity, item)
    if not any(entity.properties[element.name].private for element in lookup.elements):
        return hash_key, range_key
    digest = hashlib.blake2b(range_key.encode(), digest_size=8).hexdigest()
    return hash_key, f"{lookup.property_name}#(private, {digest})"


def expected_keys(entity: EntityType[Any], item: Item, shard_map: ShardMap) -> dict[str, Any]:
    """The generated attributes that a stored record should have in the shards of a map, defaults of what is not stored
    among what they are made of. Raises RecordUnreadable, InputError."""
    values = {**entity.dump(entity.load(item)), **entity.visible(item)}
    built = entity.keys.build_step_by_step(values, entity.keys.shard(values, shard_map))
    whole = recomputed(entity, {**values, **built}, shard_map)
    return {name: whole[name] for name in built}


class RecordJudge:
    """Judges records of every entity of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._generated = {name for entity in schema.entities.values() for name in entity.keys.names}

    def judge(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        """The faults of a record, without those that need items that are not read yet. Raises NotRead."""
        key = stored_key(entity, item)
        spaces = look.spaces(entity)
        if entity.is_expired(item, look.seconds):
            if entity.is_expired(item, look.seconds - LONG_EXPIRED_SECONDS):
                yield Finding("expired_record", key, entity.token)
            return
        if _is_in(entity, item, spaces.leaving) and not _is_in(entity, item, spaces.current):
            return
        mark, version = item.get(MARK), 0 if spaces.control is None else spaces.control.version
        if mark is not None and (type(mark) is not int or mark > version):
            yield Finding("impossible_mark", key, entity.token)
        try:
            entity.load(item)
        except RecordUnreadable:
            yield Finding("unreadable_record", key, entity.token)
            return
        homes = [spaces.current] if spaces.mirror is None else [spaces.current, spaces.mirror]
        home = next((each for each in homes if self._is_at_home(entity, item, each)), None)
        if home is None:
            yield from self._stray(entity, item, spaces, look)
            return
        yield from self._keys(entity, item, home)
        if spaces.mirror is not None:
            yield from _each(look, [lambda: self._copy(entity, item, home, spaces, look)])
        if home is spaces.current:
            checks = (
                self._elsewhere,
                self._lookups,
                self._identity_lookup,
                self._numbers,
                self._parents,
                self._counts,
            )
            yield from _each(look, [lambda check=check: check(entity, item, spaces, look) for check in checks])

    def _counts(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        return uncounted_record(self._schema, entity, item, stored_key(entity, item), look)

    # -- where it is

    @staticmethod
    def _is_at_home(entity: EntityType[Any], item: Item, shard_map: ShardMap) -> bool:
        """Whether its hash key is that of its shard, which its properties and its key alone say here: another generated
        attribute may be stale."""
        hash_name = entity.keys.design.hash_name
        slim = {**entity.visible(item), **key_of(entity, item)}
        try:
            return shard_suffixes(entity, slim, shard_map)[hash_name] == _suffix(entity, item)
        except UNUSABLE:
            return False

    def _stray(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        key = stored_key(entity, item)
        if MARK in item and not _is_in(entity, item, spaces.current) and not spaces.is_moving:
            yield Finding("reshard_remains", key, entity.token)
            return
        right = location_of(entity, item, spaces.current).key
        others = [each for each in self._places(entity, item, spaces.current, look) if each != key_of(entity, item)]
        live = look.live(entity, right, *others)
        if not live:
            yield Finding("stray_record", key, entity.token)
        else:
            yield Finding("duplicate_id", key, entity.token, stored_key(entity, live[0]))

    @staticmethod
    def _places(entity: EntityType[Any], item: Item, shard_map: ShardMap, look: Look) -> list[Item]:
        """Where readers look for the record's id, given what decides its shard."""
        return [dict(each.key) for each in locations(entity, item, shard_map, look.now_ms)]

    def _elsewhere(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        """The id is in no other generation. Of two the one with the smaller key tells."""
        own, key = key_of(entity, item), stored_key(entity, item)
        others = [each for each in self._places(entity, item, spaces.current, look) if each != own]
        for each in look.live(entity, *others):
            other = stored_key(entity, each)
            if key < other and self._is_at_home(entity, each, spaces.current):
                yield Finding("duplicate_id", key, entity.token, other)

    def _copy(
        self, entity: EntityType[Any], item: Item, home: ShardMap, spaces: Spaces, look: Look
    ) -> Iterator[Finding]:
        """A record of O that bears the mark of this re-shard has an equal copy; once N decides, every one of N too."""
        control = spaces.control
        assert control is not None
        assert control.new is not None
        new = control.new
        if entity.is_expired(item, look.seconds + LONG_EXPIRED_SECONDS):
            return  # The table may remove one of the two before the other.
        if home is new:
            if control.phase is not Phase.DUAL_NEW:
                return
            (old,) = look.items(location_of(entity, item, control.old).key)
            if old is None or not _equal(entity, old, item, new):
                yield Finding("copy_differs", stored_key(entity, item), entity.token)
            return
        if item.get(MARK) != control.version:
            return
        copy = look.item(location_of(entity, item, new).key)
        if copy is None or not _equal(entity, item, copy, new):
            yield Finding("copy_differs", stored_key(entity, item), entity.token)

    # -- its keys

    def _keys(self, entity: EntityType[Any], item: Item, home: ShardMap) -> Iterator[Finding]:
        key = stored_key(entity, item)
        try:
            expected = expected_keys(entity, item, home)
        except UNUSABLE:
            yield Finding("unreadable_record", key, entity.token)
            return
        for name, text in expected.items():
            if name not in item:
                yield Finding("missing_key", key, f"{entity.token}.{name}")
            elif item[name] != text:
                yield Finding("stale_key", key, f"{entity.token}.{name}")
        for name in sorted((item.keys() & self._generated) - expected.keys() - entity.properties.keys()):
            yield Finding("superfluous_key", key, f"{entity.token}.{name}")

    # -- beside it

    def _lookups(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        for lookup in entity.lookups.values():
            keys: Sequence[Item | None] = lookup_keys_of(entity, lookup, item) or (None,)
            checks = [
                lambda key=key, lookup=lookup: self._lookup(entity, lookup, key, item, spaces, look) for key in keys
            ]
            yield from _each(look, checks)

    def _lookup(
        self,
        entity: EntityType[Any],
        lookup: LookupType,
        wanted: Item | None,
        item: Item,
        spaces: Spaces,
        look: Look,
    ) -> Iterator[Finding]:
        """The fault of one lookup record, `wanted`; None if the record should have none."""
        about, key = f"{entity.token}.{lookup.name}", stored_key(entity, item)
        marker = look.item(marker_key(entity, lookup.name))
        if marker is None or marker.get(STATE) != READY:
            yield Finding("lookup_not_filled", stored_key(entity, marker_key(entity, lookup.name)), about)
            return
        if wanted is None:
            return
        found = look.item(wanted)
        if found is None:
            yield Finding("lookup_missing", key, about, named_key(entity, lookup, wanted))
        elif found.get(OWNER) != owner_text(entity, item):
            yield from self._of_another(entity, lookup, item, found, spaces, look)
        elif not _same(found, lookup_record(entity, wanted, item, "")):
            yield Finding("lookup_stale", key, about, named_key(entity, lookup, wanted))

    def _of_another(
        self, entity: EntityType[Any], lookup: LookupType, item: Item, found: Item, spaces: Spaces, look: Look
    ) -> Iterator[Finding]:
        """Another's lookup record is where the record's should be: its own where that one is not live, or has another
        value."""
        about, key = f"{entity.token}.{lookup.name}", stored_key(entity, item)
        try:
            holder = live_owner(entity, owner_in(entity, found), spaces, look)
        except UNUSABLE:
            holder = None
        if holder is not None and key_of(entity, found) in lookup_keys_of(entity, lookup, holder):
            yield Finding("value_held_twice", key, about, stored_key(entity, holder))
        else:
            yield Finding("lookup_missing", key, about, named_key(entity, lookup, found))

    def _identity_lookup(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        if not entity.lookup_placed:
            return
        about, key = f"{entity.token}.{'.'.join(entity.identity)}", stored_key(entity, item)
        wanted = identity_lookup_key(entity, item)
        found = look.item(wanted)
        if found is None:
            yield Finding("lookup_missing", key, about, stored_key(entity, wanted))
            return
        try:
            place = location_of(entity, placed(item, found), spaces.current).key
        except UNUSABLE:
            yield Finding("lookup_missing", key, about, stored_key(entity, wanted))
            return
        if place == key_of(entity, item):
            if not _same(found, identity_lookup(entity, {"rev": "", **item})):
                yield Finding("lookup_stale", key, about, stored_key(entity, wanted))
        elif look.live(entity, place):
            yield Finding("duplicate_id", key, entity.token, stored_key(entity, place))
        else:
            yield Finding("lookup_missing", key, about, stored_key(entity, wanted))

    def _numbers(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        for sequence in entity.sequences:
            number = item.get(sequence.property_name)
            if number in UNNUMBERED or type(number) is not int:
                continue
            try:
                counter_at = counter_key(entity, sequence, item)
            except UNUSABLE:
                continue
            counter = look.item(counter_at)
            last = None if counter is None else counter.get(LAST)
            if counter is None or (type(last) is int and last < number):
                about = f"{entity.token}.{sequence.property_name}"
                yield Finding(BEHIND, stored_key(entity, counter_at), about)

    def _parents(self, entity: EntityType[Any], item: Item, spaces: Spaces, look: Look) -> Iterator[Finding]:
        key, entities = stored_key(entity, item), self._schema.entities
        relations = {each.name: each for each in enforced(entity)}
        if not relations:
            return
        try:
            parents = kinship(entity, None, item, entities).parents
            counted = uncounted(entity, item, (), entities).counted
        except UNUSABLE:
            yield Finding("unreadable_record", key, entity.token)
            return
        by_property = {parent.property_name: parent for parent in parents}
        for name, relation in relations.items():
            about, parent = f"{entity.token}.{name}", by_property.get(", ".join(relation.by))
            marker = look.item(marker_key(entity, name))
            if marker is None or marker.get(STATE) != READY:
                yield Finding("lookup_not_filled", stored_key(entity, marker_key(entity, name)), about)
                continue
            if parent is None:
                continue
            # While an entity evolves, its records are counted at the end.
            evolves = spaces.control is not None and spaces.control.rekey
            if name not in counted and not evolves:
                yield Finding("uncounted_child", key, about)
            if parent.entity.ttl is not None:
                continue  # It may end by itself, which leaves its children.
            if live_owner(parent.entity, parent.identity, look.spaces(parent.entity), look) is None:
                yield Finding("parent_missing", key, about)


def live_owner(entity: EntityType[Any], identity: Item, spaces: Spaces, look: Look) -> Item | None:
    """The live record of an identity, where readers find it, if its lookup is not damaged. Raises NotRead, and what a
    damaged identity raises."""
    if not entity.lookup_placed:
        places = locations(entity, identity, spaces.current, look.now_ms)
        found = look.live(entity, *(each.key for each in places))
        return found[-1] if found else None
    lookup = look.item(identity_lookup_key(entity, identity))
    if lookup is None:
        return None
    try:
        place = location_of(entity, placed(identity, lookup), spaces.current).key
    except UNUSABLE:
        return None
    found = look.live(entity, place)
    return found[0] if found else None


def lookup_keys_of(entity: EntityType[Any], lookup: LookupType, item: Item) -> Sequence[Item]:
    """The keys of a stored record's lookup records; none where its value can have none."""
    try:
        return lookup_keys(entity, lookup, item)
    except (ShardweaveError, TypeError):
        return ()


def _each(look: Look, checks: Any) -> Iterator[Finding]:
    """What some checks find, those left out that need what was not read yet."""
    for check in checks:
        try:
            yield from list(check())
        except NotRead:
            continue


def _is_in(entity: EntityType[Any], item: Item, shard_map: ShardMap | None) -> bool:
    """Whether a record's suffix is as long as those of a map."""
    chars = len(_suffix(entity, item))
    return shard_map is not None and any(each.space.chars == chars for each in shard_map.generations)


def _suffix(entity: EntityType[Any], item: Item) -> str:
    return entity.keys.suffix_of_key(str(item[entity.keys.design.hash_name]))


def _equal(entity: EntityType[Any], old: Item, new: Item, shard_map: ShardMap) -> bool:
    try:
        return is_equal(entity, recomputed(entity, old, shard_map), new, shard_map)
    except UNUSABLE:
        return False


def _same(found: Item, expected: Item) -> bool:
    """Whether two lookup records say the same, whatever their revision."""
    return compare({**found, "rev": ""}, "=", {**expected, "rev": ""})
