"""`shardweave`, or `python -m shardweave`. Ctrl+C ends it at any time without a traceback, also during imports; so does
SIGTERM for the server."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from .interruption import end_at_once, raise_interruptions


def main() -> NoReturn:
    """Load and run the command line; interruptions are handled."""
    # A server that is stopped before it serves has ended as requested.
    serves = sys.argv[1:2] in (["serve"], ["dev"])
    code = interrupted = 0 if serves else 130
    others = [signal.SIGTERM] if serves else []
    end_at_once(interrupted, *others)
    try:
        from .main import command

        code = command(lambda: raise_interruptions(*others))
    except KeyboardInterrupt:
        pass
    end_at_once(interrupted)
    sys.exit(code)


if __name__ == "__main__":
    main()
