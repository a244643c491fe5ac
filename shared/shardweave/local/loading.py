"""Writes sample data into a table, and shows the progress.

It can be interrupted and repeated: records have fixed identities, and only missing records are written, so a second run
completes the first one and changes no existing record. Each transaction writes as many records as fit. If records are
numbered, their sequences are first advanced past those numbers. Events are applied one by one to their read model,
which ignores the events that it has applied already.
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
    """Write the missing records and apply the new events; returns the number of both. The progress is a bar on a
    terminal, and lines written by `lines` elsewhere."""
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
            written += not store.apply(_read_model(store, event), event).repeated
            advance(1)
    return written


def _chunks(store: Store, records: Sequence[Entity]) -> Iterator[list[Entity]]:
    """The records in groups that fit into one transaction each, with the greatest possible number of actions counted
    for each record."""
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
    """The greatest number of actions that writing a record takes: two for the record, one for each lookup, and one for
    each parent with a counter."""
    entity = store.schema[type(record)]
    item = entity.dump(record)
    enforced = sum(relation.enforced for relation in entity.relations.values())
    lookups = entity.lookups.values()
    found = sum(len(lookup_keys(entity, each, item)) if each.members or each.entries else 1 for each in lookups)
    return 2 + found + 2 * enforced


def _advance(store: Store, records: Sequence[Entity]) -> None:
    """Advance sequences past the numbers in the records."""
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


def _read_model(store: Store, event: Event) -> str:
    return next(each.name for each in store.schema.read_models.values() if isinstance(event, each.events))


def _missing(store: Store, records: Sequence[Entity]) -> list[Entity]:
    by_model: dict[type[Entity], list[Entity]] = defaultdict(list)
    for record in records:
        by_model[type(record)].append(record)
    missing: list[Entity] = []
    for model, group in by_model.items():
        entity = store.schema[model]
        keys = [entity.identity_from(entity.dump(record)) for record in group]
        found = store.batch_get(model, keys)
        missing += [record for record, stored in zip(group, found, strict=True) if stored is None]
    return missing
