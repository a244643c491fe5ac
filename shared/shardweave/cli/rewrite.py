"""`shardweave rewrite`: writes every record of an entity once more, as its declaration is now.

    shardweave rewrite --entity user --table NAME

Records get the additions to the declaration: generated properties, defaults, properties that `prepare` derives. Then
new lookups and enforced relations are backfilled. Concurrent changes and deletions are not undone, and private
properties stay. It can be stopped at any time: started again, it continues. A record that would not change is only
read. Without `--entity`, all entities are rewritten.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import Any

from ..maintenance.rewriting import Rewrite, RewriteReport
from ..maintenance.walk import check_readable
from ..schema.entity_type import EntityType
from ..store import Store
from .backfill import document as of_lookup
from .backfill import fill_entities
from .console import Streams, counted
from .json_report import add_json_argument, write_report
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .schemas import entity_of
from .stored_format import check_stored_format
from .time_left import TimeLeft, items_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--entity", metavar="TOKEN", help="the entity's token, such as user (default: every entity)")
    add_rate_argument(parser)
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Rewrite, and report the result; 1 if any record was refused, or a lookup is not filled."""
    rate = rate_of(options)
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        check_stored_format(options, service, rate)
        schema, store = service.parts.schema, service.parts.store
        entities = list(schema.entities.values()) if options.entity is None else [entity_of(options, schema)]
        check_readable(store.parts, entities)
        reports = [_rewritten(store, entity, rate, streams) for entity in entities]
        filled = fill_entities(entities, store, streams, rate)
    written = {"entities": [document(each) for each in reports], "lookups": [of_lookup(each) for each in filled]}
    write_report(options, streams, written)
    return 1 if any(each.refused for each in reports) or not all(each.ready for each in filled) else 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON


def _rewritten(store: Store, entity: EntityType[Any], rate: int, streams: Streams) -> RewriteReport:
    """Rewrite one entity, and report it."""
    lines, left = (
        ProgressLines(streams.say, monotonic=streams.monotonic),
        TimeLeft(lambda: items_of(store.parts.table), monotonic=streams.monotonic),
    )

    def follow(report: RewriteReport) -> None:
        left.is_at(report.read)
        so_far = f"{entity.token}: {counted(report.read, 'record')} read, {report.written:,} written"
        lines.tell(lambda: so_far + left.told())

    report = Rewrite(store.parts, entity, rate=rate).run(follow)
    for example in report.examples:
        streams.say(f"{entity.token}: {dict(example.identity)}: {example.reason}")
    end = f", {report.refused:,} refused: correct what is stored, and run it again" if report.refused else ""
    streams.say(f"{entity.token}: {counted(report.read, 'record')} read, {report.written:,} written{end}")
    return report


def document(report: RewriteReport) -> dict[str, Any]:
    """What became of an entity, as JSON."""
    return {
        "entity": report.entity,
        "read": report.read,
        "written": report.written,
        "refused": report.refused,
        "named": [{"identity": dict(each.identity), "reason": each.reason} for each in report.examples],
    }
