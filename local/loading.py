"""Writes sample data into a table, and shows how far it is.

Safe to interrupt and repeat: records have fixed identities, and only those that are not there are written, so a
second run completes a first one and changes nothing of what was there. A transaction writes as many as it can hold.
Events are applied one by one, to the projection that takes them, which knows those that it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shardweave.entity import Entity
from shardweave.projections import Event
from shardweave.store import Create, Store
from shardweave.table.operations import MAX_TRANSACTION_ACTIONS

CHUNK = MAX_TRANSACTION_ACTIONS // 2
"""A store counts every action of a transaction twice."""


Sample = Entity | Event


def load(store: Store, samples: Sequence[Sample], title: str, output: TextIO) -> int:
    """Write the records that are not there, apply the events that were not, and give how many there were of both."""
    records = [each for each in samples if isinstance(each, Entity)]
    events = [each for each in samples if isinstance(each, Event)]
    written = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=output)) as progress:
        task = progress.add_task(title, total=len(samples))
        for start in range(0, len(records), CHUNK):
            chunk = records[start : start + CHUNK]
            missing = _missing(store, chunk)
            if missing:
                store.transact([Create(record) for record in missing])
            written += len(missing)
            progress.advance(task, len(chunk))
        for event in events:
            written += not store.apply(_projection(store, event), event).repeated
            progress.advance(task)
    return written


def _projection(store: Store, event: Event) -> str:
    return next(each.name for each in store.schema.projections.values() if isinstance(event, each.events))


def _missing(store: Store, records: Sequence[Entity]) -> list[Entity]:
    by_model: dict[type[Entity], list[Entity]] = defaultdict(list)
    for record in records:
        by_model[type(record)].append(record)
    missing: list[Entity] = []
    for model, group in by_model.items():
        entity = store.schema[model]
        keys = [{name: entity.dump(record)[name] for name in entity.identity} for record in group]
        found = store.batch_get(model, keys)
        missing += [record for record, stored in zip(group, found, strict=True) if stored is None]
    return missing
