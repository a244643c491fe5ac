"""`python -m shardweave.local`: the local server. Ctrl+C and SIGTERM end it without a traceback, also while modules are
still being imported."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def command() -> NoReturn:
    """Import `shardweave.local.serve`, inside the block that handles an interruption."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from .serve import main

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    command()
