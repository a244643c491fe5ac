"""Writes sample data into a table, and shows how far it is.

Safe to interrupt and repeat: records have fixed identities, and only those that are not there are written, so a
second run completes a first one and changes nothing of what was there. A transaction writes as many as it can hold.
Where records have numbers, their sequences first go on to above those. Events are applied one by one, to the projection
that takes them, which knows those that it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..cli.progress_lines import ProgressLines
from ..schema.entity import Entity
from ..schema.read_models import Event
from ..store import Create, Store
from ..store.lookups.lookup_records import lookup_keys
from ..table.operations import MAX_TRANSACTION_ACTIONS

Sample = Entity | Event


def load(
    store: Store, samples: Sequence[Sample], title: str, output: TextIO, lines: ProgressLines | None = None
) -> int:
    """Write the records that are not there, apply the events that were not, and give how many there were of both. A bar
    shows how far it is on a terminal, `lines` elsewhere."""
    records = [each for each in samples if isinstance(each, Entity)]
    events = [each for each in samples if isinstance(each, Event)]
    written = done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress.advance(task, count)
        if progress.disable:
            told.tell(lambda: f"{title}: {done:,} of {len(samples):,}")

    console = Console(file=output)
    told = lines or ProgressLines(lambda line: print(line, file=output, flush=True))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=len(samples))
        for chunk in _chunks(store, records):
            missing = _missing(store, chunk)
            if missing:
                _advance(store, missing)
                store.transact([Create(record) for record in missing])
            written += len(missing)
            advance(len(chunk))
        for event in events:
            written += not store.apply(_projection(store, event), event).repeated
            advance(1)
    return written


def _chunks(store: Store, records: Sequence[Entity]) -> Iterator[list[Entity]]:
    """As many records at a time as a transaction holds, counting for each what it may take at most."""
    chunk: list[Entity] = []
    taken = 0
    for record in records:
        actions = _actions(store, record)
        if taken + actions > MAX_TRANSACTION_ACTIONS:
            yield chunk
            chunk, taken = [], 0
        chunk.append(record)
        taken += actions
    if chunk:
        yield chunk


def _actions(store: Store, record: Entity) -> int:
    """A store counts an action on a record twice, and once each lookup, and each parent with its counter."""
    entity = store.schema[type(record)]
    item = entity.dump(record)
    enforced = sum(relation.enforced for relation in entity.relations.values())
    lookups = entity.lookups.values()
    found = sum(len(lookup_keys(entity, each, item)) if each.members or each.entries else 1 for each in lookups)
    return 2 + found + 2 * enforced


def _advance(store: Store, records: Sequence[Entity]) -> None:
    """Let sequences go on above the numbers that the records have."""
    last: dict[tuple[Any, ...], int] = {}
    for record in records:
        entity = store.schema[type(record)]
        item = entity.dump(record)
        for sequence in entity.sequences:
            within = tuple((element.name, item[element.name]) for element in sequence.within)
            number = item.get(sequence.property_name) or 0
            key = (type(record), sequence.property_name, within)
            last[key] = max(last.get(key, 0), int(number))
    for (model, name, within), number in last.items():
        store.advance(model, name, within=dict(within), to=number)


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
