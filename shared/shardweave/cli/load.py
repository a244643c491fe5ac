"""`shardweave load`: writes JSON lines of records into a table.

Each record is put: it replaces the record with its identity, whose creation time stays. Private properties that a line
leaves out (as after a query without `--private`) keep their stored values. So a load can be repeated, and refused lines
can be corrected and loaded again. The entity of a line is given by `--entity`; without it, it is the only entity that
has all of the line's properties, or the only one of several whose identity is among them. An input without lines, such
as of a query that found nothing, is no error: the last line says so.

Costs: a batch of at most 250 records is in memory; see the store for what a batch costs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import ConfigurationError, InputError, ShardweaveError
from ..maintenance.walk import Pace
from ..schema.entity_type import EntityType
from ..schema.identities import given_identity
from ..schema.nested_elements import root_of
from ..schema.schema import Schema
from ..store import Store
from ..store.operations import Put
from .console import Streams, counted, lines_of, visible
from .json_lines import Line, objects
from .json_report import add_json_argument, write_report
from .open_table import add_table_arguments, open_service
from .progress_lines import BEGINS_ANEW, ProgressLines
from .rate import add_rate_argument, rate_of
from .records import whole_record
from .schemas import entity_of
from .time_left import TimeLeft

BATCH = 250


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="JSON lines of records; - reads standard input")
    parser.add_argument("--entity", metavar="TOKEN", help="the entity of every line (default: its properties say)")
    add_rate_argument(parser)
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Load, and report the numbers; 1 if any line was refused."""
    rate = rate_of(options)
    with ExitStack() as stack:
        service = open_service(options, create=True)
        stack.callback(service.close)
        schema = service.parts.schema
        only = None if options.entity is None else entity_of(options, schema)
        source = stack.enter_context(_opened(options.file, streams))
        bar = stack.enter_context(_bar(streams))
        loading = Loading(service.parts.store, schema, only, lambda line: _print(bar, line), rate)
        loading.load(_followed(source, options.file, bar, loading, streams))
        for task in bar.task_ids:
            bar.update(task, written=loading.written)
    nothing = "" if loading.written or loading.refused else ": there were no lines"
    streams.say(f"{counted(loading.written, 'record')} written, {counted(loading.refused, 'line')} refused{nothing}")
    write_report(options, streams, {"written": loading.written, "refused": loading.refused})
    return 1 if loading.refused else 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return f"{BEGINS_ANEW}, and writes what this one has written again"


class Loading:
    """One load: the records to be written, and the numbers of the others. `rate` is how many are written in a second;
    0 is any."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        only: EntityType[Any] | None,
        say: Callable[[str], None],
        rate: int = 0,
    ) -> None:
        self._store = store
        self._schema = schema
        self._only = only
        self._say = say
        self._batch = min(BATCH, rate) or BATCH
        self._pace = Pace(rate, store.parts.waiting)
        self._waiting: list[tuple[int, Put]] = []
        self._identities: set[tuple[str, str]] = set()
        self.written = 0
        self.refused = 0

    def load(self, source: Iterator[bytes]) -> None:
        """Write every line of a stream."""
        for line in objects(source, self._refuse):
            try:
                self._add(line)
            except ShardweaveError as error:
                self._refuse(line.number, error)
        self._write()

    def _add(self, line: Line) -> None:
        entity = self._only or entity_of_line(self._schema, line)
        values = whole_record(entity, line.values)
        identity = entity.token, repr(_identity(entity, line.number, values))
        if identity in self._identities or len(self._waiting) == self._batch:
            self._write()
        self._identities.add(identity)
        private = frozenset(each.stored for each in entity.properties.values() if each.private)
        self._waiting.append((line.number, Put(values, entity.model, keeping=private, from_json=True)))

    def _write(self) -> None:
        """Write a batch. A record is in a batch only once, so that lines about it are written in their order."""
        outcomes = self._store.batch_write([put for _, put in self._waiting]).puts if self._waiting else ()
        for (number, _), outcome in zip(self._waiting, outcomes, strict=True):
            if outcome.status == "written":
                self.written += 1
            else:
                unwritten = InputError("it was not written in time", fix="load the line again")
                self._refuse(number, outcome.error or unwritten)
        self._pace.did(len(self._waiting))
        self._waiting.clear()
        self._identities.clear()

    def _refuse(self, number: int, error: ShardweaveError) -> None:
        self.refused += 1
        self._say(f"line {number}: {error}")


def entity_of_line(schema: Schema, line: Line) -> EntityType[Any]:
    """The only possible entity of a line. Raises InputError."""
    found = []
    for entity in schema.entities.values():
        names = {entity.stored_name(name) for name in line.values}
        if names <= set(entity.properties):
            found.append((entity, set(map(root_of, entity.identity)) <= names))
    likely = found if len(found) == 1 else [each for each in found if each[1]]
    if len(likely) != 1:
        which = "several entities have" if found else "no entity has"
        raise InputError(f"{which} all of its properties", fix="give --entity, whose faults are then listed")
    return likely[0][0]


def _identity(entity: EntityType[Any], number: int, values: Mapping[str, Any]) -> Any:
    """A value that identifies a record in a batch; lines without an identity are all different."""
    identity = given_identity(entity, values)
    return number if len(identity) < len(entity.identity) else entity.identify(identity)


def _opened(name: str, streams: Streams) -> AbstractContextManager[BinaryIO]:
    if name == "-":
        return nullcontext(streams.stdin)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ConfigurationError(f"{name} can't be read: {error.strerror}", where="FILE", fix="check it") from None


def _bar(streams: Streams) -> Progress:
    counts = TextColumn("{task.fields[written]:,} written")
    console = Console(file=streams.stderr)
    columns = BarColumn(), DownloadColumn(), counts, TimeRemainingColumn()
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _print(bar: Progress, line: str) -> None:
    bar.console.print(visible(line), markup=False, highlight=False, soft_wrap=True)


def _followed(source: BinaryIO, name: str, bar: Progress, loading: Loading, streams: Streams) -> Iterator[bytes]:
    """The lines of a source; the bar shows how much of it was read and written. Without a bar, lines tell the
    progress."""
    size = None if name == "-" else Path(name).stat().st_size
    task, read = bar.add_task("", total=size, written=0), 0
    lines = ProgressLines(streams.say, monotonic=streams.monotonic)
    left = TimeLeft(lambda: size or 0, bound="about", monotonic=streams.monotonic)
    for line in lines_of(source):
        yield line
        read += len(line)
        left.is_at(read)
        bar.update(task, advance=len(line), written=loading.written)
        if bar.disable:
            lines.tell(
                lambda: f"{counted(loading.written, 'record')} written, {loading.refused:,} refused so far{left.told()}"
            )
