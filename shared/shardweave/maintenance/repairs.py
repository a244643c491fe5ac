"""Repairs: each repair is conditional on the state that was read, and changes nothing otherwise.

What is written follows from what is stored. Records are written through the store's own steps, so that lookups,
counters and copies in another shard space come along as in any write. A repair that lost against another writer is not
tried again: what is still wrong is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ShardweaveError
from ..reshard.copy_actions import as_seen
from ..schema.entity_type import MARK, REVISION, EntityType
from ..schema.schema import Schema
from ..store.events.record_feed import RecordFeed
from ..store.events.sum_steps import CorrectStep
from ..store.locations import location_of, locations
from ..store.lookups.backfill_steps import FillStep
from ..store.lookups.lookup_records import identity_lookup, owner_identity, owner_in
from ..store.parts import StoreParts
from ..store.relations.deletion_work import DeletionWork
from ..store.relations.enforced import DELETING, counter_key
from ..store.writing.condition_checks import absence_actions, presence_actions
from ..store.writing.dual_write import rekeyed
from ..store.writing.write_actions import absent, as_read, free, key_of, live
from ..table.conditions import And, Compare, Condition, Missing, Or
from ..table.operations import Action, ConditionCheck, DeleteItem, PutItem, UpdateItem
from ..table.values import Item, number_sum
from .count_judge import COUNT_DANGLING
from .fault_kinds import Severity
from .findings import Finding
from .record_judge import LONG_EXPIRED_SECONDS
from .recount import Wrong
from .rewriting import RewriteStep
from .sum_recount import WrongSum

DELETING_SECONDS = 60.0
"""For how long a repair goes on with one deletion."""


class Repairs:
    """Repairs by one process."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._schema: Schema = parts.schema
        keys = self._written
        self._ways: Mapping[str, Callable[[Finding, Item], bool]] = {
            "missing_key": keys,
            "stale_key": keys,
            "superfluous_key": keys,
            "stray_record": self._moved,
            "reshard_remains": self._removed_as_seen,
            "lookup_missing": self._looked_up,
            "lookup_stale": self._looked_up,
            "lookup_dangling": self._released,
            "lookup_damaged": self._removed_as_seen,
            "expired_item": self._expired,
            "sequence_behind": self._advanced,
            "counter_dangling": self._counter_removed,
            "deletion_stopped": self._deletion_continued,
            "deletion_remains": self._deletion_forgotten,
            "uncounted_child": self._filled,
            "count_missing": self._counted,
            "count_stale": self._counted,
            "count_dangling": self._counted,
        }

    def repair(self, finding: Finding, item: Item) -> bool:
        """Put one fault of an item right, and say whether that was done. Raises what the table raises."""
        way = self._ways.get(finding.kind)
        try:
            return way is not None and way(finding, item)
        except ShardweaveError as error:
            if error.maybe_written:
                raise
            return False

    def place_after(self, finding: Finding, item: Item) -> Item:
        """The key of an item after a fault of it was put right."""
        if finding.kind != "stray_record":
            return self._key(item)
        entity = self._entity(finding)
        return dict(location_of(entity, item, self._parts.moment_of(entity).shard_map).key)

    def recounted(self, wrong: Wrong) -> bool:
        """Set a counter to what was counted, if it still says what it said."""
        name = wrong.attribute
        same: Condition = Compare(name, "=", wrong.says)
        condition = Or((Missing(name), same)) if wrong.says == 0 else same
        return self._sent([UpdateItem(wrong.key, set={name: wrong.counted}, condition=condition)])

    def summed(self, wrong: WrongSum) -> bool:
        """Set the numbers of a read model's record to their sums, if it is still as it was read."""
        if wrong.finding.severity is not Severity.REPAIRABLE:
            return False
        try:
            numbers = {name: number_sum(0, each) for name, each in wrong.numbers.items()}
            step = CorrectStep(wrong.entity, wrong.identity, wrong.said, numbers, wrong.rev)
            return self._parts.writer.run(step).writes
        except ShardweaveError as error:
            if error.maybe_written:
                raise
            return False

    # -- records

    def _entity(self, finding: Finding) -> EntityType[Any]:
        return self._schema.entities[finding.about.partition(".")[0]]

    def _identity(self, entity: EntityType[Any], item: Item) -> Item:
        return entity.identity_from(item)

    def _written(self, finding: Finding, item: Item) -> bool:
        entity = self._entity(finding)
        return self._parts.writer.run(RewriteStep(entity, self._identity(entity, item))).writes

    def _filled(self, finding: Finding, item: Item) -> bool:
        entity, (_, name) = self._entity(finding), finding.about.split(".", 1)
        step = FillStep(entity, self._identity(entity, item), name)
        return bool(self._parts.writer.run(step).actions)

    def _moved(self, finding: Finding, item: Item) -> bool:
        """A record is moved where it belongs while nothing else moves, if nothing is at any place of its id."""
        entity = self._entity(finding)
        moment, seen = self._parts.moment_of(entity), as_seen(item)
        if moment.mirror is not None or moment.marked is not None or seen is None:
            return False
        right, own = location_of(entity, item, moment.shard_map).key, key_of(entity, item)
        moved = rekeyed(entity, item, moment.shard_map)
        others = [place.key for place in locations(entity, item, moment.shard_map, moment.now_ms)]
        checks = [ConditionCheck(key, free(entity, moment)) for key in others if key not in (right, own)]
        put = PutItem(moved, free(entity, moment))
        leases = [] if moment.lease is None else [moment.lease]
        return self._sent([DeleteItem(own, seen), put, *checks], leases)

    # -- beside them

    def _looked_up(self, finding: Finding, item: Item) -> bool:
        entity, (_, name) = self._entity(finding), finding.about.split(".", 1)
        if name in entity.lookups:
            return self._filled(finding, item)
        moment = self._parts.moment_of(entity)
        lookup = {**identity_lookup(entity, {REVISION: "", **item}), REVISION: self._parts.context.new_revision()}
        (stored,) = self._parts.reader.items([key_of(entity, lookup)])
        condition = absent(entity) if stored is None else as_read(stored)
        check = ConditionCheck(key_of(entity, item), And((*live(entity, moment), as_read(item))))
        return self._sent([check, PutItem(lookup, condition)])

    def _released(self, finding: Finding, item: Item) -> bool:
        """A lookup record is removed, as long as its owner is what was seen: not there, or of another value."""
        entity, (_, name) = self._entity(finding), finding.about.split(".", 1)
        if name in entity.lookups:
            identity = owner_in(entity, item)
        else:
            identity = owner_identity(entity, str(item[entity.keys.design.range_name]))
        moment = self._parts.moment_of(entity)
        (seen,) = self._parts.reader.find_now([(entity, identity)])
        if seen.found is not None:
            checks = presence_actions(entity, seen.found, moment, revision_matters=True)
        else:
            checks = absence_actions(entity, identity, moment, seen.lookup)
        own = key_of(entity, item)
        required = [each.action for each in checks if key_of(entity, each.key_or_item) != own]
        return self._sent([DeleteItem(own, as_seen(item)), *required])

    def _removed_as_seen(self, finding: Finding, item: Item) -> bool:
        condition = as_seen(item)
        if condition is None:
            return False
        if MARK in item:
            condition = And((condition, Compare(MARK, "=", item[MARK])))
        return self._sent([DeleteItem(self._key(item), condition)])

    def _expired(self, finding: Finding, item: Item) -> bool:
        """The action that removes an expired item beside records, if its expiry has not been changed since."""
        ttl, past = self._schema.layout.ttl_attribute or "", self._seconds - LONG_EXPIRED_SECONDS
        return self._sent([DeleteItem(self._key(item), Compare(ttl, "<=", past))])

    def _advanced(self, finding: Finding, item: Item) -> bool:
        entity, (_, name) = self._entity(finding), finding.about.split(".", 1)
        sequence = next(each for each in entity.sequences if each.property_name == name)
        self._parts.numbering.advance(entity, sequence, item, item[name])
        return True

    def _counter_removed(self, finding: Finding, item: Item) -> bool:
        entity = self._entity(finding)
        identity = owner_identity(entity, str(item[entity.keys.design.range_name])) if entity.identity else {}
        moment = self._parts.moment_of(entity)
        (seen,) = self._parts.reader.find_now([(entity, identity)])
        is_read = counter_key(entity, identity) == key_of(entity, item)
        if seen.found is not None and is_read:
            return False
        nothing = [Or((Missing(link.attribute), Compare(link.attribute, "=", 0))) for link in entity.children]
        condition = And(tuple(nothing)) if len(nothing) > 1 else nothing[0]
        checks = [each.action for each in absence_actions(entity, identity, moment, seen.lookup)] if is_read else []
        return self._sent([DeleteItem(key_of(entity, item), condition), *checks])

    def _deletion_continued(self, finding: Finding, item: Item) -> bool:
        """Whether a deletion has come to its end."""
        work = DeletionWork.decode(self._schema.entities, item)
        if work is None or not self._parts.removing.stored.taken(work, DELETING_SECONDS):
            return False
        self._parts.removing.resume(work, self._parts.removing.course(DELETING_SECONDS))
        return True

    def _deletion_forgotten(self, finding: Finding, item: Item) -> bool:
        """Remove what is left of a deletion: its mark on a counter, or its record."""
        entity = self._entity(finding)
        key = key_of(entity, item)
        if DELETING not in item:
            return self._sent([DeleteItem(key, as_read(item))])
        return self._sent([UpdateItem(key, remove=(DELETING,), condition=Compare(DELETING, "=", item[DELETING]))])

    def _counted(self, finding: Finding, item: Item) -> bool:
        """A record is counted as it is now, as if the stream had told of it again."""
        entity, (_, name) = self._entity(finding), finding.about.split(".", 1)
        if finding.kind != COUNT_DANGLING:
            identity: Item = entity.identity_in(item)
        else:
            identity = owner_identity(entity, str(item[self._schema.range_key])) if entity.identity else {}
        found = entity.identify(identity) if entity.identity else {}
        return RecordFeed(self._parts).count(self._schema.read_model(name), entity, found) == "counted"

    # -- parts

    @property
    def _seconds(self) -> int:
        entity = next(iter(self._schema.entities.values()))
        return self._parts.moment_of(entity).seconds

    def _key(self, item: Item) -> dict[str, Any]:
        return {name: item[name] for name in (self._schema.hash_key, self._schema.range_key)}

    def _sent(self, actions: list[Action], leases: Any = ()) -> bool:
        return self._parts.sender.send(actions, leases) is None
