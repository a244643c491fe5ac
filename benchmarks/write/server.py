"""`python -m benchmarks.write.server`: takes every write at once, and knows one user."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.lane.server import response
from benchmarks.stub import serve
from benchmarks.write.users import stored_user
from shardweave.table.values import to_attribute_value


def said(answer: dict[str, Any]) -> bytes:
    return response(json.dumps(answer, separators=(",", ":")).encode())


USER = said({"Item": {name: to_attribute_value(value) for name, value in stored_user().items()}})
BATCH, WRITTEN = said({"UnprocessedItems": {}}), said({})


def answer(operation: str, request: dict[str, Any]) -> bytes:
    """The answer to a request."""
    return {"GetItem": USER, "BatchWriteItem": BATCH}.get(operation, WRITTEN)


if __name__ == "__main__":
    serve(answer)
