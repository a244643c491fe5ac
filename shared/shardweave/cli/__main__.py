"""`shardweave`, or `python -m shardweave.cli`. Ctrl+C ends it silently, also during imports; so does SIGTERM for the
server."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load and run the command line; interruptions are handled."""
    serves = sys.argv[1:2] == ["serve"]
    try:
        if serves:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .main import command

        command()
    except KeyboardInterrupt:
        # A server that is stopped before it serves has ended as requested.
        sys.exit(0 if serves else 130)


if __name__ == "__main__":
    main()
