"""`shardweave query`: ask a table. A query is given as the API's list parameters, or as JSON with `--query FILE`.

shardweave query --entity user beneficiaryId=b1 firstNameCanonical.prefix=ja limit=10
shardweave query --collection customer-history customer=ann made.from=2025-01-01
"""

from __future__ import annotations

import argparse

from .console import Streams
from .open_table import add_table_arguments, open_service
from .query import add_paging_arguments, add_query_arguments, run_query
from .query_collection import query_collection
from .schemas import entity_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_query_arguments(parser, collections=True)
    add_paging_arguments(parser)
    add_table_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the records on standard output, and the cost on standard error."""
    del streams
    service = open_service(options)
    try:
        if options.collection is not None:
            return query_collection(options, service.parts)
        return run_query(options, service.parts.queries, entity_of(options, service.parts.schema))
    finally:
        service.close()
