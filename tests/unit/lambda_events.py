"""Events of an HTTP API as a function gets them, and the context that Lambda gives with them."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext


class Context(LambdaContext):
    """What Lambda tells a function about the invocation."""

    _function_name = "api"
    _memory_limit_in_mb = 512
    _invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:api"
    _aws_request_id = "request-1"

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 20_000


def event(method: str, path: str, query: str = "", body: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"Content-Type": "application/json", "host": "x"},
        "body": body,
        "isBase64Encoded": False,
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
        **more,
    }
