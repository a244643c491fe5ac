"""`--rate`: how much of a table a command reads, or writes, in a second."""

from __future__ import annotations

import argparse

from ..errors import ConfigurationError

MOST_RATE = 1_000_000


def add_rate_argument(parser: argparse.ArgumentParser, of: str = "records") -> None:
    """`--rate`; `of` is what is counted, where these are no records."""
    parser.add_argument("--rate", type=int, default=0, metavar="N", help=f"{of} a second, at most (default: no limit)")


def rate_of(options: argparse.Namespace, of: str = "records") -> int:
    """The rate, 0 for no limit. Raises ConfigurationError."""
    rate: int = options.rate
    if not 0 <= rate <= MOST_RATE:
        fix = f"give 1 to {MOST_RATE}, or 0 for no limit"
        raise ConfigurationError(f"a rate is a number of {of} a second", where="--rate", fix=fix)
    return rate
