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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..errors import ConfigurationError, InputError
from ..maintenance.export_folder import STATE, check_whole
from ..maintenance.importing import Import, ImportReport
from .console import Streams, counted, lines_of
from .open_table import add_table_arguments, open_service
from .progress_lines import ProgressLines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("sources", type=Path, nargs="+", metavar="PATH", help="folders and files of exports")
    parser.add_argument("--replace", action="store_true", help="replace records that have not changed; make none")
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Import, and report the outcome of the lines; 1 if any was refused or kept."""
    files = list(_files(options.sources))
    with ExitStack() as stack:
        service = open_service(options, create=True)
        stack.callback(service.close)
        lines = ProgressLines(streams.say)

        def follow(report: ImportReport) -> None:
            lines.tell(lambda: f"{counted(report.lines, 'line')} read, {report.written:,} records written")

        importing = Import(service.parts.store.parts, streams.clock, replace_unchanged=options.replace)
        report = importing.run(_lines(files), follow)
    for each in report.examples:
        streams.say(f"line {each.number}: {each.reason}")
    streams.say(
        f"{counted(report.written, 'record')} written, {report.there:,} there already, {report.kept:,} kept as stored, "
        f"{counted(report.refused, 'line')} refused, {report.passed:,} passed over"
        + (f", {counted(report.counters, 'counter')} of sequences" if report.counters else "")
        + (f", what was counted of {counted(report.counted, 'record')}" if report.counted else "")
    )
    return 1 if report.refused or report.kept else 0


def _files(sources: Sequence[Path]) -> Iterator[Path]:
    """The files of some folders and files. Raises ConfigurationError."""
    for source in sources:
        if source.is_dir():
            for state in source.rglob(STATE):
                check_whole(state.parent)
            found = sorted(each for each in source.rglob("*") if each.name.endswith((".jsonl", ".json.gz")))
            if not found:
                raise ConfigurationError(f"{source} holds no lines", where="PATH", fix="give a folder of an export")
            yield from found
        elif source.is_file():
            yield source
        else:
            raise ConfigurationError(f"there is no {source}", where="PATH", fix="check the name")


def _lines(files: Sequence[Path]) -> Iterator[bytes]:
    for path in files:
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                yield from lines_of(file)  # type: ignore[arg-type]
        except (OSError, EOFError, zlib.error, InputError) as error:
            message = f"{path} can't be read: {getattr(error, 'strerror', None) or 'it is damaged, or cut off'}"
            fix = "copy it again, and repeat the import; the lines before have been imported"
            raise ConfigurationError(message, where="PATH", fix=fix) from None
