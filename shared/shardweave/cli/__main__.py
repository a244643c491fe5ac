"""`python -m shardweave.cli`. Ctrl+C ends it in silence, also while it is being loaded."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from .main import command

        command()
    except KeyboardInterrupt:
        sys.exit(130)
