"""The CDK app that `./run synth` and `cdk synth` run. Ctrl+C ends it in silence, also while it is being loaded."""

from __future__ import annotations

import os

if __name__ == "__main__":
    try:
        from shardweave.cdk.app import main

        main()
    except KeyboardInterrupt:
        # Node, which does the work, got the same signal: taking leave of it would only say that it is gone.
        os._exit(130)
