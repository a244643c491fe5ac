"""`shardweave backfill`: adds stored records to lookups and enforced relations that were declared later.

    shardweave backfill --entity user --lookup phone --table NAME

Until it has completed, operations that need the lookup are refused. Run it when no process with an older version writes
any more. It can be stopped and started again at any time; lookups that are ready are skipped unless `--again` is given.
Without `--lookup`, all lookups and relations of the entity are filled; without `--entity`, those of all entities.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..errors import ConfigurationError
from ..maintenance.walk import Pace
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..store import BackfillReport, Store
from ..store.lookups.backfill_state import kept_names
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
    parser.add_argument("--lookup", metavar="NAME", help="a lookup or enforced relation of it (default: all)")
    parser.add_argument("--again", action="store_true", help="also what is ready: brings in what other programs wrote")
    add_rate_argument(parser)
    add_json_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Fill, and report the result; 1 if anything is not ready."""
    rate_of(options)
    if options.lookup is not None and options.entity is None:
        raise ConfigurationError("it needs an entity", where="--lookup", fix="give --entity too")
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        check_stored_format(options, service, options.rate)
        return fill(options, service.parts.schema, service.parts.store, streams)


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON


def fill(options: argparse.Namespace, schema: Schema, store: Store, streams: Streams) -> int:
    """Fill the lookups and relations in the arguments."""
    entities = list(schema.entities.values()) if options.entity is None else [entity_of(options, schema)]
    wanted = [(entity, name) for entity in entities for name in kept_names(entity)]
    if options.lookup is not None:
        wanted = [(entities[0], options.lookup)]
    if not wanted:
        streams.say("there is nothing to fill")
    reports = _filled(wanted, store, streams, rate_of(options), again=options.again)
    write_report(options, streams, {"lookups": [document(each) for each in reports]})
    return 0 if all(each.ready for each in reports) else 1


def fill_entities(
    entities: Sequence[EntityType[Any]], store: Store, streams: Streams, rate: int
) -> list[BackfillReport]:
    """Fill the lookups and relations of some entities that are not ready."""
    return _filled(
        [(entity, name) for entity in entities for name in kept_names(entity)], store, streams, rate, again=False
    )


def _filled(
    wanted: Sequence[tuple[EntityType[Any], str]], store: Store, streams: Streams, rate: int, *, again: bool
) -> list[BackfillReport]:
    reports, lines = list[BackfillReport](), ProgressLines(streams.say, monotonic=streams.monotonic)
    read, pace = 0, Pace(rate, store.parts.waiting)

    def follow(report: BackfillReport) -> None:
        nonlocal read
        left.is_at(report.read)
        lines.tell(lambda: f"{report.entity}.{report.lookup}: {counted(report.read, 'record')} read{left.told()}")
        pace.did(report.read - read)
        read = report.read

    for entity, name in wanted:
        read, left = 0, TimeLeft(lambda: items_of(store.parts.table), monotonic=streams.monotonic)
        report = store.backfill(entity.model, name, again=again, follow=follow)
        _say(report, streams)
        reports.append(report)
    return reports


def document(report: BackfillReport) -> dict[str, Any]:
    """What became of a lookup or relation, as JSON."""
    return {
        "entity": report.entity,
        "lookup": report.lookup,
        "read": report.read,
        "filled": report.filled,
        "refused": report.refused,
        "ready": report.ready,
        "named": [{"identity": dict(each.identity), "reason": str(each.error)} for each in report.examples],
    }


def _say(report: BackfillReport, streams: Streams) -> None:
    for example in report.examples:
        streams.say(f"{report.entity}.{report.lookup}: {dict(example.identity)}: {example.error}")
    state = (
        "ready"
        if report.ready
        else f"not ready: {counted(report.refused, 'record')} refused; change what is refused, run it again"
    )
    streams.say(
        f"{report.entity}.{report.lookup}: {counted(report.read, 'record')} read, {report.filled:,} filled; {state}"
    )
