"""`shardweave restore`: puts a copy of a service's table back into a data folder, while a server may use it.

    shardweave restore DIR --data FOLDER --yes

The table's content is replaced by that of the copy in one transaction; writes since the copy are lost. Without `--yes`
an existing table is not changed. Changes that were already delivered to consumers of the stream are not undone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..database.data_folder import DataFolder
from ..database.folder_copies import put_back
from ..database.project import data_folder
from ..errors import ConfigurationError
from .console import Streams
from .open_table import folder_path
from .progress_lines import BEGINS_ANEW
from .schemas import add_service_arguments, key_format_of, service_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that `shardweave backup` made")
    parser.add_argument("--data", type=folder_path, metavar="DIR", help="the data folder (default: .data)")
    parser.add_argument("--yes", action="store_true", help="replace what the table holds")
    add_service_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Restore, and report it."""
    folder, service, chosen = DataFolder(options.data or data_folder()), service_of(options), key_format_of(options)
    if folder.has_table(service, chosen) and not options.yes:
        message = f"{folder.path} holds a table, and what it holds would be replaced"
        raise ConfigurationError(message, where="--yes", fix="give --yes, or another --data")
    put_back(folder, service, chosen, options.folder)
    streams.say(f"{folder.path} holds what {options.folder} does")
    return 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return BEGINS_ANEW
