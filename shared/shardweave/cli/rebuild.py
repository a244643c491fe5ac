"""`shardweave rebuild`: counts a read model again from the records that feed it.

    shardweave rebuild unread --table NAME

Needed once for a read model that is declared when there are records, and whenever its numbers may be wrong, such as
after an import of records without their numbers. Others may write meanwhile, and the numbers can be read. What a reset
has settled stays so. It can be stopped at any time: started again, it continues. Without a name, all read models of
records are counted.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import Any

from ..maintenance.rebuilding import Rebuild, RebuildReport
from ..schema.read_models import ReadModel
from ..store import Store
from .console import Streams, counted
from .json_report import add_json_argument, write_report
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .stored_format import check_stored_format
from .time_left import TimeLeft, items_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the read model (default: every one of records)")
    add_rate_argument(parser, "items")
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Rebuild, and report the result; 1 if any record was refused."""
    rate = rate_of(options, "items")
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        check_stored_format(options, service, rate)
        schema, store = service.parts.schema, service.parts.store
        every = [each for each in schema.read_model_list if each.records]
        wanted = every if options.name is None else [schema.read_model(options.name)]
        if not wanted:
            streams.say("there is nothing to rebuild: the schema has no read model of records")
        reports = [_rebuilt(store, each, rate, streams) for each in wanted]
    write_report(options, streams, {"readModels": [document(each) for each in reports]})
    return 1 if any(each.refused for each in reports) else 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON


def _rebuilt(store: Store, read_model: ReadModel, rate: int, streams: Streams) -> RebuildReport:
    """Rebuild one read model, and report it."""
    lines = ProgressLines(streams.say, monotonic=streams.monotonic)
    parts: dict[str, tuple[int, TimeLeft]] = {}

    def follow(report: RebuildReport) -> None:
        before, left = parts.setdefault(
            report.phase, (report.read, TimeLeft(lambda: items_of(store.parts.table), monotonic=streams.monotonic))
        )
        left.is_at(report.read - before)
        lines.tell(
            lambda: (
                f"{read_model.name}: {report.phase}, {counted(report.read, 'item')} read, "
                f"{counted(report.counted, 'record')} counted{left.told()}"
            )
        )

    report = Rebuild(store.parts, read_model, rate=rate).run(follow)
    for example in report.examples:
        streams.say(f"{read_model.name}: {example}")
    end = f", {report.refused:,} refused: correct what is stored, and run it again" if report.refused else ""
    corrected = f"{report.corrected:,} corrected"
    streams.say(f"{read_model.name}: {counted(report.counted, 'record')} counted, {corrected}{end}")
    return report


def document(report: RebuildReport) -> dict[str, Any]:
    """What became of a read model, as JSON."""
    return {
        "readModel": report.read_model,
        "read": report.read,
        "counted": report.counted,
        "corrected": report.corrected,
        "refused": report.refused,
        "named": list(report.examples),
    }
