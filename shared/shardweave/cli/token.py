"""`shardweave token`: prints a development token, which carries claims to the local server.

    shardweave token --claim tenant=acme --group admin
    curl -H "Authorization: Bearer $(shardweave token --claim tenant=acme)" http://127.0.0.1:8123/v1/projects

It is signed with the secret of the data folder, so no deployed service accepts it.
"""

from __future__ import annotations

import argparse

from ..access.tokens import GROUPS, encode_token
from ..database.data_folder import DataFolder
from ..database.project import data_folder
from ..errors import ConfigurationError
from ..schema.access_rules import GROUP_NAME
from .console import Streams
from .open_table import folder_path

MAX_HOURS = 24 * 366
_SET_HERE = ("iss", "iat", "exp", GROUPS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--claim", type=claim, action="append", default=[], metavar="NAME=VALUE", help="one claim")
    parser.add_argument("--group", type=_group, action="append", default=[], metavar="NAME", help="a group of its own")
    parser.add_argument("--subject", default="developer", metavar="NAME", help="who it is (default: developer)")
    parser.add_argument("--hours", type=_hours, default=12, metavar="N", help="how long it lasts (default: 12)")
    parser.add_argument("--data", type=folder_path, metavar="DIR", help="a data folder (default: .data)")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the token."""
    if options.data is not None and not options.data.is_dir():
        message = f"there is no folder {options.data}, and a token is for the server of one"
        raise ConfigurationError(
            message, where="--data", fix="give the data folder of the server, and start that first"
        )
    secret = DataFolder(options.data or data_folder()).token_secret()
    claims = {"sub": options.subject, **dict(options.claim)}
    if options.group:
        claims[GROUPS] = options.group
    streams.write(encode_token(claims, secret, now=streams.clock() // 1000, seconds=options.hours * 3600))
    return 0


def claim(text: str) -> tuple[str, str]:
    """The name and the value of a claim, from NAME=VALUE. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a claim; give NAME=VALUE")
    if name in _SET_HERE:
        raise argparse.ArgumentTypeError(f"{name} is not given so; see --group and --hours")
    return name, value


def _group(text: str) -> str:
    if not GROUP_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a group; leave out spaces, commas, quotes and brackets")
    return text


def _hours(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= MAX_HOURS):
        raise argparse.ArgumentTypeError(f"give a number from 1 to {MAX_HOURS}")
    return int(text)
