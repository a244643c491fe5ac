"""`shardweave import`: imports the records of an export, or of DynamoDB's own export to S3.

    shardweave import DIR --table NAME
    shardweave import FILE.json.gz FILE.json.gz --table NAME

It creates missing records; existing records are not changed, and are counted as kept. With `--replace` it only replaces
records that still have the revision of their line, for example after exported lines were edited. Sequences continue
above the imported numbers. The table can be used meanwhile, and the command can be stopped at any time and repeated.
"""

from __future__ import annotations

import argparse
import gzip
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import BinaryIO

from ..errors import ConfigurationError, InputError
from ..maintenance.export_folder import STATE, check_known, check_whole
from ..maintenance.importing import Import, ImportReport
from ..schema.schema import Schema
from .console import Streams, counted, lines_of
from .json_report import add_json_argument, write_report
from .open_table import add_table_arguments, open_service
from .progress_lines import BEGINS_ANEW, ProgressLines
from .rate import add_rate_argument, rate_of
from .schemas import schema_of
from .time_left import TimeLeft


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("sources", type=Path, nargs="+", metavar="PATH", help="folders and files of exports")
    parser.add_argument("--replace", action="store_true", help="replace records that have not changed; make none")
    add_rate_argument(parser)
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Import, and report the outcome of the lines; 1 if any was refused or kept."""
    rate = rate_of(options)
    files = list(_files(options.sources, schema_of(options)))
    _check_lines(options.sources, files)
    with ExitStack() as stack:
        service = open_service(options, create=True)
        stack.callback(service.close)
        given = FileLines(files)
        lines = ProgressLines(streams.say, monotonic=streams.monotonic)
        left = TimeLeft(lambda: sum(path.stat().st_size for path in files), bound="about", monotonic=streams.monotonic)

        def follow(report: ImportReport) -> None:
            left.is_at(given.done)
            so_far = f"{counted(report.lines, 'line')} read, {report.written:,} records written"
            lines.tell(lambda: so_far + left.told())

        parts, replacing = service.parts.store.parts, options.replace
        importing = Import(parts, streams.clock, replace_unchanged=replacing, rate=rate)
        report = importing.run(given, follow)
    for each in report.examples:
        streams.say(f"{given.place_of(each.number)}: {each.reason}")
    streams.say(
        f"{counted(report.written, 'record')} written, {report.there:,} there already, {report.kept:,} kept as stored, "
        f"{counted(report.refused, 'line')} refused, {report.passed:,} passed over"
        + (f", {counted(report.counters, 'counter')} of sequences" if report.counters else "")
        + (f", what was counted of {counted(report.counted, 'record')}" if report.counted else "")
    )
    counts = ("lines", "written", "there", "kept", "passed", "refused", "counters", "counted")
    named = [{"place": given.place_of(each.number), "reason": each.reason} for each in report.examples]
    write_report(options, streams, {**{name: getattr(report, name) for name in counts}, "named": named})
    return 1 if report.refused or report.kept else 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return f"{BEGINS_ANEW}, and passes over what this one has written"


def _files(sources: Sequence[Path], schema: Schema) -> Iterator[Path]:
    """The files of some folders and files. Raises ConfigurationError."""
    for source in sources:
        if source.is_dir():
            for state in source.rglob(STATE):
                check_known(state.parent, schema, "PATH")
                check_whole(state.parent)
            yield from sorted(each for each in source.rglob("*") if each.name.endswith((".jsonl", ".json.gz")))
        elif source.is_file():
            yield source
        elif source.exists():
            fix = "write the lines to a file, and give that"
            raise ConfigurationError(f"{source} is neither a file nor a folder", where="PATH", fix=fix)
        else:
            raise ConfigurationError(f"there is no {source}", where="PATH", fix="check the name")


def _check_lines(sources: Sequence[Path], files: Sequence[Path]) -> None:
    """Raises ConfigurationError if there is no line at all, but in an export of a table without records."""
    if any(line.strip() for path in files for line in _lines_of(path)):
        return
    if not any(source.is_dir() and any(source.rglob(STATE)) for source in sources):
        named = " and ".join(str(source) for source in sources)
        fix = "give a folder of an export, or a file of its lines"
        raise ConfigurationError(f"there are no lines in {named}", where="PATH", fix=fix)


class FileLines:
    """The lines of some files, one after the other, and where each of them is. `done` is how many bytes of the files
    have been read."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._firsts: list[int] = []
        self._before = 0
        self._file: BinaryIO | None = None

    @property
    def done(self) -> int:
        return self._before + (0 if self._file is None else self._file.tell())

    def __iter__(self) -> Iterator[bytes]:
        number = 1
        for path in self._files:
            self._firsts.append(number)
            for line in _lines_of(path, self._opened):
                yield line
                number += 1
            self._file = None
            self._before += path.stat().st_size

    def _opened(self, file: BinaryIO) -> None:
        self._file = file

    def place_of(self, number: int) -> str:
        """The file of a line that has been given, and its number in there; the first line of all is 1."""
        position = bisect_right(self._firsts, number) - 1
        return f"{self._files[position]}, line {number - self._firsts[position] + 1}"


def _lines_of(path: Path, opened: Callable[[BinaryIO], object] = lambda file: None) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            opened(file)
            with gzip.open(file) if path.suffix == ".gz" else nullcontext(file) as text:
                yield from lines_of(text)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error, InputError) as error:
        message = f"{path} can't be read: {getattr(error, 'strerror', None) or 'it is damaged, or cut off'}"
        fix = "copy it again, and repeat the import; the lines before have been imported"
        raise ConfigurationError(message, where="PATH", fix=fix) from None
