"""Sequences: numbers 1, 2, 3, ... in each scope.

Format, one counter for each scope:
    hashKey    issue.num+!3f       token and property, and a shard that the scope alone decides
    rangeKey   projectId#p1        the scope, the property's name where there is none
    _last      4                   the last number that was taken
    _taker     ...                 who took it, so that a taker whose answer was lost can tell

Guarantees: a number is taken once, and numbers are taken in order. They are taken by an addition before the record is
created, not in its transaction, so that concurrent creates don't conflict. If the create then fails, the number is a
gap; rarely there is also a gap if the table's answer was lost and another writer took a number before the retry. Before
a number is taken, the record is validated and its parents are read: if a parent is missing, or the caller may not see
it, no number is taken. An upsert takes a number only if a read finds no record; if the record that was found is gone
when it is written, the upsert is refused and can be tried again.

While an entity evolves (see `maintenance.rekeying`), its numbers are taken from the counter of its earlier declaration,
and its own counter is moved on to them; a number to which that can't be moved is left, which is a gap.

Costs: one write for each call and scope, however many numbers it takes, and a read of the parents. A counter is one
item, so about 1,000 calls a second in one scope; a call that takes a block counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from ..errors import (
    ConditionFailed,
    InputError,
    InvalidRequest,
    ParentMissing,
    RecordUnreadable,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionConflict,
    UnknownName,
    Unreadable,
    use_one_of,
)
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.relations import SequenceType
from ..table import Table
from ..table.conditions import Compare, Missing, Or
from ..table.operations import UpdateItem
from ..table.retry import UNANSWERED, RetryClock
from ..table.values import Item, Value
from .attempts import AttemptContext
from .lookups.backfill_state import Readiness
from .lookups.lookup_records import internal_key
from .operations import Add, Create, Operation, Put, Related, Update
from .outcomes import UNNUMBERED
from .reader import Reader
from .relations.enforced import Parent, kinship
from .writing.prepare import keeps_number
from .writing.step_maker import StepMaker, name_operation
from .writing.write_steps import CreateStep, PutStep, UpdateStep

LAST = "_last"
TAKER = "_taker"
MOST = 10**18
"""The greatest number that is given, and the most that are taken at once."""
_PLACEHOLDER = 1


@dataclass(frozen=True)
class _Unnumbered:
    """A record that lacks a number: its position among the operations, and the sequence and scope of the number."""

    position: int
    entity: EntityType[Any]
    sequence: SequenceType
    scope: Item


@dataclass(frozen=True)
class _Examined:
    """An operation, the numbers that it lacks, and the parents that it needs and the caller must be able to see."""

    operation: Operation
    lacking: tuple[_Unnumbered, ...] = ()
    parents: tuple[Parent, ...] = ()
    related: Related | None = None


@dataclass(frozen=True)
class Numbering:
    """Takes numbers; safe for many threads."""

    table: Table
    reader: Reader
    waiting: RetryClock
    steps: StepMaker
    readiness: Readiness
    new_token: Callable[[], str]
    moment_of: Callable[[EntityType[Any]], AttemptContext]

    def take(self, entity: EntityType[Any], sequence: SequenceType, scope: Item, count: int = 1) -> range:
        """The next `count` numbers of a scope."""
        _check_number(count, 1, "count")
        form = self.moment_of(entity).old_form
        if form is None or form.old is None:
            return self._taken(entity, sequence, scope, count)
        earlier = next(each for each in form.old.sequences if each.property_name == sequence.property_name)
        while True:
            numbers = self._taken(form.old, earlier, scope, count)
            last = self._continued(entity, sequence, scope, numbers)
            if last is None:
                return numbers
            self.advance(form.old, earlier, scope, last)

    def _continued(self, entity: EntityType[Any], sequence: SequenceType, scope: Item, numbers: range) -> int | None:
        """Move a counter on to the last of some numbers; None if that was done, else the last number of the counter,
        which is not below all of them."""
        taker = self.new_token()
        update = UpdateItem(
            counter_key(entity, sequence, scope),
            set={TAKER: taker, LAST: numbers[-1]},
            condition=Or((Missing(LAST), Compare(LAST, "<", numbers[0]))),
            return_values="ALL_NEW",
            return_on_failure=True,
        )
        with _reading_counter(entity, sequence, scope):
            counter = self._sent(update)
            if type(counter[LAST]) is not int:
                raise TypeError(LAST)
        return None if counter[TAKER] == taker else int(counter[LAST])

    def _taken(self, entity: EntityType[Any], sequence: SequenceType, scope: Item, count: int) -> range:
        taker = self.new_token()
        update = UpdateItem(
            counter_key(entity, sequence, scope),
            set={TAKER: taker},
            add={LAST: count},
            condition=Compare(TAKER, "<>", taker),
            return_values="ALL_NEW",
            return_on_failure=True,
        )
        with _reading_counter(entity, sequence, scope):
            last = self._sent(update)[LAST]
            if type(last) is not int:
                raise TypeError(LAST)
        return range(last - count + 1, last + 1)

    def advance(self, entity: EntityType[Any], sequence: SequenceType, scope: Item, to: int) -> None:
        """Make the next number of a scope greater than `to`, if it is not already."""
        _check_number(to, 0, "to")
        update = UpdateItem(
            counter_key(entity, sequence, scope),
            set={TAKER: self.new_token(), LAST: to},
            condition=Or((Missing(LAST), Compare(LAST, "<", to))),
            return_on_failure=True,
        )
        with _reading_counter(entity, sequence, scope):
            if type(self._sent(update).get(LAST, to)) is not int:
                raise TypeError(LAST)

    def numbered(
        self, operations: Sequence[Operation], failed: dict[int, ShardweaveError] | None = None
    ) -> list[Operation]:
        """The operations, with numbers for the records that lack them. Invalid operations are returned unchanged, for
        the caller to refuse. A record without the properties of `within`, or without its parents, is refused, or added
        to `failed` by its position. Raises ValueRefused, KeyTooLong, ParentMissing."""
        found = list(operations)
        examined: dict[int, _Examined] = {}
        for position, operation in enumerate(operations):
            try:
                examined[position] = self._examined(position, operation)
            except ShardweaveError:
                continue
            found[position] = examined[position].operation
        wanting = {at: each for at, each in examined.items() if each.lacking}
        refused = self._without_parents(operations, wanting)
        lacking: dict[tuple[str, ...], list[_Unnumbered]] = {}
        for position, unnumbered in ((at, each) for at, one in examined.items() for each in one.lacking):
            try:
                if position in refused:
                    several = failed is None and len(operations) > 1
                    raise name_operation(refused[position], position) if several else refused[position]
                key = counter_key(unnumbered.entity, unnumbered.sequence, unnumbered.scope)
            except ShardweaveError as error:
                if failed is None:
                    raise
                failed[position] = error
                continue
            lacking.setdefault(tuple(key.values()), []).append(unnumbered)
        for group in lacking.values():
            entity, sequence = group[0].entity, group[0].sequence
            try:
                numbers = self.take(entity, sequence, group[0].scope, len(group))
            except ShardweaveError as error:
                # Numbers may have been taken, which leaves a gap; no record has been written.
                error.maybe_written = False
                raise
            for each, number in zip(group, numbers, strict=True):
                found[each.position] = with_number(entity, found[each.position], sequence, number)
        return found

    # -- parts

    def _without_parents(
        self, operations: Sequence[Operation], examined: Mapping[int, _Examined]
    ) -> dict[int, ShardweaveError]:
        """The errors, by position, of records whose parents don't exist or are not visible to the caller. Parents that
        the same call writes are checked by the write."""
        needed = [(position, parent) for position, each in examined.items() for parent in each.parents]
        if not needed:
            return {}
        written = self._names(operations) if len(operations) > 1 else set()
        needed = [(position, parent) for position, parent in needed if parent.name not in written]
        seen = self.reader.find_now([(parent.entity, parent.identity) for _, parent in needed]) if needed else []
        refused: dict[int, ShardweaveError] = {}
        for (position, parent), sighting in zip(needed, seen, strict=True):
            try:
                parent.seen(None if sighting.found is None else sighting.found.item, examined[position].related)
            except ParentMissing as missing:
                refused[position] = missing
        return refused

    def _names(self, operations: Sequence[Operation]) -> set[tuple[object, ...]]:
        """The records that operations are about, as far as that can be told."""
        found: set[tuple[object, ...]] = set()
        for operation in operations:
            with suppress(ShardweaveError):
                found.add(self.steps.make(operation).name)
        return found

    def _examined(self, position: int, operation: Operation) -> _Examined:
        """An operation with the numbers that its record already has, and the numbers that it lacks. Raises its other
        errors."""
        if isinstance(operation, (Update, Add)):
            return self._upserting(position, operation)
        if not isinstance(operation, (Create, Put)):
            return _Examined(operation)
        entity = self.steps.entity_of(operation)
        lacking = [each for each in entity.sequences if given_number(entity, operation, each) in UNNUMBERED]
        if not lacking:
            return _Examined(operation)
        tried: Operation = operation
        for sequence in lacking:
            tried = with_number(entity, tried, sequence, _PLACEHOLDER)
        step = self.steps.make(tried)
        assert isinstance(step, (CreateStep, PutStep))
        stored: Item = {}
        draft = step.draft
        if isinstance(step, PutStep):
            (seen,) = self.reader.find_now([(entity, step.identity)])
            stored = {} if seen.found is None else seen.found.item
        if draft is None:
            assert isinstance(step, PutStep)
            draft = self.steps.drafted(step, stored)
        unnumbered = []
        numbered: Operation = operation
        for sequence in lacking:
            if keeps_number(sequence, stored, draft.item):
                numbered = with_number(entity, numbered, sequence, stored[sequence.property_name])
            else:
                scope = {element.name: draft.item.get(element.name) for element in sequence.within}
                unnumbered.append(_Unnumbered(position, entity, sequence, scope))
        kin = kinship(entity, stored or None, draft.item, self.steps.context.entities)
        return _Examined(numbered, tuple(unnumbered), kin.parents, step.related)

    def _upserting(self, position: int, operation: Update | Add) -> _Examined:
        """An upsert, and the numbers that its record lacks, if there is no record to change."""
        entity = self.steps.entity_named(operation.model)
        if operation.upsert is False or operation.rev is not None or not entity.sequences:
            return _Examined(operation)
        step = self.steps.make(operation)
        assert isinstance(step, UpdateStep)
        (seen,) = self.reader.find_now([(entity, step.identity)])
        if seen.found is not None or step.may_only_replace:
            return _Examined(operation)
        item = self.steps.started(step).item
        lacking = tuple(
            _Unnumbered(position, entity, each, {element.name: item.get(element.name) for element in each.within})
            for each in entity.sequences
            if item.get(each.property_name) in UNNUMBERED
        )
        parents = kinship(entity, None, item, self.steps.context.entities).parents
        return _Examined(operation, lacking, parents, step.related)

    def _sent(self, update: UpdateItem) -> Item:
        """The counter after an update, also if the answer of the update was lost, which the condition of a retry
        detects."""
        self.readiness.before_writing()
        pauses = self.waiting.pauses(UNANSWERED)
        while True:
            try:
                answer = self.table.run(update)
            except ConditionFailed as failure:
                return failure.item or {}
            except (TableUnavailable, Throttled, TransactionConflict):
                if not pauses.pause():
                    raise
            else:
                return answer.attributes or {}


def sequence_of(entity: EntityType[Any], name: str) -> SequenceType:
    """The sequence of a property. Raises UnknownName that lists the sequences."""
    stored = entity.stored_name(name) if isinstance(name, str) else None
    for each in entity.sequences:
        if each.property_name == stored:
            return each
    fix = use_one_of((each.property_name for each in entity.sequences), what="sequence")
    raise UnknownName(f"the entity {entity.token!r} has no sequence {name!r:.80}", where=str(name)[:80], fix=fix)


def _check_number(number: Any, least: int, where: str) -> None:
    """Refuse what a counter can't be moved by, or to: it would be damaged by it."""
    if type(number) is not int or not least <= number <= MOST:
        fix = f"give a whole number from {least} to 10**18"
        raise InputError(f"must be a whole number, of at least {least}", where=where, fix=fix)


def scope_of(entity: EntityType[Any], sequence: SequenceType, within: Any) -> Item:
    """A scope in stored form, from a mapping or, when one property makes it, its value. Raises UnknownName."""
    names = [element.name for element in sequence.within]
    if not isinstance(within, Mapping):
        within = {} if within is None else {names[0] if len(names) == 1 else "": within}
    given = entity.by_stored_name(within)
    if given.keys() != set(names):
        listed = ", ".join(names) or "nothing"
        raise UnknownName(f"numbers are taken within {listed}", where="within", fix=f"give {listed}")
    return {name: entity.properties[name].parse(value) for name, value in given.items()}


@contextmanager
def _reading_counter(entity: EntityType[Any], sequence: SequenceType, scope: Item) -> Iterator[None]:
    """Converts the error of a damaged counter, to which the table can't add, to RecordUnreadable."""
    try:
        yield
    except (InvalidRequest, KeyError, TypeError):
        shown = {name: value for name, value in scope.items() if not entity.properties[name].private}
        stored = tuple(counter_key(entity, sequence, scope).values())
        more: dict[str, Any] = {"collection": entity.collection or entity.token, "stored_key": stored}
        found = Unreadable(entity.token, {} if len(shown) < len(scope) else shown, "counter_damaged", **more)
        raise RecordUnreadable(found) from None


def counter_key(entity: EntityType[Any], sequence: SequenceType, scope: Item) -> dict[str, Value]:
    """The key of a scope's counter. Raises KeyTooLong."""
    text = entity.keys.join(sequence.within, scope) or sequence.property_name
    return internal_key(entity, f"{sequence.property_name}+", text)


def given_number(entity: EntityType[Any], operation: Create | Put, sequence: SequenceType) -> Value:
    """The number that an operation gives."""
    record, name = operation.record, sequence.property_name
    if isinstance(record, Entity):
        return getattr(record, entity.properties[name].name)
    return entity.by_stored_name(record).get(name)


def with_number(entity: EntityType[Any], operation: Operation, sequence: SequenceType, number: int) -> Operation:
    """The operation with a number in its record, or in the one that an upsert creates; a put notes that the caller did
    not give the number."""
    if isinstance(operation, (Update, Add)):
        start = operation.upsert if isinstance(operation.upsert, Mapping) else {}
        return replace(operation, upsert={**entity.by_stored_name(start), sequence.property_name: number})
    assert isinstance(operation, (Create, Put))
    if isinstance(operation, Put):
        operation = replace(operation, numbered=operation.numbered | {sequence.property_name})
    name = sequence.property_name
    record, python_name = operation.record, entity.properties[name].name
    if isinstance(record, Entity):
        return replace(operation, record=record.model_copy(update={python_name: number}))
    others = {key: value for key, value in record.items() if key not in (name, python_name)}
    return replace(operation, record={**others, name: number})
