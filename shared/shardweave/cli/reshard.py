"""`shardweave reshard`: moves every record of an entity to another shard space, while the table is in use.

    shardweave reshard start --entity user --char-bits 2 --chars 2 --yes
    shardweave reshard rate --entity user --rate 50
    shardweave reshard status|watch|abort|resume --entity user

`start` first prints an estimate, and without `--yes` does nothing else (exit code 0). The table's own changes drive the
move: in a deployed stage by its function, on this machine by `./run serve` on the same data folder. `watch` shows the
progress until the move has ended (exit code 0) or a person is needed (1). Status lines are JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..api.routes.reshard import MOST_RATE, document
from ..errors import ConfigurationError
from ..errors.exit_codes import INTERRUPTED
from ..keys.sharding import ShardBump
from ..reshard.admin import Estimate, ReshardAdmin, Status
from ..reshard.phases import under_way
from ..reshard.timings import decode_waits
from ..schema.entity_type import EntityType
from ..service.build import reshard_operator
from .console import Streams, counted
from .open_table import add_table_arguments, open_service
from .progress_lines import ProgressLines
from .schemas import entity_of
from .time_left import duration

ACTIONS = {
    "start": "say what moving the records to another shard space takes, and with --yes do it",
    "status": "write how far it is, as one JSON document",
    "watch": "show how far it is until it has ended, or needs someone to look",
    "rate": "let it be faster or slower, while it moves",
    "abort": "take it back, while there is a way back",
    "resume": "let it go on after someone has looked",
}
RATE = "records a second for one mover, at most"
LOOK_SECONDS = 1.0
STILL_MS = 120_000
"""A mover reports its progress at least once a minute."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, what in ACTIONS.items():
        action = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False)
        action.add_argument("--entity", required=True, metavar="TOKEN", help="the entity's token, such as user")
        if name == "start":
            _add_start_arguments(action)
        elif name == "rate":
            action.add_argument("--rate", type=int, required=True, metavar="N", help=f"{RATE}; 0 is no limit")
        action.add_argument(
            "--waits", metavar="WAITS", help="those of the stage (default: normal, or local without --table)"
        )
        add_table_arguments(action)


def _add_start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--char-bits", type=int, metavar="N", help="bits of one character of the new suffix")
    parser.add_argument("--chars", type=int, metavar="N", help="characters of the new suffix")
    parser.add_argument("--rate", type=int, default=0, metavar="N", help=RATE)
    parser.add_argument("--yes", action="store_true", help="do it, after saying what it takes")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Carry out the subcommand, and return the exit code."""
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        waits = decode_waits(options.waits or ("local" if options.table is None else "normal"), "--waits")
        entity = entity_of(options, service.parts.schema)
        operator = reshard_operator(service.parts.table, waits, streams.clock)
        return act(options, entity, operator, streams)


def act(
    options: argparse.Namespace,
    entity: EntityType[Any],
    operator: ReshardAdmin,
    streams: Streams,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Carry out the subcommand on an entity."""
    if options.action == "start":
        return _start(options, entity, operator, streams)
    if options.action == "watch":
        with suppress(KeyboardInterrupt):
            return watch(entity, operator, streams, sleep)
        streams.say("no longer watched; the re-shard goes on without that")
        return INTERRUPTED
    if options.action == "rate":
        _check_rate(options.rate)
        _write(operator.set_rate(entity, options.rate), streams)
        return 0
    asked = {"status": operator.status, "abort": operator.abort, "resume": operator.resume}[options.action]
    _write(asked(entity), streams)
    return 0


def _start(options: argparse.Namespace, entity: EntityType[Any], operator: ReshardAdmin, streams: Streams) -> int:
    if options.char_bits is None or options.chars is None:
        raise ConfigurationError(
            "a start needs the new shard space", where="reshard start", fix="give --char-bits and --chars"
        )
    _check_rate(options.rate)
    status = operator.status(entity)
    if status.moving:
        raise under_way(status.aborting)
    target = ShardBump(0, options.char_bits, options.chars)
    _say(operator.estimate(entity, target, options.rate), streams)
    if not options.yes:
        streams.say("nothing was started; give --yes to start it")
        return 0
    _write(operator.start(entity, target, options.rate), streams)
    return 0


def _check_rate(rate: int) -> None:
    if not 0 <= rate <= MOST_RATE:
        raise ConfigurationError(f"it is not from 0 to {MOST_RATE:,}", where="--rate", fix="give 0 for no limit")


def _say(estimate: Estimate, streams: Streams) -> None:
    streams.say(f"from {counted(estimate.shards_from, 'shard')} to {counted(estimate.shards_to, 'shard')}")
    if estimate.records is None:
        streams.say("how many records there are can't be counted at little cost, so neither can what it takes")
    else:
        size = f" of {estimate.average_bytes:,} bytes" if estimate.average_bytes else ""
        streams.say(f"about {counted(estimate.records, 'record')}{size}")
        streams.say(
            f"about {estimate.copy_units:,} write units to copy, {estimate.empty_units:,} to empty the old space"
        )
        streams.say(f"about {estimate.read_units:,} read units to compare")
        streams.say(
            f"about {duration(estimate.copy_seconds or 0)} to copy, {duration(estimate.empty_seconds or 0)} to empty "
            "the old space"
        )
        streams.say(f"about {duration(estimate.check_seconds or 0)} to compare, and to look into the indexes")
    streams.say(f"about {duration(estimate.look_seconds)} to look into every shard, a few times each")
    if estimate.warning:
        streams.say(f"warning: {estimate.warning}")
    streams.say(f"at least {duration(estimate.wait_seconds)} of waiting until the old space is gone")


def watch(entity: EntityType[Any], operator: ReshardAdmin, streams: Streams, sleep: Callable[[float], None]) -> int:
    """Show the progress until the move has ended or a person is needed: a bar on a terminal, elsewhere a line for each
    step."""
    console, said, lines = Console(file=streams.stderr), "", ProgressLines(streams.say, monotonic=streams.monotonic)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn("{task.fields[more]}"), console=console, disable=not console.is_terminal
    ) as progress:
        task, still = progress.add_task("", total=None, more=""), Stillness()
        while True:
            status = operator.status(entity)
            description = f"{status.phase} {status.step}" + (" (aborting)" if status.aborting else "")
            if not console.is_terminal and description != said:
                streams.say(said := description)
            elif not console.is_terminal and status.items:
                lines.tell(partial(_how_far, description, status, streams.clock()))
            progress.update(
                task,
                description=description,
                total=status.items or None,
                completed=status.items_done,
                more=_more(status, streams.clock()),
            )
            if status.attention or not status.moving:
                break
            if still.is_noticed(status, streams.clock()):
                streams.say("nothing has changed for two minutes: does a server run on the data folder, or the stream?")
            sleep(LOOK_SECONDS)
    _write(status, streams)
    return 1 if status.attention else 0


def _how_far(description: str, status: Status, now_ms: int) -> str:
    return f"{description}: {status.items_done:,} of {status.items:,} {_more(status, now_ms)}".rstrip()


class Stillness:
    """Notices that a move makes no progress."""

    def __init__(self) -> None:
        self._last: tuple[Any, ...] = ()
        self._since_ms: int | None = 0

    def is_noticed(self, status: Status, now_ms: int) -> bool:
        """Whether nothing has changed for long, outside of a wait; true once for each such time."""
        found = status.phase, status.step, status.round, status.items, status.items_done, status.counts
        waits = status.due_ms is not None and status.due_ms > now_ms
        if found != self._last or waits:
            self._last, self._since_ms = found, now_ms
        if self._since_ms is None or now_ms - self._since_ms < STILL_MS:
            return False
        self._since_ms = None
        return True


def _more(status: Status, now_ms: int) -> str:
    if status.items:
        return counted(status.counts.seen, "record")
    if status.due_ms is not None and status.due_ms > now_ms:
        return f"waits for {duration(-(-(status.due_ms - now_ms) // 1000))}"
    return ""


def _write(status: Status, streams: Streams) -> None:
    streams.write(json.dumps(json.loads(document(status)), ensure_ascii=False))
    if status.attention:
        streams.say(f"it needs attention: {status.attention}")
