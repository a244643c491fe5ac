"""Stores that do one thing wrong, each of which a history must show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shardweave.store import Delete, IdempotencyKey, KeptAnswer, Operation, Store, Written
from shardweave.store.lookups.lookup_records import lookup_keys
from shardweave.store.store import new_revision
from shardweave.table.operations import DeleteItem


class ForgetsRevisions(Store):
    """It changes whatever revision is there."""

    def put(self, record: Any, model: Any = None, *, rev: Any = None) -> Any:
        return super().put(record, model)

    def update(self, model: Any, key: Any, changes: Any, *, rev: Any = None, upsert: Any = False) -> Any:
        return super().update(model, key, changes, upsert=upsert)


class ForgetsKeys(Store):
    """It carries out every request under a key."""

    def idempotent(self, once: IdempotencyKey, operations: Sequence[Operation], answer: Any) -> KeptAnswer:
        return KeptAnswer(answer(self.transact(operations)), repeated=False)


class ForgetsWork(Store):
    """It does all work under a key."""

    def idempotent_work(self, once: IdempotencyKey, work: Callable[[], bytes]) -> KeptAnswer:
        return KeptAnswer(work(), repeated=False)


class AppliesAgain(Store):
    """It takes an event for another one each time."""

    def apply(self, read_model: str, event: Any) -> Any:
        return super().apply(read_model, event.model_copy(update={"event_id": new_revision()}))


class LosesLookups(Store):
    """It removes the lookup records of what it reads."""

    def get(self, model: Any, key: Any, **asked: Any) -> Any:
        found = super().get(model, key, **asked)
        if found is not None:
            entity = self.schema[model]
            item = entity.dump(found)
            for lookup in entity.lookups.values():
                for each in lookup_keys(entity, lookup, item):
                    self.parts.table.run(DeleteItem(each))
        return found


class ReplacesSets(Store):
    """It leaves only the members that are added."""

    def add(self, model: Any, key: Any, amounts: Mapping[str, Any], *, rev: Any = None, upsert: Any = False) -> Any:
        sets = {name: members for name, members in amounts.items() if isinstance(members, set)}
        if sets:
            super().update(model, key, sets)
        return super().add(model, key, {name: each for name, each in amounts.items() if name not in sets})


class TellsNothingOfBefore(Store):
    """It says that there was nothing."""

    def write(self, operation: Operation) -> Written:
        written = super().write(operation)
        return replace(written, before=None, created=not isinstance(operation, Delete))


class ShowsLess(Store):
    """Its pages by a lookup have one record less."""

    def find_by(self, model: Any, name: str, value: Any = None, **asked: Any) -> Any:
        page = super().find_by(model, name, value, **asked)
        return replace(page, items=page.items[:-1])


class TurnsLists(Store):
    """It reads related records in another order."""

    def expand(self, records: Any, *names: str, deadline: float | None = None) -> Any:
        found = super().expand(records, *names, deadline=deadline)
        return [{name: each[::-1] if isinstance(each, tuple) else each for name, each in one.items()} for one in found]
