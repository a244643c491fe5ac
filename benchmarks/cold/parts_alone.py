"""What a function is made of without this library: logger, metrics, a resolver that validates, and the client.

It answers the same two requests with as many calls of DynamoDB: one user, and the first users of one shard.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from boto3.dynamodb.types import TypeDeserializer
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
app = APIGatewayHttpResolver(enable_validation=True)
client = boto3.client("dynamodb")
deserialize = TypeDeserializer().deserialize


class User(BaseModel):
    """A user as it is answered."""

    model_config = ConfigDict(alias_generator=to_camel)

    user_id: Annotated[str, Field(min_length=1, max_length=200)]
    created: int
    updated: int
    beneficiary_id: Annotated[str, Field(min_length=1, max_length=200)]
    first_name: Annotated[str, Field(min_length=1, max_length=200)]
    first_name_canonical: str
    last_name: Annotated[str, Field(min_length=1, max_length=200)]
    last_name_canonical: str
    phone: Annotated[str, Field(min_length=1, max_length=40)] | None = None


class Users(BaseModel):
    """Some users."""

    items: list[User]


@app.get("/v1/users/<user_id>")
def get_user(user_id: str) -> User:
    """One user."""
    key = {"hashKey": {"S": os.environ["KNOWN_SHARD"]}, "rangeKey": {"S": f"userId#{user_id}"}}
    item = client.get_item(TableName=os.environ["TABLE_NAME"], Key=key)["Item"]
    return User(**{name: deserialize(value) for name, value in item.items()})


@app.get("/v1/users")
def list_users(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> Users:
    """The first users of one shard."""
    answer = client.query(
        TableName=os.environ["TABLE_NAME"],
        IndexName="created",
        KeyConditionExpression="hashKey = :h",
        ExpressionAttributeValues={":h": {"S": os.environ["KNOWN_SHARD"]}},
        Limit=limit,
    )
    items = [{name: deserialize(value) for name, value in item.items()} for item in answer["Items"]]
    return Users(items=[User(**item) for item in items])


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    answer = app.resolve(event, context)
    metrics.add_metric("Answers", MetricUnit.Count, 1)
    logger.info("request", extra={"status": answer["statusCode"]})
    return answer
