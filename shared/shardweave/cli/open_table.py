"""The arguments that choose a table, and the service built on it.

By default it is the local server's table, in its data folder; with `--table` it is a DynamoDB table. Only commands that
write create a folder. Tokens of pages are encrypted with the keys of the data folder (with `--table`, the default one),
so that a later command accepts them.
"""

from __future__ import annotations

import argparse
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..database.data_folder import DataFolder
from ..database.project import data_folder
from ..keys.key_format import key_format
from ..keys.shard_key import ExternalKeys
from ..query.cursor import CursorKeys
from ..reshard.phases import Waits
from ..reshard.timings import LOCAL, SHORTEST_LEASE_MS
from ..service.build import Service, Settings, build
from ..service.loader import service_schema
from ..table.embedded import EmbeddedTable
from .console import Streams
from .schemas import add_service_arguments, key_format_of, service_of

WAITS_OF_ANY_STAGE = replace(Waits(), lease_ms=SHORTEST_LEASE_MS)
"""The waits of any stage: they are not stored in the table, and if they are short, a phase may end within a normal
lease. So the command line's copy of a control record is never older than the shortest possible lease."""


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that opens a table."""
    add_service_arguments(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=folder_path, metavar="DIR", help="a data folder (default: .data)")
    where.add_argument("--table", metavar="NAME", help="a table on DynamoDB")
    parser.add_argument("--endpoint-url", metavar="URL", help="where DynamoDB answers, such as an emulator")
    parser.add_argument("--region", metavar="NAME", help="the region of the table")


def folder_path(text: str) -> Path:
    """The path of a data folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; give a folder, such as .data")
    return Path(text)


def open_service(options: argparse.Namespace, *, create: bool = False, rekey: Any = None) -> Service:
    """The service on the chosen table; `create` creates a missing data folder; `rekey` is a mapping, see
    `schema.old_mapping`. Raises ConfigurationError, SchemaError, TableError."""
    folder = DataFolder(options.data or data_folder())
    service, chosen = service_of(options), key_format_of(options)
    if options.table is None:
        schema = service_schema(service, key_format(chosen))
        table = folder.open_table(schema, service, chosen, create=create)
        settings = Settings(folder.cursor_keys(), service, chosen, waits=LOCAL, external_keys=folder.external_keys)
        return build(settings, open_table=lambda _: table, rekey=rekey)
    return build(
        Settings(
            cursor_keys=folder.cursor_keys(),
            service=service,
            key_format=chosen,
            table_name=options.table,
            endpoint_url=options.endpoint_url,
            region=options.region,
            waits=WAITS_OF_ANY_STAGE,
            external_keys=folder.external_keys,
        ),
        rekey=rekey,
    )


def open_planner(options: argparse.Namespace, streams: Streams) -> Service:
    """The service for planning only, which needs no table and creates nothing. From an existing table it reads the
    shard maps in force; without a table, or if opening would rewrite it, the plan is that of a new table."""
    folder = DataFolder(options.data or data_folder())
    service, chosen = service_of(options), key_format_of(options)
    keys = folder.kept_cursor_keys() or CursorKeys("now", {"now": secrets.token_bytes(32)})
    settings = Settings(
        keys,
        service,
        chosen,
        options.table or "",
        options.endpoint_url,
        options.region,
        waits=LOCAL,
        external_keys=lambda: folder.kept_external_keys() or ExternalKeys("now", {"now": secrets.token_bytes(32)}),
    )
    if options.table is not None:
        return build(replace(settings, waits=WAITS_OF_ANY_STAGE))
    schema = service_schema(service, key_format(chosen))
    if folder.is_as_written(schema, service, chosen):
        table = folder.open_table(schema, service, chosen, create=False)
        return build(settings, open_table=lambda _: table)
    if options.data is not None:
        streams.say(f"{folder.path} holds no table of {service!r} as it is now: the plan is that of a new one")
    return build(settings, open_table=EmbeddedTable)
