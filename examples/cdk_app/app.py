"""A CDK app of one's own: a queue, and a service beside it in the same stack."""

from __future__ import annotations

from aws_cdk import App, CfnOutput, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from shardweave.cdk import ShardweaveService


class Shop(Stack):
    """What the shop needs."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.mail = sqs.Queue(self, "Mail", enforce_ssl=True)
        self.orders = ShardweaveService(
            self,
            "Orders",
            service="orders.py",
            stage="prod",
            issuer="https://login.example.com/",
            audience="orders",
            log_days=30,
        )
        CfnOutput(self, "OrdersUrl", value=self.orders.url)


if __name__ == "__main__":
    app = App()
    Shop(app, "Shop")
    app.synth()
