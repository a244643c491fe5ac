"""The CDK app that `./run synth` and `cdk synth` run. Ctrl+C ends it in silence, also while it is being loaded."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from infra.app import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
