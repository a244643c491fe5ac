"""The arguments that choose a table, and the service put together on it.

By default it is the local server's own table, in its data folder; with `--table` it is one on DynamoDB.
"""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from ..errors import ConfigurationError
from ..query.cursor import CursorKeys
from ..service import Service, Settings, build, decode_cursor_keys
from .schemas import add_service_arguments, key_format_of, service_of

DATA_FOLDER = Path(__file__).resolve().parents[3] / ".data"


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that opens a table."""
    add_service_arguments(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, default=DATA_FOLDER, metavar="DIR", help="a data folder (default: .data)")
    where.add_argument("--table", metavar="NAME", help="a table on DynamoDB")
    parser.add_argument("--endpoint-url", metavar="URL", help="where DynamoDB answers, such as an emulator")
    parser.add_argument("--region", metavar="NAME", help="the region of the table")


def table_path(folder: Path, service: str, key_format: str) -> Path:
    """The file of a service's table in a data folder."""
    return folder / f"{service}-{key_format}.sqlite"


def open_service(options: argparse.Namespace) -> Service:
    """The service on the table that the arguments choose. Raises ConfigurationError, SchemaError, TableError."""
    settings = Settings(
        cursor_keys=_cursor_keys(options.data),
        service=service_of(options),
        key_format=key_format_of(options),
        table_name=options.table or "",
        endpoint_url=options.endpoint_url,
        region=options.region,
    )
    if options.table is not None:
        return build(settings)
    from ..table.embedded import EmbeddedTable

    path = table_path(options.data, settings.service, settings.key_format)
    try:
        options.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{options.data} can't be used: {error.strerror}"
        raise ConfigurationError(message, where="--data", fix="choose a folder that can be written") from None
    return build(settings, open_table=lambda layout: EmbeddedTable(layout, path))


def _cursor_keys(folder: Path) -> CursorKeys:
    """The folder's own, so that the server and the command line take each other's cursors; else some for now."""
    path = folder / "cursor-keys.json"
    if path.exists():
        return decode_cursor_keys(path.read_text(encoding="utf-8"))
    return CursorKeys("now", {"now": secrets.token_bytes(32)})
