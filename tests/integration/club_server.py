"""`python -m tests.integration.club_server`: `./run serve` that finds the services of the tests too."""

from __future__ import annotations

import sys
from pathlib import Path

import services
from shardweave.local.serve import main

if __name__ == "__main__":
    services.__path__.append(str(Path(__file__).with_name("services")))
    sys.exit(main(sys.argv[1:]))
