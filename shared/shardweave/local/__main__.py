"""`python -m shardweave.local`: the server. Ctrl+C and SIGTERM end it in silence, also while what it needs is being
loaded."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def command() -> NoReturn:
    """`shardweave.local.serve`, loaded where an interruption is awaited."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .serve import main

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    command()
