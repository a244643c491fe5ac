"""Writes sample data into a table, and shows how far it is.

Safe to interrupt and repeat: records have fixed identities, and only those that are not there are written, so a
second run completes a first one and changes nothing of what was there. A transaction writes as many as it can hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shardweave.entity import Entity
from shardweave.store import Create, Store
from shardweave.table.operations import MAX_TRANSACTION_ACTIONS

CHUNK = MAX_TRANSACTION_ACTIONS // 2
"""A store counts every action of a transaction twice."""


def load(store: Store, records: Sequence[Entity], title: str, output: TextIO) -> int:
    """Write the records that are not there, and give how many that were."""
    written = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=output)) as progress:
        task = progress.add_task(title, total=len(records))
        for start in range(0, len(records), CHUNK):
            chunk = records[start : start + CHUNK]
            missing = _missing(store, chunk)
            if missing:
                store.transact([Create(record) for record in missing])
            written += len(missing)
            progress.advance(task, len(chunk))
    return written


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
