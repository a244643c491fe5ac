"""`shardweave`, or `python -m shardweave.cli`. Ctrl+C ends it in silence, also while it is being loaded; so does
SIGTERM the server."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """The command line, loaded where an interruption is awaited."""
    serves = sys.argv[1:2] == ["serve"]
    try:
        if serves:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .main import command

        command()
    except KeyboardInterrupt:
        # A server that is stopped before it serves has done what it was told.
        sys.exit(0 if serves else 130)


if __name__ == "__main__":
    main()
