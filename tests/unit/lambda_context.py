"""What Lambda tells a function of its call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """A call with so much time left."""

    remaining_ms: int = 60_000
    function_name: str = "function"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:function:live"
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms
