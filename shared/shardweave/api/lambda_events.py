"""API Gateway's HTTP API events (payload format 2.0): an event -> a request, an answer -> what Lambda returns.

An HTTP API decodes the path before it calls a function, so it is taken as it is; what stays percent-encoded in it was
encoded twice. The stage is cut off unless it is the default one. The query is read from the raw query string, since
the event's own mapping joins repeated parameters.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ..errors import MalformedRequest
from .messages import Request, Response, decode_query


def request_of(event: Mapping[str, Any]) -> Request:
    """The request of an event. Raises MalformedRequest."""
    context = event["requestContext"]
    return Request(
        method=str(context["http"]["method"]).upper(),
        path=_without_stage(str(event["rawPath"]), str(context.get("stage") or "$default")),
        query=decode_query(str(event.get("rawQueryString") or "")),
        headers={str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()},
        body=_body(event),
    )


def answer_of(response: Response) -> dict[str, Any]:
    """What the function returns for an answer."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body.decode(),
        "isBase64Encoded": False,
    }


def _without_stage(path: str, stage: str) -> str:
    prefix = f"/{stage}"
    if stage != "$default" and (path == prefix or path.startswith(prefix + "/")):
        return path[len(prefix) :] or "/"
    return path


def _body(event: Mapping[str, Any]) -> bytes:
    text = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(text).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedRequest("it is not base64", where="body", fix="send it as it is") from None
