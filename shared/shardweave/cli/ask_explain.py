"""`shardweave explain`: the index and lanes of a query, and its estimated cost; with `--run`, the real cost.

shardweave explain --entity user firstNameCanonical.prefix=ja --run
"""

from __future__ import annotations

import argparse

from .console import Streams
from .open_table import add_table_arguments, open_planner, open_service
from .query import add_query_arguments, run_explain
from .schemas import entity_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_query_arguments(parser)
    parser.add_argument("--run", action="store_true", help="ask the table too, and show what each lane did")
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """The plan on standard output."""
    service = open_service(options) if options.run else open_planner(options, streams)
    try:
        return run_explain(options, service.parts.queries, entity_of(options, service.parts.schema))
    finally:
        service.close()
