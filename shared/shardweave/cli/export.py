"""`shardweave export`: writes the records of a table into a folder, for an import into another table.

    shardweave export DIR --table NAME
    shardweave import DIR --data FOLDER

A file of JSON lines for each entity, in DynamoDB's own form, with private properties, revisions, and unknown
attributes; an import computes keys, lookups and counters again. The table can be used meanwhile. It can be stopped at
any time: started again with the same folder, it continues.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from ..maintenance.exporting import Export, ExportReport
from .console import Streams, counted
from .json_report import add_json_argument, write_report
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .schemas import entities_of
from .time_left import TimeLeft, items_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="an empty folder, or that of an unfinished export")
    parser.add_argument("--entity", action="append", metavar="TOKEN", help="an entity's token (default: every entity)")
    add_rate_argument(parser)
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Export, and report the numbers."""
    rate = rate_of(options)
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        parts = service.parts.store.parts
        lines, left = (
            ProgressLines(streams.say, monotonic=streams.monotonic),
            TimeLeft(lambda: items_of(parts.table), monotonic=streams.monotonic),
        )

        def follow(report: ExportReport) -> None:
            left.is_at(written := sum(report.lines.values()))
            lines.tell(lambda: f"{counted(written, 'line')} written{left.told()}")

        entities = entities_of(options, service.parts.schema)
        report = Export(parts, entities, options.folder, rate=rate).run(follow)
    for token, count in report.lines.items():
        streams.say(f"{token}: {counted(count, 'line')}")
    write_report(options, streams, {"lines": dict(report.lines)})
    return 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON
