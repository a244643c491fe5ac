"""`shardweave backup`: copies a service's table out of a data folder, while a server may use it.

    shardweave backup DIR --data FOLDER

The copy is the table as it was at one moment, with the folder's keys: keep it as safe as the folder. `shardweave
restore` puts it back. A deployed table has point-in-time recovery instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..database.data_folder import DataFolder
from ..database.folder_copies import back_up
from ..database.project import data_folder
from .console import Streams
from .open_table import folder_path
from .progress_lines import BEGINS_ANEW
from .schemas import add_service_arguments, key_format_of, service_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder, for the copy")
    parser.add_argument("--data", type=folder_path, metavar="DIR", help="the data folder (default: .data)")
    add_service_arguments(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Copy, and print the folder."""
    folder = DataFolder(options.data or data_folder())
    back_up(folder, service_of(options), key_format_of(options), options.folder)
    streams.say(f"{options.folder} holds a copy of {folder.path}")
    return 0


def stopped(options: argparse.Namespace) -> str:
    """What is said when Ctrl+C has stopped it."""
    return BEGINS_ANEW
