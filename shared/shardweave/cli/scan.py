"""`shardweave scan`: prints all records of an entity as JSON lines, also of an entity with a partition.

    shardweave scan --entity order --table NAME > orders.jsonl
    shardweave scan --entity order --table NAME --position order.position >> orders.jsonl

Each record is printed once, in no order, as the API shows it; with `--private`, private properties too. The table can
be used meanwhile, also by a re-shard. With `--position FILE`, a scan that was stopped continues when it is started
again; the file is removed when the scan is done. Records that were printed in the last two seconds before a process was
killed are printed again. One scan at a time uses such a file. Several processes share the work with `--segments 4`, and
`--segment 0` to `3`, each with a position file of its own. The command needs the right to scan the table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, InputError, RecordUnreadable, Unreadable
from ..errors.exit_codes import Unavailable
from ..maintenance.file_lock import for_owner, held_while_used, locked_file
from ..maintenance.scanning import RecordScan, ScanPage, checked_segment
from ..store.parts import StoreParts
from .console import Streams, counted
from .open_table import add_table_arguments, open_service
from .progress_lines import BEGINS_ANEW, GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .schemas import entity_of
from .shown_records import ShownRecords
from .time_left import TimeLeft, items_of

SAVED_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--entity", required=True, metavar="TOKEN", help="the entity's token, such as user")
    parser.add_argument("--position", type=Path, metavar="FILE", help="where the position is saved, and read again")
    parser.add_argument("--segment", type=int, default=0, metavar="N", help="which of the segments, the first is 0")
    parser.add_argument("--segments", type=int, default=1, metavar="N", help="how many segments there are (default: 1)")
    parser.add_argument("--private", action="store_true", help="private properties too, as copies of records need them")
    add_rate_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Scan, and report the numbers; 1 if any record is unreadable."""
    rate = rate_of(options)
    try:
        segment = checked_segment(options.segment, options.segments)
    except InputError as error:
        raise ConfigurationError(error.message, where=f"--{error.where}", fix=error.fix) from None
    kept = None if options.position is None else SavedPosition(options.position)
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        parts: StoreParts = service.parts.store.parts
        entity = entity_of(options, parts.schema)
        shown = ShownRecords(entity, private=options.private)
        shown.say_what_is_left_out(streams.say)
        position = None if kept is None else stack.enter_context(kept.used_by_this_process())
        with named_by_option(options.position):
            scan = RecordScan(parts, entity, position=position, segment=segment, rate=rate)
            left = TimeLeft(lambda: items_of(parts.table) // segment.total, monotonic=streams.monotonic)
            return ScanWriter(shown, streams, kept, left).all_of(scan)


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return (
        f"{GOES_ON}: append its output" if options.position else f"{BEGINS_ANEW}; with --position FILE it would go on"
    )


@contextmanager
def named_by_option(file: Path | None) -> Iterator[None]:
    """A context in which an error about the position names its file."""
    try:
        yield
    except InputError as error:
        if error.where == "position":
            error.where = "--position"
            error.fix = f"remove {file}, and scan again from the beginning"
        raise


@dataclass(frozen=True)
class SavedPosition:
    """The file with the position of a scan, which has keys of records. It is replaced atomically."""

    path: Path

    @contextmanager
    def used_by_this_process(self) -> Iterator[str | None]:
        """A context in which no other scan saves there; with the position, None if there is none. Raises
        ConfigurationError, Unavailable."""
        lock = self.path.parent / f"{self.path.name}.lock"
        fix = "let it end or stop it, or give another file"
        try:
            file = locked_file(lock, Unavailable(f"another scan saves in {self.path}", where="--position", fix=fix))
        except OSError as error:
            raise self._unusable(error) from None
        with held_while_used(file, lock):
            yield self.read()

    def read(self) -> str | None:
        """The position; None if there is no file. Raises ConfigurationError."""
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self._unusable(error) from None

    def save(self, position: str | None) -> None:
        """Save a position; None removes the file. Raises ConfigurationError."""
        try:
            if position is None:
                self.path.unlink(missing_ok=True)
                return
            beside = self.path.with_name(f"{self.path.name}.new")
            with open(beside, "w", encoding="utf-8", opener=for_owner) as file:
                file.write(position)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> ConfigurationError:
        said = getattr(error, "strerror", None) or "it is no text"
        return ConfigurationError(f"{self.path} can't be used: {said}", where="--position", fix="give another file")


class ScanWriter:
    """Writes the lines of a scan. A position is saved after the lines before it have been flushed."""

    def __init__(
        self, shown: ShownRecords, streams: Streams, kept: SavedPosition | None, left: TimeLeft | None = None
    ) -> None:
        self._shown = shown
        self._streams = streams
        self._kept = kept
        self._left = left or TimeLeft(lambda: 0)
        self._unsaved: str | None = None
        self._records = self._unreadable = 0

    def all_of(self, scan: RecordScan[Any]) -> int:
        """Print a scan to its end; returns 1 if any record is unreadable."""
        lines, left = ProgressLines(self._streams.say, monotonic=self._streams.monotonic), self._left
        saved_at, done = time.monotonic(), False
        try:
            while (page := scan.next_page()) is not None:
                self._write(page)
                if time.monotonic() - saved_at >= SAVED_SECONDS:
                    self._save()
                    saved_at = time.monotonic()
                left.is_at(self._records)
                lines.tell(lambda: f"{counted(self._records, 'record')} written{left.told()}")
            done = True
        finally:
            if not done:
                with suppress(ConfigurationError):
                    self._save()
        if self._kept is not None:
            self._kept.save(None)
        bad = f", {self._unreadable:,} can't be read" if self._unreadable else ""
        self._streams.say(f"{self._shown.entity.token}: {counted(self._records, 'record')} written{bad}")
        return int(self._unreadable > 0)

    def _write(self, page: ScanPage[Any]) -> None:
        unreadable = list(page.unreadable)
        for record in page.items:
            try:
                self._streams.write(self._shown.line(record))
                self._records += 1
            except RecordUnreadable as error:
                unreadable.append(error.record)
        for each in unreadable:
            self._say(each)
        self._streams.stdout.flush()
        self._unsaved = page.position

    def _say(self, met: Unreadable) -> None:
        self._unreadable += 1
        stored = "" if met.key else f" ({' '.join(map(str, met.stored_key))})"
        self._streams.say(f"unreadable: {met.place}{stored}: {met.message}")

    def _save(self) -> None:
        if self._kept is not None and self._unsaved is not None:
            self._kept.save(self._unsaved)
