"""`shardweave deletions`: the deletions of records with many children that were begun and have not ended.

    shardweave deletions --table NAME
    shardweave deletions --table NAME --continue
    shardweave deletions --table NAME --wait

Each line says which record it is, since when it is being deleted, how many of the records that belong to it are gone,
and until when it is held by the process that worked on it last, be it killed since or not. `--continue` goes on with
those that no process holds, until all of these are done; `--wait` also with the others, as soon as they are held no
more. A deployed service and the local server go on by themselves. It can be stopped at any time, and started again.

The exit code is 0 if no deletion is left that was to be continued, 1 if some are, such as held ones without `--wait`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from ..store import Store
from ..store.outcomes import Deletion
from .console import Streams, counted, utc, visible
from .open_table import add_table_arguments, open_service
from .progress_lines import GOES_ON

SECONDS = 30.0
MIN_WAIT = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--continue", action="store_true", dest="go_on", help="go on with those that have stopped")
    parser.add_argument(
        "--wait", action="store_true", help="go on with all, also with those that a process holds, when that is over"
    )
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """List the deletions; 1 if any is left after they were continued."""
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        return tell(service.parts.store, streams, go_on=options.go_on, wait=options.wait)


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return GOES_ON if options.go_on or options.wait else "stopped"


def tell(
    store: Store,
    streams: Streams,
    *,
    go_on: bool,
    wait: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """List the deletions, after they were continued if asked to."""
    before: list[Deletion] | None = None
    while go_on or wait:
        if store.continue_deletions(seconds=SECONDS):
            left = [replace(each, held_until=0) for each in store.deletions()]
            streams.say(f"continued; {counted(sum(each.left for each in left), 'record')} left")
            if left == before:
                break  # Somebody or something is in the way: an endless loop would not say so.
            before = left
            continue
        held = [each.held_until for each in store.deletions()]
        if not wait or not held:
            break
        # Another process may take one at that moment: then it is held again, and waited for again.
        streams.say(f"{counted(len(held), 'deletion')} held; waiting until {utc(min(held))}")
        sleep(max(MIN_WAIT, (min(held) - streams.clock()) / 1000))
    return _list(store, streams, go_on=go_on or wait)


def _list(store: Store, streams: Streams, *, go_on: bool) -> int:
    found, held = 0, list[Deletion]()
    for each in store.deletions():
        found += 1
        streams.stdout.write(f"{line_of(each, streams.clock())}\n".encode())
        held += [each] if each.held_until > streams.clock() else []
    if not found:
        streams.say("no deletion is under way")
    elif go_on and held:
        until = max(each.held_until for each in held)
        streams.say(
            f"{counted(len(held), 'deletion')} not continued: held by the process that worked on it last, which may "
            f"have ended; --wait goes on when that is over, at {utc(until)} at the latest"
        )
    return 1 if go_on and found else 0


def line_of(deletion: Deletion, now_ms: int) -> str:
    """What is said of one deletion."""
    key = ", ".join(f"{name}={value}" for name, value in deletion.key.items())
    gone = f"{deletion.total - deletion.left:,} of {deletion.total:,} gone"
    held = f", held until {utc(deletion.held_until)}" if deletion.held_until > now_ms else ""
    return visible(f"{deletion.entity} {key}: since {utc(deletion.since)}, {gone}{held}")
