"""`shardweave rekey`: brings the records of another program, or of an earlier declaration, in while they are used.

    shardweave rekey start|run|switch|run|finish|run --entity user --as mapping.json --table NAME
    shardweave rekey status|back|abort --entity user --as mapping.json --table NAME

The mapping says how the old items are read; without `--as`, it is the one that the service has (`rekey = {...}`).
`start` begins. `run` brings the records after their old items, and compares them; it can be stopped at any time, and
repeated. From `switch` on, Database reads and writes the records, and repeats each write on the old item; `back` undoes
that. After `finish`, `run` lets it write the records alone, and, run again, deletes the old items. `abort`, after
`back`, lets `run` delete the records. With `--from`, the old items are in another table on DynamoDB.
docs/bringing-a-table-in.md says which programs may write meanwhile.

The exit code is 0 if the run, or the command, is complete; 1 if items can't be brought in or differ, or the command is
refused.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, InputError
from ..maintenance.rekeying import COMPLETE, STOPPED, UNDER_WAY, OldTable, Rekey, RekeyReport
from ..reshard.leased_maps import guards_inside_writes
from ..reshard.phases import Waits
from ..reshard.rekey_states import DUAL, FOLLOW
from ..reshard.timings import decode_waits
from ..schema.old_forms import OldForm
from ..service.build import Service
from ..service.rekeying import NO_WAITS
from ..service.rekeying import rekey_of as made_rekey
from ..table import Table
from ..table.layout import KeyAttribute, TableLayout
from .console import Streams, counted, utc, whole_text
from .json_lines import parse_object
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON, ProgressLines
from .rate import add_rate_argument, rate_of
from .schemas import entity_of
from .time_left import TimeLeft, items_of

ACTIONS = {
    "start": "begin to bring the records in",
    "run": "bring the records after their old items, compare them, and do what the state asks for",
    "status": "write the state and the results of the current or last run, as one JSON document, and say what is next",
    "switch": "let Database read and write the records, and repeat each write on the old item",
    "back": "leave the records to the programs that write the old items again",
    "finish": "let `run` end it: Database writes the records alone; there is no way back",
    "abort": "take the records back, after `back`",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, what in ACTIONS.items():
        action = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False)
        action.add_argument("--entity", required=True, metavar="TOKEN", help="the entity's token, such as user")
        add_mapping_argument(action)
        action.add_argument(
            "--from", dest="old_table", metavar="TABLE", help="the table of the old items (default: the same)"
        )
        add_rate_argument(action, "items")
        action.add_argument(
            "--waits", metavar="WAITS", help="those of the stage (default: normal; none of a data folder)"
        )
        add_table_arguments(action)


def add_mapping_argument(parser: argparse.ArgumentParser) -> None:
    """`--as`."""
    parser.add_argument(
        "--as", dest="mapping", type=Path, metavar="FILE", help="a mapping (JSON) that says how old items are read"
    )


def mapping_of(options: argparse.Namespace) -> Any:
    """The mapping in the given file; None without a file. Raises ConfigurationError."""
    file: Path | None = options.mapping
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            return parse_object(whole_text(opened))
    except OSError as error:
        raise ConfigurationError(
            f"{file} can't be read: {error.strerror}", where="--as", fix="check the name"
        ) from None
    except InputError as error:
        raise ConfigurationError(f"{file}: {error.message}", where="--as", fix=error.fix) from None


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Carry out the subcommand, and return the exit code."""
    rate = rate_of(options, "items")
    with ExitStack() as stack:
        service = open_service(options, rekey=mapping_of(options))
        stack.callback(service.close)
        entity = entity_of(options, service.parts.schema)
        form = forms_of(service).get(entity.token)
        if form is None:
            fix = "give --as, or let the service have it: rekey = {...}"
            raise ConfigurationError(
                f"no mapping says how old items of {entity.token!r} are read", where="--as", fix=fix
            )
        old_table = None if options.old_table is None else _old_table(options, form)
        if old_table is not None:
            stack.callback(old_table.table.close)
        rekey = rekey_of(service, form, _waits(options, service.parts.table), streams, old_table, rate)
        if options.action == "run":
            tables = [service.parts.table, *([] if old_table is None else [old_table.table])]
            return _run(rekey, streams, tables)
        if options.action != "status":
            getattr(rekey, options.action)()
        status = rekey.status()
        streams.write(json.dumps(status.document(), ensure_ascii=False))
        if options.action == "status":
            streams.say(standing(status))
    return 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON if options.action == "run" else "stopped"


def forms_of(service: Service) -> Mapping[str, OldForm]:
    """The old forms of a service, by token."""
    maps = service.parts.maps
    return {} if maps is None else maps.forms


def rekey_of(
    service: Service,
    form: OldForm,
    waits: Waits,
    streams: Streams,
    old_table: OldTable | None = None,
    rate: int = 0,
) -> Rekey:
    """What brings an entity's records in."""
    places: dict[str, Any] = {"leases": service.settings.waits, "old_table": old_table, "rate": rate}
    return made_rekey(service.parts.schema, service.parts.table, form, waits, streams.clock, **places)


def _waits(options: argparse.Namespace, table: Table) -> Waits:
    if options.waits is None and guards_inside_writes(table):
        return NO_WAITS
    return decode_waits(options.waits or "normal", "--waits")


def _old_table(options: argparse.Namespace, form: OldForm) -> OldTable:
    from ..table.dynamodb import DynamoDBTable

    if options.old_table == options.table:
        raise ConfigurationError("it is the same table", where="--from", fix="leave it out")
    hash_name, range_name = form.key_names
    layout = TableLayout(KeyAttribute(hash_name), KeyAttribute(range_name))
    table = DynamoDBTable(layout, options.old_table, endpoint_url=options.endpoint_url, region=options.region)
    return OldTable(options.old_table, table)


def _run(rekey: Rekey, streams: Streams, tables: Sequence[Table]) -> int:
    lines = ProgressLines(streams.say, monotonic=streams.monotonic)
    passes: dict[str, TimeLeft] = {}

    def follow(so_far: RekeyReport) -> None:
        name, counts = list(so_far.passes.items())[-1]
        left = passes.setdefault(name, TimeLeft(lambda: max(map(items_of, tables)), monotonic=streams.monotonic))
        left.is_at(counts.read)
        lines.tell(lambda: _line(so_far) + left.told())

    report = rekey.run(follow)
    for line in readable(report):
        streams.say(line)
    return 1 if report.refused or report.differing or report.waiting_ms else 0


def _line(report: RekeyReport) -> str:
    name, counts = list(report.passes.items())[-1]
    return f"{report.entity}: {name}: {counted(counts.read, 'item')} read, {counts.written + counts.removed:,} written"


def readable(report: RekeyReport) -> list[str]:
    """The report for people."""
    if report.waiting_ms:
        return [
            f"{report.entity}: {report.state}: nothing can be removed for another {report.waiting_ms / 1000:,.0f} s"
        ]
    lines = []
    for name, counts in report.passes.items():
        told = [
            f"{getattr(counts, each):,} {each}" for each in ("written", "removed", "differing", "changed", "refused")
        ]
        told = [each for each in told if not each.startswith("0 ")]
        lines.append(f"{report.entity}: {name}: {', '.join([f'{counts.read:,} read', *told])}")
        lines += [f"    {' '.join(each.key)}: {each.reason}" for each in counts.examples]
    begins = "; next: `shardweave rekey start`" if "look" in report.passes else ""
    return [*lines, f"{report.entity}: {report.state or _NOTHING}{begins}"]


def standing(report: RekeyReport) -> str:
    """How it stands, and which command comes next."""
    head = f"{report.entity}: {report.state}: "
    told = f"it last told of itself at {utc(report.saved_ms)}"
    if not report.state:
        return f"{report.entity}: {_NOTHING}"
    if report.run == UNDER_WAY:
        fix = "if its process has ended, `shardweave rekey run` takes it over at once"
        return f"{head}a run may be under way: {told}; {fix}"
    if report.run == STOPPED:
        return f"{head}nobody runs it now: {told}; `shardweave rekey run` goes on where it came to"
    if report.run != COMPLETE:
        return f"{head}no run of this state has begun; next: `shardweave rekey run`"
    if report.refused:
        fix = "correct the items that `passes` names, then `shardweave rekey run`"
        return f"{head}the last run is complete, and items were refused; next: {fix}"
    if report.differing or report.changed:
        return f"{head}the last run is complete, and something is left (see `passes`); next: `shardweave rekey run`"
    return f"{head}the last run is complete; next: {_NEXT.get(report.state, '`shardweave rekey run`')}"


_NOTHING = "nothing is being brought in"
_NEXT = {
    FOLLOW: "`shardweave rekey switch`, or `abort`",
    DUAL: "stop the other programs, `shardweave rekey run`, and `finish`; or `back`",
}
