"""`python -m shardweave.local`: the local server. Ctrl+C and SIGTERM end it without a traceback, also while modules are
still being imported."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from ..cli.interruption import end_at_once, raise_interruptions


def command() -> NoReturn:
    """Import `shardweave.local.serve`, inside the block that handles an interruption."""
    code = 0
    end_at_once(code, signal.SIGTERM)
    try:
        from .serve import main

        raise_interruptions(signal.SIGTERM)
        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
    end_at_once(0)
    sys.exit(code)


if __name__ == "__main__":
    command()
