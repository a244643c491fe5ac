"""`shardweave compare`: compares the records of two sources, one by one.

    shardweave compare --table NAME --with-table OTHER
    shardweave compare --table NAME --with-export DIR
    shardweave compare --table NAME --with-old-items --as mapping.json

Records are compared by their properties and unknown attributes, not by keys, revisions or shards. So it compares two
tables, also with different shard spaces; a table with an export of it; and, while a table is brought in, the records
with their old items. Concurrent writes cause no false differences as long as both sources get them. The report names
records and properties, no values. With `--state` it can be stopped at any time: started again, it continues.

The exit code is 0 if nothing differs, 1 if anything does, 2 if the arguments are wrong.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..maintenance.comparing import (
    CompareReport,
    Comparison,
    Difference,
    ExportedRecords,
    OldItems,
    Source,
    TableRecords,
)
from ..reshard.leased_maps import LeasedMaps
from ..schema.entity_type import EntityType
from ..service.build import Service
from ..store import Store
from ..store.parts import StoreParts
from .console import Streams, counted
from .json_report import add_json_argument
from .open_table import add_table_arguments, folder_path, open_service
from .progress_lines import BEGINS_ANEW, GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .rekey import add_mapping_argument, forms_of, mapping_of
from .schemas import entities_of
from .time_left import TimeLeft


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--with-table", metavar="NAME", help="another table on DynamoDB")
    other.add_argument("--with-data", type=folder_path, metavar="DIR", help="another data folder")
    other.add_argument("--with-export", type=Path, metavar="DIR", help="a folder with an export")
    other.add_argument("--with-old-items", action="store_true", help="the old items of records that are brought in")
    parser.add_argument("--entity", action="append", metavar="TOKEN", help="an entity's token (default: every entity)")
    parser.add_argument("--state", type=Path, metavar="FILE", help="where the state is kept (default: it is not)")
    add_json_argument(parser)
    add_rate_argument(parser)
    add_mapping_argument(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Compare, print the report, and return the exit code."""
    rate = rate_of(options)
    with ExitStack() as stack:
        service = open_service(options, rekey=mapping_of(options))
        stack.callback(service.close)
        entities = _entities(options, service)
        parts = _reading(service, streams)
        name = options.table or str(options.data or "the data folder")
        first: Source = TableRecords(parts, entities, name, rate=rate)
        second = _second(options, service, parts, entities, streams, stack)
        state = options.state or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "state"
        lines, left = (
            ProgressLines(streams.say, monotonic=streams.monotonic),
            TimeLeft(lambda: first.amount() + second.amount(), monotonic=streams.monotonic),
        )

        def follow(so_far: CompareReport) -> None:
            left.is_at(sum(so_far.read))
            lines.tell(lambda: _line(so_far) + left.told())

        report = Comparison(first, second, state).run(follow)
    streams.write(json.dumps(document(report), ensure_ascii=False) if options.json else readable(report))
    return 0 if report.is_equal else 1


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON if options.state else f"{BEGINS_ANEW}; with --state FILE it would go on"


def _entities(options: argparse.Namespace, service: Service) -> list[EntityType[Any]]:
    """The entities to compare. Raises ConfigurationError."""
    entities = entities_of(options, service.parts.schema)
    if not options.with_old_items:
        return entities
    forms = forms_of(service)
    chosen = [entity for entity in entities if entity.token in forms]
    if not chosen or (options.entity and len(chosen) < len(entities)):
        fix = "give one with these entities, or leave entities out"
        raise ConfigurationError("no mapping says how their old items are read", where="--as", fix=fix)
    return chosen


def _second(
    options: argparse.Namespace,
    service: Service,
    parts: StoreParts,
    entities: Sequence[EntityType[Any]],
    streams: Streams,
    stack: ExitStack,
) -> Source:
    schema = service.parts.schema
    if options.with_export is not None:
        return ExportedRecords(schema, entities, options.with_export, streams.clock())
    if options.with_old_items:
        forms = forms_of(service)
        return OldItems(parts, [forms[entity.token] for entity in entities], rate=options.rate)
    values = {**vars(options), "table": options.with_table, "data": options.with_data}
    try:
        other = open_service(argparse.Namespace(**values))
    except ConfigurationError as error:
        where = error.where.replace("--data", "--with-data").replace("--table", "--with-table")
        raise ConfigurationError(error.message, where=where, fix=error.fix) from None
    stack.callback(other.close)
    name = options.with_table or str(options.with_data)
    return TableRecords(_reading(other, streams), entities, name, rate=options.rate)


def _reading(service: Service, streams: Streams) -> StoreParts:
    """What reads a service's table, also while it is brought in."""
    parts = service.parts
    maps = LeasedMaps(parts.table, service.settings.waits, clock=streams.clock, forms=forms_of(service), bringing=True)
    return Store(parts.schema, parts.table, clock=streams.clock, maps=maps).parts


def _line(report: CompareReport) -> str:
    return f"{report.read[0]:,} and {counted(report.read[1], 'record')} read"


def readable(report: CompareReport) -> str:
    """The report for people."""
    lines = [f"{each.entity} {' '.join(each.identity.values())}: {_told(each)}".strip() for each in report.examples]
    told = report.differing + report.only_first + report.only_second + sum(report.unreadable)
    if told > len(lines):
        lines.append(f"and {told - len(lines):,} more")
    bad = sum(report.unreadable)
    lines.append(
        f"{report.read[0]:,} and {counted(report.read[1], 'record')}: {report.equal:,} equal, "
        f"{report.differing:,} differ, {report.only_first:,} only in the first, "
        f"{report.only_second:,} only in the second" + (f", {bad:,} can't be read" if bad else "")
    )
    return "\n".join(lines)


def _told(difference: Difference) -> str:
    sides = ("first", "second")
    if difference.unreadable:
        return f"can't be read in the {sides[difference.unreadable - 1]}"
    if difference.only:
        return f"only in the {sides[difference.only - 1]}"
    return f"differs in {', '.join(difference.names)}"


def document(report: CompareReport) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "equal": report.equal,
        "differing": report.differing,
        "onlyFirst": report.only_first,
        "onlySecond": report.only_second,
        "read": list(report.read),
        "unreadable": list(report.unreadable),
        "named": [
            {
                "entity": each.entity,
                "identity": dict(each.identity),
                "properties": list(each.names),
                "onlyIn": each.only,
                "unreadableIn": each.unreadable,
            }
            for each in report.examples
        ],
    }
