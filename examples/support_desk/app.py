"""The CDK app: what is provisioned for the service that `cdk.json` names."""

from __future__ import annotations

from shardweave.cdk import app

if __name__ == "__main__":
    app.main()
