"""`shardweave query` and `shardweave explain`: query a table, and show the cost of a query.

A query is given as the API's list parameters (`firstNameCanonical.prefix=ja limit=10`), or in the JSON form with
`--query FILE` (`-` for standard input). Records are printed on standard output, one JSON object a line, and the cost on
standard error; with `--json`, one JSON document has both, with the names of the API's answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from ..api.pages import token_named
from ..errors import InputError, RecordUnreadable, UnknownName, Unreadable
from ..query.count import CountAnswer
from ..query.explain import Explanation
from ..query.runner import QueryRunner
from ..query.spec import Page, QuerySpec, QueryStats
from ..schema.entity_type import EntityType
from ..wire.list_parameters import ListQuery
from ..wire.query_json import spec_from_json
from ..wire.query_reports import costs, explained
from .console import counted, visible, whole_text
from .json_lines import parse_json
from .shown_records import ShownRecords

if TYPE_CHECKING:
    from rich.table import Table

BAR_WIDTH = 24
PIPE_WIDTH = 120


def add_query_arguments(parser: argparse.ArgumentParser, *, collections: bool = False) -> None:
    """The arguments of both commands, beside those that choose the table; with `collections` one of several entities
    may be asked."""
    asked: Any = parser.add_mutually_exclusive_group(required=True) if collections else parser
    required = {} if collections else {"required": True}
    asked.add_argument("--entity", **required, help="the entity's token, such as user")
    if collections:
        asked.add_argument("--collection", metavar="NAME", help="a collection of several entities, by its name")
    parser.add_argument("--query", metavar="FILE", help="the query in its JSON form; - reads standard input")
    parser.add_argument("--json", action="store_true", help="write one JSON document")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="a list parameter of the API")


def add_paging_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `query` alone."""
    parser.add_argument("--all", action="store_true", help="every page in the token's direction, not just the first")
    parser.add_argument("--count", action="store_true", help="only how many records there are")
    parser.add_argument("--private", action="store_true", help="private properties too, as copies of records need them")


def spec_of(options: argparse.Namespace, entity: EntityType[Any]) -> QuerySpec:
    """The query in the arguments. Raises InputError's kinds."""
    return _asked(options, entity)[0]


def _asked(options: argparse.Namespace, entity: EntityType[Any]) -> tuple[QuerySpec, Mapping[str, Any]]:
    """The query in the arguments, and the parameters or the document that contain it."""
    if options.query is not None:
        if options.parameters:
            raise InputError("--query and parameters exclude one another", where="--query", fix="give one of them")
        try:
            document = parse_json(_read(options.query))
            return spec_from_json(entity, document), document
        except InputError as error:
            error.where = error.where or "--query"
            raise
    lists = ListQuery(entity)
    given = given_parameters(options, lists)
    return lists.spec(given), given


def given_parameters(options: argparse.Namespace, lists: ListQuery) -> dict[str, str]:
    """The parameters NAME=VALUE, all of which a list has. Raises InputError, UnknownName."""
    known = {parameter.name for parameter in lists.parameters}
    given: dict[str, str] = {}
    for parameter in options.parameters:
        name, equals, value = parameter.partition("=")
        is_known = name in known or any(each.has(name) for each in lists.families)
        if is_known and not equals:
            raise InputError("the parameter has no value", where=name, fix=f"write {name}=VALUE")
        if not is_known:
            names = sorted(known | {each.shown for each in lists.families})
            message = f"there is no parameter {name[:80]!r}"
            raise UnknownName(message, where="NAME=VALUE", fix=f"use some of {', '.join(names)}")
        if name in given:
            raise InputError("the parameter is given more than once", where=name, fix="give it once")
        given[name] = value
    return given


def run_query(options: argparse.Namespace, runner: QueryRunner, entity: EntityType[Any]) -> int:
    """`shardweave query`."""
    spec, given = _asked(options, entity)
    if options.count:
        return write_counted(options, runner.count(spec))
    with token_named(given):
        return write_pages(options, ShownRecords(entity, private=options.private), runner, spec)


def write_counted(options: argparse.Namespace, answer: CountAnswer) -> int:
    """Write how many records there are."""
    _write({"count": answer.count, "stats": costs(answer.stats)} if options.json else answer.count)
    return 0


class Shown(Protocol):
    """Writes the records of pages."""

    def document(self, record: Any) -> dict[str, Any]: ...

    def told(self, found: Iterable[Unreadable]) -> dict[str, Any]: ...

    def say_what_is_left_out(self, say: Callable[[str], object]) -> None: ...


def write_pages(options: argparse.Namespace, shown: Shown, runner: QueryRunner, spec: QuerySpec) -> int:
    """Write the pages, and give 1 where stored records on the way can't be read, else 0."""
    read = runner.pages(spec) if options.all else iter([runner.run(spec)])
    pages = (_written_out(shown.document, page) for page in read)
    shown.say_what_is_left_out(lambda line: print(line, file=sys.stderr))
    if options.json:
        found = list(pages)
        _write([_page_json(shown, page) for page in found])
        return int(any(page.unreadable for page in found))
    status = 0
    for page in pages:
        for document in page.items:
            _write(document)
        print_stats(page.stats)
        for lane in page.failed:
            print(visible(f"failed: {lane}"), file=sys.stderr)
        for each in page.unreadable:
            status = 1
            stored = "" if each.key else f" ({' '.join(map(str, each.stored_key))})"
            print(visible(f"unreadable: {each.place}{stored}: {each.message}"), file=sys.stderr)
        if page.cursor is not None and not options.all:
            print(f"next page: nextToken={page.cursor}", file=sys.stderr)
        if page.prev_token is not None and not options.all:
            print(f"page before: prevToken={page.prev_token}", file=sys.stderr)
    return status


def _written_out(shown: Callable[[Any], dict[str, Any]], page: Page) -> Page:
    """A page whose items are JSON objects. A record without a JSON form counts as unreadable."""
    documents: list[dict[str, Any]] = []
    unreadable = list(page.unreadable)
    for item in page.items:
        try:
            documents.append(shown(item))
        except RecordUnreadable as error:
            unreadable.append(error.record)
    return replace(page, items=tuple(documents), unreadable=tuple(unreadable))


def run_explain(options: argparse.Namespace, runner: QueryRunner, entity: EntityType[Any]) -> int:
    """`shardweave explain`."""
    spec, given = _asked(options, entity)
    with token_named(given):
        explanation = runner.explain(spec, run=options.run)
    if options.json:
        print(explained(explanation).decode(), flush=True)
        return 0
    print_explanation(explanation)
    return 0


def print_explanation(explanation: Explanation) -> None:
    """Print the plan, and its cost if the query was run, as tables."""
    from rich import box
    from rich.table import Table

    indexes = ", ".join(dict.fromkeys(index or "the table" for index in explanation.indexes))
    print(f"{explanation.entity} by {indexes}, {explanation.order}, {explanation.limit} a page")
    for reason in explanation.reasons:
        print(f"  because {reason}")
    for filters, where in ((explanation.filter_by_table, "by the table"), (explanation.filter_here, "here")):
        for each in filters:
            print(visible(f"  filter {where}: {json.dumps(each, ensure_ascii=False)}"))
    units = f"{explanation.estimated_units:g} read unit{'' if explanation.estimated_units == 1 else 's'}"
    at_worst = "; what is left out is read too, at worst all that the lanes hold"
    least = at_worst if explanation.estimate_is_least else ""
    print(f"  estimate: {counted(explanation.estimated_reads, 'read')}, {units}{least}")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for title in ("stage", "lane", "generation", "from", "to", "first"):
        table.add_column(title, overflow="fold", justify="right" if title in ("stage", "first") else "left")
    for lane in explanation.lanes:
        first = "nothing left" if lane.empty else f"{lane.first_fetch}{' resumes' if lane.resumes else ''}"
        table.add_row(str(lane.stage), lane.lane, lane.generation, lane.low or "", lane.high or "", first)
    _print_table(table, sys.stdout)
    if explanation.stats is not None:
        print_stats(explanation.stats, to=sys.stdout)


def print_stats(stats: QueryStats, to: Any = None) -> None:
    """Print a row for each lane with a bar for its time, and the totals."""
    from rich import box
    from rich.table import Table

    stream = to or sys.stderr
    longest = max((report.milliseconds for report in stats.reports), default=0.0) or 1.0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for title in ("lane", "requests", "read", "given", "units", "ms", ""):
        table.add_column(title, justify="left" if title in ("lane", "") else "right", overflow="fold")
    for report in stats.reports:
        bar = (
            "█" * max(1, round(BAR_WIDTH * report.milliseconds / longest)) if report.failure is None else report.failure
        )
        cells = [report.requests, report.scanned, report.returned, f"{report.units:g}", f"{report.milliseconds:.1f}"]
        table.add_row(report.lane, *map(str, cells), bar)
    _print_table(table, stream)
    print(
        f"{counted(stats.returned, 'record')} from {stats.scanned:,} read, {counted(stats.requests, 'request')} in "
        f"{counted(stats.rounds, 'round')}, {stats.units:g} read unit{'' if stats.units == 1 else 's'}, "
        f"{stats.milliseconds:.1f} ms{', cut' if stats.cut else ''}",
        file=stream,
    )


def _print_table(table: Table, stream: TextIO) -> None:
    """Print a table: as wide as the terminal; elsewhere 120 characters wide, without trailing blanks."""
    from rich.console import Console

    if stream.isatty():
        Console(file=stream).print(table)
        return
    console = Console(file=stream, width=PIPE_WIDTH)
    with console.capture() as captured:
        console.print(table)
    lines = (line.rstrip() for line in captured.get().splitlines())
    stream.write("".join(f"{line}\n" for line in lines if line))


def _page_json(shown: Shown, page: Page) -> dict[str, Any]:
    return {
        "items": list(page.items),
        "nextToken": page.cursor,
        "prevToken": page.prev_token,
        "complete": page.complete,
        "failed": list(page.failed),
        "late": page.late,
        "stats": costs(page.stats),
        **shown.told(page.unreadable),
    }


def _write(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False), flush=True)


def _read(name: str) -> bytes:
    if name == "-":
        return whole_text(sys.stdin.buffer)
    try:
        with Path(name).open("rb") as file:
            return whole_text(file)
    except OSError as error:
        raise InputError(f"{name} can't be read: {error.strerror}", where="--query", fix="check the name") from None
