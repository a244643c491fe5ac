"""Checks of the items beside records: lookups, counters, markers, the bookkeeping of re-shards.

Whose an item is stands in its hash key, before the shard: `user.phone` is a lookup, `issue.num+` a sequence,
`project.*` the children of a project, `order.*waiting` what events said, `message.*sums-unread` what a message adds to
a read model, `user._reshard` a re-shard; `_idempotency`, `_rate` and `_maintenance` are the library's own.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ReshardUnreadable, ShardweaveError
from ..reshard.control import CONTROL, control_key, decode_control
from ..reshard.declaration_guard import moving_faults
from ..reshard.load.counters import LOAD
from ..reshard.load.policy import VERDICT, decode_verdict
from ..reshard.work_items import WORK, decode_work
from ..schema.entity_type import EntityType
from ..schema.read_models import ReadModel
from ..schema.relations import LookupType
from ..schema.schema import Schema
from ..store.events.counts import KIND
from ..store.events.pending_records import marks_of
from ..store.events.record_feed import fed_by
from ..store.locations import location_of
from ..store.lookups.backfill_state import READY, STATE
from ..store.lookups.lookup_records import identity_lookup_key, owner_identity, owner_in, placed
from ..store.relations.deletion_work import KIND as KIND_OF_DELETIONS
from ..store.relations.deletion_work import PARTITION, DeletionWork, deletion_key
from ..store.relations.enforced import DELETING, counter_key
from ..store.sequences import LAST
from ..store.writing.write_actions import key_of
from ..table.values import Item
from .count_judge import remembered_record
from .findings import Finding
from .looking import Look, NotRead, is_possible
from .record_judge import LONG_EXPIRED_SECONDS, UNUSABLE, RecordJudge, live_owner, lookup_keys_of, named_key, stored_key

STOPPED_MS = 30 * 60_000
"""How long after its time nobody has gone on with a deletion that counts as stopped."""
LIBRARY = ("_idempotency", "_rate", PARTITION)
COUNTER, WAITING, RESHARD = "*", "*waiting", "_reshard"
STATES = (READY, "filling")


class Judge:
    """Judges every item of a table."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._records = RecordJudge(schema)

    def judge(self, item: Item, look: Look) -> list[Finding]:
        """The faults of an item, as far as all needed items have been read."""
        found: list[Finding] = []
        with suppress(
            NotRead, ReshardUnreadable
        ):  # The rest comes when it was read; such a record is judged by itself.
            found.extend(self._judged(item, look))
        return found

    def _judged(self, item: Item, look: Look) -> Iterator[Finding]:
        hash_key, range_key = str(item[look.hash_name]), str(item[look.range_name])
        head, found, _ = hash_key.partition(self._schema.key_format.shard_delimiter)
        entity = self._schema.entities.get(head) if found else None
        if entity is not None:
            yield from self._records.judge(entity, item, look)
            return
        token, point, name = head.partition(".")
        owner = self._schema.entities.get(token)
        if head == PARTITION and range_key.startswith(KIND_OF_DELETIONS):
            yield from self._deletion(item, look)
        elif head in LIBRARY:
            yield from self._expired(item, look, head)
        elif owner is None or not point:
            yield Finding("unknown_item", (hash_key, range_key), head[:80])
        elif name == RESHARD:
            yield from self._of_reshard(owner, item, look)
        else:
            yield from self._beside(owner, name, item, look)

    def _expired(self, item: Item, look: Look, about: str, key: tuple[str, str] | None = None) -> Iterator[Finding]:
        """Found for each of the library's items that has an expiry."""
        expires = item.get(self._schema.layout.ttl_attribute or "")
        if type(expires) is int and expires <= look.seconds - LONG_EXPIRED_SECONDS:
            own = str(item[look.hash_name]), str(item[look.range_name])
            yield Finding("expired_item", key or own, about)

    def _deletion(self, item: Item, look: Look) -> Iterator[Finding]:
        """Found for the deletion of a parent that nobody goes on with, or of which the bookkeeping is wrong."""
        key = str(item[look.hash_name]), str(item[look.range_name])
        work = DeletionWork.decode(self._schema.entities, item)
        if work is None:
            yield Finding("bookkeeping_damaged", key, PARTITION)
            return
        counter = look.item(counter_key(work.entity, work.identity)) or {}
        if counter.get(DELETING) != work.since:
            yield Finding("deletion_remains", key, f"{work.entity.token}.{COUNTER}")
        elif work.until <= look.now_ms - STOPPED_MS:
            yield Finding("deletion_stopped", key, f"{work.entity.token}.{COUNTER}")

    # -- lookups, counters, markers

    def _beside(self, entity: EntityType[Any], name: str, item: Item, look: Look) -> Iterator[Finding]:
        lookup = entity.lookups.get(name)
        about, key = f"{entity.token}.{name}", stored_key(entity, item)
        if item[look.range_name] == STATE:
            if item.get(STATE) not in STATES:
                yield Finding("bookkeeping_damaged", key, about)
        elif lookup is not None:
            yield from self._lookup(entity, lookup, item, look)
        elif entity.lookup_placed and name == ".".join(entity.identity):
            yield from self._identity_lookup(entity, name, item, look)
        elif name in {f"{each.property_name}+" for each in entity.sequences}:
            if type(item.get(LAST)) is not int:
                yield Finding("counter_damaged", key, about)
        elif name == COUNTER and entity.children:
            yield from self._counter(entity, item, look)
        elif name == WAITING:
            yield from self._remnant(entity, item, look)
        elif found := [each for each in fed_by(self._schema, entity) if name == KIND + each.name]:
            yield from self._memory(entity, found[0], item, look)
        else:
            yield Finding("unknown_item", key, about)

    def _memory(self, entity: EntityType[Any], read_model: ReadModel, item: Item, look: Look) -> Iterator[Finding]:
        about, key = f"{entity.token}.{KIND}{read_model.name}", stored_key(entity, item)
        try:
            yield from list(remembered_record(self._schema, entity, read_model, item, key, look))
        except (*UNUSABLE, ValueError):
            yield Finding("bookkeeping_damaged", key, about)
            return
        yield from self._expired(item, look, about)

    def _lookup(self, entity: EntityType[Any], lookup: LookupType, item: Item, look: Look) -> Iterator[Finding]:
        about, key = f"{entity.token}.{lookup.name}", named_key(entity, lookup, item)
        if entity.is_expired(item, look.seconds):
            yield from self._expired(item, look, about, key)
            return
        try:
            identity = owner_in(entity, item)
        except UNUSABLE:
            yield Finding("lookup_damaged", key, about)
            return
        owner = self._owner(entity, identity, look)
        if owner is None or key_of(entity, item) not in lookup_keys_of(entity, lookup, owner):
            yield Finding("lookup_dangling", key, about)

    def _identity_lookup(self, entity: EntityType[Any], name: str, item: Item, look: Look) -> Iterator[Finding]:
        about, key = f"{entity.token}.{name}", stored_key(entity, item)
        if entity.is_expired(item, look.seconds):
            yield from self._expired(item, look, about)
            return
        try:
            identity = owner_identity(entity, str(item[look.range_name]))
            is_placed = key_of(entity, identity_lookup_key(entity, identity)) == key_of(entity, item)
            if is_placed:
                location_of(entity, placed(identity, item), look.spaces(entity).current)
            owner = self._owner(entity, identity, look)
        except UNUSABLE:
            yield Finding("lookup_damaged", key, about)
            return
        if owner is None or not is_placed:
            yield Finding("lookup_dangling", key, about)

    @staticmethod
    def _owner(entity: EntityType[Any], identity: Item, look: Look) -> Item | None:
        return live_owner(entity, identity, look.spaces(entity), look)

    def _counter(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        key, about = stored_key(entity, item), f"{entity.token}.{COUNTER}"
        numbers = [item.get(link.attribute, 0) for link in entity.children]
        if not all(type(number) is int for number in numbers):
            yield Finding("counter_damaged", key, about)
            return
        try:
            identity = owner_identity(entity, str(item[look.range_name])) if entity.identity else {}
            is_placed = key_of(entity, counter_key(entity, identity)) == key_of(entity, item)
            parent = self._owner(entity, identity, look) if is_placed else None
        except UNUSABLE:
            yield Finding("counter_damaged", key, about)
            return
        work = None
        if DELETING in item and is_placed:
            stored = look.item(deletion_key(entity, identity))
            work = None if stored is None else DeletionWork.decode(self._schema.entities, stored)
            if work is None or work.since != item[DELETING]:
                yield Finding("deletion_remains", key, about)
                return
        if parent is None and not any(numbers) and work is None:
            yield Finding("counter_dangling", key, about)

    def _remnant(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        key, about = stored_key(entity, item), f"{entity.token}.{WAITING}"
        try:
            marks_of(entity, {}, item)
        except UNUSABLE:
            yield Finding("bookkeeping_damaged", key, about)
            return
        yield from self._expired(item, look, about)

    # -- re-shards

    def _of_reshard(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        range_key = str(item[look.range_name])
        kinds: Mapping[str, Callable[[EntityType[Any], Item, Look], Iterator[Finding]]] = {
            CONTROL: self._control,
            WORK: self._work,
            VERDICT: self._verdict,
            LOAD: self._load,
        }
        judge = next((each for start, each in kinds.items() if range_key.startswith(start)), None)
        if judge is None:
            yield Finding("unknown_item", stored_key(entity, item), f"{entity.token}.{RESHARD}")
        else:
            yield from judge(entity, item, look)

    def _control(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        key = stored_key(entity, item)
        try:
            control = decode_control(entity, item)
            if moving_faults(self._schema, {entity.token: control}):
                yield Finding("declaration_differs", key, entity.token)
        except ShardweaveError:
            yield Finding("control_unreadable", key, entity.token)
            return
        if not is_possible(control):
            yield Finding("control_unreadable", key, entity.token)
        if control.attention:
            yield Finding("reshard_stopped", key, entity.token)

    def _work(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        key = stored_key(entity, item)
        try:
            work = decode_work(entity, item)
            stored = look.item(control_key(entity))
            control = None if stored is None else decode_control(entity, stored)
        except ShardweaveError:
            yield Finding("bookkeeping_damaged", key, entity.token)
            return
        if control is None or work.version < control.version:
            yield Finding("reshard_remains", key, entity.token)

    def _verdict(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        if decode_verdict(item) is None:
            yield Finding("bookkeeping_damaged", stored_key(entity, item), entity.token)

    def _load(self, entity: EntityType[Any], item: Item, look: Look) -> Iterator[Finding]:
        if not all(type(item.get(name, 0)) is int for name in ("items", "bytes", "writes", "hot", "throttled")):
            yield Finding("bookkeeping_damaged", stored_key(entity, item), entity.token)
