"""`shardweave deletions`: the deletions of records with many children that were begun and have not ended.

    shardweave deletions --table NAME
    shardweave deletions --table NAME --continue

Each line says which record it is, since when it is being deleted, and how many of the records that belong to it are
gone. `--continue` goes on with those that no process works on, until all are done. A deployed service and the local
server do that by themselves. It can be stopped at any time, and started again.
"""

from __future__ import annotations

import argparse
import datetime as dt
from contextlib import ExitStack

from ..store import Store
from ..store.outcomes import Deletion
from .console import Streams, counted, visible
from .open_table import add_table_arguments, open_service

SECONDS = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--continue", action="store_true", dest="go_on", help="go on with those that have stopped")
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """List the deletions; 1 if any is left after they were continued."""
    with ExitStack() as stack:
        service = open_service(options)
        stack.callback(service.close)
        return tell(service.parts.store, streams, go_on=options.go_on)


def tell(store: Store, streams: Streams, *, go_on: bool) -> int:
    """List the deletions, after they were continued if asked to."""
    while go_on and store.continue_deletions(seconds=SECONDS):
        streams.say(f"continued; {counted(sum(each.left for each in store.deletions()), 'record')} left")
    found = 0
    for each in store.deletions():
        found += 1
        streams.stdout.write(f"{line_of(each)}\n".encode())
    if not found:
        streams.say("no deletion is under way")
    return 1 if go_on and found else 0


def line_of(deletion: Deletion) -> str:
    """What is said of one deletion."""
    key = ", ".join(f"{name}={value}" for name, value in deletion.key.items())
    since = dt.datetime.fromtimestamp(deletion.since / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
    gone = f"{deletion.total - deletion.left:,} of {deletion.total:,} gone"
    return visible(f"{deletion.entity} {key}: since {since} UTC, {gone}")
